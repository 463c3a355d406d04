/** Refusals and faults of an API server. */
import { or, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, objectOf, textOf } from '@fairlead/base/json/values.ts'
import { withoutDumps } from './dumps.ts'

export class ApiError extends Error {
  override readonly name = 'KubernetesError'
  /** 0: no response. */
  readonly status: number
  /** Such as `AlreadyExists`, `Conflict`, `Invalid`; empty where the server gives none. */
  readonly reason: string
  readonly details: JsonObject

  constructor(message: string, { status, reason = '', details = {}, cause }: ApiErrorFields) {
    super(message, cause === undefined ? undefined : { cause })
    this.status = status
    this.reason = reason
    this.details = details
  }
}

interface ApiErrorFields {
  readonly status: number
  readonly reason?: string
  readonly details?: JsonObject
  readonly cause?: unknown
}

const toStatus = shape({ message: textOf, reason: or(textOf, ''), details: objectOf })

export function toApiError(status: number, body: unknown): ApiError {
  const text = typeof body === 'string' ? body.trim().slice(0, 500) : undefined
  const { message, reason, details } = toStatus(body)
  return new ApiError(
    message === undefined ? text || `The API server answered ${status}.` : withoutDumps(message),
    { status: isWrongManifest(status, message) ? 400 : status, reason, details },
  )
}

/** An apply of unknown fields or of list entries with equal keys is reported as a fault of the server. */
function isWrongManifest(status: number, message = ''): boolean {
  return status === 500 && message.startsWith('failed to create typed patch object')
}

export function isApiError(error: unknown, ...statuses: readonly number[]): error is ApiError {
  return error instanceof ApiError && (statuses.length === 0 || statuses.includes(error.status))
}

/** Whether a later attempt may succeed: no response, too many requests, or a fault of the server. */
export function isPassing(error: unknown): boolean {
  return (
    error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500)
  )
}
