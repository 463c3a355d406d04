/** Starts of pipelines: each is stored before its cause is answered, then sent to the orchestrator until that accepts it. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { parseJson } from '../../http/json.ts'
import type { BackendContext, ServiceAnswer } from '../backend.ts'
import { fieldOf } from '../json-values.ts'
import { createExecutionId, isExecutionId } from './execution-id.ts'
import { prepareStart } from './prepare-start.ts'
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
]

/** Pauses between tries, in milliseconds, so that tests need not wait. */
export interface StartPauses {
  orchestratorMs: number
  buildMs: number
}

const maxTries = 5

/** A start that a crash interrupted is resumed unless it is older: by then somebody has looked and started again. */
const maxAgeMs = 10 * 60_000

export class Starts {
  readonly #context: BackendContext
  readonly #pauses: StartPauses
  readonly #insert: StatementSync
  readonly #remove: StatementSync
  readonly #list: StatementSync
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #running = new Set<string>()
  #closed = false

  constructor(context: BackendContext, pauses: StartPauses) {
    this.#context = context
    this.#pauses = pauses
    const db: DatabaseSync = context.db
    this.#insert = db.prepare('INSERT OR IGNORE INTO events_starts VALUES (?, ?, ?, ?, ?, ?)')
    this.#remove = db.prepare('DELETE FROM events_starts WHERE execution_id = ?')
    this.#list = db.prepare('SELECT * FROM events_starts ORDER BY accepted_ms')
  }

  /**
   * Stores a start, without sending it. The orchestrator treats a repeated execution id as the same run, so a start that
   * is sent again after a crash or a lost answer runs once.
   *
   * @returns the execution's id.
   */
  store(start: Start): string {
    const given = start.trigger['executionId']
    const id = isExecutionId(given) ? given : createExecutionId(this.#context.now())
    const texts = [start.pipeline, start.trigger, start.artifacts, start.identity].map((part) => JSON.stringify(part))
    this.#insert.run(id, ...texts, this.#context.now())
    return id
  }

  /** Sends in the background what `store` has stored. */
  send(executionId: string, start: Start): void {
    if (this.#running.has(executionId)) return
    this.#running.add(executionId)
    void this.#try(executionId, start, 1)
  }

  /** Takes up what was stored when the process ended. */
  resume(): void {
    for (const row of this.#list.all()) {
      const id = String(row['execution_id'])
      if (this.#context.now() - Number(row['accepted_ms']) > maxAgeMs) {
        this.#context.log.error({ executionId: id }, 'A pipeline start was interrupted long ago and is dropped; start it again.')
        this.#remove.run(id)
        continue
      }
      this.send(id, {
        pipeline: stored(row['pipeline']),
        trigger: stored(row['trigger']),
        artifacts: stored(row['artifacts']),
        identity: stored(row['identity']),
      })
    }
  }

  close(): void {
    this.#closed = true
    for (const timer of this.#timers) clearTimeout(timer)
  }

  async #try(executionId: string, start: Start, attempt: number): Promise<void> {
    let problem: string
    try {
      const { path, body } = await prepareStart(
        this.#context.call,
        executionId,
        start,
        (ms) => this.#pause(ms),
        this.#pauses.buildMs,
      )
      if (this.#closed) return
      const headers = { ...start.identity, 'x-spinnaker-execution-id': executionId }
      const answer = await this.#context.call('orca', { method: 'POST', path, body, headers })
      if (answer.status < 400) return this.#finish(executionId)
      problem = describe(answer)
      if (isFinal(answer)) {
        this.#context.log.warn(
          { executionId, pipeline: start.pipeline['id'], problem },
          'The orchestrator refused a pipeline start.',
        )
        return this.#finish(executionId)
      }
    } catch (error) {
      problem = (error as Error).message
    }
    if (this.#closed) return
    if (attempt >= maxTries) {
      this.#context.log.error({ executionId, pipeline: start.pipeline['id'], problem }, 'A pipeline could not be started.')
      return this.#finish(executionId)
    }
    await this.#pause(this.#pauses.orchestratorMs)
    if (!this.#closed) await this.#try(executionId, start, attempt + 1)
  }

  #finish(executionId: string): void {
    this.#running.delete(executionId)
    if (!this.#closed) this.#remove.run(executionId)
  }

  /** Never resolves once the service is closed: what waits is resumed at the next start of the process. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.#closed) return
      const timer = setTimeout(() => {
        this.#timers.delete(timer)
        resolve()
      }, ms)
      this.#timers.add(timer)
    })
  }
}

function stored<T>(text: unknown): T {
  return parseJson(String(text)) as T
}

/** Only answers that asking again cannot change; the orchestrator being busy or broken is not one. */
function isFinal(answer: ServiceAnswer): boolean {
  return answer.status < 500 && answer.status !== 408 && answer.status !== 429
}

function describe(answer: ServiceAnswer): string {
  return `The orchestrator answered ${answer.status}: ${fieldOf(answer.body, 'message') ?? 'no message'}`
}
