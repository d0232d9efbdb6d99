import { PlaywrightTestConfig } from '@playwright/test';
import tests from './playwright.config';

/** The pictures for the documentation: the same JupyterLab, under a memory limit. */
const config: PlaywrightTestConfig = {
  ...tests,
  testDir: 'screenshots',
  // No tests: a busy machine may take its time.
  timeout: 900_000,
  expect: { timeout: 180_000 },
  // They follow one another, with one server.
  workers: 1,
  projects: [{ name: 'screenshots' }],
  webServer: [tests.webServer!]
    .flat()
    .slice(0, 1)
    .map(server => ({ ...server, command: 'jlpm start:limited' }))
};

export default config;
