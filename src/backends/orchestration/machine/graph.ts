/**
 * Relations among the stages of an execution: before, after, above and below a stage. They are indexed once per execution,
 * so that every question costs no more than its answer; the list of stages changes only here.
 */
import type { Execution, Stage } from '../model.ts'
import { isTopLevel } from '../model.ts'
import { isFine, isHalt } from '../statuses.ts'

class StageIndex {
  readonly byId = new Map<string, Stage>()
  /** Author's references are unique, but a synthetic one may collide with them. */
  readonly byRef = new Map<string, Stage[]>()
  /** By the id of the parent, in the order of the list. */
  readonly children = new Map<string, Stage[]>()
  /** By the reference that they require. */
  readonly successors = new Map<string, Stage[]>()
  readonly requisites = new Map<Stage, Stage[]>()
  /** How many of a stage's requisites, from the first one on, are known to be fine: they stay so until a restart. */
  readonly finished = new Map<Stage, number>()
  /** Whether any stage has halted: none continues without a restart. Computed on demand. */
  hasHalted: boolean | undefined
  /** Only the last answer is kept: questions about one stage come in a row. */
  ancestors: { stage: Stage; found: Stage[] } | undefined
  positions: Map<Stage, number> | undefined

  constructor(stages: readonly Stage[]) {
    for (const stage of stages) this.add(stage)
  }

  add(stage: Stage): void {
    this.byId.set(stage.id, stage)
    append(this.byRef, stage.refId, stage)
    if (stage.parentStageId !== undefined) append(this.children, stage.parentStageId, stage)
    for (const refId of stage.requisiteStageRefIds) append(this.successors, refId, stage)
  }

  requisitesOf(stage: Stage, stages: readonly Stage[]): Stage[] {
    const known = this.requisites.get(stage)
    if (known !== undefined) return known
    const found = stage.requisiteStageRefIds.flatMap((refId) => this.byRef.get(refId) ?? [])
    if (found.length > 1) {
      this.positions ??= new Map(stages.map((each, position) => [each, position]))
      const positionOf = (each: Stage) => this.positions?.get(each) ?? 0
      found.sort((one, other) => positionOf(one) - positionOf(other))
    }
    this.requisites.set(stage, found)
    return found
  }
}

function append(lists: Map<string, Stage[]>, key: string, stage: Stage): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [stage])
  else list.push(stage)
}

const indexes = new WeakMap<Execution, StageIndex>()

function indexOf(execution: Execution): StageIndex {
  let index = indexes.get(execution)
  if (index === undefined) {
    index = new StageIndex(execution.stages)
    indexes.set(execution, index)
  }
  return index
}

/** Puts new stages into the list, ahead of or behind an existing one. */
export function insertStages(execution: Execution, place: 'before' | 'after', stage: Stage, added: readonly Stage[]): void {
  if (added.length === 0) return
  const index = indexOf(execution)
  const stages = execution.stages as Stage[]
  const at = stages.indexOf(stage)
  stages.splice(place === 'before' ? at : at + 1, 0, ...added)
  for (const each of added) index.add(each)
  // Those before keep their order among each other, so what was found with the old positions still holds.
  index.positions = undefined
  index.ancestors = undefined
}

/** For restarts: takes stages out of the list, and forgets which ones were fine. */
export function removeStages(execution: Execution, removed: ReadonlySet<Stage>): void {
  if (removed.size > 0) execution.stages = execution.stages.filter((each) => !removed.has(each))
  indexes.delete(execution)
}

/** Called when a stage ends. */
export function noteEnd(execution: Execution, stage: Stage): void {
  if (isHalt(stage.status)) indexOf(execution).hasHalted = true
}

export function findStage(execution: Execution, id: string): Stage | undefined {
  return indexOf(execution).byId.get(id)
}

export function stagesByRef(execution: Execution, refId: string): readonly Stage[] {
  return indexOf(execution).byRef.get(refId) ?? []
}

export function topLevelStages(execution: Execution): Stage[] {
  return execution.stages.filter(isTopLevel)
}

export function parentOf(execution: Execution, stage: Stage): Stage | undefined {
  return stage.parentStageId === undefined ? undefined : findStage(execution, stage.parentStageId)
}

export function topLevelOf(execution: Execution, stage: Stage): Stage {
  let top = stage
  for (let parent = parentOf(execution, top); parent !== undefined; parent = parentOf(execution, top)) top = parent
  return top
}

export function childrenOf(execution: Execution, stage: Stage, owner?: Stage['syntheticStageOwner']): readonly Stage[] {
  const children = indexOf(execution).children.get(stage.id) ?? []
  return owner === undefined ? children : children.filter((child) => child.syntheticStageOwner === owner)
}

export function descendantsOf(execution: Execution, stage: Stage): Stage[] {
  return childrenOf(execution, stage).flatMap((child) => [child, ...descendantsOf(execution, child)])
}

function requisitesOf(execution: Execution, stage: Stage): readonly Stage[] {
  return indexOf(execution).requisitesOf(stage, execution.stages)
}

export function successorsOf(execution: Execution, stage: Stage): readonly Stage[] {
  return indexOf(execution).successors.get(stage.refId) ?? []
}

/** Everything that requires the stage, directly or through others, each once. */
export function downstreamOf(execution: Execution, stage: Stage): Stage[] {
  const found = new Set<Stage>()
  const open = [stage]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const successor of successorsOf(execution, next)) {
      if (!found.has(successor)) open.push(successor)
      found.add(successor)
    }
  }
  return [...found]
}

export function areRequisitesFine(execution: Execution, stage: Stage): boolean {
  const requisites = requisitesOf(execution, stage)
  const { finished } = indexOf(execution)
  let count = finished.get(stage) ?? 0
  for (let next = requisites[count]; next !== undefined && isFine(next.status); next = requisites[count]) count++
  finished.set(stage, count)
  return count === requisites.length
}

/** A requisite of one of the stages has halted, directly or further up through stages that have not started. */
export function hasHaltedUpstream(execution: Execution, stages: readonly Stage[]): boolean {
  const index = indexOf(execution)
  index.hasHalted ??= execution.stages.some((each) => isHalt(each.status))
  if (!index.hasHalted) return false
  const seen = new Set<Stage>()
  const open = [...stages]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const requisite of requisitesOf(execution, next)) {
      if (isHalt(requisite.status)) return true
      if (requisite.status === 'NOT_STARTED' && !seen.has(requisite)) open.push(requisite)
      seen.add(requisite)
    }
  }
  return false
}

/**
 * The stage itself, then the stages whose outputs it may read, nearest first: those it requires with their synthetic
 * children, for an after-stage its before-siblings, its parent, and so on upwards (section 3.2).
 */
export function ancestorsOf(execution: Execution, stage: Stage): readonly Stage[] {
  const index = indexOf(execution)
  if (index.ancestors?.stage === stage) return index.ancestors.found
  const found = new Set<Stage>([stage])
  const withChildren = new Set<Stage>()
  // A set is walked in the order of insertion, what is added on the way included: nearest first.
  for (const each of found) {
    for (const requisite of requisitesOf(execution, each)) {
      if (withChildren.has(requisite)) continue
      withChildren.add(requisite)
      found.add(requisite)
      for (const descendant of descendantsOf(execution, requisite)) found.add(descendant)
    }
    const parent = parentOf(execution, each)
    if (parent === undefined) continue
    if (each.syntheticStageOwner === 'STAGE_AFTER') {
      for (const sibling of childrenOf(execution, parent, 'STAGE_BEFORE')) found.add(sibling)
    }
    found.add(parent)
  }
  index.ancestors = { stage, found: [...found] }
  return index.ancestors.found
}

/** A context key as a task sees it: the stage's own, else from the outputs of the nearest ancestor that has it. */
export function readKey(execution: Execution, stage: Stage, key: string): unknown {
  if (Object.hasOwn(stage.context, key)) return stage.context[key]
  return ancestorsOf(execution, stage).find((ancestor) => Object.hasOwn(ancestor.outputs, key))?.outputs[key]
}

/** The outputs of all ancestors by key; the nearest wins. */
export function visibleOutputs(execution: Execution, stage: Stage): Map<string, unknown> {
  const merged = new Map<string, unknown>()
  for (const { outputs } of ancestorsOf(execution, stage)) {
    for (const [key, value] of Object.entries(outputs)) if (!merged.has(key)) merged.set(key, value)
  }
  return merged
}
