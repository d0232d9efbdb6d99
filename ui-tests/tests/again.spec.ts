import { rmSync, writeFileSync } from 'fs';
import { expect } from '@jupyterlab/galata';
import { die, openNotebook, showWhy, test } from './helpers';
import { expectAccessible } from './looks';

const LOAD = '%load_ext kerneldoctor';

// Where Galata stands between, JupyterLab takes its answer to a restart for a failure.
test.use({ kernels: null });

test('a fix is tried, stopped, tried again, applied, and the cells are run again', async ({
  page,
  tmpPath
}) => {
  // It dies once only, as it would with a fix that helps; and goes on while there is a file.
  const once = `import os, pathlib, time
flag, wait = pathlib.Path("FLAG"), pathlib.Path("WAIT")
while wait.exists():
    time.sleep(0.1)
if not flag.exists():
    flag.touch()
    os._exit(3)`;
  const name = `/tmp/kerneldoctor-${Date.now()}`;
  const wait = `${name}-wait`;
  const cell = once.replace('FLAG', name).replace('WAIT', wait);
  await openNotebook(page, tmpPath, 'again.ipynb', [LOAD, cell, 'x = 1']);
  await die(page, 1);
  const panel = await showWhy(page, 'again.ipynb');
  const button = (name: string) => panel.getByRole('button', { name });

  // Nothing runs before it was said what will.
  writeFileSync(wait, '');
  await button('Try it first').click();
  const trial = panel.getByRole('region', { name: 'Trial in a second kernel' });
  await expect(trial).toContainText('cells [1] to [2] again');
  await expect(trial).toContainText('do again what they did');
  await button('Run them').click();
  await expect(trial).toContainText('cell [1]done');
  await expect(trial).toContainText('cell [2] runs (2 of 2)');
  await button('Stop').click();
  await expect(trial).toContainText('Stopped.');

  rmSync(wait);
  await button('Try again').click();
  await button('Run them').click();
  await expect(trial).toContainText(/Lived: peak \d+ MiB/, {
    timeout: 60_000
  });
  await expectAccessible(page);
  await button('Close').click();
  await expect(trial).toHaveCount(0);

  await button('Apply to cell [2]').click();
  await button('Restart and run cells 1 to 2').click();
  await expect(panel).toContainText(/Lived: peak \d+ MiB of .*iB\./);
  await expect(page.locator('.jp-Notebook-cell').nth(1)).toContainText('[2]:');
  await expect(page.locator('.jp-Notebook-cell').nth(2)).toContainText('[ ]:');
});
