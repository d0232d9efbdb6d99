import { readFile } from 'fs/promises';
import { expect } from '@jupyterlab/galata';
import {
  changeSetting,
  die,
  openNotebook,
  run,
  showWhy,
  toast,
  test
} from './helpers';
import { expectAccessible } from './looks';

// Deaths of an earlier run of this test are listed, too.
const NAME = `marks-${Date.now()}.ipynb`;
const LOAD = '%load_ext kerneldoctor';
const BIG = 'import time\nblock = bytearray(60_000_000)\ntime.sleep(1.5)';
const EXIT = 'import os\nrows = []\nif not rows:\n    os._exit(3)';

test('cells are marked, and a death is found again, passed on and deleted', async ({
  page,
  tmpPath
}) => {
  await openNotebook(page, tmpPath, NAME, [LOAD, BIG, EXIT]);
  await run(page, 0, 1);
  await run(page, 1, 2);

  // Each cell's peak stands in the notebook; the setting takes effect at once.
  const peaks = page.locator('[data-kerneldoctor-peak]');
  await expect(peaks).toHaveCount(2);
  await expect(peaks.nth(1)).toHaveAttribute('title', /, 5\d MiB above the/);
  await changeSetting(page, 'showPeaks', false);
  await expect(peaks).toHaveCount(0);
  await changeSetting(page, 'showPeaks', true);
  await expect(peaks).toHaveCount(2);

  // The cell that ended the kernel: marked, with a line that tells the fix and stands in no way.
  await die(page, 2, 2);
  const panel = await showWhy(page, NAME);
  const line = page.locator('.jp-Notebook-cell').nth(2).getByRole('note');
  const marked = page.locator('.jp-KernelDoctor-culpritCell');
  await expect(line).toContainText(/this cell ended the kernel: .* Fix: /);
  await expect(marked).toHaveCount(1);
  await changeSetting(page, 'markCulprits', false);
  await expect(line).toHaveCount(0);
  await changeSetting(page, 'markCulprits', true);
  await expect(line).toHaveCount(1);

  // Code that has changed did not do it; undone, it is again the code that did.
  await panel.getByRole('button', { name: 'Apply to cell [3]' }).click();
  await expect(line).toHaveCount(0);
  await expect(marked).toHaveCount(0);
  await page.keyboard.press('Control+z');
  await expect(line).toHaveCount(1);

  // Closed, it stays so; the mark is there as long as the cell is as it was.
  await line.getByRole('button', { name: 'Close' }).click();
  await expect(line).toHaveCount(0);
  await expect(marked).toHaveCount(1);

  // To pass on, and to keep.
  const unrecorded = toast(page, 'The restarted kernel is not recorded');
  await unrecorded.getByRole('button').click();
  const saving = page.waitForEvent('download');
  await panel.getByRole('button', { name: 'Save as HTML' }).click();
  const saved = await readFile(await (await saving).path(), 'utf8');
  expect(saved).toContain('<!DOCTYPE html>');
  expect(saved).toContain('os._exit(3)');
  await panel.getByRole('button', { name: 'Copy as Markdown' }).click();
  await expect(panel.getByText('Copied.')).toBeVisible();

  // History: found by its notebook and its words, deleted with the report shown.
  await run(page, 0, 1);
  await die(page, 2, 2);
  await unrecorded.getByRole('button').click();
  await panel.getByRole('button', { name: 'Search or delete' }).click();
  const history = panel.getByRole('region', { name: 'History' });
  await history.getByLabel('Notebook').selectOption({ label: NAME });
  const rows = history.getByRole('listitem');
  await expect(rows).toHaveCount(2);
  await expect(history).toContainText(/\d recordings, .*: [\d.]+ [KM]iB/);
  await expectAccessible(page);
  await history.getByLabel('Search the history').fill('cell [3]');
  await expect(rows).toHaveCount(1);
  await history.getByLabel('Search the history').fill('CELL [2] marks');
  await expect(rows).toHaveCount(1);
  await rows.getByRole('button', { name: /^Delete the recording/ }).click();
  const dialog = page.locator('.jp-Dialog');
  await expect(dialog).toContainText('Delete 1 recording?');
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await expect(history).toContainText('None is like that.');
  await history.getByLabel('Search the history').fill('');
  await expect(rows).toHaveCount(1);
});
