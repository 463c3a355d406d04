/** Leaves out of answers what the caller may not read. */
import { isObject, type JsonObject, objectOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import type { Need } from '@fairlead/model/rights/decide.ts'
import type { PermissionView } from '@fairlead/model/rights/permissions.ts'
import { permissionDenied } from '../../permissions/permission-errors.ts'
import type { FilterField } from '../demands.ts'
import { needsOfCanaryConfig, templateNeeds } from './owners.ts'

export interface AnswerFilter {
  apply(answer: unknown): unknown
  /** Differs for callers for whom it may leave out something else: letters, digits, `-` and `_`. */
  readonly rights: string
}

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
  if (fields.includes('accounts') && isObject(answer)) return readableParts(answer, allows)
  if (fields.includes('entity') && isObject(answer)) {
    const denied = needsOfEntity(answer).find((need) => !allows(need))
    if (denied !== undefined) throw permissionDenied(denied)
    return answer
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
    if (fields.includes('accounts') && isObject(entry)) return withReadableAccounts(entry, allows) ?? []
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
  if (field === 'entity') return !isObject(entry) || needsOfEntity(entry).every(allows)
  if (field === 'accounts' || field === 'key-account' || !isObject(entry)) return true
  const name = entry[field]
  return typeof name !== 'string' || name === '' || mayRead(allows, field, name)
}

/** The entry without the accounts in its list that the caller may not read; undefined if none is left. */
function withReadableAccounts(entry: JsonObject, allows: Allows): JsonObject | undefined {
  const accounts = objectsOf(entry['accounts'])
  const readable = accounts.filter(({ name }) => typeof name !== 'string' || mayRead(allows, 'account', name))
  if (readable.length === accounts.length) return entry
  return readable.length === 0 ? undefined : { ...entry, accounts: readable }
}

function readableParts(entry: JsonObject, allows: Allows): JsonObject {
  const readable = withReadableAccounts(entry, allows)
  if (readable !== undefined) return readable
  const [first] = objectsOf(entry['accounts'])
  throw permissionDenied({ kind: 'account', name: String(first?.['name']), authorization: 'READ' })
}

/** Where the entity of tags is. One that names neither application nor account belongs to the application in its own name. */
function needsOfEntity(tags: JsonObject): Need[] {
  const reference = objectOf(tags['entityRef'])
  const application = textOf(reference['application'])
  const account = textOf(reference['account']) ?? textOf(reference['accountId'])
  const named: Need[] = []
  if (application !== undefined) named.push({ kind: 'application', name: application, authorization: 'READ' })
  if (account !== undefined && account !== '*') named.push({ kind: 'account', name: account, authorization: 'READ' })
  const [own = ''] = (textOf(reference['entityId']) ?? '').split('-', 1)
  return named.length > 0 || own === '' ? named : [{ kind: 'application', name: own, authorization: 'READ' }]
}

function mayRead(allows: Allows, kind: 'application' | 'account' | 'build-service', name: string): boolean {
  return allows({ kind, name, authorization: 'READ' })
}

/** Filtered lists, kept as long as both the list and the rights are the same objects. */
export class KeptLists {
  readonly #lists = new WeakMap<object, WeakMap<PermissionView, unknown>>()

  of(list: unknown, view: PermissionView | undefined, filter: () => unknown): unknown {
    if (view === undefined || typeof list !== 'object' || list === null || !Object.isFrozen(list)) return filter()
    const byView = this.#lists.getOrInsertComputed(list, () => new WeakMap())
    return byView.getOrInsertComputed(view, () => Object.freeze(filter()))
  }
}
