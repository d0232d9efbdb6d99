import { TranslationBundle } from '@jupyterlab/translation';
import { ISignal, Signal } from '@lumino/signaling';
import { TrialClient } from './trialClient';
import { ITrialOutcome, ITrialPlan, ITrialRefusal, ITrialStep } from './rest';

/** A fix that is being tried. */
export type Trial =
  | { kind: 'asking' }
  | { kind: 'planned'; plan: ITrialPlan }
  | { kind: 'running'; plan: ITrialPlan; steps: ITrialStep[] }
  | { kind: 'over'; outcome: ITrialOutcome; steps: ITrialStep[] }
  | { kind: 'stopped' }
  | { kind: 'refused'; refusal: ITrialRefusal };

/** Tries fixes in a second kernel of the server; each is first announced, then run. */
export class Trials {
  constructor(
    private readonly _client: Pick<TrialClient, 'plan' | 'run'>,
    private readonly _trans: TranslationBundle
  ) {}

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Return null where nobody has asked, or where it was dismissed. */
  stateOf(recording: string, fix: string): Trial | null {
    return this._states.get(keyOf(recording, fix)) ?? null;
  }

  /** Ask what a trial would run. */
  async announce(recording: string, fix: string): Promise<void> {
    const key = keyOf(recording, fix);
    this._set(key, { kind: 'asking' });
    try {
      const plan = await this._client.plan(recording, fix);
      this._set(
        key,
        'what' in plan
          ? { kind: 'refused', refusal: plan }
          : { kind: 'planned', plan }
      );
    } catch (error) {
      this._fail(key, error);
    }
  }

  /** Run what was announced. */
  async run(recording: string, fix: string): Promise<void> {
    const key = keyOf(recording, fix);
    const state = this._states.get(key);
    if (state?.kind !== 'planned') {
      return;
    }
    const { plan } = state;
    const stop = new AbortController();
    this._stops.set(key, stop);
    let steps: ITrialStep[] = [];
    this._set(key, { kind: 'running', plan, steps });
    try {
      await this._client.run(
        recording,
        fix,
        news => {
          if (stop.signal.aborted) {
            return;
          }
          if (news.what === 'refused') {
            this._set(key, { kind: 'refused', refusal: news });
          } else if (news.what === 'over') {
            this._set(key, { kind: 'over', outcome: news, steps });
          } else {
            steps = [...steps, news];
            this._set(key, { kind: 'running', plan, steps });
          }
        },
        stop.signal
      );
      if (this._states.get(key)?.kind === 'running') {
        throw new Error(
          this._trans.__('The server ended before the trial did.')
        );
      }
    } catch (error) {
      if (!stop.signal.aborted) {
        this._fail(key, error);
      }
    } finally {
      this._stops.delete(key);
    }
  }

  /** The server ends a trial whose request is gone. */
  stop(recording: string, fix: string): void {
    const key = keyOf(recording, fix);
    this._stops.get(key)?.abort();
    this._set(key, { kind: 'stopped' });
  }

  dismiss(recording: string, fix: string): void {
    this._states.delete(keyOf(recording, fix));
    this._changed.emit();
  }

  private _fail(key: string, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this._set(key, {
      kind: 'refused',
      refusal: { what: 'refused', message, help: '' }
    });
  }

  private _set(key: string, state: Trial): void {
    this._states.set(key, state);
    this._changed.emit();
  }

  private readonly _states = new Map<string, Trial>();
  private readonly _stops = new Map<string, AbortController>();
  private readonly _changed = new Signal<this, void>(this);
}

function keyOf(recording: string, fix: string): string {
  return `${recording}/${fix}`;
}
