import { URLExt } from '@jupyterlab/coreutils';
import { ServerConnection } from '@jupyterlab/services';

/** One line of `GET kerneldoctor/recordings`. */
export interface IRecordingRow {
  recording: string;
  kernel_id: string | null;
  pid: number | null;
  notebook: string | null;
  started: string;
  ended: string | null;
  cause: string;
  headline: string;
  died: boolean;
  /** The latest thing that went wrong and that the kernel survived. */
  survived?: string | null;
}

export interface IEvidence {
  text: string;
  value: number | string | null;
  unit: string | null;
  source: string | null;
}

export interface ICause {
  id: string;
  confidence: number;
  title: string;
  docs?: string | null;
  evidence: IEvidence[];
}

export interface ICulprit {
  execution_count: number | null;
  cell_id: string | null;
  source: string;
  truncated?: boolean;
  line: number | null;
  line_source: string | null;
}

/** Something that went wrong and that the kernel survived: a cause, with the place and the time. */
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
  died: boolean;
  loaded_by?: 'startup' | 'magic' | 'server' | null;
  end: {
    kind: string;
    signal: string | null;
    exit_code: number | null;
    summary?: string | null;
  };
  cause: string;
  confidence: number | null;
  headline: string;
  story?: string | null;
  /** That the same cell ended kernels before, with dates and figures. */
  recurrence?: { text: string } | null;
  causes: ICause[];
  ruled_out?: string[];
  cell: ICulprit | null;
  fixes: IFix[];
  /** Oldest first. */
  incidents?: IIncident[];
  timeline?: ITimeline | null;
}

/** What went wrong, in the terms in which the panel explains it. */
export type Failure =
  'unreachable' | 'signed-out' | 'not-installed' | 'deleted' | 'failed';

export class ApiError extends Error {
  constructor(
    readonly failure: Failure,
    message: string
  ) {
    super(message);
  }
}

/** The panel's view of the server: two reads, and the address of the reference pages. */
export class DoctorClient {
  constructor(private readonly _settings = ServerConnection.makeSettings()) {}

  async list(): Promise<IRecordingRow[]> {
    return (await this._get('', 'not-installed')) as IRecordingRow[];
  }

  async report(recording: string): Promise<IReport> {
    return (await this._get(
      encodeURIComponent(recording),
      'deleted'
    )) as IReport;
  }

  /** Always below the server's own address, whatever the recording says. */
  docsUrl(path: string): string {
    return URLExt.join(this._settings.baseUrl, ...path.split('/'));
  }

  private async _get(path: string, notFound: Failure): Promise<unknown> {
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
        { cache: 'no-store' },
        this._settings
      );
    } catch (error) {
      throw new ApiError('unreachable', String(error));
    }
    if (response.ok) {
      return response.json().catch(error => {
        throw new ApiError('failed', String(error));
      });
    }
    const failure =
      response.status === 404
        ? notFound
        : response.status === 401 || response.status === 403
          ? 'signed-out'
          : 'failed';
    throw new ApiError(failure, await reason(response));
  }
}

async function reason(response: Response): Promise<string> {
  const said = await response.json().catch(() => null);
  return typeof said?.message === 'string'
    ? said.message
    : `${response.status} ${response.statusText}`;
}
