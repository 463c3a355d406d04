/** Relations among the stages of an execution: before, after, above and below a stage. */
import { Attached } from '@fairlead/base/caches/attached.ts'
import type { Execution, Stage } from '../model.ts'
import { isFine, isHalt } from '../statuses.ts'

const graphs = new Attached<Execution, StageGraph>()

/** The relations are indexed once per execution, so every question costs no more than its answer. */
export function graphOf(execution: Execution): StageGraph {
  return graphs.get(execution) ?? graphs.set(execution, new StageGraph(execution))
}

/** The list of stages of an execution changes only by `insert` and `remove`. */
class StageGraph {
  readonly #execution: Execution
  readonly #byId = new Map<string, Stage>()
  /** Author's references are unique, but a synthetic one may collide with them. */
  readonly #byRef = new Map<string, Stage[]>()
  /** By the id of the parent, in the order of the list. */
  readonly #children = new Map<string, Stage[]>()
  /** By the reference that they require. */
  readonly #successors = new Map<string, Stage[]>()
  readonly #requisites = new Map<Stage, Stage[]>()
  /** How many of a stage's requisites, from the first one on, are known to be fine: they stay so until a restart. */
  readonly #finished = new Map<Stage, number>()
  /** Whether any stage has halted: none continues without a restart. Computed on demand. */
  #hasHalted: boolean | undefined
  /** Only the last answer is kept: questions about one stage come in a row. */
  #ancestors: { stage: Stage; found: Stage[] } | undefined
  #positions: Map<Stage, number> | undefined

  constructor(execution: Execution) {
    this.#execution = execution
    for (const stage of execution.stages) this.#add(stage)
  }

  /** Puts new stages into the list, ahead of or behind an existing one. */
  insert(place: 'before' | 'after', stage: Stage, added: readonly Stage[]): void {
    if (added.length === 0) return
    const stages = this.#execution.stages as Stage[]
    const at = stages.indexOf(stage)
    stages.splice(place === 'before' ? at : at + 1, 0, ...added)
    for (const each of added) this.#add(each)
    // Those before keep their order among each other, so what was found with the old positions still holds.
    this.#positions = undefined
    this.#ancestors = undefined
  }

  /** For restarts: takes stages out of the list, and forgets which ones were fine. */
  remove(removed: ReadonlySet<Stage>): void {
    this.#execution.stages = this.#execution.stages.filter((each) => !removed.has(each))
    for (const map of [
      this.#byId,
      this.#byRef,
      this.#children,
      this.#successors,
      this.#requisites,
      this.#finished,
    ])
      map.clear()
    this.#hasHalted = undefined
    this.#ancestors = undefined
    this.#positions = undefined
    for (const stage of this.#execution.stages) this.#add(stage)
  }

  #add(stage: Stage): void {
    this.#byId.set(stage.id, stage)
    this.#byRef.getOrInsertComputed(stage.refId, () => []).push(stage)
    if (stage.parentStageId !== undefined)
      this.#children.getOrInsertComputed(stage.parentStageId, () => []).push(stage)
    for (const refId of stage.requisiteStageRefIds)
      this.#successors.getOrInsertComputed(refId, () => []).push(stage)
  }

  /** Called when a stage ends. */
  noteEnd(stage: Stage): void {
    if (isHalt(stage.status)) this.#hasHalted = true
  }

  find(id: string): Stage | undefined {
    return this.#byId.get(id)
  }

  withRef(refId: string): readonly Stage[] {
    return this.#byRef.get(refId) ?? []
  }

  parentOf(stage: Stage): Stage | undefined {
    return stage.parentStageId === undefined ? undefined : this.find(stage.parentStageId)
  }

  /** The stage and those above it, the nearest first. */
  upwardsFrom(stage: Stage): Stage[] {
    const parent = this.parentOf(stage)
    return parent === undefined ? [stage] : [stage, ...this.upwardsFrom(parent)]
  }

  topLevelOf(stage: Stage): Stage {
    return this.upwardsFrom(stage).at(-1) ?? stage
  }

  childrenOf(stage: Stage, owner?: Stage['syntheticStageOwner']): readonly Stage[] {
    const children = this.#children.get(stage.id) ?? []
    return owner === undefined
      ? children
      : children.filter((child) => child.syntheticStageOwner === owner)
  }

  descendantsOf(stage: Stage): Stage[] {
    return this.childrenOf(stage).flatMap((child) => [child, ...this.descendantsOf(child)])
  }

  #requisitesOf(stage: Stage): readonly Stage[] {
    const known = this.#requisites.get(stage)
    if (known !== undefined) return known
    const found = stage.requisiteStageRefIds.flatMap((refId) => this.withRef(refId))
    if (found.length > 1) {
      this.#positions ??= new Map(this.#execution.stages.map((each, position) => [each, position]))
      const positionOf = (each: Stage) => this.#positions?.get(each) ?? 0
      found.sort((one, other) => positionOf(one) - positionOf(other))
    }
    this.#requisites.set(stage, found)
    return found
  }

  successorsOf(stage: Stage): readonly Stage[] {
    return this.#successors.get(stage.refId) ?? []
  }

  /** Everything that requires the stage, directly or through others, each once. */
  downstreamOf(stage: Stage): Stage[] {
    const found = new Set<Stage>()
    const open = [stage]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      for (const successor of this.successorsOf(next)) {
        if (!found.has(successor)) open.push(successor)
        found.add(successor)
      }
    }
    return [...found]
  }

  areRequisitesFine(stage: Stage): boolean {
    const requisites = this.#requisitesOf(stage)
    let count = this.#finished.get(stage) ?? 0
    for (
      let next = requisites[count];
      next !== undefined && isFine(next.status);
      next = requisites[count]
    )
      count++
    this.#finished.set(stage, count)
    return count === requisites.length
  }

  /** A requisite of one of the stages has halted, directly or further up through stages that have not started. */
  hasHaltedUpstream(stages: readonly Stage[]): boolean {
    this.#hasHalted ??= this.#execution.stages.some((each) => isHalt(each.status))
    if (!this.#hasHalted) return false
    const seen = new Set<Stage>()
    const open = [...stages]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      for (const requisite of this.#requisitesOf(next)) {
        if (isHalt(requisite.status)) return true
        if (requisite.status === 'NOT_STARTED' && !seen.has(requisite)) open.push(requisite)
        seen.add(requisite)
      }
    }
    return false
  }

  /**
   * The stage itself, then the stages whose outputs it may read, nearest first: those it requires with their synthetic
   * children, for an after-stage its before-siblings, its parent, and so on upwards.
   *
   * @see docs/contracts/orchestration.md#record-of-a-stage
   */
  ancestorsOf(stage: Stage): readonly Stage[] {
    if (this.#ancestors?.stage === stage) return this.#ancestors.found
    const found = new Set<Stage>([stage])
    const withChildren = new Set<Stage>()
    // A set is walked in the order of insertion, what is added on the way included: nearest first.
    for (const each of found) {
      for (const requisite of this.#requisitesOf(each)) {
        if (withChildren.has(requisite)) continue
        withChildren.add(requisite)
        found.add(requisite)
        for (const descendant of this.descendantsOf(requisite)) found.add(descendant)
      }
      const parent = this.parentOf(each)
      if (parent === undefined) continue
      if (each.syntheticStageOwner === 'STAGE_AFTER') {
        for (const sibling of this.childrenOf(parent, 'STAGE_BEFORE')) found.add(sibling)
      }
      found.add(parent)
    }
    this.#ancestors = { stage, found: [...found] }
    return this.#ancestors.found
  }

  /** A context key as a task sees it: the stage's own, else from the outputs of the nearest ancestor that has it. */
  readKey(stage: Stage, key: string): unknown {
    if (Object.hasOwn(stage.context, key)) return stage.context[key]
    return this.ancestorsOf(stage).find((ancestor) => Object.hasOwn(ancestor.outputs, key))
      ?.outputs[key]
  }

  /** The outputs of all ancestors by key; the nearest wins. */
  visibleOutputs(stage: Stage): Map<string, unknown> {
    const merged = new Map<string, unknown>()
    for (const { outputs } of this.ancestorsOf(stage)) {
      for (const [key, value] of Object.entries(outputs))
        if (!merged.has(key)) merged.set(key, value)
    }
    return merged
  }
}
