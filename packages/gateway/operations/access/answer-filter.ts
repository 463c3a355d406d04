/** Leaves out of answers what the caller may not read. */
import { or, shape } from '@fairlead/base/json/shape.ts'
import { isObject, type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'
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

type Allows = (need: Need) => boolean

/**
 * Pages of a search have their entries in `results`; a map has lists of them at any depth.
 *
 * @throws {GatewayError} PERMISSION_DENIED for a single resource instead of a map by account
 */
export function filterAnswer(
  answer: unknown,
  fields: readonly FilterField[],
  allows: Allows,
): unknown {
  if (Array.isArray(answer))
    return answer.flatMap((entry: unknown) => filterEntry(entry, fields, allows))
  return isObject(answer) ? filterObject(answer, fields, allows) : answer
}

function filterObject(
  answer: JsonObject,
  fields: readonly FilterField[],
  allows: Allows,
): JsonObject {
  const filterParts = () =>
    Object.entries(answer).map(
      ([key, value]) => [key, filterAnswer(value, fields, allows)] as const,
    )
  if (fields.includes('key-account')) {
    const { accountName } = answer
    if (typeof accountName !== 'string')
      return Object.fromEntries(
        Object.entries(answer).filter(([account]) => mayRead(allows, 'account', account)),
      )
    return requireEach(
      [{ kind: 'account', name: accountName, authorization: 'READ' }],
      answer,
      allows,
    )
  }
  if (fields.includes('accounts')) {
    const [first] = objectsOf(answer['accounts'])
    const name = String(first?.['name'])
    return (
      withReadableAccounts(answer, allows) ??
      requireEach([{ kind: 'account', name, authorization: 'READ' }], answer, allows)
    )
  }
  if (fields.includes('entity')) return requireEach(needsOfEntity(answer), answer, allows)
  if (fields.includes('scopes'))
    return Object.fromEntries(
      filterParts().filter(([, list]) => !Array.isArray(list) || list.length > 0),
    )
  return fields.includes('application') ? Object.fromEntries(filterParts()) : answer
}

/** @throws {GatewayError} PERMISSION_DENIED */
function requireEach(needs: readonly Need[], answer: JsonObject, allows: Allows): JsonObject {
  const denied = needs.find((need) => !allows(need))
  if (denied !== undefined) throw permissionDenied(denied)
  return answer
}

/** The entry, or what is left of it, in a list; an empty one otherwise. */
function filterEntry(entry: unknown, fields: readonly FilterField[], allows: Allows): unknown[] {
  if (!isObject(entry))
    return typeof entry === 'string' &&
      fields.includes('build-service') &&
      !mayRead(allows, 'build-service', entry)
      ? []
      : [entry]
  if (fields.includes('accounts')) return [withReadableAccounts(entry, allows) ?? []].flat()
  const { results } = entry
  if (Array.isArray(results)) return [{ ...entry, results: filterAnswer(results, fields, allows) }]
  return fields.every((field) => mayReadEntry(allows, field, entry)) ? [entry] : []
}

function mayReadEntry(allows: Allows, field: FilterField, entry: JsonObject): boolean {
  if (field === 'scopes') return templateNeeds([entry], 'READ').needs.every(allows)
  if (field === 'applications') return needsOfCanaryConfig(entry, 'READ').needs.every(allows)
  if (field === 'entity') return needsOfEntity(entry).every(allows)
  if (field === 'accounts' || field === 'key-account') return true
  const name = entry[field === 'build-service' ? 'name' : field]
  return (
    typeof name !== 'string' ||
    (name === '' && field !== 'build-service') ||
    mayRead(allows, field, name)
  )
}

/** The entry without the accounts in its list that the caller may not read; undefined if none is left. */
function withReadableAccounts(entry: JsonObject, allows: Allows): JsonObject | undefined {
  const accounts = objectsOf(entry['accounts'])
  const readable = accounts.filter(
    ({ name }) => typeof name !== 'string' || mayRead(allows, 'account', name),
  )
  if (readable.length === accounts.length) return entry
  return readable.length === 0 ? undefined : { ...entry, accounts: readable }
}

const toTags = shape({
  entityRef: shape({
    application: textOf,
    account: textOf,
    accountId: textOf,
    entityId: or(textOf, ''),
  }),
})

/** Where the entity of tags is. One that names neither application nor account belongs to the application in its own name. */
function needsOfEntity(tags: JsonObject): Need[] {
  const { application, accountId, account = accountId, entityId } = toTags(tags).entityRef
  const named: Need[] = []
  if (application !== undefined)
    named.push({ kind: 'application', name: application, authorization: 'READ' })
  if (account !== undefined && account !== '*')
    named.push({ kind: 'account', name: account, authorization: 'READ' })
  const [own = ''] = entityId.split('-', 1)
  return named.length > 0 || own === ''
    ? named
    : [{ kind: 'application', name: own, authorization: 'READ' }]
}

function mayRead(
  allows: Allows,
  kind: 'application' | 'account' | 'build-service',
  name: string,
): boolean {
  return allows({ kind, name, authorization: 'READ' })
}

/** Filtered lists, kept as long as both the list and the rights are the same objects. */
export class KeptLists {
  readonly #lists = new WeakMap<object, WeakMap<PermissionView, unknown>>()

  of(list: unknown, view: PermissionView | undefined, filter: () => unknown): unknown {
    if (view === undefined || typeof list !== 'object' || list === null || !Object.isFrozen(list))
      return filter()
    const byView = this.#lists.getOrInsertComputed(list, () => new WeakMap())
    return byView.getOrInsertComputed(view, () => Object.freeze(filter()))
  }
}
