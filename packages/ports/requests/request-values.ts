/** Values in the path and the query of requests to back ends. */
import { fieldOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'

interface Values {
  readonly params?: unknown
  readonly query?: unknown
}

/** Decoded; empty when there is none. */
export function pathValue(request: Values, name: string): string {
  return String(fieldOf(request.params, name) ?? '')
}

/** Several of them, by name. */
export function pathValues<const Name extends string>(
  request: Values,
  ...names: readonly Name[]
): Record<Name, string> {
  return Object.fromEntries(names.map((name) => [name, pathValue(request, name)])) as Record<
    Name,
    string
  >
}

/** The first value of a query parameter, undefined when absent. */
export function queryValue(request: Values, name: string): string | undefined {
  return queryValues(request, name)[0]
}

/** Every value of a query parameter that may repeat. */
export function queryValues(request: Values, name: string): string[] {
  const value = fieldOf({ ...(request.query as object) }, name)
  if (Array.isArray(value)) return value.map(String)
  return value === undefined ? [] : [String(value)]
}

/** `true` or `false` in any case; undefined when absent or empty. @throws {PortError} 400 */
export function queryFlag(request: Values, name: string): boolean | undefined {
  const text = queryValue(request, name)?.toLowerCase()
  if (text === undefined || text === '') return undefined
  if (text !== 'true' && text !== 'false') throw invalidQuery(name, 'true or false')
  return text === 'true'
}

/** A whole number from 0; undefined when absent or empty. @throws {PortError} 400 */
export function queryCount(request: Values, name: string): number | undefined {
  const text = queryValue(request, name)
  if (text === undefined || text === '') return undefined
  if (!/^\d{1,15}$/.test(text)) throw invalidQuery(name, 'a whole number')
  return Number(text)
}

/** @throws {PortError} 400 when the parameter is missing. */
export function requiredQuery(request: Values, name: string): string {
  const value = queryValue(request, name)
  if (value === undefined) throw new PortError(400, `The query parameter "${name}" is required.`)
  return value
}

function invalidQuery(name: string, form: string): PortError {
  return new PortError(400, `The parameter "${name}" must be ${form}.`, {
    exception: 'InvalidRequest',
  })
}
