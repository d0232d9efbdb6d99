import { expect } from '@jupyterlab/galata';
import {
  askUntil,
  die,
  GROW,
  interrupt,
  LIMIT,
  openNotebook,
  openPanel,
  prompt,
  run,
  showWhy,
  start,
  toast,
  test
} from './helpers';

test('the first crash of a notebook that loads nothing is explained', async ({
  page,
  tmpPath
}) => {
  const crash = 'import ctypes\nctypes.string_at(0)';
  await openNotebook(page, tmpPath, 'unaware.ipynb', ['x = 1', crash]);
  await die(page, 1);

  const report = await showWhy(page, 'unaware.ipynb');
  await expect(report.getByRole('heading', { level: 2 })).toContainText(
    'cell [2]'
  );
  await expect(report.getByLabel('Source of cell [2]')).toContainText(
    'ctypes.string_at(0)'
  );
  await expect(report).toContainText('SIGSEGV');

  // The next kernel is watched, too: nobody has to do anything for that.
  await expect(toast(page, 'is not recorded')).toHaveCount(0);
  await expect(
    report.getByRole('region', { name: 'After the restart' })
  ).toHaveCount(0);
  await expect(
    report.getByRole('button', { name: 'Go to cell [2]' })
  ).toBeVisible();
});

test('a MemoryError is told below its cell also where nothing was loaded', async ({
  page,
  tmpPath
}) => {
  await openNotebook(page, tmpPath, 'refused.ipynb', [LIMIT, GROW]);
  await run(page, 0, 1);
  await run(page, 1, 2);
  const line = page.locator('.jp-Notebook-cell').nth(1).getByRole('note');
  await expect(line).toContainText(/Last time, this cell failed: .* Fix: /);
});

test('a kernel that loads nothing can be asked what it is doing', async ({
  page,
  tmpPath
}) => {
  const wait = 'import threading\nthreading.Event().wait()';
  await openNotebook(page, tmpPath, 'event.ipynb', [wait]);
  await start(page, 0);
  await prompt(page, 0, '[*]:');

  const panel = await openPanel(page);
  const now = await askUntil(panel, async () => {
    await expect(panel.locator('.jp-mod-culprit')).toHaveText(
      'threading.Event().wait()',
      { timeout: 3000 }
    );
  });
  await expect(now).toContainText('It has been in cell [1]');
  await interrupt(page);
  await prompt(page, 0, '[1]:');
});
