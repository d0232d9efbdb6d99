import { expect } from '@jupyterlab/galata';
import { GROW, LIMIT, openNotebook, panel, run, test } from './helpers';
import { expectAccessible } from './looks';

const LOAD = '%load_ext kerneldoctor';

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
