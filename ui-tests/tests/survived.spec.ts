import { expect } from '@jupyterlab/galata';
import {
  GROW,
  interrupt,
  LIMIT,
  openNotebook,
  panel,
  prompt,
  run,
  start,
  toast,
  test
} from './helpers';
import { expectAccessible } from './looks';

const LOAD = '%load_ext kerneldoctor';
const LOCKED =
  'import threading\nlock = threading.Lock()\nlock.acquire()\nwith lock:\n    x = 1';

test('a MemoryError that the kernel survives is told below its cell, an ordinary error is not', async ({
  page,
  tmpPath
}) => {
  await openNotebook(page, tmpPath, 'refused.ipynb', [
    LOAD,
    LIMIT,
    '1 / 0',
    GROW
  ]);
  for (const cell of [0, 1, 2]) {
    await run(page, cell, cell + 1);
  }
  const lines = page.locator('.jp-Notebook-cell').getByRole('note');
  await page.waitForTimeout(3000);
  await expect(lines).toHaveCount(0);

  await run(page, 3, 4);
  const line = page.locator('.jp-Notebook-cell').nth(3).getByRole('note');
  await expect(line).toContainText(/Last time, this cell failed: .* Fix: /);
  await expect(lines).toHaveCount(1);
  await expect(panel(page)).toBeHidden();
  await expectAccessible(page);

  await line.getByRole('button', { name: 'Show the fix' }).click();
  const report = panel(page).getByRole('article');
  await expect(report).toContainText('Survived, still running');
  await expect(report).toContainText('What to change');
});

test('one notification says that a kernel is stuck, and none that a cell takes long', async ({
  page,
  tmpPath
}) => {
  const works = 'import time\ntime.sleep(13)';
  await openNotebook(page, tmpPath, 'lock.ipynb', [LOAD, works, LOCKED]);
  await run(page, 0, 1);
  await run(page, 1, 2);
  const told = toast(page, 'The kernel is stuck in cell');
  await expect(told).toHaveCount(0);

  await start(page, 2);
  await expect(told).toContainText('cell [3] on “with lock”');
  await expect(told).toContainText('(lock.ipynb)');
  await expect(panel(page)).toBeHidden();
  await told.getByRole('button', { name: 'Show why' }).click();
  await expect(panel(page).getByRole('article')).toContainText(
    'Running, but stuck'
  );
  await expect(told).toHaveCount(0);
  await interrupt(page);
  await prompt(page, 2, '[3]:');

  // Of a kernel that goes on by itself the notification goes, too.
  await page.locator('.jp-SideBar [data-id="kerneldoctor-panel"]').click();
  await expect(panel(page)).toBeHidden();
  await start(page, 2);
  await expect(told).toContainText('cell [4]');
  await interrupt(page);
  await prompt(page, 2, '[4]:');
  await expect(told).toHaveCount(0);
  const line = page.locator('.jp-Notebook-cell').nth(2).getByRole('note');
  await expect(line).toContainText(/Last time, this cell got stuck: .* Fix: /);
});
