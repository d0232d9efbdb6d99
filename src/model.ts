import { ISignal, Signal } from '@lumino/signaling';
import { ApiError, DoctorClient, IRecordingRow, IReport } from './api';

export type View =
  | { kind: 'loading' }
  | { kind: 'empty' }
  | { kind: 'error'; error: ApiError }
  | { kind: 'report'; report: IReport };

/**
 * What the panel shows: one post-mortem, and the list of deaths.
 *
 * It follows the newest death until someone picks another one.
 */
export class PostMortems {
  constructor(
    private readonly _client: Pick<DoctorClient, 'list' | 'report'>
  ) {}

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get view(): View {
    return this._view;
  }

  /** Newest first; kernels that live or ended in the ordinary way are not among them. */
  get deaths(): readonly IRecordingRow[] {
    return this._rows.filter(row => row.died);
  }

  /** Whether the same kernel, restarted, was watched again later. */
  wasWatchedAgain({ kernel_id, started }: IReport): boolean {
    return this._rows.some(
      row => row.kernel_id === kernel_id && row.started > started
    );
  }

  /** Show this recording, or the newest death. */
  async open(recording: string | null): Promise<void> {
    this._chosen = recording;
    this._shown = null;
    this._show({ kind: 'loading' });
    await this.refresh();
  }

  /** Read the list again, and the report when another one is to be shown. */
  async refresh(): Promise<void> {
    const request = ++this._request;
    try {
      const rows = await this._client.list();
      if (request !== this._request) {
        return;
      }
      this._rows = rows;
      this._changed.emit();
      const wanted = this._chosen ?? this.deaths[0]?.recording ?? null;
      if (wanted === null) {
        this._show({ kind: 'empty' });
      } else if (wanted !== this._shown) {
        const report = await this._client.report(wanted);
        if (request === this._request) {
          this._shown = wanted;
          this._show({ kind: 'report', report });
        }
      }
    } catch (error) {
      if (request === this._request) {
        this._shown = null;
        this._show({ kind: 'error', error: asApiError(error) });
      }
    }
  }

  private _show(view: View): void {
    this._view = view;
    this._changed.emit();
  }

  private _view: View = { kind: 'loading' };
  private _rows: IRecordingRow[] = [];
  private _chosen: string | null = null;
  private _shown: string | null = null;
  /** The latest request: an answer to an older one comes too late to be shown. */
  private _request = 0;
  private readonly _changed = new Signal<this, void>(this);
}

function asApiError(error: unknown): ApiError {
  return error instanceof ApiError
    ? error
    : new ApiError('failed', String(error));
}
