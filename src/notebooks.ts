import type { Cell } from '@jupyterlab/cells';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { ISignal, Signal } from '@lumino/signaling';
import { IEdit, IReport } from './api';

/** Where a recording was made. */
export type Place = Pick<IReport, 'kernel_id' | 'notebook'>;

/** How to recognise a cell; without an id, by its source. */
export interface ICellRef {
  cell_id: string | null;
  source: string;
}

/** Whether a cell can be shown. */
export type CellState = 'ready' | 'closed' | 'missing';

/** Whether an edit can be applied. */
export type EditState = CellState | 'changed' | 'locked' | 'applied';

/** The running kernel of the notebook in front. */
export interface ICurrentKernel {
  kernel_id: string;
  path: string;
  status: 'idle' | 'busy' | 'other';
}

export interface INotebooks {
  /** Emitted when an open notebook, its kernel, or a cell in it may have changed. */
  readonly changed: ISignal<INotebooks, void>;
  readonly currentKernel: ICurrentKernel | null;
  cellState(place: Place, ref: ICellRef): CellState;
  goTo(place: Place, ref: ICellRef, line: number | null): Promise<void>;
  editState(place: Place, edits: IEdit[]): EditState;
  /** Apply all edits or none; return the new `editState`. */
  apply(place: Place, edits: IEdit[]): EditState;
}

/** Finds the notebook of a recording among the open ones, and changes its cells. */
export class Notebooks implements INotebooks {
  constructor(
    private readonly _tracker: INotebookTracker,
    private readonly _activate: (id: string) => void,
    private readonly _serverRoot: string
  ) {
    _tracker.forEach(panel => this._watch(panel));
    _tracker.widgetAdded.connect((_, panel) => this._watch(panel));
    _tracker.currentChanged.connect(() => this._changed.emit());
  }

  get currentKernel(): ICurrentKernel | null {
    const panel = this._tracker.currentWidget;
    const kernel = panel?.sessionContext.session?.kernel;
    if (!panel || !kernel || kernel.status === 'dead') {
      return null;
    }
    const { status } = kernel;
    return {
      kernel_id: kernel.id,
      path: panel.context.localPath,
      status: status === 'idle' || status === 'busy' ? status : 'other'
    };
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  cellState(place: Place, ref: ICellRef): CellState {
    const panels = this._find(place);
    if (panels.length === 0) {
      return 'closed';
    }
    return panels.some(panel => findCell(panel, ref)) ? 'ready' : 'missing';
  }

  async goTo(place: Place, ref: ICellRef, line: number | null): Promise<void> {
    for (const panel of this._find(place)) {
      const cell = findCell(panel, ref);
      if (cell) {
        this._activate(panel.id);
        await panel.content.scrollToCell(cell, 'smart');
        panel.content.mode = 'edit';
        if (line !== null) {
          cell.editor?.setCursorPosition({ line: line - 1, column: 0 });
        }
        return;
      }
    }
  }

  editState(place: Place, edits: IEdit[]): EditState {
    const panels = this._find(place);
    if (panels.length === 0) {
      return 'closed';
    }
    const states = edits.map(edit => stateOf(cellToEdit(panels, edit), edit));
    const obstacle = states.find(
      state => state !== 'ready' && state !== 'applied'
    );
    // A fix that is half applied is applied again: its finished part stays as it is.
    return obstacle ?? (states.includes('ready') ? 'ready' : 'applied');
  }

  apply(place: Place, edits: IEdit[]): EditState {
    if (this.editState(place, edits) === 'ready') {
      const panels = this._find(place);
      for (const edit of edits) {
        const found = cellToEdit(panels, edit);
        if (found && stateOf(found, edit) === 'ready') {
          // The shared model is what the editor's undo history follows.
          found.cell.model.sharedModel.setSource(edit.new_source);
        }
      }
    }
    return this.editState(place, edits);
  }

  /** Find open notebooks by kernel id, which survives a restart, then by path. */
  private _find(place: Place): NotebookPanel[] {
    const byKernel: NotebookPanel[] = [];
    const byPath: NotebookPanel[] = [];
    this._tracker.forEach(panel => {
      const kernel = panel.sessionContext.session?.kernel;
      if (place.kernel_id !== null && kernel?.id === place.kernel_id) {
        byKernel.push(panel);
      } else if (
        place.notebook !== null &&
        samePath(place.notebook, panel.context.localPath, this._serverRoot)
      ) {
        byPath.push(panel);
      }
    });
    return [...byKernel, ...byPath];
  }

  private _watch(panel: NotebookPanel): void {
    const emit = () => this._changed.emit();
    panel.context.model.contentChanged.connect(emit);
    panel.sessionContext.kernelChanged.connect(emit);
    panel.sessionContext.statusChanged.connect(emit);
    panel.disposed.connect(emit);
    void panel.context.ready.then(emit);
  }

  private readonly _changed = new Signal<this, void>(this);
}

/** Compare a recorded path, from the root of the disk, with an open one, from the server's folder. */
function samePath(recorded: string, open: string, root: string): boolean {
  const path = `${root.replace(/\/+$/, '')}/${open}`;
  if (root.startsWith('/')) {
    return recorded === path;
  }
  // A folder below the user's home is given as `~/work`.
  return recorded === open || recorded.endsWith(path.replace(/^~/, ''));
}

function findCell(panel: NotebookPanel, ref: ICellRef): Cell | null {
  const cells = panel.content.widgets;
  if (ref.cell_id !== null) {
    return cells.find(cell => cell.model.id === ref.cell_id) ?? null;
  }
  const same = cells.filter(
    cell => cell.model.sharedModel.getSource() === ref.source
  );
  return same.length === 1 ? same[0] : null;
}

interface ICellFound {
  cell: Cell;
  panel: NotebookPanel;
}

function cellToEdit(panels: NotebookPanel[], edit: IEdit): ICellFound | null {
  for (const source of [edit.old_source, edit.new_source]) {
    for (const panel of panels) {
      const cell = findCell(panel, { cell_id: edit.cell_id, source });
      if (cell) {
        return { cell, panel };
      }
    }
  }
  return null;
}

function stateOf(found: ICellFound | null, edit: IEdit): EditState {
  if (!found) {
    return 'missing';
  }
  const { cell, panel } = found;
  const source = cell.model.sharedModel.getSource();
  if (source === edit.new_source) {
    return 'applied';
  }
  if (source !== edit.old_source) {
    return 'changed';
  }
  return panel.context.model.readOnly ||
    cell.model.getMetadata('editable') === false
    ? 'locked'
    : 'ready';
}
