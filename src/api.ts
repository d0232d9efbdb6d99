import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { ApiError, Failure, failureOf, messageOf } from './apiError';
import {
  IInspection,
  IInspectionRefusal,
  IRecordingRow,
  IReport,
  State
} from './rest';

export { ApiError, asApiError, Failure } from './apiError';

export * from './rest';

/** Whether the kernel of a recording is running, as far as is known. */
export function isRunning({ state }: { state: State }): boolean {
  return state === 'running' || state === 'survived' || state === 'stuck';
}

/** Reads recordings and reference pages from the server, and asks it to inspect kernels. */
export class DoctorClient {
  constructor(private readonly _settings = ServerConnection.makeSettings()) {}

  async list(): Promise<IRecordingRow[]> {
    return (await this._json('', 'not-installed')) as IRecordingRow[];
  }

  async report(recording: string): Promise<IReport> {
    const path = encodeURIComponent(recording);
    return (await this._json(path, 'deleted')) as IReport;
  }

  /** Return what the kernel of a recording is doing, or why it cannot be asked. It may take two seconds. */
  async inspect(recording: string): Promise<IInspection | IInspectionRefusal> {
    const path = `${encodeURIComponent(recording)}/inspect`;
    return (await this._json(path, 'deleted', 'POST')) as
      IInspection | IInspectionRefusal;
  }

  /** Return an address below the server's own, whatever the recording says. */
  docsUrl(path: string): string {
    return URLExt.join(this._settings.baseUrl, ...path.split('/'));
  }

  /** Return a reference page in Markdown. */
  async page(path: string): Promise<string> {
    const url = this.docsUrl(path);
    const response = await ServerConnection.makeRequest(
      url,
      {},
      this._settings
    );
    if (!response.ok) {
      throw new ApiError('failed', await messageOf(response));
    }
    return response.text();
  }

  private async _json(
    path: string,
    notFound: Failure,
    method: 'GET' | 'POST' = 'GET'
  ): Promise<unknown> {
    const url = URLExt.join(
      this._settings.baseUrl,
      'kerneldoctor',
      'recordings',
      path
    );
    let response: Response;
    try {
      response = await ServerConnection.makeRequest(
        url,
        { cache: 'no-store', method },
        this._settings
      );
    } catch (error) {
      throw new ApiError('unreachable', String(error));
    }
    // A conflict is an answer: the kernel cannot be inspected.
    if (response.ok || response.status === 409) {
      return response.json().catch(error => {
        throw new ApiError('failed', String(error));
      });
    }
    throw new ApiError(
      failureOf(response.status, notFound),
      await messageOf(response)
    );
  }
}
