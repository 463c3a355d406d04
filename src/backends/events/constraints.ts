/** Payload constraints: what a trigger demands of the body of an event. Events contract, section 7.2. */
import { isRawNumber } from '../../http/json.ts'
import { fieldOf, isObject, type JsonObject } from '../json-values.ts'
import { valueAt } from './json-path.ts'
import { occursIn } from './patterns.ts'

/**
 * Whether a document satisfies all constraints, an object of key to pattern. No constraints are always satisfied.
 *
 * @param paths Whether keys that are no field of the document are read as JSON paths.
 */
export function satisfies(constraints: unknown, document: JsonObject, { paths }: { paths: boolean }): boolean {
  if (!isObject(constraints)) return true
  return Object.entries(constraints).every(([key, pattern]) => {
    const field = fieldOf(document, key)
    if (field !== undefined && field !== null) return pattern === null || occursIn(String(pattern), toText(field))
    if (!paths || pattern === null) return false
    const value = valueAt(document, key)
    const candidates = Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [value]
    return candidates.filter(isScalar).some((candidate) => occursIn(String(pattern), toText(candidate)))
  })
}

function isScalar(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value) || isRawNumber(value)
}

function toText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
