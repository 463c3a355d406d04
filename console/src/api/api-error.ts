/** A failed call in the terms of the console: what failed, which service, which request, when to try again. */

interface ApiErrorParts {
  /** 0 when no answer came. */
  readonly status: number
  readonly message: string
  readonly code?: string | undefined
  readonly requestId?: string | undefined
  /** Path of the request, as the browser sent it. */
  readonly path?: string | undefined
  /** The back end that failed. */
  readonly service?: string | undefined
  readonly retryAfterMs?: number | undefined
  readonly body?: unknown
}

export class ApiError extends Error implements ApiErrorParts {
  readonly status: number
  readonly code: string | undefined
  readonly requestId: string | undefined
  readonly path: string | undefined
  readonly service: string | undefined
  readonly retryAfterMs: number | undefined
  readonly body: unknown

  constructor({ status, message, code, requestId, path, service, retryAfterMs, body }: ApiErrorParts) {
    super(message)
    this.status = status
    this.code = code
    this.requestId = requestId
    this.path = path
    this.service = service
    this.retryAfterMs = retryAfterMs
    this.body = body
  }
}

/** A fault of the console itself becomes one that panels can show. */
export function asApiError(cause: unknown): ApiError {
  return cause instanceof ApiError
    ? cause
    : new ApiError({ status: 500, message: cause instanceof Error ? cause.message : String(cause) })
}

/** @param text The body, which may be JSON, a page of a proxy, or nothing. */
export function toApiError(response: Response, text: string): ApiError {
  const body = parse(text)
  const upstream = record(body['upstream'])
  const { status, headers } = response
  return new ApiError({
    status,
    message: textOf(body['detail']) ?? textOf(body['message']) ?? `HTTP ${status}`,
    code: textOf(body['code']),
    requestId: textOf(body['requestId']) ?? headers.get('x-spinnaker-request-id') ?? undefined,
    path: URL.canParse(response.url) ? new URL(response.url).pathname : undefined,
    service: textOf(upstream['service']),
    retryAfterMs: retryAfterMs(headers.get('retry-after')),
    body,
  })
}

function retryAfterMs(header: string | null): number | undefined {
  const seconds = Number(header ?? Number.NaN)
  return Number.isFinite(seconds) ? seconds * 1000 : undefined
}

function parse(text: string): Record<string, unknown> {
  try {
    return record(JSON.parse(text))
  } catch {
    return {}
  }
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
