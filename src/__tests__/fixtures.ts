import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { nullTranslator } from '@jupyterlab/translation';
import { YNotebook } from '@jupyter/ydoc';
import { Signal } from '@lumino/signaling';
import { IEdit, IFix, IIncident, IRecordingRow, IReport } from '../api';

export const trans = nullTranslator.load('jupyter_kerneldoctor');

export const OLD = 'for x in loader:\n    losses.append(loss)\n';
export const NEW = 'for x in loader:\n    losses.append(loss.item())\n';

export function edit(change: Partial<IEdit> = {}): IEdit {
  return {
    execution_count: 8,
    cell_id: 'c8',
    old_source: OLD,
    new_source: NEW,
    diff: '--- \n+++ \n@@ -1,2 +1,2 @@\n for x in loader:\n-    losses.append(loss)\n+    losses.append(loss.item())\n',
    ...change
  };
}

export function fix(change: Partial<IFix> = {}): IFix {
  return {
    id: 'detach-accumulated-loss',
    title: 'Keep the number, not the graph',
    why: 'Every step kept its computation graph.',
    applicability: 'safe',
    snippet: null,
    edits: [edit()],
    explained_bytes: 1.6 * 2 ** 30,
    expected_peak_bytes: null,
    docs: 'kerneldoctor/docs/fixes/detach-accumulated-loss',
    ...change
  };
}

const plainCause = { family: 'other', not_known: null, usual_reasons: [] };

export function report(change: Partial<IReport> = {}): IReport {
  return {
    recording: 'r1',
    kernel_id: 'k1',
    notebook: '/srv/notebooks/work/train.ipynb',
    started_by: null,
    started: '2026-11-21T14:02:11Z',
    ended: '2026-11-21T14:03:08Z',
    pid: 1,
    state: 'died',
    died: true,
    loaded_by: 'startup',
    no_stacks: null,
    memory_shape: null,
    recurrence: null,
    other_cells: [],
    statement: null,
    grown: [],
    more_fixes: [],
    fixes_left_out: null,
    free_first: null,
    incidents: [],
    end: {
      kind: 'signal',
      signal: 'SIGKILL',
      exit_code: null,
      summary: "Killed by Linux at the container's limit",
      seen: true
    },
    cause: 'oom-cgroup',
    confidence: 0.98,
    certainty: 'proven',
    general: false,
    headline: 'The kernel ran out of memory in cell [8].',
    story: 'Cell [8] began with 2.4 GiB in use.',
    causes: [
      {
        ...plainCause,
        id: 'oom-cgroup',
        family: 'memory',
        confidence: 0.98,
        certainty: 'proven',
        general: false,
        title: 'Out of memory',
        docs: 'kerneldoctor/docs/causes/oom-cgroup',
        evidence: [
          {
            text: 'Linux counted one out-of-memory kill.',
            value: 2 ** 32,
            unit: 'bytes',
            source: 'memory.events',
            certainty: 'proven'
          }
        ]
      }
    ],
    ruled_out: ['Nobody stopped it by hand.'],
    cell: {
      execution_count: 8,
      cell_id: 'c8',
      source: OLD,
      truncated: false,
      line: 2,
      line_source: '    losses.append(loss)'
    },
    fixes: [fix()],
    timeline: null,
    ...change
  };
}

export function incident(change: Partial<IIncident> = {}): IIncident {
  return {
    ...plainCause,
    id: 'gpu-oom',
    kind: 'cuda-out-of-memory',
    confidence: 0.9,
    certainty: 'strong',
    general: false,
    title: 'The graphics card ran out of memory',
    docs: 'kerneldoctor/docs/causes/gpu-oom',
    evidence: [],
    headline: 'The graphics card had no room in cell [3].',
    error: 'torch.OutOfMemoryError',
    time: '2026-11-21T14:02:40Z',
    cell: null,
    ...change
  };
}

/** A kernel that lives; the report is about what it survived last. */
export function survivor(incidents: IIncident[]): Partial<IReport> {
  const latest = incidents[incidents.length - 1];
  return {
    state: 'survived',
    ended: null,
    end: {
      kind: 'running',
      signal: null,
      exit_code: null,
      summary: 'Survived, still running',
      seen: true
    },
    cause: latest.id,
    confidence: latest.confidence,
    certainty: latest.certainty,
    general: latest.general,
    headline: latest.headline,
    causes: [latest],
    story: null,
    ruled_out: [],
    fixes: [],
    incidents
  };
}

export function row(change: Partial<IRecordingRow> = {}): IRecordingRow {
  return {
    recording: 'r1',
    kernel_id: 'k1',
    pid: 1,
    notebook: '/srv/notebooks/work/train.ipynb',
    started: '2026-11-21T14:02:11Z',
    ended: '2026-11-21T14:03:08Z',
    cause: 'oom-cgroup',
    headline: 'The kernel ran out of memory in cell [8].',
    state: 'died',
    died: true,
    loaded_by: 'startup',
    ...change
  };
}

/** An open notebook whose cells are those of a real shared document, with its undo history. */
export function openNotebook(
  cells: { id: string; source: string; editable?: boolean; text?: boolean }[],
  path = 'work/train.ipynb',
  kernel = 'k1'
) {
  const document = new YNotebook();
  // ydoc reads its cells before they are in the document, and yjs complains about that.
  const quiet = jest.spyOn(console, 'warn').mockImplementation();
  for (const { id, source, text } of cells) {
    document.addCell({ cell_type: text ? 'markdown' : 'code', id, source });
  }
  quiet.mockRestore();
  document.clearUndoHistory();
  const owner = {};
  const contentChanged = new Signal<unknown, void>(owner);
  document.cells.forEach(cell =>
    cell.changed.connect(() => contentChanged.emit())
  );
  const panel = {
    id: `panel-${path}`,
    sessionContext: {
      session: { kernel: { id: kernel, status: 'busy' } },
      kernelChanged: new Signal(owner),
      statusChanged: new Signal(owner)
    },
    context: {
      localPath: path,
      ready: Promise.resolve(),
      model: { contentChanged }
    },
    disposed: new Signal(owner),
    content: {
      mode: 'command',
      scrollToCell: jest.fn(() => Promise.resolve()),
      widgets: document.cells.map((cell, i) => ({
        editor: {
          setCursorPosition: jest.fn(),
          setSelection: jest.fn(),
          getLine: (line: number) => cell.getSource().split('\n')[line],
          lineCount: cell.getSource().split('\n').length,
          host: window.document.createElement('div')
        },
        model: {
          id: cell.id,
          sharedModel: cell,
          getMetadata: () => cells[i].editable
        }
      }))
    }
  };
  return { document, panel: panel as unknown as NotebookPanel };
}

export function trackerOf(...panels: NotebookPanel[]): INotebookTracker {
  return {
    forEach: (visit: (panel: NotebookPanel) => void) => panels.forEach(visit),
    currentWidget: panels[0] ?? null,
    currentChanged: new Signal({}),
    widgetAdded: new Signal({})
  } as unknown as INotebookTracker;
}
