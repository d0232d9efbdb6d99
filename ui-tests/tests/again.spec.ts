import { expect, test } from '@jupyterlab/galata';
import { die, openNotebook, showWhy } from './helpers';

const LOAD = '%load_ext kerneldoctor';

// Where Galata stands between, JupyterLab takes its answer to a restart for a failure.
test.use({ kernels: null });

test('after a fix the cells are run again, and it is said that they lived', async ({
  page,
  tmpPath
}) => {
  // It dies once only, as it would with a fix that helps.
  const once =
    'import os, pathlib\nflag = pathlib.Path("FLAG")\nif not flag.exists():\n    flag.touch()\n    os._exit(3)';
  const flag = `/tmp/kerneldoctor-${Date.now()}`;
  await openNotebook(page, tmpPath, 'again.ipynb', [
    LOAD,
    once.replace('FLAG', flag),
    'x = 1'
  ]);
  await die(page, 1);
  const panel = await showWhy(page, 'again.ipynb');
  await panel.getByRole('button', { name: 'Apply to cell [2]' }).click();
  await panel
    .getByRole('button', { name: 'Restart and run cells 1 to 2' })
    .click();
  await expect(panel).toContainText(/Lived: peak \d+ MiB of .*iB\./);
  await expect(page.locator('.jp-Notebook-cell').nth(1)).toContainText('[2]:');
  await expect(page.locator('.jp-Notebook-cell').nth(2)).toContainText('[ ]:');
});
