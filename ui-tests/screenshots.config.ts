import { PlaywrightTestConfig } from '@playwright/test';
import tests from './playwright.config';

/** The pictures for the documentation: the same JupyterLab, under a memory limit. */
const config: PlaywrightTestConfig = {
  ...tests,
  testDir: 'screenshots',
  webServer: [tests.webServer!].flat().map(server => ({
    ...server,
    command: 'jlpm start:limited'
  }))
};

export default config;
