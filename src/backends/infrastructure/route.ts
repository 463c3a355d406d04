/** One row of the infrastructure service's tables, and the answers that most rows share. */
import type { FastifyRequest } from 'fastify'
import { fieldOf } from '../../json/values.ts'
import { type BackendContext, BackendError } from '../backend.ts'

export interface InfrastructureRoute {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With `:name` for path values and a final `*` for the rest of the path. */
  path: string
  /** The body of a 200; anything else is thrown as a BackendError. */
  answer: (request: FastifyRequest, context: BackendContext) => unknown
}

/** An empty list: nothing of this kind exists. */
export function none(): unknown[] {
  return []
}

/** An empty map: nothing of this kind exists. */
export function empty(): Record<string, never> {
  return {}
}

/**
 * Answers 404 with the resource's kind and the path values that name it, for example
 * `Instance not found (id: i-1)`.
 */
export function notFound(kind: string, ...names: string[]): InfrastructureRoute['answer'] {
  return (request) => {
    const named = names.map((name) => `${name === '*' ? 'id' : name}: ${pathValue(request, name)}`)
    throw new BackendError(404, `${kind} not found (${named.join(', ')})`)
  }
}

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

/** @throws {BackendError} 400 when the parameter is missing. */
export function requiredQuery(request: FastifyRequest, name: string): string {
  const value = queryValue(request, name)
  if (value === undefined) throw new BackendError(400, `The query parameter "${name}" is required.`)
  return value
}
