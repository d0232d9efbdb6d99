import { PlaywrightTestConfig } from '@playwright/test';
import tests from './playwright.config';

/** The pictures for the documentation: the same JupyterLab, under a memory limit. */
const config: PlaywrightTestConfig = {
  ...tests,
  testDir: 'screenshots',
  projects: [{ name: 'screenshots' }],
  webServer: [tests.webServer!]
    .flat()
    .slice(0, 1)
    .map(server => ({ ...server, command: 'jlpm start:limited' }))
};

export default config;
