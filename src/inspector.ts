import { ISignal, Signal } from '@lumino/signaling';
import { ApiError, asApiError, DoctorClient } from './api';
import { IInspection, Refusal } from './inspection';

/** Whom to ask: a kernel, or the one of a certain recording. */
export interface IAsked {
  kernel_id: string | null;
  recording?: string;
}

export type Answer =
  | { kind: 'told'; at: Date; inspection: IInspection }
  | { kind: 'refused'; why: Refusal }
  | { kind: 'error'; error: ApiError };

/** What is known of one kernel; the last answer stays while the next is on its way. */
export interface IAsking {
  waits: boolean;
  answer: Answer | null;
}

/** Asks kernels what they are doing, each when somebody wants to know. */
export class Inspector {
  constructor(
    private readonly _client: Pick<DoctorClient, 'list' | 'inspect'>
  ) {}

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Null: nobody has asked, or the answer was put away. */
  of(asked: IAsked): IAsking | null {
    return this._askings.get(keyOf(asked)) ?? null;
  }

  async ask(asked: IAsked): Promise<void> {
    const key = keyOf(asked);
    const before = this._askings.get(key);
    if (before?.waits) {
      return;
    }
    const asking: IAsking = { waits: true, answer: before?.answer ?? null };
    this._set(key, asking);
    const answer = await this._answer(asked);
    if (this._askings.get(key) === asking) {
      this._set(key, { waits: false, answer });
    }
  }

  putAway(asked: IAsked): void {
    this._askings.delete(keyOf(asked));
    this._changed.emit();
  }

  private async _answer(asked: IAsked): Promise<Answer> {
    try {
      const recording = asked.recording ?? (await this._recordingOf(asked));
      if (recording === null) {
        return { kind: 'refused', why: 'not-recorded' };
      }
      const said = await this._client.inspect(recording);
      return 'refused' in said
        ? { kind: 'refused', why: said.refused }
        : { kind: 'told', at: new Date(), inspection: said };
    } catch (error) {
      return { kind: 'error', error: asApiError(error) };
    }
  }

  /** The one that is being written now: a restart begins another under the same id. */
  private async _recordingOf({ kernel_id }: IAsked): Promise<string | null> {
    const rows = await this._client.list();
    const newest = rows.find(row => row.kernel_id === kernel_id);
    return newest && newest.ended === null && !newest.died
      ? newest.recording
      : null;
  }

  private _set(key: string, asking: IAsking): void {
    this._askings.set(key, asking);
    this._changed.emit();
  }

  private readonly _askings = new Map<string, IAsking>();
  private readonly _changed = new Signal<this, void>(this);
}

function keyOf({ kernel_id, recording }: IAsked): string {
  return kernel_id ?? recording ?? '';
}
