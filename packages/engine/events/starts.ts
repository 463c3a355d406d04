/**
 * Starts of pipelines: stored before the response, then sent until the orchestrator accepts them. A start that fails for good
 * leaves a failed execution with the reason.
 */

import type { StatementSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { BackOff } from '@fairlead/base/concurrency/back-off.ts'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { isPassing, PortError } from '@fairlead/base/port-error.ts'
import { SharedPartStore, sharedPartsMigration } from '@fairlead/base/storage/shared-parts.ts'
import { createUlid, isExecutionId } from '@fairlead/base/storage/ulid.ts'
import { ConcurrencyLimit } from '@fairlead/base/stores/in-turns.ts'
import { readPipeline } from '@fairlead/model/pipelines/definition.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { type Caller, toCaller } from '@fairlead/ports/caller.ts'
import { type Arrival, readArrival } from '../pipelines/arrivals.ts'
import type { Start } from './start.ts'

export const startMigrations = [
  `CREATE TABLE events_starts (
     execution_id TEXT PRIMARY KEY,
     pipeline TEXT NOT NULL,
     trigger TEXT NOT NULL,
     artifacts TEXT NOT NULL,
     identity TEXT NOT NULL,
     accepted_ms INTEGER NOT NULL
   ) STRICT`,
  'ALTER TABLE events_starts ADD COLUMN problem TEXT',
  sharedPartsMigration('events', 'events_starts'),
]

const columns = ['pipeline', 'trigger', 'artifacts', 'identity'] as const

/** Pauses between tries, in milliseconds, so that tests need not wait. */
export interface StartPauses {
  orchestratorMs: number
  buildMs: number
}

const maxTries = 5

/** A start that a crash interrupted is resumed unless it is older: by then a user has probably started it again. */
const maxAgeMs = 10 * 60_000

/** How long a failed execution is tried to be recorded, while the orchestrator cannot be reached. */
const maxRecordingMs = 24 * 60 * 60_000
const longestPauseMs = 5 * 60_000

/** While the orchestrator does not keep up, more than this is refused, so that senders know. */
const maxWaiting = 10_000
/** The same in characters of what was stored. */
const maxWaitingLength = 128_000_000

interface StoredStart {
  /** The execution's. */
  readonly id: string
  readonly start: Start
  /** Characters that it has added to the store. */
  readonly length: number
}

/** Starts on their way at once: thousands of webhooks must not delay all other requests of the back ends. */
const maxSent = 4

export class Starts {
  readonly #context: BackendContext
  readonly #pauses: StartPauses
  readonly #insert: StatementSync
  readonly #fail: StatementSync
  readonly #remove: StatementSync
  readonly #list: StatementSync
  readonly #line = new ConcurrencyLimit(maxSent)
  readonly #parts: SharedPartStore
  readonly #waiting = new Map<string, StoredStart>()
  readonly #closing = new AbortController()

  constructor(context: BackendContext, pauses: StartPauses) {
    this.#context = context
    this.#pauses = pauses
    const { db } = context
    this.#parts = new SharedPartStore(db, {
      prefix: 'events',
      parse: parseJson,
      format: formatJson,
    })
    this.#insert = db.prepare('INSERT OR IGNORE INTO events_starts VALUES (?, ?, ?, ?, ?, ?, ?)')
    this.#fail = db.prepare('UPDATE events_starts SET problem = ? WHERE execution_id = ?')
    this.#remove = db.prepare('DELETE FROM events_starts WHERE execution_id = ?')
    this.#list = db.prepare('SELECT * FROM events_starts ORDER BY accepted_ms')
  }

  /**
   * Stores a start, without sending it. The orchestrator treats a repeated execution id as the same run, so a start that
   * is sent again after a crash or a lost answer runs once.
   *
   * @throws {PortError} 503 while too many wait for the orchestrator
   */
  store(start: Start): StoredStart {
    const waitingLength = this.#waiting.values().reduce((sum, { length }) => sum + length, 0)
    if (this.#waiting.size >= maxWaiting || waitingLength >= maxWaitingLength) {
      throw new PortError(
        503,
        `${this.#waiting.size} pipelines wait to be started, because the orchestrator does not answer. Try again.`,
      )
    }
    const id = this.#toId(start.trigger['executionId'])
    const { pipeline, trigger, artifacts, identity } = start
    const { rest, parts } = this.#parts.split({ pipeline, trigger, artifacts, identity })
    const texts = columns.map((name) => formatJson(rest[name]))
    const { changes } = this.#insert.run(id, ...texts, this.#context.now(), start.problem ?? null)
    const length =
      changes === 0
        ? 0
        : this.#parts.keep(id, parts) + texts.reduce((sum, text) => sum + text.length, 0)
    return { id, start, length }
  }

  /** Sends in the background what `store` has stored. */
  send(stored: StoredStart): void {
    if (this.#waiting.has(stored.id)) return
    this.#waiting.set(stored.id, stored)
    void this.#carryOut(stored.id, stored.start)
  }

  /** Takes up what was stored when the process ended. */
  resume(): void {
    for (const row of this.#list.all()) {
      const isOld = this.#context.now() - Number(row['accepted_ms']) > maxAgeMs
      const id = String(row['execution_id'])
      const rest = Object.fromEntries(columns.map((name) => [name, parseJson(String(row[name]))]))
      const problem =
        textOf(row['problem']) ??
        (isOld ? 'The start was interrupted too long ago. Start the pipeline again.' : undefined)
      this.send({
        id,
        start: { ...(this.#parts.restore(id, rest) as unknown as Start), problem },
        length: 0,
      })
    }
  }

  close(): void {
    this.#closing.abort()
  }

  get #closed(): boolean {
    return this.#closing.signal.aborted
  }

  async #carryOut(executionId: string, start: Start): Promise<void> {
    const problem = start.problem ?? (await this.#start(executionId, start))
    if (problem !== undefined && !this.#closed)
      await this.#recordFailure(executionId, start, problem)
    await this.#write(executionId, () => this.#remove.run(executionId))
    this.#waiting.delete(executionId)
  }

  /** Goes on until the store, whose disk may be full, takes it. */
  async #write(executionId: string, write: () => void): Promise<void> {
    while (!this.#closed) {
      try {
        write()
        return
      } catch (error) {
        this.#context.log.error(
          { err: error, executionId },
          'what became of a start could not be stored and is tried again',
        )
      }
      await this.#pause(this.#pauses.orchestratorMs)
    }
  }

  /** Tries until the orchestrator decides. @returns why the pipeline cannot be started, unless it was. */
  async #start(executionId: string, start: Start): Promise<string | undefined> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#try(() => this.#submit(executionId, start))
      if (
        outcome === undefined ||
        !isPassing(outcome.error) ||
        attempt === maxTries ||
        this.#closed
      )
        return outcome?.problem
      await this.#pause(this.#pauses.orchestratorMs)
    }
  }

  async #submit(executionId: string, start: Start): Promise<void> {
    const { executions, builds } = this.#context.ports
    const starter = toStarter(executionId, start)
    const isManual = start.trigger['type'] === 'manual'
    const arrival = await readArrival(builds, start, starter, () =>
      this.#pause(this.#pauses.buildMs),
    )
    const definition = toDefinition(executionId, start, arrival)
    const stored = () => void this.#remove.run(executionId)
    await this.#line.run(() =>
      isManual && arrival.problems.length > 0
        ? executions.recordFailure(definition, arrival.problems.join(' '), stored, starter)
        : executions.start(definition, stored, starter),
    )
  }

  /** Goes on until the execution is there, also when the orchestrator comes back only after hours. */
  async #recordFailure(executionId: string, start: Start, problem: string): Promise<void> {
    const { log, now, ports } = this.#context
    const facts = { executionId, pipeline: start.pipeline['id'], problem }
    log.warn(facts, 'a pipeline could not be started')
    if (start.problem === undefined)
      await this.#write(executionId, () => this.#fail.run(problem, executionId))
    const begunMs = now()
    const backOff = new BackOff({ firstMs: this.#pauses.orchestratorMs, longestMs: longestPauseMs })
    const stored = () => void this.#remove.run(executionId)
    for (;;) {
      const outcome = await this.#try(() => {
        // One that was interrupted days ago is recorded under an id of today.
        const definition = toFailedStart(this.#toId(executionId), start)
        return this.#line.run(() =>
          ports.executions.recordFailure(
            definition,
            problem,
            stored,
            toStarter(executionId, start),
          ),
        )
      })
      if (outcome === undefined || this.#closed) return
      if (!isPassing(outcome.error) || now() - begunMs > maxRecordingMs) {
        log.error(
          { ...facts, refusal: outcome.problem },
          'the failure of a start could not be recorded as an execution',
        )
        return
      }
      await this.#pause(backOff.nextMs())
    }
  }

  async #try(
    work: () => Promise<unknown>,
  ): Promise<{ error: unknown; problem: string } | undefined> {
    try {
      await work()
      return undefined
    } catch (error) {
      const { message } = error as Error
      return {
        error,
        problem:
          error instanceof PortError ? message : `The orchestrator cannot be reached: ${message}`,
      }
    }
  }

  #toId(given: unknown): string {
    const nowMs = this.#context.now()
    return isExecutionId(given, nowMs) ? given : createUlid(nowMs)
  }

  /** Never resolves once the service is closed: what waits is resumed at the next start of the process. */
  #pause(ms: number): Promise<void> {
    return setTimeout(ms, undefined, this.#closing).catch(() => new Promise<void>(() => {}))
  }
}

function toStarter(executionId: string, { identity }: Start): Caller {
  return toCaller({ ...identity, 'x-spinnaker-execution-id': executionId })
}

/** Artifacts of a user are received once, as registries know them. */
function toDefinition(
  executionId: string,
  { pipeline, trigger: { notifications, artifacts, ...trigger } }: Start,
  arrival: Arrival,
): JsonObject {
  const read = readPipeline(pipeline)
  return {
    ...pipeline,
    executionId,
    notifications: [...read.notifications, ...objectsOf(notifications)],
    expectedArtifacts: read.expectedArtifacts,
    receivedArtifacts: arrival.artifacts,
    trigger: {
      ...trigger,
      ...(trigger['type'] !== 'manual' && artifacts !== undefined && { artifacts }),
      ...(notifications !== undefined && { notifications }),
      ...arrival.fields,
    },
  }
}

/** What is left of a start that failed: nothing in it can make the orchestrator refuse to record it. */
function toFailedStart(executionId: string, { pipeline, trigger }: Start): JsonObject {
  const { payload: _payload, parentPipelineId: _parent, ...kept } = trigger
  const { application, name, id, type, schema } = pipeline
  return { application, name, id, type, schema, stages: [], trigger: kept, executionId }
}
