/** Tasks: operations in order, within each application, recorded so that a crash leaves none half-done. */
import type { StatementSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { inTransaction } from '@fairlead/base/storage/database.ts'
import { storageFaultOf } from '@fairlead/base/storage/database-fault.ts'
import { createUlids } from '@fairlead/base/storage/ulid.ts'
import { ConcurrencyLimit } from '@fairlead/base/stores/in-turns.ts'
import { withoutSecrets } from '@fairlead/model/secrets/secret-names.ts'
import { allReferencesIn, mapHolders } from '@fairlead/model/secrets/secret-references.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { accountOf } from '@fairlead/ports/cloud-values.ts'
import type { FollowLimit } from '@fairlead/ports/infrastructure.ts'
import type { RetainedKind } from '@fairlead/ports/retained-kind.ts'
import { applicationsOf, type OperationRun, type OperationType } from './operation-type.ts'

export const taskMigrations = [
  `CREATE TABLE infrastructure_tasks (
     id TEXT PRIMARY KEY,
     request_id TEXT NOT NULL UNIQUE,
     started_ms INTEGER NOT NULL,
     completed_ms INTEGER,
     document TEXT NOT NULL
   ) STRICT;
   CREATE INDEX infrastructure_tasks_by_end ON infrastructure_tasks (completed_ms);`,
] as const

export interface SubmittedOperation {
  /** Empty: an operation that needs no provider. */
  readonly provider: string
  readonly name: string
  readonly description: JsonObject
}

interface SubmittedTask
  extends Pick<OperationTask, 'user' | 'identity' | 'isAttached' | 'operations'> {
  readonly requestId: string | undefined
}

interface OperationTask {
  id: string
  requestId: string
  startTimeMs: number
  status: { phase: string; status: string; completed: boolean; failed: boolean }
  history: { phase: string; status: string }[]
  resultObjects: JsonObject[]
  user: string
  identity: Readonly<Record<string, string>>
  /** It is for a client that is connected to this process. */
  isAttached?: true
  operations: readonly SubmittedOperation[]
  done: number
}

interface TaskOptions {
  readonly context: Pick<BackendContext, 'db' | 'now' | 'log' | 'stateChanged'> &
    Partial<Pick<BackendContext, 'ports'>>
  readonly find: (provider: string, name: string) => OperationType | undefined
}

const orchestration = 'ORCHESTRATION'
/** Retries of a request come within minutes, and users look at the details of a deployment for days. */
const keptMs = 7 * 24 * 3600_000

/** Pause after the store refused a step: locked, or its disk is full. */
const storeRetryMs = 1000

export class Tasks {
  readonly #options: TaskOptions
  readonly #ids: () => string
  readonly #statements: Record<
    'insert' | 'update' | 'get' | 'byRequest' | 'running' | 'prune',
    StatementSync
  >
  /** Operations look for what is free and take it, so that one runs at a time. */
  readonly #turns = new ConcurrencyLimit(1)
  /** The end of the last task by what operations are ordered by, which is mostly the application. */
  readonly #ends = new Map<string, Promise<void>>()
  readonly #queued = new Map<string, Promise<void>>()
  readonly #noted = new Map<string, Pick<OperationTask, 'history' | 'status'>>()
  readonly #closing = new AbortController()
  readonly #cancellations = new Map<string, AbortController>()

  constructor(options: TaskOptions) {
    const { db, now } = options.context
    this.#options = options
    this.#ids = createUlids(now)
    this.#statements = {
      insert: db.prepare(
        'INSERT INTO infrastructure_tasks (id, request_id, started_ms, document) VALUES (?, ?, ?, ?)',
      ),
      update: db.prepare(
        'UPDATE infrastructure_tasks SET completed_ms = ?, document = ? WHERE id = ?',
      ),
      get: db.prepare('SELECT document FROM infrastructure_tasks WHERE id = ?'),
      byRequest: db.prepare('SELECT id FROM infrastructure_tasks WHERE request_id = ?'),
      running: db.prepare(
        'SELECT document FROM infrastructure_tasks WHERE completed_ms IS NULL ORDER BY id',
      ),
      prune: db.prepare(
        'DELETE FROM infrastructure_tasks WHERE id IN (SELECT id FROM infrastructure_tasks WHERE completed_ms < ? LIMIT ?)',
      ),
    }
  }

  /** Ends the waits of a task that runs. */
  cancel(id: string): void {
    this.#cancellations.get(id)?.abort()
  }

  get retained(): RetainedKind {
    return {
      kind: 'infrastructure-tasks',
      sweep: async ({ turn, chunkSize }) => {
        for (let count = 0; ; await turn()) {
          const removed = Number(
            this.#statements.prune.run(this.#options.context.now() - keptMs, chunkSize).changes,
          )
          count += removed
          if (removed < chunkSize) return count
        }
      },
    }
  }

  idOf(requestId: string): string | undefined {
    const row = this.#statements.byRequest.get(requestId)
    return row && String(row['id'])
  }

  /** Records the task of a request that is not known yet, and lets it run. @returns its id, at once */
  submit({ requestId, ...rest }: SubmittedTask): string {
    const id = this.#ids()
    const startTimeMs = this.#options.context.now()
    const first = { phase: 'INIT', status: 'Creating task' }
    const task: OperationTask = {
      id,
      requestId: requestId ?? id,
      startTimeMs,
      status: { ...first, completed: false, failed: false },
      history: [first],
      resultObjects: [],
      ...rest,
      done: 0,
    }
    this.#statements.insert.run(id, task.requestId, startTimeMs, formatJson(task))
    this.#enqueue(task)
    return id
  }

  /** Continues what a stopped process left; a request may have come before. */
  start(): void {
    for (const task of this.#statements.running.all().map(toTask)) {
      if (this.#queued.has(task.id)) continue
      const [operation] = task.operations.slice(task.done)
      if (task.isAttached && operation !== undefined)
        this.#fail(task, operation, new Error('Fairlead ended, and so did the connection.'))
      else this.#enqueue(task)
    }
  }

  /** Resolves when the operations that run have ended; what follows is done after the next start. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all(this.#ends.values())
  }

  /** See docs/contracts/infrastructure.md#operations; undefined when it is unknown. */
  view(id: string): JsonObject | undefined {
    const stored = this.#statements.get.all(id).map(toTask)[0]
    if (stored === undefined) return undefined
    // Notes of what runs are not recorded one by one.
    const running = stored.status.completed ? undefined : this.#noted.get(id)
    return toView(running === undefined ? stored : { ...stored, ...running })
  }

  subjectOf(id: string): { user: string; applications: string[]; accounts: string[] } | undefined {
    const task = this.#stored(id)
    if (task === undefined) return undefined
    const named = task.operations.flatMap(({ provider, name, description }) => {
      const type = this.#options.find(provider, name)
      return type === undefined ? [] : applicationsOf(type, description)
    })
    return {
      user: task.user,
      applications: named,
      accounts: task.operations.flatMap((each) => accountOf(each.description) ?? []),
    }
  }

  /** Resolves when it is over, after so many milliseconds, or with the signal. */
  async whenOver(id: string, { withinMs, signal }: FollowLimit): Promise<void> {
    const end = this.#queued.get(id)
    if (end === undefined) return
    const wait = new AbortController()
    const timer = sleep(withinMs, undefined, {
      signal: AbortSignal.any([signal, wait.signal]),
      ref: false,
    }).catch(() => {})
    await Promise.race([end, timer])
    wait.abort()
  }

  #enqueue(task: OperationTask): void {
    const names = this.#orderOf(task)
    const before = names.map((name) => this.#ends.get(name))
    const end = Promise.all(before)
      .then(() => this.#complete(task))
      .catch((error: unknown) => {
        this.#options.context.log.error(
          { err: error, task: task.id },
          'a task of the infrastructure could not be recorded',
        )
      })
      .finally(() => {
        this.#queued.delete(task.id)
        this.#cancellations.delete(task.id)
        this.#noted.delete(task.id)
        for (const name of names) if (this.#ends.get(name) === end) this.#ends.delete(name)
      })
    this.#queued.set(task.id, end)
    this.#cancellations.set(task.id, new AbortController())
    for (const name of names) this.#ends.set(name, end)
  }

  /** Folded. Tasks that name no application share a place, and one that waits for nothing has a place of its own. */
  #orderOf({ id, operations }: OperationTask): string[] {
    const types = operations.map(({ provider, name }) => this.#options.find(provider, name))
    const names = operations.flatMap(({ description }, index) => {
      const type = types[index]
      if (type === undefined) return []
      return type.order?.(description) ?? applicationsOf(type, description)
    })
    if (names.length > 0) return [...new Set(names.map(foldName))]
    return types.every((type) => type?.order !== undefined) ? [`task ${id}`] : ['']
  }

  /** A store that is locked or full for a while does not end a task: what it has not recorded is done again. */
  async #complete(task: OperationTask): Promise<void> {
    const { signal } = this.#closing
    for (let known = task; !signal.aborted; ) {
      try {
        return await this.#run(known)
      } catch (error) {
        if (storageFaultOf(error) === undefined) throw error
        this.#options.context.log.error(
          { err: error, task: task.id },
          'a task of the infrastructure could not be recorded and goes on later',
        )
      }
      await sleep(storeRetryMs, undefined, { signal }).catch(() => {})
      known = this.#stored(task.id) ?? known
    }
  }

  /** Last record; undefined while that cannot be read. */
  #stored(id: string): OperationTask | undefined {
    try {
      return this.#statements.get.all(id).map(toTask)[0]
    } catch {
      return undefined
    }
  }

  async #run(task: OperationTask): Promise<void> {
    for (const operation of task.operations.slice(task.done)) {
      if (this.#closing.signal.aborted) return
      const failure = await this.#turns.run(() => this.#carryOut(task, operation))
      if (this.#closing.signal.aborted && failure?.name === 'AbortError') return
      if (failure !== undefined) return this.#fail(task, operation, failure)
    }
    this.#note(task, orchestration, 'Orchestration completed.')
    task.status.completed = true
    this.#store(task)
  }

  async #carryOut(
    task: OperationTask,
    { provider, name, description }: SubmittedOperation,
  ): Promise<Error | undefined> {
    const type = this.#options.find(provider, name)
    if (type === undefined) return new Error(`The operation ${name} is not known to this version.`)
    this.#note(task, orchestration, `Processing operation: ${name}`)
    this.#store(task)
    let isCommitted = false
    const cancellation = this.#cancellations.get(task.id)?.signal
    const run: OperationRun = {
      id: `${task.id}-${task.done}`,
      user: task.user,
      identity: task.identity,
      signal: this.#closing.signal,
      ...(cancellation !== undefined && { cancellation }),
      releaseWhile: (wait) => this.#turns.releaseWhile(wait),
      note: (status) => this.#note(task, phaseOf(name), status),
      report: (result) => void task.resultObjects.push(result),
      commit: (work) => {
        this.#commit(task, work)
        isCommitted = true
      },
    }
    const revealed: string[] = []
    try {
      await type.run(await this.#withSecrets(type, description, { run, revealed }), run)
    } catch (error) {
      if (storageFaultOf(error) !== undefined) throw error
      if (cancellation?.aborted === true && (error as Error).name === 'AbortError')
        return new Error(
          `It was cancelled. What it has begun stays begun, such as a deletion. It said: ${task.status.status}`,
        )
      return withMasks(error as Error, revealed)
    }
    if (!isCommitted) {
      task.done++
      this.#store(task)
    }
    return undefined
  }

  /** What is stored keeps the references. @param revealed Receives what no message may show */
  async #withSecrets(
    type: OperationType,
    description: JsonObject,
    { run, revealed }: { readonly run: OperationRun; readonly revealed: string[] },
  ): Promise<JsonObject> {
    const secrets = this.#options.context.ports?.secrets
    if (
      type.keepsReferences === true ||
      secrets === undefined ||
      allReferencesIn(description).size === 0
    )
      return description
    const application = applicationsOf(type, description)[0]
    const account = accountOf(description)
    const use = {
      application,
      account,
      user: run.user,
      place: `operation on ${application ?? 'no application'} in ${account}`,
    }
    const reveal = async (member: unknown) => {
      const found = await secrets.reveal(member, use)
      revealed.push(...found.secrets)
      return found.value
    }
    return (await run.releaseWhile(() => mapHolders(description, reveal))) as JsonObject
  }

  /** The operation counts as done together with what the work changes, or not at all. */
  #commit(task: OperationTask, work: () => void): void {
    const { done } = task
    try {
      inTransaction(this.#options.context.db, () => {
        work()
        task.done = done + 1
        this.#store(task)
      })
    } catch (error) {
      task.done = done
      throw error
    }
  }

  #fail(task: OperationTask, operation: SubmittedOperation, error: Error): void {
    const { name } = operation
    this.#options.context.log.info(
      { task: task.id, operation: name, problem: error.message },
      'an operation of the infrastructure failed',
    )
    task.resultObjects.push({
      type: 'EXCEPTION',
      operation: name,
      message: error.message,
      cause: error.name,
      details: objectsOf((error as { details?: unknown }).details),
      retryable: false,
    })
    this.#note(task, orchestration, `Orchestration failed: ${name} | ${error.message}`)
    task.status.completed = true
    task.status.failed = true
    this.#store(task)
  }

  #note(task: OperationTask, phase: string, status: string): void {
    task.history.push({ phase, status })
    task.status = { ...task.status, phase, status }
    this.#noted.set(task.id, {
      history: [...task.history],
      status: { ...task.status, completed: false },
    })
  }

  #store(task: OperationTask): void {
    this.#statements.update.run(
      task.status.completed ? this.#options.context.now() : null,
      formatJson(task),
      task.id,
    )
    this.#options.context.stateChanged()
  }
}

function toTask(row: Record<string, unknown>): OperationTask {
  return parseJson(String(row['document'])) as OperationTask
}

/** `createServerGroup` → `CREATE_SERVER_GROUP`. */
function phaseOf(name: string): string {
  return name.replaceAll(/([a-z])([A-Z])/g, '$1_$2').toUpperCase()
}

function toView({
  id,
  requestId,
  startTimeMs,
  status,
  history,
  resultObjects,
}: OperationTask): JsonObject {
  return {
    id,
    requestId,
    ownerId: 'embedded',
    startTimeMs,
    status: { ...status, complete: status.completed, retryable: false },
    history,
    resultObjects,
    outputs: [],
    sagaIds: [],
    retryable: false,
  }
}

function withMasks(error: Error, secrets: readonly string[]): Error {
  if (secrets.length > 0) error.message = withoutSecrets(error.message, secrets)
  return error
}
