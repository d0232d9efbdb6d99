const jestJupyterLab = require('@jupyterlab/testing/lib/jest-config');

// Packages that come as ES modules only, which Jest has to transform.
const esModules = [
  '@codemirror',
  '@jupyter/',
  '@jupyterlab/',
  '@microsoft/',
  '@rjsf/',
  'exenv-es6',
  'lib0',
  'nanoid',
  'vscode-ws-jsonrpc',
  'y-protocols',
  'y-websocket',
  'yjs'
].join('|');

const base = jestJupyterLab(__dirname);

module.exports = {
  ...base,
  reporters: ['default'],
  collectCoverage: false,
  testRegex: 'src/__tests__/.*\\.spec\\.tsx?$',
  // Environments of other front ends lie there.
  modulePathIgnorePatterns: ['<rootDir>/build/'],
  transform: {
    ...base.transform,
    '^.+\\.tsx?$': ['ts-jest', { tsconfig: 'tsconfig.test.json' }]
  },
  transformIgnorePatterns: [`/node_modules/(?!${esModules}).+`]
};
