/** Why a request failed, as far as the panel explains it. */
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

export function asApiError(error: unknown): ApiError {
  return error instanceof ApiError
    ? error
    : new ApiError('failed', String(error));
}

export function failureOf(status: number, notFound: Failure): Failure {
  if (status === 404) {
    return notFound;
  }
  return status === 401 || status === 403 ? 'signed-out' : 'failed';
}

export async function messageOf(response: Response): Promise<string> {
  const body = await response.json().catch(() => null);
  return typeof body?.message === 'string'
    ? body.message
    : `${response.status} ${response.statusText}`;
}
