import { expect } from '@jupyterlab/galata';
import {
  askUntil,
  interrupt,
  openNotebook,
  openPanel,
  prompt,
  run,
  start,
  test
} from './helpers';

const LOAD = '%load_ext kerneldoctor';

// A child that was forked while a thread held the lock: it waits for ever, and the cell for it.
const FORK = `import os, threading, time

lock = threading.Lock()

def hold():
    with lock:
        time.sleep(600)

threading.Thread(target=hold, daemon=True).start()
time.sleep(0.2)
child = os.fork()
if child == 0:
    with lock:
        os._exit(0)
_ = os.waitpid(child, 0)`;

const DEADLOCK = `import threading

lock = threading.Lock()

def total(items):
    with lock:
        return sum(items)

with lock:
    total([1, 2, 3])`;

test('a kernel that waits for a lock says which line does', async ({
  page,
  tmpPath
}) => {
  await openNotebook(page, tmpPath, 'lock.ipynb', [LOAD, DEADLOCK]);
  await run(page, 0, 1);
  await start(page, 1);
  await prompt(page, 1, '[*]:');

  const panel = await openPanel(page);
  await expect(panel).toContainText('The kernel of lock.ipynb is busy.');
  // Where it takes long, the kernel is known to be stuck by then, and the cell stands in that report.
  const now = await askUntil(panel, async () => {
    await expect(panel.locator('.jp-mod-culprit')).toHaveText('with lock:', {
      timeout: 3000
    });
  });
  await expect(now).toContainText('It has been in cell [2]');
  await expect(now.locator('.jp-mod-innermost')).toHaveText('with lock:');
  await expect(now).toContainText('total in cell [2], line 6');

  await page.notebook.selectCells(0);
  await panel.getByRole('button', { name: 'Go to cell [2]' }).first().click();
  await expect(page.locator('.jp-Notebook-cell.jp-mod-active')).toContainText(
    'total([1, 2, 3])'
  );

  // Interrupted, it is well again, and says so when it is asked again.
  await interrupt(page);
  await prompt(page, 1, '[2]:');
  await now.getByRole('button', { name: 'Ask again' }).click();
  await expect(now).toContainText('No cell is running.');
});

test('a kernel that is stuck is reported on, with the child it waits for', async ({
  page,
  tmpPath
}) => {
  await openNotebook(page, tmpPath, 'fork.ipynb', [LOAD, FORK]);
  await run(page, 0, 1);
  await start(page, 1);
  await prompt(page, 1, '[*]:');

  await page.menu.clickMenuItem('Kernel>What Is the Kernel Doing?');
  const panel = page.locator('#kerneldoctor-panel');
  await expect(panel).toContainText('It has been in cell [2]');

  // After ten seconds without any work nobody has to ask any more.
  await expect(panel.getByRole('heading', { level: 2 })).toContainText(
    'is stuck in cell [2]',
    { timeout: 60_000 }
  );
  await expect(panel.locator('.jp-KernelDoctor-bar')).toContainText(
    'fork.ipynb'
  );
  const child = panel.getByText(/^Child process \d+/);
  await askUntil(panel, () => expect(child).toBeVisible({ timeout: 3000 }));
  await expect(panel.locator('.jp-mod-culprit')).toHaveText(
    '_ = os.waitpid(child, 0)'
  );
  process.kill(Number((await child.textContent())!.match(/\d+/)), 'SIGKILL');
  await prompt(page, 1, '[2]:');
  // It goes on, and is stuck no more.
  await expect(panel.getByRole('article')).toHaveCount(0);
});

test('a kernel that is not recorded cannot be asked, and the panel says what to do', async ({
  page,
  tmpPath
}) => {
  await openNotebook(page, tmpPath, 'plain.ipynb', [
    'import time\ntime.sleep(60)'
  ]);
  await start(page, 0);
  const panel = await openPanel(page);
  await panel.getByRole('button', { name: 'What is it doing?' }).click();
  await expect(panel.getByRole('alert')).toContainText('is not recorded');
  await expect(panel.getByRole('alert')).toContainText(
    '%load_ext kerneldoctor'
  );
});
