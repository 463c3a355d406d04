/** Values in the path and the query of requests to back ends. */
import type { FastifyRequest } from 'fastify'
import { fieldOf } from '../json/values.ts'
import { BackendError } from './backend.ts'

/** Decoded; empty when there is none. */
export function pathValue(request: FastifyRequest, name: string): string {
  return String(fieldOf(request.params, name) ?? '')
}

/** The first value of a query parameter, undefined when absent. */
export function queryValue(request: FastifyRequest, name: string): string | undefined {
  return queryValues(request, name)[0]
}

/** Every value of a query parameter that may repeat. */
export function queryValues(request: FastifyRequest, name: string): string[] {
  const value = fieldOf({ ...(request.query as object) }, name)
  if (Array.isArray(value)) return value.map(String)
  return value === undefined ? [] : [String(value)]
}

/** `true` or `false` in any case. */
export function queryFlag(request: FastifyRequest, name: string, otherwise: boolean): boolean {
  return (queryValue(request, name) ?? String(otherwise)).toLowerCase() === 'true'
}

/** @throws {BackendError} 400 when the parameter is missing. */
export function requiredQuery(request: FastifyRequest, name: string): string {
  const value = queryValue(request, name)
  if (value === undefined) throw new BackendError(400, `The query parameter "${name}" is required.`)
  return value
}
