import type { Cell } from '@jupyterlab/cells';
import { NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import { PanelLayout, Widget } from '@lumino/widgets';
import { IRecordingRow, IReport } from './api';
import { caseOf, wentWrong } from './incidents';
import { PostMortems } from './model';
import { findCell } from './notebookCells';
import { Notebooks } from './notebooks';
import { StoredSet } from './storedSet';

const CULPRIT = 'jp-KernelDoctor-culpritCell';

/** What a cell had to do with a case: it ran, another one called code of it, or it may have run. */
export interface IMark {
  report: IReport;
  role: 'ran' | 'called' | 'queued';
}

/** Makes the line below a marked cell. */
export type MakeLine = (mark: IMark, close: () => void) => Widget;

/**
 * Marks the cells that ended a kernel, or went wrong while it lived on, until they run through or are changed.
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
      const mark = this._marked.get(cell);
      if (success && mark?.role === 'ran') {
        this._lived.add(caseIn(mark.report));
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
    const wanted = this._isOn ? this._wanted() : new Map<Cell, IMark>();
    for (const [cell, { report, role }] of this._marked) {
      const mark = wanted.get(cell);
      if (mark?.report !== report || mark.role !== role) {
        cell.removeClass(CULPRIT);
        this._removeLine(cell);
      }
    }
    this._marked = wanted;
    for (const [cell, mark] of wanted) {
      cell.addClass(CULPRIT);
      if (this._closed.has(caseIn(mark.report))) {
        this._removeLine(cell);
      } else if (!this._lines.has(cell)) {
        this._addLine(cell, mark);
      }
    }
  }

  /** The marked cells of all open notebooks, each with the newest case in it. */
  private _wanted(): Map<Cell, IMark> {
    const wanted = new Map<Cell, IMark>();
    for (const row of this._newest()) {
      const panels = this._notebooks.find(row);
      const report = panels.length > 0 && this._report(row);
      for (const panel of report ? panels : []) {
        for (const [cell, mark] of marksIn(panel, report as IReport)) {
          if (!wanted.has(cell)) {
            wanted.set(cell, mark);
          }
        }
      }
    }
    return wanted;
  }

  private _newest(): IRecordingRow[] {
    const seen = new Set<string>();
    return this._model.cases.filter(row => {
      const key = JSON.stringify([row.notebook ?? row.kernel_id, row.cell_id]);
      const isNewest = wentWrong(row) && row.cell_id && !seen.has(key);
      seen.add(key);
      return isNewest && !this._lived.has(caseOf(row));
    });
  }

  /** Return a report that was read; null while it is on its way. */
  private _report(row: IRecordingRow): IReport | null {
    const key = caseOf(row);
    if (!this._reports.has(key)) {
      this._reports.set(key, null);
      this._read(row.recording)
        .then(report => {
          this._reports.set(key, report);
          this._update();
        })
        .catch(() => undefined);
    }
    return this._reports.get(key) ?? null;
  }

  private _addLine(cell: Cell, mark: IMark): void {
    const line = this._makeLine(mark, () => {
      this._closed.add(caseIn(mark.report));
      this._update();
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
  private _marked = new Map<Cell, IMark>();
  private readonly _lines = new Map<Cell, Widget>();
  private readonly _reports = new Map<string, IReport | null>();
  private readonly _closed = new StoredSet('jupyter-kerneldoctor:closed');
  private readonly _lived = new StoredSet('jupyter-kerneldoctor:lived');
}

function caseIn(report: IReport): string {
  const { incidents } = report;
  const survived = incidents?.[incidents.length - 1]?.headline;
  return caseOf({ ...report, survived });
}

/** Return the cells of a notebook that a case is about; none where the code that did it has changed. */
export function marksIn(
  panel: NotebookPanel,
  report: IReport
): [Cell, IMark][] {
  const { cell: ran, other_cells, statement } = report;
  const called =
    statement && statement.cell_id !== ran?.cell_id
      ? { cell_id: statement.cell_id, source: statement.cell_source }
      : null;
  const wanted = [
    { role: 'ran' as const, place: ran },
    { role: 'called' as const, place: called },
    ...other_cells.map(place => ({ role: 'queued' as const, place }))
  ];
  const marks: [Cell, IMark][] = [];
  for (const { role, place } of wanted) {
    const cell = place?.cell_id
      ? findCell(panel, { cell_id: place.cell_id, source: '' })
      : null;
    if (cell && cell.model.sharedModel.getSource() === place?.source) {
      marks.push([cell, { report, role }]);
    } else if (role === 'ran' || (role === 'called' && cell)) {
      return [];
    }
  }
  return marks;
}
