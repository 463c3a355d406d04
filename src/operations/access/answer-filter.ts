/** Leaves out of answers what the caller may not read. */

import { isObject } from '../../json/values.ts'
import type { Need } from '../../permissions/decide.ts'
import { permissionDenied } from '../../permissions/permission-denied.ts'
import type { FilterField } from '../demands.ts'
import { needsOfCanaryConfig, templateNeeds } from './owners.ts'

/** Leaves out of an answer what the caller may not read. */
export interface AnswerFilter {
  apply(answer: unknown): unknown
  /** Differs for callers for whom it may leave out something else: letters, digits, `-` and `_`. */
  readonly rights: string
}

/** Whether the caller meets a need. */
export type Allows = (need: Need) => boolean

/**
 * Pages of a search have their entries in `results`; a map has lists of them at any depth.
 *
 * @throws {GatewayError} PERMISSION_DENIED for a single resource instead of a map by account
 */
export function filterAnswer(answer: unknown, fields: readonly FilterField[], allows: Allows): unknown {
  if (fields.includes('key-account') && isObject(answer)) {
    const { accountName } = answer
    if (typeof accountName === 'string') {
      const need: Need = { kind: 'account', name: accountName, authorization: 'READ' }
      if (!allows(need)) throw permissionDenied(need)
      return answer
    }
    return Object.fromEntries(Object.entries(answer).filter(([account]) => mayRead(allows, 'account', account)))
  }
  if (fields.includes('scopes') && isObject(answer)) {
    const lists = Object.entries(answer).map(([id, list]) => [id, filterAnswer(list, fields, allows)] as const)
    return Object.fromEntries(lists.filter(([, list]) => !Array.isArray(list) || list.length > 0))
  }
  if (fields.includes('application') && isObject(answer)) {
    return Object.fromEntries(Object.entries(answer).map(([key, value]) => [key, filterAnswer(value, fields, allows)]))
  }
  if (!Array.isArray(answer)) return answer
  return answer.flatMap((entry: unknown) => {
    if (isObject(entry) && Array.isArray(entry['results'])) {
      return [{ ...entry, results: filterAnswer(entry['results'], fields, allows) }]
    }
    return fields.every((field) => mayReadEntry(allows, field, entry)) ? [entry] : []
  })
}

function mayReadEntry(allows: Allows, field: FilterField, entry: unknown): boolean {
  if (field === 'build-service') {
    const name = isObject(entry) ? entry['name'] : entry
    return typeof name !== 'string' || mayRead(allows, field, name)
  }
  if (field === 'scopes') return !isObject(entry) || templateNeeds([entry], 'READ').needs.every(allows)
  if (field === 'applications') return !isObject(entry) || needsOfCanaryConfig(entry, 'READ').needs.every(allows)
  if (field === 'key-account' || !isObject(entry)) return true
  const name = entry[field]
  return typeof name !== 'string' || name === '' || mayRead(allows, field, name)
}

function mayRead(allows: Allows, kind: 'application' | 'account' | 'build-service', name: string): boolean {
  return allows({ kind, name, authorization: 'READ' })
}
