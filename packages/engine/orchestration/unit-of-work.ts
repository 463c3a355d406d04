/**
 * One transaction of the engine. The executions that it touches are loaded once, changed in memory, and written together at
 * the end, after everything that a completion entails.
 */
import { PortError } from '@fairlead/base/port-error.ts'
import type { StoredDefinitions } from '@fairlead/ports/definitions.ts'
import { executionFactor } from '../limits.ts'
import { releaseWaiting, startOrPark } from './concurrency.ts'
import { ownParts } from './kept-stage.ts'
import { giveUp, nextDue, wakeTasks } from './machine/run-task.ts'
import type { Turn } from './machine/turn.ts'
import { type Execution, type ExecutionType, originOf } from './model.ts'
import { isActive, isComplete } from './statuses.ts'
import type { ExecutionStore } from './store.ts'

/** @throws {PortError} 404 when there is no such record, or it is of the other type. */
export function checkFound(
  found: Execution | undefined,
  id: string,
  type = found?.type,
): Execution {
  if (found !== undefined && found.type === type) return found
  throw new PortError(
    404,
    `There is no ${type === 'ORCHESTRATION' ? 'task' : 'execution'} with the id ${id}.`,
  )
}

interface UnitParts {
  readonly store: ExecutionStore
  readonly ports: { readonly definitions: Pick<StoredDefinitions, 'mayBeFollowed'> }
}

export class UnitOfWork {
  readonly turn: Turn
  readonly #store: ExecutionStore
  readonly #ports: UnitParts['ports']
  readonly #isInFlight: (run: string) => boolean
  /** Executions as loaded or last written; their text tells whether there is anything to write. */
  readonly #executions = new Map<string, Execution>()
  readonly #removed = new Map<string, Execution | undefined>()
  readonly #written = new Set<Execution>()
  /** The last one that was inserted, until it is written as the transaction leaves it. */
  #added: Execution | undefined

  constructor(turn: Turn, { store, ports }: UnitParts, isInFlight: (run: string) => boolean) {
    this.turn = turn
    this.#store = store
    this.#ports = ports
    this.#isInFlight = isInFlight
  }

  load(id: string): Execution | undefined {
    const known = this.#executions.get(id)
    for (const stage of known?.stages ?? []) ownParts(stage)
    return known ?? this.#note(this.#store.load(id))
  }

  /** For a step of the machine; one that has failed gets a copy of its own. @see ExecutionStore.loadForStep */
  loadForStep(id: string, hasFailed: boolean): Execution | undefined {
    if (hasFailed) return this.load(id)
    return this.#executions.get(id) ?? this.#note(this.#store.loadForStep(id))
  }

  #note(loaded: Execution | undefined): Execution | undefined {
    if (loaded !== undefined) this.#executions.set(loaded.id, loaded)
    return loaded
  }

  /** @throws {PortError} 404 when there is no such record, or it is of the other type. */
  require(id: string, type?: ExecutionType): Execution {
    return checkFound(this.load(id), id, type)
  }

  /** Keeps an execution that failed before it could start, unless its id is taken. */
  record(failed: Execution): void {
    if (this.load(failed.id) === undefined) this.insert(failed)
  }

  insert(execution: Execution): void {
    this.#writeAdded()
    this.#added = execution
    this.#executions.set(execution.id, execution)
  }

  #writeAdded(): void {
    if (this.#added === undefined) return
    this.#store.insert(
      this.#added,
      nextDue(this.#added, () => false),
    )
    this.#written.add(this.#added)
    this.#added = undefined
  }

  remove(id: string): void {
    this.#writeAdded()
    this.#removed.set(id, this.#executions.get(id))
    this.#store.remove(id)
    this.#executions.delete(id)
  }

  /**
   * Stores an execution, and starts it if it has not failed already, unless one with its id, or an incomplete one with its correlation id, exists: then that one is
   * returned.
   *
   * @throws {PortError} 400 when executions have started one another too often; nothing is changed
   */
  submit(execution: Execution): Execution {
    this.#writeAdded()
    const existing = this.load(execution.id) ?? this.#correlated(execution)
    if (existing !== undefined) return existing
    this.#checkLineage(execution)
    this.insert(execution)
    if (!isComplete(execution.status)) startOrPark(this, execution)
    return execution
  }

  /** Pipelines that start each other without end would fill the store. */
  #checkLineage(execution: Execution): void {
    const { depth, descendants } = this.turn.limits
    const lineage = this.#store.lineageOf(execution)
    const name = `The pipeline ${execution.name ?? execution.pipelineConfigId ?? ''}`
    if (lineage.depth > depth) {
      throw new PortError(
        400,
        `${name} would be started ${lineage.depth} levels below the execution ${lineage.root}; ${depth} are allowed. ` +
          'If the pipelines do not start one another in a circle, raise pipelines.max-depth.',
      )
    }
    if (lineage.root === undefined || lineage.relatives < descendants) return
    throw new PortError(
      400,
      `${name} was not started: ${lineage.relatives} executions follow from the execution ${lineage.root} already, ` +
        `${descendants} are allowed. If that is not too many, raise pipelines.max-descendants.`,
    )
  }

  /** Looks in its own application only: with an id that another application uses, nothing of that is returned or kept from starting. */
  #correlated({ type, application, trigger: { correlationId } }: Execution): Execution | undefined {
    if (correlationId === undefined) return undefined
    const found = this.#store
      .correlated(correlationId)
      .find((one) => one.type === type && one.application === application)
    return found && this.load(found.id)
  }

  /** Counts what is stored and what this transaction has changed. */
  countBegun(configId: string, except: string): number {
    const ids = new Set(this.#store.begun(configId))
    for (const { id, pipelineConfigId, status } of this.#executions.values()) {
      if (pipelineConfigId === configId && isActive(status)) ids.add(id)
      else ids.delete(id)
    }
    ids.delete(except)
    return ids.size
  }

  /** Ids of waiting executions of a pipeline, oldest first. */
  parked(configId: string): string[] {
    const places = new Map(this.#store.parked(configId).map(({ id, parkedAt }) => [id, parkedAt]))
    for (const { id, pipelineConfigId, engine } of this.#executions.values()) {
      if (pipelineConfigId === configId && engine.parkedAt !== undefined)
        places.set(id, engine.parkedAt)
      else places.delete(id)
    }
    return [...places].sort(([, one], [, other]) => (one < other ? -1 : 1)).map(([id]) => id)
  }

  /** Lets waiting executions of a pipeline start after the end of one whose record cannot be read. */
  releaseAfterUnreadable(configId: string): void {
    const newest = this.parked(configId).at(-1)
    if (newest !== undefined)
      releaseWaiting(this, configId, this.require(newest).keepWaitingPipelines)
  }

  /** Deals with what was completed, then writes everything. Returns what was touched with its next due time. */
  finish(): { id: string; due: number | undefined }[] {
    do {
      for (
        let done = this.turn.completed.shift();
        done !== undefined;
        done = this.turn.completed.shift()
      )
        this.#settle(done)
      this.#write()
    } while (this.#endsTooLarge())
    const touched = [...this.#executions.values()].map((execution) => ({
      id: execution.id,
      due: nextDue(execution, this.#isInFlight),
    }))
    return [...touched, ...[...this.#removed.keys()].map((id) => ({ id, due: undefined }))]
  }

  /** Tells what was written and what was removed, once the transaction has succeeded. */
  report(changed: (execution: Execution, isRemoved: boolean) => void): void {
    for (const execution of this.#written)
      if (!this.#removed.has(execution.id)) changed(execution, false)
    for (const execution of this.#removed.values())
      if (execution !== undefined) changed(execution, true)
  }

  /** Ends what has grown beyond its bounds: each of its steps would take the longer. Whether there was any. */
  #endsTooLarge(): boolean {
    const most = executionFactor * this.turn.limits.bytes
    const grown = [...this.#executions.values()].filter(
      (each) => !isComplete(each.status) && this.#store.sizeOf(each) > most,
    )
    for (const execution of grown) {
      const size = this.#store.sizeOf(execution)
      giveUp(
        execution,
        `Its record has grown to ${size} characters, ${most} are allowed. Let its stages record less, or raise pipelines.max-size.`,
        this.turn,
      )
    }
    return grown.length > 0
  }

  #settle(done: Execution): void {
    const { run, stageId } = originOf(done.trigger)
    if (stageId !== undefined && run.id !== undefined) {
      const parent = this.load(run.id)
      if (parent !== undefined && !isComplete(parent.status)) wakeTasks(parent, this.turn.now)
    }
    if (done.type !== 'PIPELINE' || done.pipelineConfigId === undefined) return
    if (this.#ports.definitions.mayBeFollowed(done.pipelineConfigId))
      done.engine.followUps.push({
        id: this.turn.nextId(),
        kind: 'start-dependents',
        dueAt: this.turn.now,
        attempts: 0,
      })
    releaseWaiting(this, done.pipelineConfigId, done.keepWaitingPipelines)
  }

  #write(): void {
    const added = this.#added
    this.#writeAdded()
    for (const execution of this.#executions.values()) {
      if (execution === added) continue
      const due = nextDue(execution, () => false)
      if (this.#store.save(execution, due)) this.#written.add(execution)
    }
  }
}
