import { expect } from '@jupyterlab/galata';
import { Locator } from '@playwright/test';
import {
  openNotebook,
  openPanel,
  prompt,
  retell,
  run,
  start,
  toast,
  test
} from './helpers';
import { expectAccessible } from './looks';

const LOAD = '%load_ext kerneldoctor';
const LARGE = 'block = bytearray(300_000_000)\nblock[:] = b"x" * len(block)';

test('the panel shows what the kernel in front uses, and follows it', async ({
  page,
  tmpPath
}) => {
  await openNotebook(page, tmpPath, 'usage.ipynb', [LOAD, LARGE, 'x = 1']);
  const panel = await openPanel(page);
  await run(page, 0, 1);
  await run(page, 1, 2);

  const usage = panel.getByRole('region', { name: 'Memory now' });
  await expect(usage).toContainText(/ left of .*; cell \[2\] took \d{3} MiB\./);
  await expect(usage.getByRole('meter').first()).toBeVisible();
  await expect(usage.locator('.jp-KernelDoctor-holders')).toContainText(
    /block.*bytearray.*286 MiB/
  );
  await expect(usage.locator('svg')).toContainText('[2]');

  // The table: sorted by a click, and a click on a row goes to its cell.
  const rows = usage.getByRole('table').getByRole('row');
  await run(page, 2, 3);
  await expect(rows.nth(1)).toContainText('[3] x = 1');
  await usage.getByRole('button', { name: 'Kept' }).click();
  await expect(rows.nth(1)).toContainText(/\+28\d MiB/);
  await page.notebook.selectCells(0);
  await rows.nth(1).getByRole('button').click();
  await expect(page.locator('.jp-Notebook-cell.jp-mod-active')).toContainText(
    'bytearray'
  );

  // Hovering reads out time, cell and memory.
  await usage.locator('svg').hover();
  const caption = usage.locator('figcaption');
  await expect(caption).toContainText(/at .* · .*iB/);

  // So do the arrow keys; and a part of the time can be looked at closely.
  const chart = usage.getByRole('slider');
  await chart.press('ArrowLeft');
  await expect(chart).toHaveAttribute('aria-valuetext', /at .* · .*iB/);
  await page.mouse.move(0, 0);
  const box = (await chart.boundingBox())!;
  await page.mouse.move(box.x + box.width / 2, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 20, box.y + 50, { steps: 3 });
  await page.mouse.up();
  await caption.getByRole('button', { name: 'Show the whole time' }).click();
  await caption.getByRole('button', { name: 'Zoom in' }).click();
  await caption.getByRole('button', { name: 'Zoom out' }).click();
  await expect(caption.getByRole('button', { name: 'Zoom out' })).toHaveCount(
    0
  );

  await expectAccessible(page);

  // A second notebook in front, and its neighbour below the same limit.
  await openNotebook(page, tmpPath, 'other.ipynb', [LOAD]);
  await run(page, 0, 1);
  await expect(usage.getByRole('table')).not.toContainText('bytearray');
  const others = usage.getByRole('region', { name: 'Other kernels' });
  await expect(others).toContainText('usage.ipynb');
  await others.getByRole('button', { name: 'Shut down' }).click();
  const dialog = page.locator('.jp-Dialog');
  await expect(dialog).toContainText('Shut down the kernel of usage.ipynb?');
  await dialog.getByRole('button', { name: 'Shut Down' }).click();
  await expect(others).toHaveCount(0);
});

test('an idle kernel costs no request and no message, and a hidden panel gets the summary', async ({
  page,
  tmpPath
}) => {
  const received: string[] = [];
  let sockets = 0;
  page.on('websocket', socket => {
    if (socket.url().includes('/kerneldoctor/live')) {
      sockets += 1;
      socket.on('framereceived', ({ payload }) =>
        received.push(String(payload))
      );
    }
  });
  await page.reload();
  await openNotebook(page, tmpPath, 'idle.ipynb', [LOAD]);
  await run(page, 0, 1);
  const status = page.locator('.jp-KernelDoctor-status');
  await expect(status).toContainText(/iB left/);
  expect(received.some(text => text.includes('"timeline"'))).toBe(false);

  await status.click();
  await expect(page.getByRole('table')).toContainText('[1]');
  await page.waitForTimeout(3000);
  const requests: string[] = [];
  page.on('request', request => {
    if (request.url().includes('kerneldoctor')) {
      requests.push(request.url());
    }
  });
  const before = received.length;
  await page.waitForTimeout(6000);
  expect(requests).toEqual([]);
  expect(sockets).toBe(1);
  // Other programs of the machine may move what is left.
  expect(received.length - before).toBeLessThan(6);
});

test('one notification says that memory will not last', async ({
  page,
  tmpPath
}) => {
  // It grows by a small amount; what the server tells is stretched to a shortage on the way.
  await retell(page, ({ running }) =>
    running ? { lasts_s: 40, level: 'critical' } : { level: 'low' }
  );
  const grow =
    'import time\nkept = []\nfor i in range(80):\n    kept.append(b"x" * 4_000_000)\n    time.sleep(0.1)';
  await openNotebook(page, tmpPath, 'grows.ipynb', [LOAD, grow]);
  await run(page, 0, 1);
  // Amber; in both themes it can be read.
  const status = page.locator('.jp-KernelDoctor-status');
  await expect(status).toHaveClass(/jp-mod-low/);
  await expectAccessible(page);
  expect(await hue(status)).toBeGreaterThan(20);
  await start(page, 1);
  const warning = toast(page, 'Memory is running out');
  await expect(warning).toContainText('cell [2] of grows.ipynb');
  await expect(status).toHaveClass(/jp-mod-critical/);
  expect(await hue(status)).toBeLessThan(20);
  await expect(warning).toHaveCount(1);
  await warning.getByRole('button', { name: 'What holds the memory?' }).click();
  await expect(page.locator('#kerneldoctor-panel')).toContainText(
    'What holds the memory'
  );
  await prompt(page, 1, '[2]:');
  await expect(warning).toHaveCount(0);
});

test('processes that the kernel started and graphics cards are shown', async ({
  page,
  tmpPath
}) => {
  // There need be no graphics card: these two are told of on the way.
  const card = (index: number, used: number) => ({
    index,
    name: 'NVIDIA H200',
    total_bytes: 150_754_820_096,
    used_bytes: used,
    own_bytes: used
  });
  await retell(page, () => ({ gpus: [card(0, 120e9), card(1, 0)] }));
  const child =
    'import subprocess, sys\nhold = "import time; block = b\'x\' * 90_000_000; time.sleep(300)"\nchild = subprocess.Popen([sys.executable, "-c", hold])';
  await openNotebook(page, tmpPath, 'holds.ipynb', [
    LOAD,
    child,
    'import time\ntime.sleep(2)\nchild.kill()'
  ]);
  const panel = await openPanel(page);
  await run(page, 0, 1);
  await run(page, 1, 2);
  const usage = panel.getByRole('region', { name: 'Memory now' });
  await expect(usage).toContainText(/1 process it started\s*[6-9]\d MiB/);
  await expect(usage).toContainText('GPU 0 (NVIDIA H200): 28.6 GiB left');
  await expect(usage).toContainText('GPU 1 (NVIDIA H200): 140 GiB left');
  await expect(usage.getByRole('meter')).toHaveCount(3);
  await expectAccessible(page);
  await run(page, 2, 3);
  await expect(usage).not.toContainText('it started');
});

/** Returns the hue of an element's background in degrees: red is 0, yellow 60. */
async function hue(shown: Locator): Promise<number> {
  const [red, green, blue] = await shown.evaluate(node =>
    getComputedStyle(node).backgroundColor.match(/\d+/g)!.map(Number)
  );
  expect(red).toBeGreaterThan(Math.max(green, blue));
  return (60 * (green - blue)) / (red - Math.min(green, blue));
}

test('the gauge below a cell follows the cells that run, and %%memwatch is drawn', async ({
  page,
  tmpPath
}) => {
  const watched =
    '%%memwatch\nblock = bytearray(200_000_000)\nblock[:] = b"x" * len(block)';
  await openNotebook(page, tmpPath, 'gauge.ipynb', [
    LOAD,
    '%kerneldoctor live',
    watched
  ]);
  await run(page, 0, 1);
  await run(page, 1, 2);
  const cells = page.locator('.jp-Notebook-cell');
  const gauge = cells.nth(1).locator('.jp-OutputArea .kd-report');
  await expect(gauge).toContainText('left of');
  await expect(gauge.locator('svg')).not.toContainText('[3]');

  await run(page, 2, 3);
  const drawn = cells.nth(2).locator('.jp-OutputArea .kd-report');
  await expect(drawn).toContainText(/peak \d{3} MiB, .* kept 19\d MiB/);
  await expect(drawn.locator('svg')).toBeVisible();
  await expect(gauge.locator('svg')).toContainText('[3]');
});
