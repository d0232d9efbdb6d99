import {
  expect,
  IJupyterLabPageFixture,
  test as galata
} from '@jupyterlab/galata';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { Locator, Page } from '@playwright/test';
import { addressFor } from '../playwright.config';

/** The cells of the notebook that is in front. */
const CELLS = '.jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook-cell';

/**
 * What JupyterLab says of itself, with our name in the stack: it warns of a slow start, which is the machine's; and it
 * leaves the rejection unhandled where a kernel is restarted before it has answered JupyterLab's own first question.
 */
const JUPYTERLABS_OWN =
  /took .*ms to activate|Canceled future for kernel_info_request/;

/** Galata's test, which fails where the browser's console has an error or a warning about us. */
export const test = galata.extend<{ console: void }>({
  baseURL: async ({ baseURL }, use, { parallelIndex, project }) => {
    await use(
      project.name === 'on-request' ? addressFor(parallelIndex) : baseURL
    );
  },
  console: [
    async ({ page }, use) => {
      const complaints = complaintsOf(page);
      await use();
      expect(complaints).toEqual([]);
    },
    { auto: true }
  ]
});

/** Returns the errors and warnings about us in the console, now and later. */
export function complaintsOf(page: Pick<Page, 'on'>): string[] {
  const complaints: string[] = [];
  const add = (text: string) => {
    if (/kerneldoctor/i.test(text) && !JUPYTERLABS_OWN.test(text)) {
      complaints.push(text);
    }
  };
  page.on('console', message => {
    if (['error', 'warning'].includes(message.type())) {
      add(`${message.type()} at ${message.location().url}: ${message.text()}`);
    }
  });
  page.on('pageerror', error => add(`${error.stack ?? error}`));
  return complaints;
}

/** As below `ulimit -v`: the kernel may have some hundred MiB more than it has reserved by then. */
export const LIMIT = `import resource
pages = int(open("/proc/self/statm").read().split()[0])
most = pages * resource.getpagesize() + 400_000_000
resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))`;
/** Asks for more than that. */
export const GROW =
  'kept = []\nfor i in range(1000):\n    kept.append(b"x" * 20_000_000)';

/** A notebook with these code cells. */
export function notebookOf(cells: string[]): object {
  return {
    cells: cells.map((source, i) => ({
      cell_type: 'code',
      id: `cell-${i + 1}`,
      metadata: {},
      execution_count: null,
      outputs: [],
      source
    })),
    metadata: {
      kernelspec: {
        display_name: 'Python 3',
        language: 'python',
        name: 'python3'
      }
    },
    nbformat: 4,
    nbformat_minor: 5
  };
}

/** Opens a new notebook with these code cells, and waits for its kernel. */
export async function openNotebook(
  page: IJupyterLabPageFixture,
  folder: string,
  name: string,
  cells: string[]
): Promise<void> {
  await page.contents.uploadContent(
    JSON.stringify(notebookOf(cells)),
    'text',
    `${folder}/${name}`
  );
  await page.notebook.openByPath(`${folder}/${name}`);
  await page.notebook.activate(name);
  await page.getByText('| Idle').waitFor();
}

/** Runs the cells before this one, then this one, which kills the kernel; closes JupyterLab's own notice. */
export async function die(
  page: IJupyterLabPageFixture,
  fatal: number,
  first = 0
): Promise<void> {
  for (let i = first; i < fatal; i++) {
    await run(page, i, i + 1);
  }
  await start(page, fatal);
  await notice(page).getByRole('button', { name: 'Ok' }).click();
}

/**
 * Runs a cell, and waits for its number.
 *
 * Galata's own runCell waits for the kernel's status, which stays at "Starting" after a restart in JupyterLab 4.6.
 */
export async function run(
  page: IJupyterLabPageFixture,
  cell: number,
  count: number
): Promise<void> {
  await start(page, cell);
  await prompt(page, cell, `[${count}]:`);
}

export async function prompt(
  page: IJupyterLabPageFixture,
  cell: number,
  text: string
): Promise<void> {
  await page.locator(CELLS).nth(cell).getByText(text).waitFor();
}

/** Runs a cell without waiting for it. */
export async function start(
  page: IJupyterLabPageFixture,
  cell: number
): Promise<void> {
  await page.notebook.selectCells(cell);
  await page.evaluate(cell => {
    const { content } = window.jupyterapp.shell.currentWidget as NotebookPanel;
    content.activeCellIndex = cell; // a page under load may still be about to select it
    void window.jupyterapp.commands.execute('notebook:run-cell');
  }, cell);
}

export function toast(page: IJupyterLabPageFixture, text: string): Locator {
  return page.locator('.Toastify__toast', { hasText: text });
}

export function panel(page: IJupyterLabPageFixture): Locator {
  return page.locator('#kerneldoctor-panel');
}

/** Changes a setting, as the settings editor does. */
export async function changeSetting(
  page: IJupyterLabPageFixture,
  name: string,
  value: boolean
): Promise<void> {
  await page.evaluate(
    async ([name, value]) => {
      const settings = await window.galata.getPlugin(
        '@jupyterlab/apputils-extension:settings'
      );
      await settings!.set('jupyter-kerneldoctor:plugin', name, value);
    },
    [name, value] as const
  );
}

/** Opens the panel as from the command palette. */
export async function openPanel(
  page: IJupyterLabPageFixture
): Promise<Locator> {
  await page.evaluate(() =>
    window.jupyterapp.commands.execute('kerneldoctor:open')
  );
  await expect(panel(page)).toBeVisible();
  return panel(page);
}

/** Asks until this is said: a kernel takes a moment to get where it stays, and the recorder to learn to read it. */
export async function askUntil(
  panel: Locator,
  said: (now: Locator) => Promise<void>
): Promise<Locator> {
  const now = panel.getByRole('region', { name: 'The kernel now' });
  const asks = /^(What is it doing\?|Ask again)$/;
  await expect(async () => {
    await now.getByRole('button', { name: asks }).click();
    await said(now);
  }).toPass({ timeout: 60_000 });
  return now;
}

/** Interrupts the kernel of the notebook in front; Galata cannot let the menu's own request through. */
export async function interrupt(page: IJupyterLabPageFixture): Promise<void> {
  const kernel = await page.evaluate(() => {
    const notebook = window.jupyterapp.shell.currentWidget as NotebookPanel;
    return notebook.sessionContext.session!.kernel!.id;
  });
  await page.request.post(`/api/kernels/${kernel}/interrupt`);
}

/** Adds to what the server tells of the kernel in front, on its way to the page, which is loaded anew. */
export async function retell(
  page: IJupyterLabPageFixture,
  more: (live: { running: object | null; is_recorded: boolean }) => object
): Promise<void> {
  await page.routeWebSocket(/kerneldoctor\/live/, socket => {
    const server = socket.connectToServer();
    server.onMessage(message => {
      const live = JSON.parse(String(message));
      socket.send(JSON.stringify({ ...live, ...more(live) }));
    });
  });
  await page.reload();
}

/** JupyterLab's own notice of a death. */
export function notice(page: IJupyterLabPageFixture): Locator {
  return page.locator('.jp-Dialog', { hasText: 'appears to have died' });
}

/** Waits for the panel, which opens by itself when the kernel of the notebook in front dies. */
export async function showWhy(
  page: IJupyterLabPageFixture,
  notebook: string
): Promise<Locator> {
  await expect(panel(page)).toBeVisible();
  await expect(panel(page).locator('.jp-KernelDoctor-bar')).toContainText(
    notebook
  );
  await expect(panel(page).getByRole('article')).toBeVisible();
  return panel(page);
}
