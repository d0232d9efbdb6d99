import { expect, test } from '@playwright/test';
import { TOKEN } from '../playwright.config';
import { complaintsOf, notebookOf } from './helpers';

const CELLS = [
  '%load_ext kerneldoctor',
  'import time\ntime.sleep(1)',
  'import os\nos.abort()'
];

// Galata cannot work below a prefix.
test('below the prefix of a JupyterHub, with its token, all is found', async ({
  page
}) => {
  const complaints = complaintsOf(page);
  const name = 'hub.ipynb';
  const put = await page.request.put(`api/contents/${name}?token=${TOKEN}`, {
    data: { type: 'notebook', content: notebookOf(CELLS) }
  });
  expect(put.ok()).toBe(true);
  await page.goto(`lab/tree/${name}?token=${TOKEN}&reset`);

  // What is run before the kernel is there is dropped, or JupyterLab asks for a kernel.
  await page.getByText('| Idle').waitFor();
  const cells = page.locator('.jp-Notebook-cell');
  const run = async (at: number, prompt: RegExp) => {
    await cells.nth(at).locator('.cm-content').click();
    await page.keyboard.press('Control+Enter');
    await expect(cells.nth(at)).toContainText(prompt);
  };
  await run(0, /\[1\]:/);
  await run(1, /\[2\]:/);
  // What is left comes over the websocket.
  await expect(page.locator('.jp-KernelDoctor-status')).toContainText('left');

  // The death comes over the event stream, the report by REST.
  await run(2, /\[[* ]\]:/);
  const panel = page.locator('#kerneldoctor-panel');
  const report = panel.getByRole('article');
  await expect(report.getByRole('heading').first()).toContainText('cell [3]');
  await page
    .locator('.jp-Dialog', { hasText: 'appears to have died' })
    .getByRole('button', { name: 'Ok' })
    .click();
  await report.getByRole('link', { name: 'Details' }).last().click();
  await expect(page.locator('.jp-KernelDoctor-page')).toContainText(
    'How it is recognised'
  );

  // What changes something carries the token against forged requests. By key: JupyterLab's own news may lie above it.
  await panel
    .getByRole('button', { name: 'Delete', exact: true })
    .press('Enter');
  await page
    .locator('.jp-Dialog')
    .getByRole('button', { name: 'Delete' })
    .click();
  await expect(report).toHaveCount(0);
  expect(complaints).toEqual([]);
});
