/** Who comes before, after, above and below a stage. */
import type { Execution, JsonObject, Stage } from '../model.ts'
import { isTopLevel } from '../model.ts'
import { isFine, isHalt } from '../statuses.ts'

export function findStage(execution: Execution, id: string): Stage | undefined {
  return execution.stages.find((stage) => stage.id === id)
}

export function topLevelStages(execution: Execution): Stage[] {
  return execution.stages.filter(isTopLevel)
}

export function parentOf(execution: Execution, stage: Stage): Stage | undefined {
  return stage.parentStageId === undefined ? undefined : findStage(execution, stage.parentStageId)
}

export function topLevelOf(execution: Execution, stage: Stage): Stage {
  const parent = parentOf(execution, stage)
  return parent === undefined ? stage : topLevelOf(execution, parent)
}

export function childrenOf(execution: Execution, stage: Stage, owner?: Stage['syntheticStageOwner']): Stage[] {
  return execution.stages.filter(
    (child) => child.parentStageId === stage.id && (owner === undefined || child.syntheticStageOwner === owner),
  )
}

export function descendantsOf(execution: Execution, stage: Stage): Stage[] {
  return childrenOf(execution, stage).flatMap((child) => [child, ...descendantsOf(execution, child)])
}

function requisitesOf(execution: Execution, stage: Stage): Stage[] {
  return execution.stages.filter((other) => stage.requisiteStageRefIds.includes(other.refId))
}

export function successorsOf(execution: Execution, stage: Stage): Stage[] {
  return execution.stages.filter((other) => other.requisiteStageRefIds.includes(stage.refId))
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
  return requisitesOf(execution, stage).every((requisite) => isFine(requisite.status))
}

/** A requisite has halted, directly or further up through stages that have not started. */
export function hasHaltedUpstream(execution: Execution, stage: Stage): boolean {
  const seen = new Set<Stage>()
  const open = [stage]
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
export function ancestorsOf(execution: Execution, stage: Stage): Stage[] {
  const found = new Set<Stage>([stage])
  let level = [stage]
  while (level.length > 0) {
    const above = level.flatMap((each) => directAncestors(execution, each)).filter((each) => !found.has(each))
    for (const each of above) found.add(each)
    level = [...new Set(above)]
  }
  return [...found]
}

function directAncestors(execution: Execution, stage: Stage): Stage[] {
  const found = requisitesOf(execution, stage).flatMap((requisite) => [requisite, ...descendantsOf(execution, requisite)])
  const parent = parentOf(execution, stage)
  if (parent === undefined) return found
  if (stage.syntheticStageOwner === 'STAGE_AFTER') found.push(...childrenOf(execution, parent, 'STAGE_BEFORE'))
  return [...found, parent]
}

/** A context key as a task sees it: the stage's own, else from the outputs of the nearest ancestor that has it. */
export function readKey(execution: Execution, stage: Stage, key: string): unknown {
  if (Object.hasOwn(stage.context, key)) return stage.context[key]
  return ancestorsOf(execution, stage).find((ancestor) => Object.hasOwn(ancestor.outputs, key))?.outputs[key]
}

/** The outputs of all ancestors as one object; the nearest wins. */
export function visibleOutputs(execution: Execution, stage: Stage): JsonObject {
  let merged: JsonObject = {}
  for (const ancestor of ancestorsOf(execution, stage)) merged = { ...ancestor.outputs, ...merged }
  return merged
}
