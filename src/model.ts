import { ISignal, Signal } from '@lumino/signaling';
import {
  ApiError,
  asApiError,
  DoctorClient,
  IRecordingRow,
  IReport
} from './api';

export type View =
  | { kind: 'loading' }
  | { kind: 'empty' }
  | { kind: 'error'; error: ApiError }
  | { kind: 'report'; report: IReport };

/**
 * What the panel shows: one post-mortem, and the list of deaths and of what was survived.
 *
 * It follows the newest of these until someone picks another one.
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

  /** Newest first: deaths, and kernels that survived something or are stuck. Those that are well are not among them. */
  get cases(): readonly IRecordingRow[] {
    return this._rows.filter(row => row.died || !!row.survived || isStuck(row));
  }

  /** Whether this kernel is being recorded, as far as is known. */
  isRecorded(kernel_id: string): boolean {
    const newest = this._rows.find(row => row.kernel_id === kernel_id);
    return newest !== undefined && newest.ended === null && !newest.died;
  }

  /** The recording of a kernel that is stuck, as far as is known. */
  stuckCase(kernel_id: string | null): IRecordingRow | null {
    const newest = this._rows.find(row => row.kernel_id === kernel_id);
    return newest && isStuck(newest) ? newest : null;
  }

  /** Whether the same kernel, restarted, was watched again later. */
  isRecordedAgain({ kernel_id, started }: IReport): boolean {
    return this._rows.some(
      row => row.kernel_id === kernel_id && row.started > started
    );
  }

  /** Show this recording, or the newest case. */
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
      const wanted = this._chosen ?? this.cases[0]?.recording ?? null;
      const state = this._stateOf(wanted);
      if (wanted === null) {
        this._show({ kind: 'empty' });
      } else if (state !== this._shown) {
        const report = await this._client.report(wanted);
        if (request === this._request) {
          this._shown = state;
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

  /** What changes when there is more to tell of a recording: a kernel that survived something may die later. */
  private _stateOf(recording: string | null): string {
    const row = this._rows.find(row => row.recording === recording);
    return JSON.stringify([recording, row?.ended, row?.headline]);
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

/** Whether its kernel lives and does not get on. */
export function isStuck(row: IRecordingRow): boolean {
  return (
    !row.died &&
    row.ended === null &&
    row.cause !== 'no-death' &&
    row.cause !== 'unknown' && // nobody recorded its end
    row.headline !== row.survived
  );
}
