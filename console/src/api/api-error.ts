/** A failed call in the terms of the console: what failed, which service, which request, when to try again. */
import { objectOf, textOf } from '../model/read.ts'

export class ApiError extends Error {
  /** 0 when no answer came. */
  declare readonly status: number
  declare readonly requestId: string | undefined
  /** Path of the request, as the browser sent it. */
  declare readonly path: string | undefined
  /** The back end that failed. */
  declare readonly service: string | undefined
  declare readonly retryAfterMs: number | undefined
  declare readonly body: unknown

  constructor(parts: Pick<ApiError, 'status' | 'message'> & Partial<ApiError>) {
    super(parts.message)
    Object.assign(this, parts)
  }
}

/** A fault of the console itself becomes one that panels can show. */
export function asApiError(cause: unknown): ApiError {
  return cause instanceof ApiError ? cause : new ApiError({ status: 500, message: (cause as Error).message })
}

/** @param text The body, which may be JSON, a page of a proxy, or nothing. */
export function toApiError({ status, headers, url }: Response, text: string): ApiError {
  const body = parse(text)
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return new ApiError({
    status,
    message: textOf(body['detail']) ?? textOf(body['message']) ?? `HTTP ${status}`,
    requestId: textOf(body['requestId']) ?? headers.get('x-spinnaker-request-id') ?? undefined,
    path: URL.parse(url)?.pathname,
    service: textOf(objectOf(body['upstream'])['service']),
    retryAfterMs: Number.isFinite(seconds) ? seconds * 1000 : undefined,
    body,
  })
}

function parse(text: string) {
  try {
    return objectOf(JSON.parse(text))
  } catch {
    return {}
  }
}
