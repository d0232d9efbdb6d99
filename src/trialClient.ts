import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { ApiError, failureOf, messageOf } from './apiError';

/** What a trial would run. */
export interface ITrialPlan {
  cells: { execution_count: number | null; is_changed: boolean }[];
  /** "cells [1] to [4]" */
  cells_text: string;
  directory: string;
  copied_bytes: number;
  /** Links out of the directory, which the copy lacks. */
  left_out: string[];
  /** Null where the limit of the recorded kernel is not known. */
  limit_bytes: number | null;
  patience_s: number;
  python: string;
}

/** How far a trial is: the kernel is ready, a cell begins, a cell is over. */
export interface ITrialStep {
  what: 'started' | 'cell' | 'cell over';
  /** Which of the cells, from 1. */
  number: number;
  execution_count: number | null;
  how: 'ok' | 'error' | 'died' | 'cut off' | null;
  error: string | null;
  took_s: number;
  memory_bytes: number | null;
  limited_by: string;
}

export interface ITrialOutcome {
  what: 'over';
  lived: boolean;
  /** A sentence or two. */
  text: string;
}

/** Why a fix cannot be tried, and what to do. */
export interface ITrialRefusal {
  what: 'refused';
  message: string;
  help: string;
}

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
