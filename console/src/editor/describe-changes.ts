/** Changes of a definition for readers: by stage, parameter and trigger, with the fields of each. */
import { type Json, textOf } from '../model/read.ts'
import { type DefinitionChange, listChanges, orderKey } from './changes.ts'
import { withoutStamps } from './draft.ts'
import { isSameValue } from './json-path.ts'
import { stagesOf, titleOfStage } from './stages.ts'
import { textWords } from './text-words.ts'

export type ChangeKind = 'added' | 'removed' | 'changed' | 'moved'

export interface FieldChange {
  /** As people write it: `capacity.max`. */
  readonly field: string
  readonly before: unknown
  readonly after: unknown
}

/** Changes of one part: a stage, a parameter, a trigger, or the pipeline itself. */
export interface PartChange {
  readonly key: string
  readonly title: string
  readonly kind: ChangeKind
  readonly fields: readonly FieldChange[]
  /** The value of what is added or removed. */
  readonly whole?: unknown
}

const titles: Readonly<Record<string, (name: string) => string>> = {
  stages: textWords.stage,
  parameterConfig: textWords.parameter,
  triggers: textWords.trigger,
  expectedArtifacts: textWords.artifact,
}

/** The pipeline itself first, then in the order of the definition. What the store sets is left out. */
export function describeChanges(before: Json, after: Json): readonly PartChange[] {
  const changes = listChanges(withoutStamps(before), withoutStamps(after))
  const groups = Map.groupBy(changes, ({ path: [list = '', item] }) =>
    Object.hasOwn(titles, list) && item !== undefined ? JSON.stringify([list, item]) : '',
  )
  const parts = [...groups].map(([key, members]) => toPart(key, members, [after, before]))
  return parts.toSorted((one, other) => Number(other.key === '') - Number(one.key === ''))
}

function toPart(key: string, members: readonly DefinitionChange[], versions: readonly [after: Json, before: Json]): PartChange {
  if (key === '')
    return { key, title: textWords.pipelineItself, kind: 'changed', fields: members.map((each) => toField(each, 0)) }
  const [list, item] = JSON.parse(key) as [string, string]
  if (item === orderKey)
    return { key, title: orderTitle(list), kind: 'moved', fields: members.map((each) => namedOrder(each, versions)) }
  const title = (titles[list] as (name: string) => string)(nameOf(list, item, versions))
  const whole = members.find(({ path }) => path.length === 2)
  if (whole !== undefined && (whole.before === undefined || whole.after === undefined)) {
    const isAdded = whole.before === undefined
    return { key, title, kind: isAdded ? 'added' : 'removed', fields: [], whole: isAdded ? whole.after : whole.before }
  }
  const fields = members.map((each) => toField(each, 2))
  const isMoved = fields.every(({ field }) => field === 'requisiteStageRefIds')
  return { key, title, kind: isMoved ? 'moved' : 'changed', fields: fields.map((each) => withStageNames(each, versions)) }
}

function toField({ path, before, after }: DefinitionChange, from: number): FieldChange {
  const names = path.slice(from).map((name) => (name === orderKey ? textWords.orderOfOthers(path.at(-2) ?? '') : name))
  return { field: names.join('.'), before, after }
}

function orderTitle(list: string): string {
  return list === 'stages'
    ? textWords.orderOfStages
    : list === 'parameterConfig'
      ? textWords.orderOfParameters
      : textWords.orderOfOthers(list)
}

function nameOf(list: string, item: string, versions: readonly Json[]): string {
  if (list === 'stages') return stageName(item, versions)
  const items = versions.flatMap((version) => (Array.isArray(version[list]) ? (version[list] as Json[]) : []))
  const found = items.find((each) => [each?.['id'], each?.['name']].includes(item))
  return textOf(found?.['name']) ?? textOf(found?.['displayName']) ?? textOf(found?.['type']) ?? item
}

/** The newer name, with the reference where it says more. */
function stageName(refId: string, versions: readonly Json[]): string {
  const stage = versions.flatMap(stagesOf).find((each) => textOf(each['refId']) === refId)
  const title = stage === undefined ? refId : titleOfStage(stage)
  return title === refId ? title : `${title} (${refId})`
}

/** References say nothing to a reader. */
function withStageNames(change: FieldChange, versions: readonly Json[]): FieldChange {
  if (change.field !== 'requisiteStageRefIds') return change
  return { ...change, before: namesOf(change.before, versions), after: namesOf(change.after, versions) }
}

function namedOrder({ path, before, after }: DefinitionChange, versions: readonly Json[]): FieldChange {
  const isStages = path[0] === 'stages'
  const name = (value: unknown) => (isStages ? namesOf(value, versions) : value)
  return { field: '', before: name(before), after: name(after) }
}

function namesOf(value: unknown, versions: readonly Json[]): unknown {
  return Array.isArray(value) ? value.map((refId) => stageName(String(refId), versions)) : value
}

export function isUnchanged(before: Json, after: Json): boolean {
  return isSameValue(withoutStamps(before), withoutStamps(after))
}

/** In a line where it is short. */
export function showValue(value: unknown): string {
  if (value === undefined) return ''
  if (typeof value === 'string') return value
  const text = JSON.stringify(value)
  return text.length <= 80 ? text : JSON.stringify(value, null, 2)
}
