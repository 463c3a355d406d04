/** What an operation that looks into the answer of a service may rely on, so that a surprise is the service's fault and not a crash. */
import { GatewayError } from '../errors.ts'
import { isRawNumber } from '../http/json.ts'
import type { ServiceName } from '../upstreams/services.ts'

export type Fields = Record<string, unknown>

/** @throws {GatewayError} UPSTREAM_UNREADABLE when the parsed answer is not an object, an empty one included */
export function checkObject(answer: unknown, service: ServiceName): Fields {
  if (typeof answer === 'object' && answer !== null && !Array.isArray(answer)) return answer as Fields
  throw unreadable(service, 'an object')
}

/** The objects in a list; anything else in it is left out. @throws {GatewayError} UPSTREAM_UNREADABLE when it is no list */
export function checkList(answer: unknown, service: ServiceName): Fields[] {
  if (Array.isArray(answer)) return answer.filter(isFields)
  throw unreadable(service, 'a list')
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawNumber(value)
}

function unreadable(service: ServiceName, wanted: string): GatewayError {
  return new GatewayError('UPSTREAM_UNREADABLE', `${service} did not answer with ${wanted}.`, { upstream: { service } })
}
