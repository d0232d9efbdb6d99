import { expect, IJupyterLabPageFixture } from '@jupyterlab/galata';
import { Locator } from '@playwright/test';
import {
  die,
  interrupt,
  openNotebook,
  openPanel,
  prompt,
  run,
  showWhy,
  start,
  toast,
  test
} from '../tests/helpers';

// Where Galata stands between, JupyterLab takes its answer to a restart for a failure.
test.use({ kernels: null });

const FOLDER = '../docs/screenshots';

/** Where to put a picture of each width in both themes, to judge by eye; nowhere by default. */
const LOOK = process.env.KERNELDOCTOR_LOOK;

async function look(
  page: IJupyterLabPageFixture,
  report: Locator,
  name: string
): Promise<void> {
  for (const theme of LOOK ? ['light', 'dark'] : []) {
    await (theme === 'dark'
      ? page.theme.setDarkTheme()
      : page.theme.setLightTheme());
    for (const width of [300, 420, 900]) {
      await page.setViewportSize({ width: width + 500, height: 1500 });
      await page.sidebar.setWidth(width, 'right');
      await page.waitForTimeout(700);
      await report.screenshot({
        path: `${LOOK}/${name}-${theme}-${width}.png`
      });
    }
  }
}

// The table of the demo, with more rows, as the limit is higher here.
const WRITE = `import sys
sys.path.append("${process.cwd()}/../demo")
import make_data
make_data.ROWS = 450_000
make_data.main("sales.csv")`;

const READ = `sales = pd.read_csv("sales.csv")
sales["column_3"].value_counts()`;

const DEADLOCK = `import threading

lock = threading.Lock()

def total(prices):
    with lock:
        return sum(prices)

with lock:
    print(total([12, 7, 30]))`;

// Not a test of its own: pictures of the panel after real deaths, for the documentation.
test('the panel after a kernel ran out of memory', async ({
  page,
  tmpPath
}) => {
  await page.setViewportSize({ width: 1280, height: 1000 });
  await openNotebook(page, tmpPath, 'eda.ipynb', [
    '%load_ext kerneldoctor',
    WRITE,
    'import ctypes\nctypes.string_at(0)'
  ]);
  await die(page, 2);
  await showWhy(page, 'eda.ipynb');
  await toast(page, 'The restarted kernel').getByRole('button').click();

  // As in demo/demo.ipynb, which the guide runs.
  await openNotebook(page, tmpPath, 'sales.ipynb', [
    '%load_ext kerneldoctor',
    'import pandas as pd',
    READ
  ]);
  await page.sidebar.close('left');
  await page.sidebar.setWidth(430, 'right');
  await die(page, 2);
  const report = await showWhy(page, 'sales.ipynb');
  await toast(page, 'The restarted kernel').getByRole('button').click();
  await expect(toast(page, '')).toHaveCount(0);
  await expect(report).toContainText('ran out of memory');
  await expect(report.locator('figure svg')).toBeVisible();
  await page.screenshot({ path: `${FOLDER}/jupyterlab.png` });

  await page.setViewportSize({ width: 1280, height: 1900 });
  for (const theme of ['light', 'dark'] as const) {
    if (theme === 'dark') {
      await page.theme.setDarkTheme();
    }
    for (const [name, width] of [
      ['narrow', 300],
      ['wide', 430]
    ] as const) {
      await page.sidebar.setWidth(width, 'right');
      await page.waitForTimeout(500);
      await report.screenshot({ path: `${FOLDER}/panel-${theme}-${name}.png` });
    }
  }

  await look(page, report, 'death');
  await page.theme.setLightTheme();
  await page.sidebar.setWidth(430, 'right');
  await page.setViewportSize({ width: 1280, height: 800 });
  const shot = async (name: string, shown: Locator) => {
    await shown.scrollIntoViewIfNeeded();
    await page.waitForTimeout(500);
    await page.screenshot({ path: `${FOLDER}/${name}.png` });
  };
  await report.getByRole('button', { name: 'Try it first' }).first().click();
  await report.getByRole('button', { name: 'Run them' }).click();
  const outcome = report.getByText(/^Lived: /);
  await shot('tried', outcome);
  await report.getByRole('button', { name: 'Apply to cell [3]' }).click();
  const again = report.getByRole('button', {
    name: 'Restart and run cells 1 to 3'
  });
  await shot('applied', again);
  await again.click();
  await expect(outcome).toHaveCount(2);
  await shot('lived', outcome.last());
});

test('the panel of a kernel that is stuck', async ({ page, tmpPath }) => {
  await page.setViewportSize({ width: 1280, height: 1000 });
  await openNotebook(page, tmpPath, 'prices.ipynb', [
    '%load_ext kerneldoctor',
    DEADLOCK
  ]);
  await run(page, 0, 1);
  await page.sidebar.close('left');
  await start(page, 1);
  const report = await openPanel(page);
  await page.sidebar.setWidth(430, 'right');
  await expect(report.getByRole('heading', { level: 2 })).toContainText(
    'is stuck'
  );
  await page.waitForTimeout(500);
  await page.screenshot({ path: `${FOLDER}/stuck.png` });
  await interrupt(page);
  await prompt(page, 1, '[2]:');
});

const LOAD_FRAMES = `import numpy as np

orders = np.ones((3_000_000, 10))`;

const JOIN = `customers = np.ones((800_000, 10))
joined = np.hstack([orders[:800_000], customers])
del customers`;

test('the panel of a kernel that runs', async ({ page, tmpPath }) => {
  await page.setViewportSize({ width: 1280, height: 1000 });
  await openNotebook(page, tmpPath, 'notes.ipynb', [
    '%load_ext kerneldoctor',
    'text = "x" * 40_000_000'
  ]);
  await run(page, 0, 1);
  await run(page, 1, 2);
  await openNotebook(page, tmpPath, 'orders.ipynb', [
    '%load_ext kerneldoctor',
    LOAD_FRAMES,
    JOIN
  ]);
  await page.sidebar.close('left');
  const report = await openPanel(page);
  await page.sidebar.setWidth(420, 'right');
  await run(page, 0, 1);
  await run(page, 1, 2);
  await run(page, 2, 3);
  await expect(report.getByRole('table')).toContainText('[3]');
  await expect(report).toContainText('notes.ipynb', { timeout: 60_000 });
  await page.waitForTimeout(1500);
  await page.screenshot({ path: `${FOLDER}/live.png` });
  await look(page, report, 'live');
});
