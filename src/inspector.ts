import { ISignal, Signal } from '@lumino/signaling';
import { ApiError, asApiError, DoctorClient, isRunning } from './api';
import { IInspection, Refusal } from './rest';

/** The kernel to inspect: the one of a certain recording, or the newest with this id. */
export interface IInspectionTarget {
  kernel_id: string | null;
  recording?: string;
}

export type InspectionResult =
  | { kind: 'inspected'; at: Date; inspection: IInspection }
  | { kind: 'refused'; why: Refusal }
  | { kind: 'error'; error: ApiError };

/** The latest result for one kernel; it stays while the next is on its way. */
export interface IInspectionState {
  isPending: boolean;
  result: InspectionResult | null;
}

/** Asks the server what a kernel is doing, and keeps the latest result of each. */
export class Inspector {
  constructor(
    private readonly _client: Pick<DoctorClient, 'list' | 'inspect'>
  ) {}

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Return null where nobody has asked, or where the result was dismissed. */
  stateOf(target: IInspectionTarget): IInspectionState | null {
    return this._states.get(keyOf(target)) ?? null;
  }

  async inspect(target: IInspectionTarget): Promise<void> {
    const key = keyOf(target);
    const before = this._states.get(key);
    if (before?.isPending) {
      return;
    }
    const pending = { isPending: true, result: before?.result ?? null };
    this._set(key, pending);
    const result = await this._request(target);
    if (this._states.get(key) === pending) {
      this._set(key, { isPending: false, result });
    }
  }

  dismiss(target: IInspectionTarget): void {
    this._states.delete(keyOf(target));
    this._changed.emit();
  }

  private async _request(target: IInspectionTarget): Promise<InspectionResult> {
    try {
      const recording = target.recording ?? (await this._recordingOf(target));
      if (recording === null) {
        return { kind: 'refused', why: 'not-recorded' };
      }
      const answer = await this._client.inspect(recording);
      return 'refused' in answer
        ? { kind: 'refused', why: answer.refused }
        : { kind: 'inspected', at: new Date(), inspection: answer };
    } catch (error) {
      return { kind: 'error', error: asApiError(error) };
    }
  }

  /** Find the recording that is being written now: a restart begins another under the same id. */
  private async _recordingOf({
    kernel_id
  }: IInspectionTarget): Promise<string | null> {
    const rows = await this._client.list();
    const newest = rows.find(row => row.kernel_id === kernel_id);
    return newest && isRunning(newest) ? newest.recording : null;
  }

  private _set(key: string, state: IInspectionState): void {
    this._states.set(key, state);
    this._changed.emit();
  }

  private readonly _states = new Map<string, IInspectionState>();
  private readonly _changed = new Signal<this, void>(this);
}

function keyOf({ kernel_id, recording }: IInspectionTarget): string {
  return kernel_id ?? recording ?? '';
}
