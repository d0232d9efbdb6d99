import type { Cell } from '@jupyterlab/cells';
import { TranslationBundle } from '@jupyterlab/translation';
import { bytes } from './format';
import { ILiveFeed } from './live';
import { ILiveCell } from './rest';
import { Notebooks } from './notebooks';

/** Shows below the number of each cell how much memory the kernel used at most while it ran. */
export class PeakMarks {
  constructor(
    private readonly _notebooks: Pick<Notebooks, 'find'>,
    private readonly _live: ILiveFeed,
    private readonly _trans: TranslationBundle
  ) {
    _live.changed.connect(() => this._update());
  }

  /** Show them, or take them away. */
  set isOn(isOn: boolean) {
    this._isOn = isOn;
    for (const cell of isOn ? [] : this._marked) {
      this._mark(cell, null);
    }
    this._update();
  }

  private _update(): void {
    const { shown } = this._live;
    if (!this._isOn || !shown?.cells) {
      return;
    }
    // The newest run of a cell is the last.
    const rows = new Map(shown.cells.map(row => [row.cell_id, row]));
    for (const panel of this._notebooks.find({ ...shown, notebook: null })) {
      for (const cell of panel.content.widgets) {
        const row = rows.get(cell.model.id);
        const isOver = row && row.end_s !== null && row.peak_bytes !== null;
        this._mark(cell, isOver ? row : null);
      }
    }
  }

  private _mark(cell: Cell, row: ILiveCell | null): void {
    const prompt = cell.promptNode;
    if (!prompt) {
      // It is not drawn before it is scrolled to.
      void cell.ready.then(() => cell.promptNode && this._update());
    } else if (row?.peak_bytes) {
      prompt.dataset.kerneldoctorPeak = bytes(row.peak_bytes);
      prompt.title = this._words(row);
      this._marked.add(cell);
    } else if (this._marked.delete(cell)) {
      delete prompt.dataset.kerneldoctorPeak;
      prompt.removeAttribute('title');
    }
  }

  private _words({ peak_bytes, took_bytes }: ILiveCell): string {
    const peak = bytes(peak_bytes ?? 0);
    return took_bytes === null
      ? this._trans.__('Peak of the memory: %1', peak)
      : this._trans.__(
          'Peak of the memory: %1, %2 above the start of the cell',
          peak,
          bytes(Math.max(0, took_bytes))
        );
  }

  private _isOn = true;
  private readonly _marked = new Set<Cell>();
}
