import { expect } from '@jupyterlab/galata';
import {
  changeSetting,
  die,
  notice,
  openNotebook,
  run,
  showWhy,
  start,
  toast,
  test
} from './helpers';
import { expectApart } from './looks';

const LOAD = '%load_ext kerneldoctor';

test('the panel follows the notebook in front, unless it is pinned', async ({
  page,
  tmpPath
}) => {
  await openNotebook(page, tmpPath, 'dies.ipynb', [
    LOAD,
    'import os\nos.abort()'
  ]);
  await run(page, 0, 1);
  await start(page, 1);
  // It says why while JupyterLab's own notice still stands there: the headline is not below it.
  const panel = await showWhy(page, 'dies.ipynb');
  await expect(panel.getByRole('article')).toContainText('os.abort()');
  await expectApart(
    notice(page).locator('.jp-Dialog-content'),
    panel.getByRole('heading', { level: 2 })
  );
  await notice(page).getByRole('button', { name: 'Ok' }).click();
  // It would lie above the list.
  await toast(page, 'The restarted kernel').getByRole('button').click();
  expect((await panel.boundingBox())!.width).toBeGreaterThan(340);
  const bar = panel.locator('.jp-KernelDoctor-bar');

  // Another notebook in front: its own kernel, and the other death in the list only.
  await openNotebook(page, tmpPath, 'lives.ipynb', [LOAD]);
  await run(page, 0, 1);
  await expect(bar).toContainText('lives.ipynb');
  await expect(panel).toContainText('The kernel of lives.ipynb has not died');
  await expect(panel.getByRole('article')).toHaveCount(0);

  // Picked from the list, it is named; and there is a way back.
  await panel.getByRole('button', { name: 'dies.ipynb' }).first().click();
  await expect(panel.getByRole('heading', { level: 2 })).toContainText(
    'dies.ipynb: '
  );
  await bar.getByRole('button', { name: 'Back to lives.ipynb' }).click();
  await expect(panel.getByRole('article')).toHaveCount(0);

  // Pinned, it stays.
  await bar.getByRole('button', { name: 'Pin' }).click();
  await page.notebook.activate('dies.ipynb');
  await expect(bar).toContainText('lives.ipynb');
  await bar.getByRole('button', { name: 'Unpin' }).click();
  await expect(bar).toContainText('dies.ipynb');

  // A notebook that is not open can be opened.
  await page.notebook.activate('dies.ipynb');
  await page.notebook.close(true);
  await panel.getByRole('button', { name: 'dies.ipynb' }).first().click();
  await panel.getByRole('button', { name: 'Open dies.ipynb' }).click();
  await expect(bar).toContainText('dies.ipynb');
  await expect(
    panel.getByRole('button', { name: 'Go to cell [2]' })
  ).toBeVisible();
});

test('the death of a notebook behind is told in few words', async ({
  page,
  tmpPath
}) => {
  const late = 'import os, time\ntime.sleep(12)\nos.abort()';
  await openNotebook(page, tmpPath, 'behind.ipynb', [LOAD, late]);
  await run(page, 0, 1);
  await start(page, 1);
  await openNotebook(page, tmpPath, 'front.ipynb', [LOAD]);
  const died = toast(page, 'behind.ipynb').filter({ hasText: 'Show why' });
  await expect(died).toContainText(/^The program aborted itself in cell \[2\]/);
  // It can be read beside JupyterLab's own notice, and waits until that was closed.
  await expectApart(notice(page).locator('.jp-Dialog-content'), died);
  await notice(page).getByRole('button', { name: 'Ok' }).click();
  await died.getByRole('button', { name: 'Show why' }).click();
  await expect(
    page.locator('#kerneldoctor-panel').getByRole('heading', { level: 2 })
  ).toContainText('behind.ipynb: ');
});

test('with the setting off the panel waits until it is asked for, and keys lead through it', async ({
  page,
  tmpPath
}) => {
  await openNotebook(page, tmpPath, 'quiet.ipynb', [
    LOAD,
    'import os\nos.abort()'
  ]);
  await changeSetting(page, 'openOnDeath', false);
  await die(page, 1);
  const died = toast(page, 'aborted itself in cell [2]');
  await expect(died).toBeVisible();
  await expect(page.locator('#kerneldoctor-panel')).toBeHidden();

  await died.getByRole('button', { name: 'Show why' }).click();
  const report = await showWhy(page, 'quiet.ipynb');

  // Tab goes from control to control in the order in which they are read.
  const controls = report.locator(
    'button:visible, a[href]:visible, summary:visible, [tabindex="0"]:visible'
  );
  // JupyterLab may move the focus itself, a moment after its notice was closed.
  await expect(async () => {
    await controls.first().focus();
    for (let next = 1; next < Math.min(8, await controls.count()); next++) {
      await page.keyboard.press('Tab');
      await expect(controls.nth(next)).toBeFocused({ timeout: 2000 });
    }
  }).toPass();
});
