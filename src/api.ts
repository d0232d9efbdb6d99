import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';
import { ApiError, Failure, failureOf, messageOf } from './apiError';
import { IInspection, IRefusal } from './inspection';

export { ApiError, asApiError, Failure } from './apiError';

/** What became of a kernel; `survived`: it is running, and its latest incident is what the report is about. */
export type State =
  'died' | 'stuck' | 'survived' | 'running' | 'ended' | 'unknown';

/** One row of `GET kerneldoctor/recordings`. */
export interface IRecordingRow {
  recording: string;
  kernel_id: string | null;
  pid: number | null;
  notebook: string | null;
  started: string;
  ended: string | null;
  cause: string;
  headline: string;
  state: State;
  /** The headline of the latest incident. */
  survived?: string | null;
  /** The cell that was running. */
  cell_id?: string | null;
}

export interface IEvidence {
  text: string;
  value: number | string | null;
  unit: string | null;
  source: string | null;
}

export type Certainty = 'proven' | 'strong' | 'likely' | 'possible' | 'weak';

export interface ICause {
  id: string;
  family?: string;
  confidence: number;
  certainty: Certainty;
  /** It only says how the kernel ended, and not why. */
  general: boolean;
  title: string;
  docs?: string | null;
  evidence: IEvidence[];
  /** What a general cause leaves open. */
  not_known?: string | null;
  usual_reasons?: IReason[];
}

/** A usual reason for such an end, and the check that would tell. */
export interface IReason {
  text: string;
  check: string;
}

export interface ICulprit {
  execution_count: number | null;
  cell_id: string | null;
  source: string;
  truncated?: boolean;
  line: number | null;
  line_source: string | null;
}

/** A frame of the user's on the way from the cell that ran to the statement. */
export interface ICaller {
  execution_count: number | null;
  line: number;
  /** Null for the top level of a cell. */
  function: string | null;
  /** Of a module of the user's; null for a cell. */
  file: string | null;
}

/** The user's own statement that is to blame, in whichever cell or file it stands. */
export interface IStatement {
  execution_count: number | null;
  cell_id: string | null;
  line: number;
  end_line: number | null;
  file: string | null;
  via: ICaller[];
  /** The whole cell it stands in; null for a file. */
  cell_source: string | null;
}

/** Something that went wrong and that the kernel survived: a cause with its cell and time. */
export interface IIncident extends ICause {
  headline: string;
  error: string;
  time: string | null;
  cell: ICulprit | null;
}

export interface IEdit {
  execution_count: number | null;
  cell_id: string | null;
  old_source: string;
  diff: string;
  new_source: string;
}

export interface IExpectedPeak {
  low: number | null;
  high: number | null;
  basis: 'fitted' | 'estimated' | 'at-most';
}

export interface IFix {
  id: string;
  title: string;
  why: string;
  applicability: 'safe' | 'suggested' | 'advice';
  snippet?: string | null;
  edits: IEdit[];
  explained_bytes: number | null;
  expected_peak_bytes: IExpectedPeak | null;
  docs?: string | null;
}

export interface ITimeline {
  started: string;
  samples: { t_s: number[]; memory_bytes: (number | null)[] };
  limit: { bytes: number; name: string; source?: string | null } | null;
  cells: {
    execution_count: number | null;
    start_s: number;
    end_s: number | null;
  }[];
  death_s: number | null;
}

/** What `GET kerneldoctor/recordings/{id}` answers. */
export interface IReport {
  recording: string;
  kernel_id: string | null;
  notebook: string | null;
  started: string;
  ended: string | null;
  state: State;
  loaded_by?: 'startup' | 'magic' | 'server' | null;
  end: {
    kind: string;
    signal: string | null;
    exit_code: number | null;
    summary?: string | null;
    /** False: the end was not recorded, so what ran last is not known. */
    seen?: boolean;
  };
  cause: string;
  confidence: number | null;
  certainty: Certainty;
  general: boolean;
  headline: string;
  story?: string | null;
  /** The sentence that the same cell ended kernels before. */
  recurrence?: { text: string } | null;
  causes: ICause[];
  ruled_out?: string[];
  cell: ICulprit | null;
  statement?: IStatement | null;
  fixes: IFix[];
  /** Why no fixes were looked for. */
  fixes_left_out?: string | null;
  /** Oldest first. */
  incidents?: IIncident[];
  timeline?: ITimeline | null;
}

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
  async inspect(recording: string): Promise<IInspection | IRefusal> {
    const path = `${encodeURIComponent(recording)}/inspect`;
    return (await this._json(path, 'deleted', 'POST')) as
      IInspection | IRefusal;
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
