/** Checks that answers of services are objects or lists, before operations read them. */
import { GatewayError } from '@fairlead/base/errors.ts'
import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import { readJson, type UpstreamAnswer } from '../upstreams/answer-form.ts'

export function checkObject(answer: unknown, service: ServiceName): JsonObject {
  if (isObject(answer)) return answer
  throw unreadable(service, 'an object')
}

/** The objects in a list; anything else in it is left out. @throws {GatewayError} UPSTREAM_UNREADABLE when it is no list */
export function checkList(answer: unknown, service: ServiceName): JsonObject[] {
  if (Array.isArray(answer)) return answer.filter(isObject)
  throw unreadable(service, 'a list')
}

export function readObject(answer: UpstreamAnswer, service: ServiceName): JsonObject {
  return checkObject(readJson(answer, service), service)
}

export function readList(answer: UpstreamAnswer, service: ServiceName): JsonObject[] {
  return checkList(readJson(answer, service), service)
}

export function readListIfAny(answer: UpstreamAnswer, service: ServiceName): JsonObject[] {
  return answer.status === 404 ? [] : readList(answer, service)
}

function unreadable(service: ServiceName, wanted: string): GatewayError {
  return new GatewayError(
    'UPSTREAM_UNREADABLE',
    (name) => `${name} did not answer with ${wanted}.`,
    { upstream: { service } },
  )
}
