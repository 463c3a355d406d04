/** Stages of a definition: who requires whom, and changes that keep the graph whole. */
import { type Json, objectOf, textOf } from '../model/read.ts'

export interface StageNode {
  /** Place in `stages`. */
  readonly index: number
  /** What addresses and graphs call it: its `refId`, or its place where that is missing or taken. */
  readonly key: string
  readonly stage: Json
  /** Keys of the stages that it requires, without those that do not exist. */
  readonly requires: readonly string[]
}

/** Where a new stage goes, from an existing one. */
export type Position = 'before' | 'after' | 'parallel'

export function stagesOf(definition: Json): readonly Json[] {
  const { stages } = definition
  return Array.isArray(stages) ? stages.map(objectOf) : []
}

export function toNodes(definition: Json): readonly StageNode[] {
  const stages = stagesOf(definition)
  const keys = new Map<string, number>()
  for (const [index, stage] of stages.entries()) {
    const refId = refIdOf(stage)
    if (refId !== undefined && !keys.has(refId)) keys.set(refId, index)
  }
  return stages.map((stage, index) => {
    const refId = refIdOf(stage)
    return {
      index,
      key: refId !== undefined && keys.get(refId) === index ? refId : `#${index + 1}`,
      stage,
      requires: requisitesOf(stage).filter((id) => keys.has(id)),
    }
  })
}

export function refIdOf(stage: Json): string | undefined {
  return textOf(stage['refId'])
}

export function requisitesOf(stage: Json): readonly string[] {
  const { requisiteStageRefIds } = stage
  return Array.isArray(requisiteStageRefIds) ? [...new Set(requisiteStageRefIds.flatMap((id) => textOf(id) ?? []))] : []
}

export function titleOfStage(stage: Json): string {
  return textOf(stage['name']) ?? textOf(stage['type']) ?? '?'
}

/** Keys of all stages that come after, whatever the way. */
export function followersOf(nodes: readonly StageNode[], key: string): ReadonlySet<string> {
  const next = new Map<string, string[]>()
  for (const node of nodes) for (const before of node.requires) next.set(before, [...(next.get(before) ?? []), node.key])
  const found = new Set<string>()
  const open = [...(next.get(key) ?? [])]
  for (let follower = open.pop(); follower !== undefined; follower = open.pop()) {
    if (found.has(follower)) continue
    found.add(follower)
    open.push(...(next.get(follower) ?? []))
  }
  return found
}

/** Each after those that it requires; equals in the order of the definition. What waits for a circle comes last. */
export function inRunOrder(nodes: readonly StageNode[]): readonly StageNode[] {
  const { ordered, stuck } = sortByRun(nodes)
  return [...ordered, ...stuck]
}

/** Keys of the stages of one circle, in its order. */
export function findCircle(nodes: readonly StageNode[]): readonly string[] | undefined {
  const { stuck } = sortByRun(nodes)
  const byKey = new Map(stuck.map((node) => [node.key, node]))
  // Each of these requires another one of them: the way back ends in a circle.
  const way: string[] = []
  for (let key = stuck[0]?.key; key !== undefined; key = byKey.get(key)?.requires.find((each) => byKey.has(each))) {
    const at = way.indexOf(key)
    if (at >= 0) return way.slice(at).toReversed()
    way.push(key)
  }
  return undefined
}

function sortByRun(nodes: readonly StageNode[]): { ordered: readonly StageNode[]; stuck: readonly StageNode[] } {
  const done = new Set<string>()
  const ordered: StageNode[] = []
  let stuck = [...nodes]
  for (;;) {
    const ready = stuck.filter(({ requires }) => requires.every((key) => done.has(key)))
    if (ready.length === 0) return { ordered, stuck }
    for (const { key } of ready) done.add(key)
    ordered.push(...ready)
    stuck = stuck.filter(({ key }) => !done.has(key))
  }
}

/** A number that no stage has, as Deck gives it. */
function freeRefId(definition: Json): string {
  const numbers = stagesOf(definition).flatMap((stage) => {
    const number = Number(refIdOf(stage))
    return Number.isSafeInteger(number) ? number : []
  })
  return String(Math.max(0, ...numbers) + 1)
}

function withStages(definition: Json, stages: readonly Json[]): Json {
  return { ...definition, stages }
}

interface Added {
  readonly definition: Json
  readonly refId: string
}

/**
 * Adds a stage: after all others, or at a place of an existing one. `after` is the next one of that, before its followers;
 * `before` comes between that and what it requires; `parallel` has the same requisites.
 */
export function addStage(given: Json, stage: Json, place?: { readonly of: string; readonly position: Position }): Added {
  const definition = place === undefined ? given : withRefIds(given)
  const refId = freeRefId(definition)
  const nodes = toNodes(definition)
  // A stage that had no reference has another key now.
  const node = nodes[toNodes(given).findIndex(({ key }) => key === place?.of)]
  const anchor = node === undefined ? undefined : refIdOf(node.stage)
  const fresh = (requisiteStageRefIds: readonly string[]): Json => ({ ...stage, refId, requisiteStageRefIds })
  const stages = stagesOf(definition)
  if (place === undefined || node === undefined || anchor === undefined) {
    const required = new Set(nodes.flatMap(({ requires }) => requires))
    const ends = nodes.filter(({ key, stage: each }) => !required.has(key) && refIdOf(each) === key).map(({ key }) => key)
    return { definition: withStages(definition, [...stages, fresh(ends)]), refId }
  }
  const own = requisitesOf(node.stage)
  if (place.position === 'parallel') {
    return { definition: withStages(definition, stages.toSpliced(node.index + 1, 0, fresh(own))), refId }
  }
  if (place.position === 'before') {
    const moved = stages.with(node.index, { ...node.stage, requisiteStageRefIds: [refId] })
    return { definition: withStages(definition, moved.toSpliced(node.index, 0, fresh(own))), refId }
  }
  const moved = stages.map((each) =>
    requisitesOf(each).includes(anchor)
      ? { ...each, requisiteStageRefIds: replaceId(requisitesOf(each), anchor, [refId]) }
      : each,
  )
  return { definition: withStages(definition, moved.toSpliced(node.index + 1, 0, fresh([anchor]))), refId }
}

/** Every stage gets a reference of its own, so that others can require it. */
function withRefIds(definition: Json): Json {
  let next = Number(freeRefId(definition))
  const stages = toNodes(definition).map(({ stage, key }) =>
    refIdOf(stage) === key ? stage : { ...stage, refId: String(next++) },
  )
  return withStages(definition, stages)
}

/** Its followers require what it required. */
export function removeStage(definition: Json, key: string): Json {
  const node = toNodes(definition).find((each) => each.key === key)
  if (node === undefined) return definition
  const refId = refIdOf(node.stage)
  const own = requisitesOf(node.stage).filter((id) => id !== refId)
  const stages = stagesOf(definition).flatMap((stage, index): Json[] => {
    if (index === node.index) return []
    const before = requisitesOf(stage)
    // A second stage of the same reference still answers to it.
    if (refId !== key || !before.includes(key)) return [stage]
    return [{ ...stage, requisiteStageRefIds: replaceId(before, key, own) }]
  })
  return withStages(definition, stages)
}

function replaceId(ids: readonly string[], old: string, by: readonly string[]): readonly string[] {
  return [...new Set(ids.flatMap((id) => (id === old ? by : id)))]
}

/** The copy runs beside the original. */
export function copyStage(definition: Json, key: string, name: string): Added | undefined {
  const node = toNodes(definition).find((each) => each.key === key)
  if (node === undefined) return undefined
  const { refId: _refId, requisiteStageRefIds: _requisites, ...rest } = node.stage
  return addStage(definition, { ...structuredClone(rest), name }, { of: key, position: 'parallel' })
}

/** Also sorts the requisites as the stages are, so that choosing twice leaves no difference. */
export function setRequisites(definition: Json, key: string, requisites: readonly string[]): Json {
  const nodes = toNodes(definition)
  const order = new Map(nodes.map((node) => [node.key, node.index]))
  const sorted = requisites.toSorted((a, b) => (order.get(a) ?? Number.MAX_VALUE) - (order.get(b) ?? Number.MAX_VALUE))
  const stages = nodes.map((node) => (node.key === key ? { ...node.stage, requisiteStageRefIds: sorted } : node.stage))
  return withStages(definition, stages)
}

/** Another place in the list; the graph follows the requisites, equals follow the list. */
export function moveStage(definition: Json, key: string, by: -1 | 1): Json {
  const stages = stagesOf(definition)
  const at = toNodes(definition).findIndex((node) => node.key === key)
  const other = at + by
  const stage = stages[at]
  if (stage === undefined || other < 0 || other >= stages.length) return definition
  return withStages(definition, stages.toSpliced(at, 1).toSpliced(other, 0, stage))
}

export function stageOfKey(definition: Json, key: string | undefined): StageNode | undefined {
  return key === undefined ? undefined : toNodes(definition).find((node) => node.key === key)
}
