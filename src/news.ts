import { IRecordingRow } from './api';
import { ILive, ILiveFeed } from './live';
import { PostMortems } from './model';

/** A notification that is shown. */
export interface IShown {
  dismiss: () => void;
}

/**
 * Reads the list again when the kernel in front survived an error, got stuck, or went on: no event reports that.
 *
 * The feed tells it with all else, so that a kernel to which nothing happens costs no request. Where the list then says
 * that the kernel is stuck, the user is told, once for each cell, as long as the cell runs.
 */
export class News {
  constructor(
    private readonly _feed: ILiveFeed,
    private readonly _model: Pick<PostMortems, 'refresh' | 'stuckCase'>,
    /** Tells that a kernel is stuck; null where the user does not want that, or sees it. */
    private readonly _tell: (stuck: IRecordingRow) => IShown | null
  ) {
    _feed.changed.connect(() => this._look());
  }

  /** The user looks at the panel, which says the same: what is shown of it covers that only. */
  seen(): void {
    for (const kernel_id of [...this._told.keys()]) {
      this._forget(kernel_id);
    }
  }

  private _look(): void {
    const { shown } = this._feed;
    if (!shown) {
      return;
    }
    const { kernel_id, noted_mono_s, recording } = shown;
    if (this._told.get(kernel_id)?.cell !== cellOf(shown)) {
      this._forget(kernel_id);
    }
    const noted = noted_mono_s ?? null;
    if (recording && noted !== (this._noted.get(recording) ?? null)) {
      this._noted.set(recording, noted);
      void this._read(kernel_id, cellOf(shown));
    }
  }

  private async _read(
    kernel_id: string | null,
    cell: string | null
  ): Promise<void> {
    await this._model.refresh();
    if (cell === null || cell !== cellOf(this._feed.shown)) {
      return;
    }
    const stuck = this._model.stuckCase(kernel_id);
    if (!stuck) {
      this._forget(kernel_id);
    } else if (!this._known.has(cell)) {
      const told = this._tell(stuck);
      if (told) {
        this._known.add(cell);
        this._told.set(kernel_id, { ...told, cell });
      }
    }
  }

  /** It went on, or it is over: then the notification goes, too. */
  private _forget(kernel_id: string | null): void {
    this._told.get(kernel_id)?.dismiss();
    this._told.delete(kernel_id);
  }

  /** When something was last noted in each recording. */
  private readonly _noted = new Map<string, number | null>();
  /** What is told of each kernel now. */
  private readonly _told = new Map<string | null, IShown & { cell: string }>();
  /** The runs of cells that were told of. */
  private readonly _known = new Set<string>();
}

/** Return what tells a run of a cell from all others; null where none is running. */
function cellOf(live: ILive | null): string | null {
  return live?.running ? JSON.stringify([live.recording, live.running]) : null;
}
