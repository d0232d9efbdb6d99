// Runs the cells of a notebook in a browser until the last one kills its kernel; prints what is then seen, as JSON.
// node front_end.mjs URL SCREENSHOT
import { existsSync } from 'fs';
import { argv, stdout } from 'process';
import { chromium, expect } from '@playwright/test';

const [url, screenshot] = argv.slice(2);
const DEBIAN = '/usr/bin/chromium';
const PATIENCE = { timeout: 120_000 };

const browser = await chromium.launch({
  executablePath: existsSync(DEBIAN) ? DEBIAN : undefined,
  args: ['--no-sandbox']
});
const page = await browser.newPage({
  viewport: { width: 1280, height: 800 }
});
const warnings = [];
page.on('console', message => {
  if (/kerneldoctor|Unsatisfied version/i.test(message.text())) {
    warnings.push(message.text());
  }
});
const seen = { warnings };
try {
  await page.goto(url, PATIENCE);
  const cells = page.locator('.jp-Notebook .jp-CodeCell');
  await cells.last().waitFor(PATIENCE);
  for (let at = 0; at < (await cells.count()); at++) {
    const cell = cells.nth(at);
    // JupyterLab drops what is run before the kernel is there.
    await expect(async () => {
      await cell.locator('.cm-content').click();
      await page.keyboard.press('Control+Enter');
      await cell.getByText(/\[[*\d]+\]:/).waitFor({ timeout: 3_000 });
    }).toPass(PATIENCE);
  }
  const panel = page.locator('#kerneldoctor-panel');
  const report = panel.getByRole('article');
  await report.waitFor(PATIENCE);
  seen.headline = await report.getByRole('heading').first().innerText();
  await page
    .locator('.jp-Dialog')
    .getByRole('button')
    .last()
    .click({ timeout: 10_000 })
    .catch(() => null);
  seen.line = await panel
    .locator('.jp-mod-culprit')
    .first()
    .innerText({ timeout: 5_000 })
    .catch(() => null);
  await page.screenshot({ path: screenshot });
  await page.getByRole('menuitem', { name: 'View', exact: true }).click();
  seen.menu = await page
    .getByRole('menuitem', { name: 'Show Why a Kernel Died' })
    .isVisible();
} catch (error) {
  seen.error = String(error);
  await page.screenshot({ path: screenshot });
}
await browser.close();
stdout.write(JSON.stringify(seen));
