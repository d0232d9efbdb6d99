import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { ApiError, failureOf, messageOf } from './apiError';
import { ITrialOutcome, ITrialPlan, ITrialRefusal, ITrialStep } from './rest';

export type TrialNews = ITrialStep | ITrialOutcome | ITrialRefusal;

/** Asks the server what a trial of a fix would run, and has it run. */
export class TrialClient {
  constructor(private readonly _settings = ServerConnection.makeSettings()) {}

  async plan(
    recording: string,
    fix: string
  ): Promise<ITrialPlan | ITrialRefusal> {
    const response = await this._request(recording, fix, {});
    return (await response.json()) as ITrialPlan | ITrialRefusal;
  }

  /** Run a trial, which ends early when the request is aborted; tell each step, and the outcome at last. */
  async run(
    recording: string,
    fix: string,
    tell: (news: TrialNews) => void,
    signal: AbortSignal
  ): Promise<void> {
    const request = { method: 'POST', signal };
    const response = await this._request(recording, fix, request);
    const reader = response.body!.getReader();
    const decoder = new TextDecoder();
    let rest = '';
    for (;;) {
      const { done, value } = await reader.read();
      const lines = (rest + decoder.decode(value, { stream: !done })).split(
        '\n'
      );
      rest = done ? '' : lines.pop()!;
      for (const line of lines) {
        const news = line ? JSON.parse(line) : {};
        // An empty document keeps the connection alive.
        if (news.what) {
          tell(news);
        }
      }
      if (done) {
        return;
      }
    }
  }

  private async _request(
    recording: string,
    fix: string,
    init: RequestInit
  ): Promise<Response> {
    const ids = [recording, 'trials', fix].map(encodeURIComponent);
    const url = URLExt.join(
      this._settings.baseUrl,
      'kerneldoctor/recordings',
      ...ids
    );
    const response = await ServerConnection.makeRequest(
      url,
      init,
      this._settings
    );
    // A conflict is an answer: the fix cannot be tried.
    if (response.ok || response.status === 409) {
      return response;
    }
    throw new ApiError(
      failureOf(response.status, 'deleted'),
      await messageOf(response)
    );
  }
}
