import { existsSync } from 'fs';
import { defineConfig } from '@playwright/test';

// eslint-disable-next-line @typescript-eslint/no-require-imports
const base = require('@jupyterlab/galata/lib/playwright-config');

const port = process.env.KERNELDOCTOR_UI_PORT ?? '8899';
const url = `http://127.0.0.1:${port}`;

// Debian's Chromium where there is one; else the browser that Playwright has downloaded.
const chromium = '/usr/bin/chromium';

export default defineConfig({
  ...base,
  testDir: 'tests',
  // One server, and deaths are shown in every page that it serves.
  workers: 1,
  // On a loaded machine JupyterLab itself may not start a kernel in time; such a test is reported as flaky.
  retries: process.env.CI ? 1 : 0,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  reporter: [['list']],
  use: {
    ...base.use,
    baseURL: url,
    video: 'off',
    launchOptions: {
      executablePath: existsSync(chromium) ? chromium : undefined,
      args: ['--no-sandbox']
    }
  },
  webServer: {
    command: 'jlpm start',
    env: { KERNELDOCTOR_UI_PORT: port },
    url: `${url}/lab`,
    timeout: 120_000,
    reuseExistingServer: false
  }
});
