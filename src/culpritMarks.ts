import type { Cell } from '@jupyterlab/cells';
import { NotebookActions } from '@jupyterlab/notebook';
import { PanelLayout, Widget } from '@lumino/widgets';
import { IRecordingRow, IReport } from './api';
import { PostMortems } from './model';
import { findCell } from './notebookCells';
import { Notebooks } from './notebooks';
import { StoredSet } from './storedSet';

const CULPRIT = 'jp-KernelDoctor-culpritCell';

/** Makes the line below a cell that ended a kernel. */
export type MakeLine = (report: IReport, close: () => void) => Widget;

/**
 * Marks the cells that ended a kernel, as long as their code is the code that ran, until they run through.
 *
 * Below such a cell a line says what happened, with the fix. It blocks nothing, and can be closed.
 */
export class CulpritMarks {
  constructor(
    private readonly _model: Pick<PostMortems, 'cases' | 'changed'>,
    private readonly _notebooks: Pick<Notebooks, 'find' | 'changed'>,
    private readonly _read: (recording: string) => Promise<IReport>,
    private readonly _makeLine: MakeLine
  ) {
    _model.changed.connect(() => this._update());
    _notebooks.changed.connect(() => this._update());
    NotebookActions.executed.connect((_, { cell, success }) => {
      if (success && this._marked.has(cell)) {
        this._lived.add(this._marked.get(cell)!.recording);
        this._update();
      }
    });
  }

  /** Mark them, or take the marks away. */
  set isOn(isOn: boolean) {
    this._isOn = isOn;
    this._update();
  }

  private _update(): void {
    const wanted = this._isOn ? this._wanted() : new Map<Cell, IReport>();
    for (const [cell, report] of this._marked) {
      if (wanted.get(cell) !== report) {
        cell.removeClass(CULPRIT);
        this._removeLine(cell);
      }
    }
    this._marked = wanted;
    for (const [cell, report] of wanted) {
      cell.addClass(CULPRIT);
      if (!this._lines.has(cell) && !this._closed.has(report.recording)) {
        this._addLine(cell, report);
      }
    }
  }

  /** The marked cells of all open notebooks, each with the newest death in it. */
  private _wanted(): Map<Cell, IReport> {
    const wanted = new Map<Cell, IReport>();
    for (const row of this._newest()) {
      for (const panel of this._notebooks.find(row)) {
        const cell = findCell(panel, { cell_id: row.cell_id!, source: '' });
        const report = cell && this._report(row.recording);
        const source = cell?.model.sharedModel.getSource();
        if (report && report.cell?.source === source) {
          wanted.set(cell, report);
        }
      }
    }
    return wanted;
  }

  private _newest(): IRecordingRow[] {
    const seen = new Set<string>();
    return this._model.cases.filter(row => {
      const key = JSON.stringify([row.notebook ?? row.kernel_id, row.cell_id]);
      const isNewest = row.state === 'died' && row.cell_id && !seen.has(key);
      seen.add(key);
      return isNewest && !this._lived.has(row.recording);
    });
  }

  /** Return a report that was read; null while it is on its way. */
  private _report(recording: string): IReport | null {
    if (!this._reports.has(recording)) {
      this._reports.set(recording, null);
      this._read(recording)
        .then(report => {
          this._reports.set(recording, report);
          this._update();
        })
        .catch(() => undefined);
    }
    return this._reports.get(recording) ?? null;
  }

  private _addLine(cell: Cell, report: IReport): void {
    const line = this._makeLine(report, () => {
      this._closed.add(report.recording);
      this._removeLine(cell);
      // Where the focus was is gone.
      cell.node.focus();
    });
    this._lines.set(cell, line);
    // A cell has no content before it is scrolled to.
    void cell.ready.then(() => {
      const layout = cell.layout as PanelLayout | null;
      const input = cell.inputArea?.parent;
      if (layout && input && !line.isDisposed) {
        layout.insertWidget(layout.widgets.indexOf(input) + 1, line);
      }
    });
  }

  private _removeLine(cell: Cell): void {
    this._lines.get(cell)?.dispose();
    this._lines.delete(cell);
  }

  private _isOn = true;
  private _marked = new Map<Cell, IReport>();
  private readonly _lines = new Map<Cell, Widget>();
  private readonly _reports = new Map<string, IReport | null>();
  private readonly _closed = new StoredSet('jupyter-kerneldoctor:closed');
  private readonly _lived = new StoredSet('jupyter-kerneldoctor:lived');
}
