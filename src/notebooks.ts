import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { ISignal, Signal } from '@lumino/signaling';
import { IEdit, IReport } from './api';
import {
  CellState,
  cellToEdit,
  EditState,
  findCell,
  ICellRef,
  showLine,
  stateOf
} from './notebookCells';
import { openPath, samePath } from './paths';

/** Where a recording was made. */
export type Place = Pick<IReport, 'kernel_id' | 'notebook'>;

/** The notebook that the panel is about: the one in front, or the pinned one. */
export interface INotebookInFront {
  /** From the server's folder. */
  path: string;
  kernel_id: string | null;
}

/** The running kernel of that notebook. */
export interface ICurrentKernel {
  kernel_id: string;
  path: string;
  status: 'idle' | 'busy' | 'other';
}

export interface INotebooks {
  /** Emitted when an open notebook, its kernel, or a cell in it may have changed. */
  readonly changed: ISignal<INotebooks, void>;
  readonly currentKernel: ICurrentKernel | null;
  readonly front: INotebookInFront | null;
  /** Whether `front` stays when another notebook comes to the front. */
  isPinned: boolean;
  /** Whether something was recorded in `front`. */
  isInFront(place: Place): boolean;
  /** Open the notebook of a recording; only if `canOpen`. */
  open(place: Place): void;
  canOpen(place: Place): boolean;
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
    private readonly _serverRoot: string,
    private readonly _open: (path: string) => void = () => undefined
  ) {
    _tracker.forEach(panel => this._watch(panel));
    _tracker.widgetAdded.connect((_, panel) => this._watch(panel));
    _tracker.currentChanged.connect(() => this._changed.emit());
  }

  get isPinned(): boolean {
    return this._pinned !== null;
  }

  set isPinned(pinned: boolean) {
    this._pinned = pinned ? this._tracker.currentWidget : null;
    this._changed.emit();
  }

  get front(): INotebookInFront | null {
    const panel = this._panel;
    return (
      panel && {
        path: panel.context.localPath,
        kernel_id: panel.sessionContext.session?.kernel?.id ?? null
      }
    );
  }

  isInFront(place: Place): boolean {
    const { front } = this;
    return (
      front !== null &&
      ((place.kernel_id !== null && place.kernel_id === front.kernel_id) ||
        (place.notebook !== null &&
          samePath(place.notebook, front.path, this._serverRoot)))
    );
  }

  canOpen(place: Place): boolean {
    return openPath(place.notebook, this._serverRoot) !== null;
  }

  open(place: Place): void {
    const path = openPath(place.notebook, this._serverRoot);
    if (path !== null) {
      this._open(path);
    }
  }

  get currentKernel(): ICurrentKernel | null {
    const panel = this._panel;
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
    const panels = this.find(place);
    if (panels.length === 0) {
      return 'closed';
    }
    return panels.some(panel => findCell(panel, ref)) ? 'ready' : 'missing';
  }

  async goTo(place: Place, ref: ICellRef, line: number | null): Promise<void> {
    for (const panel of this.find(place)) {
      const cell = findCell(panel, ref);
      if (cell) {
        this._activate(panel.id);
        await panel.content.scrollToCell(cell, 'center');
        panel.content.mode = 'edit';
        if (line !== null) {
          showLine(cell, line - 1);
        }
        return;
      }
    }
  }

  editState(place: Place, edits: IEdit[]): EditState {
    const panels = this.find(place);
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
      const panels = this.find(place);
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

  /** The notebook in front, or the pinned one while it is open. */
  private get _panel(): NotebookPanel | null {
    if (this._pinned?.isDisposed) {
      this._pinned = null;
    }
    return this._pinned ?? this._tracker.currentWidget;
  }

  /** Find open notebooks by kernel id, which survives a restart, then by path. */
  find(place: Place): NotebookPanel[] {
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

  private _pinned: NotebookPanel | null = null;
  private readonly _changed = new Signal<this, void>(this);
}
