import { existsSync } from 'fs';
import { defineConfig } from '@playwright/test';

// eslint-disable-next-line @typescript-eslint/no-require-imports
const base = require('@jupyterlab/galata/lib/playwright-config');

const port = Number(process.env.KERNELDOCTOR_UI_PORT ?? 8899);
/** The server of a JupyterHub has a prefix and a token. */
const HUB = '/user/ada/';
export const TOKEN = 'kerneldoctor-ui-tests';
const address = (port: number) => `http://127.0.0.1:${port}`;

/** A server of each worker's own: deaths are shown in every page that a server serves. */
const WORKERS = 2;
export const addressFor = (worker: number): string =>
  address(port + 10 * worker);

/** A server of the tests. */
const server = (
  port: number,
  env: Record<string, string> = {},
  path = '/lab'
) => ({
  command: 'jlpm start',
  env: { KERNELDOCTOR_UI_PORT: String(port), ...env },
  url: address(port) + path,
  timeout: 120_000,
  reuseExistingServer: false,
  // So that it can tidy up.
  gracefulShutdown: { signal: 'SIGTERM' as const, timeout: 10_000 }
});

// Debian's Chromium where there is one; else the browser that Playwright has downloaded.
const chromium = '/usr/bin/chromium';

export default defineConfig({
  ...base,
  testDir: 'tests',
  workers: WORKERS,
  // On a loaded machine JupyterLab itself may not start a kernel in time; such a test is reported as flaky.
  retries: process.env.CI ? 1 : 0,
  timeout: 120_000,
  expect: { timeout: 30_000 },
  reporter: [['list']],
  use: {
    ...base.use,
    baseURL: addressFor(0),
    video: 'off',
    launchOptions: {
      executablePath: existsSync(chromium) ? chromium : undefined,
      args: ['--no-sandbox']
    }
  },
  projects: [
    { name: 'on-request', testIgnore: ['all-kernels.spec.ts', 'hub.spec.ts'] },
    {
      name: 'all-kernels',
      testMatch: 'all-kernels.spec.ts',
      use: { baseURL: address(port + 1) }
    },
    {
      name: 'hub',
      testMatch: 'hub.spec.ts',
      use: { baseURL: address(port + 2) + HUB }
    }
  ],
  // Some watch the kernels that load KernelDoctor, one, as it is by default, every kernel; one is as on a JupyterHub.
  webServer: [
    ...Array.from({ length: WORKERS }, (_, worker) =>
      server(port + 10 * worker)
    ),
    server(port + 1, { KERNELDOCTOR_UI_WATCH_ALL: 'yes' }),
    server(
      port + 2,
      { KERNELDOCTOR_UI_TOKEN: TOKEN },
      `${HUB}lab?token=${TOKEN}`
    )
  ]
});
