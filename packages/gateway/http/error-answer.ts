/** Maps errors to the responses of Gate and to log records. */
import http from 'node:http'
import { type ErrorCode, errorShapeOf, GatewayError } from '@fairlead/base/errors.ts'
import { describeStorageFault } from '@fairlead/base/storage/database-fault.ts'

declare module 'fastify' {
  interface FastifyInstance {
    nameOf: (service: string) => string
  }
}

export interface ErrorAnswer {
  status: number
  headers: Record<string, string>
  body: Record<string, unknown>
  contentType: 'application/json' | 'application/problem+json'
  error: GatewayError
}

/** @see docs/contracts/http.md#error-bodies; fields of an exception are merged last and override the standard ones. */
export function toErrorAnswer(
  thrown: unknown,
  { requestId, path }: { requestId: string; path: string },
  nameOf: (service: string) => string,
): ErrorAnswer {
  const error = toGatewayError(thrown).namedBy(nameOf)
  const { status, code, message, details } = error
  const reason = http.STATUS_CODES[status] ?? 'Error'
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
  if (errorShapeOf(code) === 'message')
    return { status, headers, body: { message }, contentType: 'application/json', error }
  if (errorShapeOf(code) === 'problem') {
    const problem = { type: 'about:blank', title: reason, detail: message, instance: path }
    return {
      status,
      headers,
      body: { ...problem, ...known },
      contentType: 'application/problem+json',
      error,
    }
  }
  return {
    status,
    headers,
    body: { ...known, ...details.fields },
    contentType: 'application/json',
    error,
  }
}

function formatTimestamp(date: Date): string {
  return date.toISOString().replace('Z', '+00:00')
}

const frameworkErrors: Readonly<Record<string, readonly [ErrorCode, message: string]>> = {
  FST_ERR_NOT_FOUND: [
    'NO_ROUTE',
    'No operation has this path. GET /openapi.json lists all of them.',
  ],
  FST_ERR_BAD_URL: [
    'PATH_REFUSED',
    'The path has an incomplete or invalid percent-encoding. Encode it as UTF-8.',
  ],
  FST_ERR_INVALID_URL: ['PATH_REFUSED', 'The path cannot be read. Encode it as UTF-8.'],
  FST_ERR_MAX_PARAM_LENGTH: ['BAD_ARGUMENT', 'A name in the path is too long.'],
  FST_ERR_VALIDATION: ['BAD_ARGUMENT', 'An argument does not have the declared type.'],
  FST_ERR_ROUTE_MISSING_CONTENT_TYPE: [
    'BAD_ARGUMENT',
    'The header Content-Type is missing. Send application/json.',
  ],
  FST_ERR_ROUTE_MISSING_CONTENT: [
    'MISSING_BODY',
    'This request needs a body. Send a JSON or YAML document.',
  ],
  FST_ERR_CTP_BODY_TOO_LARGE: [
    'BODY_TOO_LARGE',
    'The body is too large. Send less, or raise http.maxBodyBytes.',
  ],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'UNSUPPORTED_MEDIA_TYPE',
    'The header Content-Type is malformed. Send application/json or application/x-yaml.',
  ],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    'UNREADABLE_BODY',
    'The body does not have the length that Content-Length announces.',
  ],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['MISSING_BODY', 'The body is empty. Send a JSON or YAML document.'],
  FST_ERR_CTP_INVALID_JSON_BODY: ['UNREADABLE_BODY', 'The body is not well-formed JSON.'],
}

/** Errors of the web framework and of the disk keep their meaning; everything else is a defect whose text stays in the log. */
function toGatewayError(thrown: unknown): GatewayError {
  const storageFault = describeStorageFault(thrown instanceof GatewayError ? thrown.cause : thrown)
  if (thrown instanceof GatewayError)
    return storageFault === undefined
      ? thrown
      : new GatewayError(thrown.code, storageFault, thrown.details)
  const known = frameworkErrors[String((thrown as { code?: unknown } | undefined)?.code)]
  if (known !== undefined) return new GatewayError(...known, { cause: thrown })
  if (storageFault !== undefined)
    return new GatewayError('STORAGE_FAILED', storageFault, { cause: thrown })
  return new GatewayError(
    'UNEXPECTED',
    'The gateway failed unexpectedly. The operator finds the cause in the log under the request id.',
    {
      cause: thrown,
    },
  )
}
