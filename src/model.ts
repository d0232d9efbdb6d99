import { ISignal, Signal } from '@lumino/signaling';
import {
  ApiError,
  asApiError,
  DoctorClient,
  IRecordingRow,
  IReport,
  isRunning
} from './api';

type Place = Pick<IReport, 'kernel_id' | 'notebook'>;

export type View =
  | { kind: 'loading' }
  | { kind: 'empty' }
  | { kind: 'error'; error: ApiError }
  | { kind: 'report'; report: IReport };

/**
 * What the panel shows: one post-mortem, and the list of cases.
 *
 * It shows the newest case of the notebook in front until the user picks another one.
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

  /** All recordings, newest first. */
  get rows(): readonly IRecordingRow[] {
    return this._rows;
  }

  /** Deaths, stuck kernels, and kernels that survived something; newest first. */
  get cases(): readonly IRecordingRow[] {
    return this._rows.filter(
      row => row.state === 'died' || row.state === 'stuck' || !!row.survived
    );
  }

  /** Whether this kernel is being recorded, as far as is known. */
  isRecorded(kernel_id: string): boolean {
    const newest = this._rows.find(row => row.kernel_id === kernel_id);
    return newest !== undefined && isRunning(newest);
  }

  /** Return the recording of a kernel that is stuck; null where it is not, as far as is known. */
  stuckCase(kernel_id: string | null): IRecordingRow | null {
    const newest = this._rows.find(row => row.kernel_id === kernel_id);
    return newest?.state === 'stuck' ? newest : null;
  }

  /** Whether the same kernel was recorded again after its restart. */
  isRecordedAgain({ kernel_id, started }: IReport): boolean {
    return this._rows.some(
      row => row.kernel_id === kernel_id && row.started > started
    );
  }

  /** Whether the report shown is of another notebook than the one in front, because the user picked it. */
  get isForeign(): boolean {
    const { view } = this;
    return (
      view.kind === 'report' &&
      this._isOwn !== null &&
      !this._isOwn(view.report)
    );
  }

  /** Show the newest case of one notebook from now on, by this test of rows; null: of any. */
  follow(isOwn: ((place: Place) => boolean) | null): void {
    this._isOwn = isOwn;
    const chosen = this._rows.find(row => row.recording === this._chosen);
    if (isOwn && !(chosen && isOwn(chosen))) {
      this._chosen = null;
    }
  }

  /** Show this recording, or the newest case of the notebook in front. */
  async open(recording: string | null): Promise<void> {
    this._chosen = recording;
    this._shown = null;
    this._show({ kind: 'loading' });
    await this.refresh();
  }

  /** Read the list again, and the report when it may have changed. */
  async refresh(): Promise<void> {
    const request = ++this._request;
    // What the user has picked is known before the list is there, which takes longer the more there is.
    const picked = this._shown === null ? this._chosen : null;
    const early = picked === null ? null : this._read(picked, request);
    early?.catch(() => undefined);
    try {
      const rows = await this._client.list();
      if (request !== this._request) {
        return;
      }
      const lists = (rows: readonly IRecordingRow[]) =>
        rows.some(row => row.recording === this._chosen);
      if (this._shown !== null && lists(this._rows) && !lists(rows)) {
        // What was shown has been deleted.
        this._chosen = null;
      }
      this._rows = rows;
      this._changed.emit();
      const { _isOwn } = this;
      const own = _isOwn ? this.cases.filter(row => _isOwn(row)) : this.cases;
      const wanted = this._chosen ?? own[0]?.recording ?? null;
      const version = this._versionOf(wanted);
      if (wanted === picked) {
        await early;
      }
      if (request !== this._request) {
        return;
      }
      if (wanted === null) {
        this._shown = null;
        this._show({ kind: 'empty' });
      } else if (version !== this._shown) {
        await this._read(wanted, request, version);
      }
    } catch (error) {
      if (request === this._request) {
        this._shown = null;
        this._show({ kind: 'error', error: asApiError(error) });
      }
    }
  }

  /** Read a report and show it, unless something else was asked for meanwhile. */
  private async _read(
    recording: string,
    request: number,
    version?: string
  ): Promise<void> {
    const report = await this._client.report(recording);
    if (request === this._request) {
      this._shown = version ?? versionOf(report);
      this._show({ kind: 'report', report });
    }
  }

  /** Return a key that changes when a report may have changed: a running kernel may die later. */
  private _versionOf(recording: string | null): string {
    const row = this._rows.find(row => row.recording === recording);
    return row ? versionOf(row) : String(recording);
  }

  private _show(view: View): void {
    this._view = view;
    this._changed.emit();
  }

  private _view: View = { kind: 'loading' };
  private _rows: IRecordingRow[] = [];
  private _chosen: string | null = null;
  private _shown: string | null = null;
  private _isOwn: ((place: Place) => boolean) | null = null;
  /** The number of the latest request; answers to older ones are ignored. */
  private _request = 0;
  private readonly _changed = new Signal<this, void>(this);
}

function versionOf(
  one: Pick<IReport, 'recording' | 'state' | 'ended' | 'headline'>
): string {
  return JSON.stringify([one.recording, one.state, one.ended, one.headline]);
}
