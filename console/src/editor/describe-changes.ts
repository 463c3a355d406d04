/** Changes of a definition for readers: by stage, parameter and trigger, with the fields of each. */
import { stageWord, stepWords } from '../model/names.ts'
import { type Json, objectsOf, textOf } from '../model/read.ts'
import { type DefinitionChange, type KeyPath, listChanges, orderKey } from './changes.ts'
import { withoutStamps } from './draft.ts'
import { stagesOf, titleOfStage } from './stages.ts'

export type ChangeKind = 'added' | 'removed' | 'changed' | 'moved'

export interface FieldChange {
  /** As people say it: `capacity max`; empty for the order of a list. */
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
}

const nouns: Readonly<Record<string, string>> = {
  stages: 'Stage',
  parameterConfig: 'Parameter',
  triggers: 'Trigger',
  expectedArtifacts: 'Artifact',
}
const listNames: Readonly<Record<string, string>> = { stages: 'stages', parameterConfig: 'parameters' }

/** The pipeline itself first, then in the order of the definition. What the store sets is left out. */
export function describeChanges(before: Json, after: Json): readonly PartChange[] {
  const changes = listChanges(withoutStamps(before), withoutStamps(after))
  const groups = Map.groupBy(changes, ({ path: [list = '', item] }) =>
    Object.hasOwn(nouns, list) && item !== undefined ? JSON.stringify([list, item]) : '',
  )
  const parts = [...groups].map(([key, members]) => toPart(key, members, [after, before]))
  return parts.toSorted((one, other) => Number(other.key === '') - Number(one.key === ''))
}

function toPart(key: string, members: readonly DefinitionChange[], versions: readonly Json[]): PartChange {
  const [first] = members
  const title = titleOfPath(first?.path ?? [], versions)
  const isWhole = first?.path.length === 2 && key !== '' && first.path[1] !== orderKey
  if (isWhole && (first.before === undefined || first.after === undefined)) {
    return first.before === undefined
      ? { key, title, kind: 'added', fields: factsOf(first.after, versions) }
      : { key, title, kind: 'removed', fields: [] }
  }
  const fields = members.flatMap(withItems).map((each) => toField(each, versions))
  const isMoved = members.every(({ path }) => path.at(-1) === 'requisiteStageRefIds' || path[1] === orderKey)
  return { key, title, kind: isMoved ? 'moved' : 'changed', fields }
}

/** Lists of as many objects are compared one by one, each by its name or its number. */
function withItems(change: DefinitionChange): readonly DefinitionChange[] {
  const [before, after] = [objectsOf(change.before), objectsOf(change.after)]
  const isPaired = before.length > 0 && before.length === after.length && before.length === (change.before as Json[]).length
  if (!isPaired) return [change]
  return before.flatMap((item, index) => {
    const name = textOf(item['name']) ?? textOf(item['key']) ?? String(index + 1)
    const inner = listChanges(item, after[index] as Json)
    return inner.flatMap((each) => withItems({ ...each, path: [...change.path, name, ...each.path] }))
  })
}

/** What a path is about: "Stage Bake", "Order of the stages", or the pipeline. */
export function titleOfPath([list = '', item]: KeyPath, versions: readonly Json[]): string {
  const noun = nouns[list]
  if (noun === undefined || item === undefined) return 'Pipeline'
  if (item === orderKey) return `Order of the ${listNames[list] ?? list}`
  return `${noun} ${list === 'stages' ? stageName(item, versions) : nameOf(list, item, versions)}`
}

/** What is left of a path below its title. */
export function fieldOfPath(path: KeyPath): string {
  const [list = '', item] = path
  const rest = path.slice(Object.hasOwn(nouns, list) && item !== undefined ? 2 : 0)
  const names = rest.map((name) => (name === orderKey ? 'order' : name === 'requisiteStageRefIds' ? 'runs after' : name))
  return stepWords(names.join(' ')).toLowerCase()
}

function toField({ path, before, after }: DefinitionChange, versions: readonly Json[]): FieldChange {
  // References say nothing to a reader.
  const isStages = path[0] === 'stages' && (path[1] === orderKey || path.at(-1) === 'requisiteStageRefIds')
  const name = (value: unknown) => (isStages ? stageNames(value, versions) : value)
  return { field: fieldOfPath(path), before: name(before), after: name(after) }
}

const unsaid = ['id', 'refId', 'name']

/** What a reader wants to know of a new part. */
function factsOf(value: unknown, versions: readonly Json[]): readonly FieldChange[] {
  if (typeof value !== 'object' || value === null) return []
  const facts = Object.entries(value).filter(([key, each]) => !unsaid.includes(key) && each !== '' && String(each) !== '')
  const say = (key: string, each: unknown) => (key === 'type' && typeof each === 'string' ? stageWord(each) : each)
  return facts.map(([key, each]) => toField({ path: ['stages', '', key], before: undefined, after: say(key, each) }, versions))
}

function nameOf(list: string, item: string, versions: readonly Json[]): string {
  const found = versions.flatMap((version) => objectsOf(version[list])).find((each) => [each['id'], each['name']].includes(item))
  return textOf(found?.['name']) ?? textOf(found?.['displayName']) ?? textOf(found?.['type']) ?? item
}

/** The newer name, with the reference where others have the same. */
function stageName(refId: string, versions: readonly Json[]): string {
  const stages = versions.flatMap(stagesOf)
  const stage = stages.find((each) => textOf(each['refId']) === refId)
  if (stage === undefined) return refId
  const title = titleOfStage(stage)
  const isShared = stages.some((each) => titleOfStage(each) === title && textOf(each['refId']) !== refId)
  return isShared ? `${title} (${refId})` : title
}

function stageNames(value: unknown, versions: readonly Json[]): unknown {
  return Array.isArray(value) ? value.map((refId) => stageName(String(refId), versions)).join(', ') : value
}

/** In a line where it is short. */
export function showValue(value: unknown): string {
  if (value === undefined) return ''
  if (typeof value === 'string') return value
  const text = JSON.stringify(value)
  return text.length <= 80 ? text : JSON.stringify(value, null, 2)
}
