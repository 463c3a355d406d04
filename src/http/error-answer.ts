/** Turns any error into the answer that clients of Gate expect, and says what belongs in the log. */
import { STATUS_CODES } from 'node:http'
import { type ErrorCode, GatewayError, shapeOf } from '../errors.ts'

export interface ErrorAnswer {
  status: number
  headers: Record<string, string>
  body: Record<string, unknown>
  contentType: 'application/json' | 'application/problem+json'
  /** The error as the gateway classifies it, with its cause for the log. */
  error: GatewayError
}

/** @see HTTP conventions, section 2.1; fields of an exception are merged last and override the standard ones. */
export function toErrorAnswer(thrown: unknown, requestId: string, path: string): ErrorAnswer {
  const error = toGatewayError(thrown)
  const { status, code, message, details } = error
  const reason = STATUS_CODES[status] ?? 'Error'
  const headers = details.headers ?? {}
  const known = {
    timestamp: formatTimestamp(new Date()),
    status,
    error: reason,
    message,
    code,
    requestId,
    ...(details.upstream !== undefined && { upstream: details.upstream }),
  }
  if (shapeOf(code) === 'message') return { status, headers, body: { message }, contentType: 'application/json', error }
  if (shapeOf(code) === 'problem') {
    const problem = { type: 'about:blank', title: reason, detail: message, instance: path }
    return { status, headers, body: { ...problem, ...known }, contentType: 'application/problem+json', error }
  }
  return { status, headers, body: { ...known, ...details.fields }, contentType: 'application/json', error }
}

/** ISO 8601 with milliseconds and the offset written out, as Gate does. */
function formatTimestamp(date: Date): string {
  return date.toISOString().replace('Z', '+00:00')
}

const frameworkCodes: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'BODY_TOO_LARGE',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'UNSUPPORTED_MEDIA_TYPE',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'UNREADABLE_BODY',
  FST_ERR_BAD_URL: 'PATH_REFUSED',
  FST_ERR_MAX_PARAM_LENGTH: 'BAD_ARGUMENT',
}

const frameworkMessages: Partial<Record<ErrorCode, string>> = {
  BAD_ARGUMENT: 'A name in the path is too long.',
  UNSUPPORTED_MEDIA_TYPE: 'The header Content-Type is malformed. Send application/json or application/x-yaml.',
}

/** Errors of the web framework keep their meaning; everything else is a defect whose text stays in the log. */
function toGatewayError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError) return thrown
  const frameworkCode = frameworkCodes[String((thrown as { code?: unknown } | undefined)?.code)]
  if (frameworkCode !== undefined) {
    const message = frameworkMessages[frameworkCode] ?? (thrown as Error).message
    return new GatewayError(frameworkCode, message, { cause: thrown })
  }
  return new GatewayError(
    'UNEXPECTED',
    'The gateway failed unexpectedly. The operator finds the cause in the log under the request id.',
    {
      cause: thrown,
    },
  )
}
