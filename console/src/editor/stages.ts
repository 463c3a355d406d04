/** Stages of a definition: who requires whom, and changes that keep the graph whole. */

import { type JsonObject, listOf, objectOf, scalarOf } from '@fairlead/base/json/values.ts'
import type { Field, StageDescription } from '@fairlead/model/stage-types/description.ts'
import { levelsOf } from '../model/stage-links.ts'

export interface StageNode {
  readonly index: number
  /** What addresses and graphs call it: its `refId`, or its place where that is missing or taken. */
  readonly key: string
  readonly stage: JsonObject
  /** Keys of the stages that it requires, without those that do not exist. */
  readonly requires: readonly string[]
}

/** Where a new stage goes, from an existing one, and how that is offered. */
export const positions = {
  before: 'Add a stage before',
  parallel: 'Add a stage in parallel',
  after: 'Add a stage after',
} as const
export type Position = keyof typeof positions

export function stagesOf(definition: JsonObject): readonly JsonObject[] {
  return listOf(definition['stages']).map(objectOf)
}

export function toNodes(definition: JsonObject): readonly StageNode[] {
  const stages = stagesOf(definition)
  const refIds = stages.map(refIdOf)
  const places = new Map(refIds.map((refId, index) => [refId, index] as const).toReversed())
  return stages.map((stage, index) => {
    const refId = refIds[index]
    const key = refId !== undefined && places.get(refId) === index ? refId : `#${index + 1}`
    return { index, key, stage, requires: requisitesOf(stage).filter((id) => places.has(id)) }
  })
}

export function stageOfKey(definition: JsonObject, key: string | undefined): StageNode | undefined {
  return key === undefined ? undefined : toNodes(definition).find((node) => node.key === key)
}

export function refIdOf(stage: JsonObject): string | undefined {
  return scalarOf(stage['refId'])
}

export function requisitesOf(stage: JsonObject): readonly string[] {
  return [...new Set(listOf(stage['requisiteStageRefIds']).flatMap((id) => scalarOf(id) ?? []))]
}

export function titleOfStage(stage: JsonObject): string {
  return scalarOf(stage['name']) ?? scalarOf(stage['type']) ?? '?'
}

/** Keys of all stages that come after, whatever the way. */
export function followersOf(nodes: readonly StageNode[], key: string): ReadonlySet<string> {
  return walk(key, (before) =>
    nodes.filter(({ requires }) => requires.includes(before)).map((node) => node.key),
  )
}

/** Keys of all stages that come before, the nearest first. */
export function stagesBefore(nodes: readonly StageNode[], key: string): ReadonlySet<string> {
  const requires = new Map(nodes.map((node) => [node.key, node.requires]))
  return walk(key, (after) => requires.get(after) ?? [])
}

function walk(start: string, next: (key: string) => readonly string[]) {
  const found = new Set(next(start))
  // What is added on the way is walked as well.
  for (const key of found) for (const each of next(key)) found.add(each)
  return found
}

/** Each after those that it requires; what waits for a circle comes last. */
export function inRunOrder(nodes: readonly StageNode[]): readonly StageNode[] {
  return levelsOf(
    nodes.map((node) => ({ ...node, refId: node.key, requisiteStageRefIds: node.requires })),
  ).flat()
}

/** Keys of the stages that wait for themselves. */
export function findCircle(nodes: readonly StageNode[]): readonly string[] {
  return nodes.map(({ key }) => key).filter((key) => stagesBefore(nodes, key).has(key))
}

type Added = { readonly definition: JsonObject; readonly refId: string }

/** Adds it after all others, or beside an existing one: before its followers, between it and what it requires, or with the same requisites. */
export function addStage(
  given: JsonObject,
  stage: JsonObject,
  place?: { readonly of: string; readonly position: Position },
): Added {
  const definition = withRefIds(given)
  const refId = freeRefId(definition)
  const nodes = toNodes(definition)
  // A stage that had no reference has another key now.
  const node = nodes[toNodes(given).findIndex(({ key }) => key === place?.of)]
  const position = node && place?.position
  const ends = nodes
    .filter(({ key }) => !nodes.some(({ requires }) => requires.includes(key)))
    .map(({ key }) => key)
  const requires =
    node === undefined ? ends : position === 'after' ? [node.key] : requisitesOf(node.stage)
  const others = nodes.map(({ key, stage: each }) => {
    if (position === 'after') return replaceRequisite(each, node?.key ?? '', [refId])
    return position === 'before' && key === node?.key
      ? { ...each, requisiteStageRefIds: [refId] }
      : each
  })
  const at = node === undefined ? nodes.length : node.index + Number(position !== 'before')
  const stages = others.toSpliced(at, 0, { ...stage, refId, requisiteStageRefIds: requires })
  return { definition: { ...definition, stages }, refId }
}

/** A number that no stage has, as Deck gives it. */
function freeRefId(definition: JsonObject) {
  const numbers = stagesOf(definition).map((stage) => Number(refIdOf(stage)))
  return String(Math.max(0, ...numbers.filter(Number.isSafeInteger)) + 1)
}

/** Every stage gets a reference of its own, so that others can require it. */
function withRefIds(definition: JsonObject) {
  let next = Number(freeRefId(definition))
  const stages = toNodes(definition).map(({ stage, key }) =>
    refIdOf(stage) === key ? stage : { ...stage, refId: String(next++) },
  )
  return { ...definition, stages }
}

/** Its followers require what it required. */
export function removeStage(definition: JsonObject, key: string): JsonObject {
  const node = stageOfKey(definition, key)
  if (node === undefined) return definition
  const own = requisitesOf(node.stage).filter((id) => id !== key)
  const others = stagesOf(definition).toSpliced(node.index, 1)
  return { ...definition, stages: others.map((stage) => replaceRequisite(stage, key, own)) }
}

function replaceRequisite(stage: JsonObject, old: string, by: readonly string[]) {
  const ids = requisitesOf(stage)
  if (!ids.includes(old)) return stage
  return {
    ...stage,
    requisiteStageRefIds: [...new Set(ids.flatMap((id) => (id === old ? by : id)))],
  }
}

/** The copy runs beside the original. */
export function copyStage(definition: JsonObject, key: string, name: string): Added | undefined {
  const node = stageOfKey(definition, key)
  return node && addStage(definition, { ...node.stage, name }, { of: key, position: 'parallel' })
}

/** Also sorts the requisites as the stages are, so that choosing twice leaves no difference. */
export function setRequisites(
  definition: JsonObject,
  key: string,
  requisites: readonly string[],
): JsonObject {
  const nodes = toNodes(definition)
  const known = nodes.map((node) => node.key).filter((each) => requisites.includes(each))
  const requisiteStageRefIds = [...new Set([...known, ...requisites])]
  const stages = nodes.map(({ key: each, stage }) =>
    each === key ? { ...stage, requisiteStageRefIds } : stage,
  )
  return { ...definition, stages }
}

/** A field as the API describes it; forms of the console have further kinds, and further sources of choices. */
export interface FieldDescription extends Omit<Field, 'kind' | 'choicesFrom' | 'fields'> {
  readonly kind: string
  readonly choicesFrom?: string
  readonly fields?: readonly FieldDescription[]
}

/** A text that no description lists. */
export function describeText(name: string, rest: Partial<FieldDescription> = {}): FieldDescription {
  return { name, kind: 'text', expression: true, help: '', ...rest }
}

export interface StageType extends Omit<StageDescription, 'skip' | 'fields'> {
  readonly runsHere?: boolean
  readonly reason?: string
  readonly fields: readonly FieldDescription[]
}

/** The schema of the API leaves inner fields open; they are fields like others. */
export interface StageTypes {
  readonly commonFields: readonly FieldDescription[]
  readonly stageTypes: readonly StageType[]
}

/** Describes the type that runs, as the engine finds it: `alias` names it, or one that is for the cloud provider of the stage alone. */
export function descriptionOf(
  types: StageTypes | undefined,
  stage: JsonObject,
): StageType | undefined {
  const find = (name: unknown) => types?.stageTypes.find(({ type }) => type === scalarOf(name))
  const name = scalarOf(stage['alias']) ?? scalarOf(stage['type'])
  return find(`${name}_${scalarOf(stage['cloudProvider'])}`) ?? find(name) ?? find(stage['type'])
}
