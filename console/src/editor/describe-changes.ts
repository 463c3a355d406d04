/** Changes of a definition for readers: by stage, parameter and trigger, with the fields of each; and its revisions. */

import {
  type JsonObject,
  numberOf,
  objectOf,
  objectsOf,
  scalarOf,
} from '@fairlead/base/json/values.ts'
import { fieldLabelOf } from '@fairlead/model/stage-types/labels.ts'
import { stageWord } from '../model/names.ts'
import {
  type DefinitionChange,
  type KeyPath,
  listChanges,
  orderKey,
  partLists,
  stamps,
  withoutStamps,
} from './changes.ts'

/** The field as people say it: `capacity max`; empty for the order of a list. */
type FieldChange = Omit<DefinitionChange, 'path'> & { readonly field: string }

/** Changes of one part: a stage, a parameter, a trigger, or the pipeline itself. */
export interface PartChange {
  readonly key: string
  readonly title: string
  readonly kind: 'added' | 'removed' | 'changed' | 'moved'
  readonly fields: readonly FieldChange[]
}

/** The pipeline itself first, then in the order of the definition. What the store sets is left out. */
export function describeChanges(before: JsonObject, after: JsonObject): readonly PartChange[] {
  const changes = listChanges(withoutStamps(before), withoutStamps(after))
  const groups = Map.groupBy(changes, ({ path }) =>
    isOfPart(path) ? JSON.stringify(path.slice(0, 2)) : '',
  )
  const parts = [...groups].map(([key, members]) => ({
    key,
    ...describePart(members, [after, before]),
  }))
  return parts.toSorted((one, other) => Number(other.key === '') - Number(one.key === ''))
}

function isOfPart([list = '', item]: KeyPath) {
  return Object.hasOwn(partLists, list) && item !== undefined
}

function describePart(
  members: readonly DefinitionChange[],
  versions: readonly JsonObject[],
): Omit<PartChange, 'key'> {
  const [{ path, before, after }] = members as [DefinitionChange]
  const title = titleOfPath(path, versions)
  const isWhole = isOfPart(path) && path.length === 2
  if (isWhole && before === undefined)
    return { title, kind: 'added', fields: factsOf(objectOf(after), versions) }
  if (isWhole && after === undefined) return { title, kind: 'removed', fields: [] }
  const fields = members.flatMap(withItems).map((each) => toField(each, versions))
  return {
    title,
    kind: members.every((each) => isOfOrder(each.path)) ? 'moved' : 'changed',
    fields,
  }
}

function isOfOrder(path: KeyPath) {
  return path[1] === orderKey || path.at(-1) === 'requisiteStageRefIds'
}

/** Lists of as many objects are compared one by one, each by its name or its number. */
function withItems(change: DefinitionChange): readonly DefinitionChange[] {
  const [before, after] = [objectsOf(change.before), objectsOf(change.after)]
  const isPaired =
    before.length > 0 &&
    before.length === after.length &&
    before.length === (change.before as JsonObject[]).length
  if (!isPaired) return [change]
  return before.flatMap((item, index) => {
    const name = scalarOf(item['name']) ?? scalarOf(item['key']) ?? String(index + 1)
    const inner = listChanges(item, after[index])
    return inner.flatMap((each) =>
      withItems({ ...each, path: [...change.path, name, ...each.path] }),
    )
  })
}

/** What a path is about: "Stage Bake", "Order of the stages", or the pipeline. */
export function titleOfPath(path: KeyPath, versions: readonly JsonObject[]): string {
  const [list = '', item = ''] = path
  const noun = partLists[list]?.noun ?? ''
  if (!isOfPart(path)) return 'Pipeline'
  return item === orderKey
    ? `Order of the ${noun.toLowerCase()}s`
    : `${noun} ${nameOf(list, item, versions)}`
}

export function fieldOfPath(path: KeyPath): string {
  return path
    .slice(isOfPart(path) ? 2 : 0)
    .map(fieldLabelOf)
    .join(' ')
    .toLowerCase()
}

function toField(
  { path, before, after }: DefinitionChange,
  versions: readonly JsonObject[],
): FieldChange {
  // References say nothing to a reader.
  const name = (value: unknown) =>
    path[0] === 'stages' && isOfOrder(path) && Array.isArray(value)
      ? value.map((refId) => nameOf('stages', String(refId), versions)).join(', ')
      : value
  return { field: fieldOfPath(path), before: name(before), after: name(after) }
}

const unsaid = ['id', 'refId', 'name']
const maxFacts = 4

/** What a reader wants to know of a new part, in short. */
function factsOf(part: JsonObject, versions: readonly JsonObject[]) {
  return Object.entries(part)
    .filter(([key, value]) => !unsaid.includes(key) && String(value) !== '')
    .map(([key, value]) => ({
      path: ['stages', '', key],
      before: undefined,
      after: key === 'type' ? stageWord(String(value)) : value,
    }))
    .map((change) => toField(change, versions))
    .filter(({ after }) => typeof after !== 'object')
    .slice(0, maxFacts)
}

/** The newer name, with the reference where other stages have the same. */
function nameOf(list: string, item: string, versions: readonly JsonObject[]) {
  const all = versions
    .flatMap((version) => objectsOf(version[list]))
    .map((part) => ({
      id: scalarOf(part[partLists[list]?.id ?? '']),
      name: scalarOf(part['name']) ?? scalarOf(part['displayName']) ?? scalarOf(part['type']),
    }))
  const name = all.find(({ id }) => id === item)?.name ?? item
  const isShared = list === 'stages' && all.some((each) => each.name === name && each.id !== item)
  return isShared ? `${name} (${item})` : name
}

export function showValue(value: unknown): string {
  if (value === undefined) return ''
  if (typeof value === 'string') return value
  const text = JSON.stringify(value)
  return text.length <= 80 ? text : JSON.stringify(value, null, 2)
}

export interface Revision {
  /** In addresses: when it was saved, or its place where that is not known. */
  readonly id: string
  readonly savedAtMs: number | undefined
  readonly author: string | undefined
  readonly definition: JsonObject
  /** The one before it; undefined for the last that is listed. */
  readonly previous: JsonObject | undefined
}

export function toRevisions(answer: unknown): readonly Revision[] {
  return objectsOf(answer).map((definition, index, versions) => {
    const savedAtMs = numberOf(definition['updateTs']) ?? numberOf(definition['lastModified'])
    const author = scalarOf(definition['lastModifiedBy'])
    return {
      id: String(savedAtMs ?? `n${index}`),
      savedAtMs,
      author,
      definition,
      previous: versions[index + 1],
    }
  })
}

/** The newest one, or the newest at a time, in milliseconds since the epoch. */
export function findRevision(
  revisions: readonly Revision[],
  untilMs = Infinity,
): Revision | undefined {
  return revisions.find(({ savedAtMs = Infinity }) => savedAtMs <= untilMs)
}

export function summaryOf({ definition, previous }: Revision): readonly string[] {
  return previous === undefined
    ? []
    : describeChanges(previous, definition).map(({ title }) => title)
}

/** The revision as a draft: where it is stored stays as it is. */
export function toDraft(revision: JsonObject, current: JsonObject): JsonObject {
  const kept = Object.entries(current).filter(([name]) =>
    ['id', 'application', ...stamps].includes(name),
  )
  return { ...withoutStamps(revision), ...Object.fromEntries(kept) }
}
