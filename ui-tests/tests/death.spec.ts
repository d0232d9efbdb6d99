import { expect } from '@jupyterlab/galata';
import {
  die,
  openNotebook,
  openPanel,
  prompt,
  run,
  showWhy,
  start,
  toast,
  test
} from './helpers';
import { expectAccessible } from './looks';

const LOAD = '%load_ext kerneldoctor';
const SEGFAULT = 'import ctypes\nctypes.string_at(0)';

test('a kernel crashes, and the panel says why and where', async ({
  page,
  tmpPath
}) => {
  // The pause is there so that some memory is measured, and drawn.
  const crash =
    'import ctypes, time\n\ndef crash():\n    return ctypes.string_at(0)';
  const call = 'time.sleep(1)\ncrash()';
  await openNotebook(page, tmpPath, 'crash.ipynb', [LOAD, crash, call]);
  await die(page, 2);

  await expect(
    toast(page, 'The restarted kernel is not recorded')
  ).toContainText('%load_ext kerneldoctor');
  const report = await showWhy(page, 'crash.ipynb');
  await expect(report.getByRole('heading', { level: 2 })).toContainText(
    'cell [2]'
  );
  // Memory is not the subject.
  await expect(report.locator('article figure')).toHaveCount(0);

  // Where: the line that did it, in the cell that defines the function; that cell and the one that ran are marked.
  await expect(report.locator('.jp-mod-culprit')).toHaveText(
    'return ctypes.string_at(0)'
  );
  await expect(report).toContainText('Called from cell [3], line 2.');
  await page.notebook.selectCells(0);
  await report.getByRole('button', { name: 'Go to cell [2]' }).click();
  const active = page.locator('.jp-Notebook-cell.jp-mod-active');
  await expect(active).toContainText('ctypes.string_at(0)');
  // The line is selected.
  await expect(active.locator('.cm-selectionBackground')).toBeVisible();
  await expect(page.locator('.jp-KernelDoctor-culpritCell')).toHaveCount(2);
  const lines = page.locator('.jp-Notebook-cell').getByRole('note');
  await expect(lines.first()).toContainText(
    'line 4 of this cell ended the kernel when cell [3] ran: '
  );
  await expect(lines.last()).toContainText('this cell ended the kernel: ');

  // Why: sentences, and below them where their numbers were read.
  const evidence = report
    .getByRole('region', { name: 'Why we think so' })
    .getByRole('listitem');
  await expect(evidence.first()).toBeVisible();
  // Three of them at most; the rest and what was ruled out are folded.
  const folded = report
    .getByRole('region', { name: 'Why we think so' })
    .locator('details');
  const all = await evidence.count();
  expect(all - (await folded.getByRole('listitem').count())).toBeLessThan(4);
  await expect(folded.getByRole('listitem').first()).toBeHidden();
  await folded.getByText(/^\d+ (more fact|cause)/).click();
  await expect(folded.getByRole('listitem').last()).toBeVisible();
  await expect(evidence.locator('small').first()).not.toBeEmpty();
  await expect(report).toContainText('SIGSEGV');

  await expectAccessible(page);

  // The reference page opens beside the notebook.
  await report.getByRole('link', { name: 'Details' }).last().click();
  await expect(page.locator('.jp-KernelDoctor-page')).toContainText(
    'How it is recognised'
  );
});

test('a second death is shown, and the first one is still listed', async ({
  page,
  tmpPath
}) => {
  await openNotebook(page, tmpPath, 'twice.ipynb', [LOAD, SEGFAULT]);
  await die(page, 1);
  const report = await showWhy(page, 'twice.ipynb');
  await expect(
    report.getByRole('region', { name: 'After the restart' })
  ).toContainText('jupyter kerneldoctor enable');
  await toast(page, 'The restarted kernel is not recorded')
    .getByRole('button')
    .click();

  const abort = 'import os\nos.abort()';
  await page.notebook.setCell(1, 'code', abort);
  await die(page, 1);
  await showWhy(page, 'twice.ipynb');
  await expect(report.locator('.jp-mod-culprit')).toHaveText('os.abort()');

  const earlier = report.getByRole('region', { name: 'Earlier' });
  await earlier.getByRole('button', { name: 'twice.ipynb' }).first().click();
  await expect(report.locator('.jp-mod-culprit')).toHaveText(
    'ctypes.string_at(0)'
  );
  await expect(
    report.getByRole('region', { name: 'Other deaths' })
  ).toBeVisible();
});

test('a fix is applied to the cell, undone, and applied also after a reload', async ({
  page,
  tmpPath
}) => {
  const cell = 'import os\nrows = []\nif not rows:\n    os._exit(3)';
  await openNotebook(page, tmpPath, 'leaves.ipynb', [LOAD, cell]);
  await die(page, 1);
  const report = await showWhy(page, 'leaves.ipynb');

  // A button of JupyterLab's toolkit.
  await report.locator('jp-button', { hasText: 'Apply to cell [2]' }).click();
  await expect(report).toContainText('Applied. Undo with Ctrl+Z.');
  const editor = page.locator('.jp-Notebook-cell .cm-content').nth(1);
  await expect(editor).toContainText('raise SystemExit');
  await expect(editor).not.toContainText('_exit');

  await page.keyboard.press('Control+z');
  await expect(editor).toContainText('os._exit(3)');
  await expect(
    report.getByRole('button', { name: 'Apply to cell [2]' })
  ).toBeVisible();

  // Applied it stays, also after a reload, when nothing is left to undo.
  await report.getByRole('button', { name: 'Apply to cell [2]' }).click();
  await page.notebook.save();
  // JupyterLab opens notebook and panel again; Galata would wait for a launcher.
  await page.reload({ waitForIsReady: false });
  await expect(report).toContainText('Applied.');
  await expect(report).not.toContainText('Undo with');
  await openPanel(page); // JupyterLab notes which panels are open a moment later

  // An edited cell is the user's: no button, a reason instead.
  await page.notebook.setCell(1, 'code', 'print("mine")');
  await expect(report).toContainText('is no longer the code that ran');
  await expect(report.getByRole('button', { name: /^Apply/ })).toHaveCount(0);
  await expect(
    report.getByRole('button', { name: 'Copy', exact: true })
  ).toBeVisible();
});

test('a CUDA error that the kernel survived is shown without being asked', async ({
  page,
  tmpPath
}) => {
  // In torch's words, as there need be no graphics card.
  const step =
    'def step(batch):\n    raise RuntimeError("CUDA error: device-side assert triggered")';
  await openNotebook(page, tmpPath, 'survives.ipynb', [
    LOAD,
    step,
    'step(0)',
    'x = 1'
  ]);
  const report = await openPanel(page);
  await run(page, 0, 1);
  await run(page, 1, 2);
  await run(page, 2, 3);
  const article = report.getByRole('article');
  await expect(article.getByRole('heading', { level: 2 })).toContainText(
    'cell [2]'
  );
  await expect(article).toContainText('Survived');
  await expect(article).toContainText('Restart');
  // The kernel lives, and is still shown above.
  await run(page, 3, 4);
  await expect(article).toBeVisible();
  await expect(
    report.getByRole('region', { name: 'Memory now' })
  ).toContainText('left');
});

for (const [what, cell, shown] of [
  ['an idle', 'x = 1', '[2]:'],
  ['a busy', 'import time\nwhile True: time.sleep(0.01)', '[*]:']
]) {
  test(`a restart of ${what} kernel that was asked for is no death`, async ({
    page,
    tmpPath
  }) => {
    await openNotebook(page, tmpPath, 'restart.ipynb', [LOAD, cell]);
    await run(page, 0, 1);
    await start(page, 1);
    await prompt(page, 1, shown);
    const recording = (await recordings(page))[0].recording;
    await page.menu.clickMenuItem('Kernel>Restart Kernel…');
    await Promise.all([
      page.waitForResponse(/api\/kernels\/.*\/restart/),
      page
        .locator('.jp-Dialog')
        .getByRole('button', { name: 'Confirm Kernel Restart' })
        .click()
    ]);

    await expect
      .poll(async () => row(await recordings(page), recording)?.ended)
      .not.toBeNull();
    expect(row(await recordings(page), recording)).toMatchObject({
      cause: 'ordinary-end',
      died: false
    });
    // A death would be told within a second.
    await page.waitForTimeout(3000);
    await expect(toast(page, 'died')).toHaveCount(0);
    const report = await openPanel(page);
    await expect(report.getByRole('article')).toHaveCount(0);
    await expect(
      report.getByRole('button', { name: 'restart.ipynb' })
    ).toHaveCount(0);
  });
}

interface IRow {
  recording: string;
  ended: string | null;
  cause: string;
  died: boolean;
}

async function recordings(page: {
  request: { get(url: string): Promise<{ json(): Promise<unknown> }> };
}): Promise<IRow[]> {
  const answer = await page.request.get('/kerneldoctor/recordings');
  return (await answer.json()) as IRow[];
}

function row(rows: IRow[], recording: string): IRow | undefined {
  return rows.find(one => one.recording === recording);
}
