import type { Cell } from '@jupyterlab/cells';
import { NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import { ISignal, Signal } from '@lumino/signaling';
import { IReport } from './api';
import { ILiveFeed } from './live';
import { findCell } from './notebookCells';
import { Notebooks } from './notebooks';

/** How the cells up to the culprit ran after a fix. */
export type Rerun =
  | { kind: 'running' }
  /** Bytes are null where the kernel is not recorded. */
  | { kind: 'lived'; peak_bytes: number | null; limit_bytes: number | null }
  /** A cell raised an exception, or the kernel died again. */
  | { kind: 'failed' };

export interface IReruns {
  readonly changed: ISignal<IReruns, void>;
  /** Return how it went; null where nobody has asked. */
  stateOf(report: IReport): Rerun | null;
  /** Return the number that the last cell to run will have, as texts and empty cells have none; null where not open. */
  lastCell(report: IReport): number | null;
  /** Return how many cells are to run where the kernel lived and was only given other code; null where it is gone. */
  changedCells(report: IReport): number | null;
  /** Restart the kernel, and run the cells from the top to the one that died. */
  start(report: IReport): Promise<void>;
  /** Run the changed cells and the one that failed in the kernel as it is: its variables are still there. */
  goOn(report: IReport): Promise<void>;
}

/** The way back after a fix: restarts the kernel and runs the cells again. */
export class Reruns implements IReruns {
  constructor(
    private readonly _notebooks: Notebooks,
    private readonly _live: ILiveFeed
  ) {}

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  stateOf(report: IReport): Rerun | null {
    return this._states.get(report.recording) ?? null;
  }

  lastCell(report: IReport): number | null {
    return this._place(report)?.cells.filter(hasNumber).length ?? null;
  }

  changedCells(report: IReport): number | null {
    const place = report.state === 'survived' ? this._place(report) : null;
    return place && place.changed.length;
  }

  async start(report: IReport): Promise<void> {
    const place = this._place(report);
    const before = this._live.shown?.recording;
    if (place && (await this._run(report, place.panel, place.cells, true))) {
      await this._measure(report, place.cells.filter(hasNumber), before);
    }
  }

  async goOn(report: IReport): Promise<void> {
    const place = this._place(report);
    if (place && (await this._run(report, place.panel, place.changed, false))) {
      this._set(report, LIVED);
    }
  }

  /** Return whether the cells ran to their end; what else came of it is set. */
  private async _run(
    report: IReport,
    { content, sessionContext }: NotebookPanel,
    cells: Cell[],
    restarts: boolean
  ): Promise<boolean> {
    if (this.stateOf(report)?.kind === 'running') {
      return false;
    }
    this._set(report, { kind: 'running' });
    try {
      if (restarts) {
        await sessionContext.restartKernel();
      }
      if (!sessionContext.isReady) {
        // It logs its errors, and raises none.
        throw new Error('The kernel could not be restarted.');
      }
      if (!(await NotebookActions.runCells(content, cells, sessionContext))) {
        throw new Error('A cell raised an exception.');
      }
      return true;
    } catch {
      this._set(report, { kind: 'failed' });
      return false;
    }
  }

  /** Say that it lived, and add the figures once the server tells of the last cell: a busy machine takes its time. */
  private async _measure(
    report: IReport,
    cells: Cell[],
    before: string | undefined
  ): Promise<void> {
    const lived = { ...LIVED };
    this._set(report, lived);
    const last = cells[cells.length - 1]?.model.id;
    for (let i = 0; i < 150 && this.stateOf(report) === lived; i++) {
      const { shown } = this._live;
      const isNew =
        shown?.kernel_id === report.kernel_id && shown.recording !== before;
      const told = isNew ? (shown.cells ?? []) : [];
      if (told.some(cell => cell.cell_id === last && cell.end_s !== null)) {
        this._set(report, {
          kind: 'lived',
          peak_bytes: Math.max(...told.map(cell => cell.peak_bytes ?? 0)),
          limit_bytes: shown?.limit?.bytes ?? null
        });
        return;
      }
      await new Promise(resolve => setTimeout(resolve, 200));
    }
  }

  /** Find the cells up to the one that died, else to the one that a fix changes; of these, the changed and the last. */
  private _place(report: IReport): IPlace | null {
    const edits = report.fixes.flatMap(fix => fix.edits);
    const edited = edits.map(edit => ({ ...edit, source: edit.new_source }));
    const refs = [...(report.cell ? [report.cell] : []), ...edited];
    for (const panel of this._notebooks.find(report)) {
      for (const ref of refs) {
        const cell = findCell(panel, ref);
        if (cell) {
          const { widgets } = panel.content;
          const cells = widgets.slice(0, widgets.indexOf(cell) + 1);
          const found = edited.map(one => findCell(panel, one));
          const changed = cells.filter(
            one =>
              one === cell ||
              (found.includes(one) &&
                edited.some(({ source }) => source === sourceOf(one)))
          );
          return { panel, cells, changed };
        }
      }
    }
    return null;
  }

  private _set(report: IReport, state: Rerun): void {
    this._states.set(report.recording, state);
    this._changed.emit();
  }

  private readonly _states = new Map<string, Rerun>();
  private readonly _changed = new Signal<this, void>(this);
}

interface IPlace {
  panel: NotebookPanel;
  cells: Cell[];
  changed: Cell[];
}

const LIVED: Rerun = { kind: 'lived', peak_bytes: null, limit_bytes: null };

function sourceOf(cell: Cell): string {
  return cell.model.sharedModel.getSource();
}

/** Whether a cell gets a number when it runs. */
function hasNumber({ model: { sharedModel } }: Cell): boolean {
  return sharedModel.cell_type === 'code' && sharedModel.source.trim() !== '';
}
