/** Changes in an external orchestrator: one poll per subject for all clients, none while no client listens. */
import { randomUUID } from 'node:crypto'
import { backOffMs } from '@fairlead/base/concurrency/back-off.ts'
import { GatewayError } from '@fairlead/base/errors.ts'
import { isObject, type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { summarizeExecution, summarizeTask } from '@fairlead/ports/run-summary.ts'
import type { FastifyBaseLogger } from 'fastify'
import { jsonList, jsonObject, readJson } from '../upstreams/answer-form.ts'
import type { UpstreamCall } from '../upstreams/upstream-call.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'
import { unknown } from './embedded-source.ts'
import type { LiveSettings } from './settings.ts'
import {
  type ChangeSource,
  type LiveSubject,
  type RunChange,
  type Snapshot,
  sequenceOf,
  type Watch,
  type Watcher,
} from './source.ts'

interface PollingSourceOptions {
  upstreams: Upstreams
  settings: Pick<LiveSettings, 'pollMs' | 'idlePollMs'>
  log: FastifyBaseLogger
}

const ended = new Set([
  'SUCCEEDED',
  'FAILED_CONTINUE',
  'TERMINAL',
  'CANCELED',
  'STOPPED',
  'SKIPPED',
])
const activeStatuses = 'NOT_STARTED,RUNNING,PAUSED,SUSPENDED'
/** Runs of each pipeline that are read besides those that run: one may begin and end between two polls. */
const newestRuns = 2
const activeRuns = 50
const maxLookups = 20
const maxEnded = 500
const maxPauseMs = 60_000
/** A single failure may be chance. */
const failuresUntilStale = 2

export class PollingSource implements ChangeSource {
  readonly parts = ['executions'] as const
  readonly #options: PollingSourceOptions
  readonly #versions = new Versions()

  constructor(options: PollingSourceOptions) {
    this.#options = options
  }

  watch(subject: LiveSubject, watcher: Watcher): Watch {
    const poll = new Poll(this.#options, subject, watcher, this.#versions)
    poll.start()
    return poll
  }
}

class Versions {
  readonly #epoch = randomUUID().slice(0, 8)
  #sequence = 0

  current(): string {
    return `${this.#epoch}.${this.#sequence}`
  }

  next(): string {
    this.#sequence++
    return this.current()
  }
}

class Poll implements Watch {
  readonly #options: PollingSourceOptions
  readonly #subject: LiveSubject
  readonly #watcher: Watcher
  readonly #versions: Versions
  readonly #runs = new Map<string, RunChange & { readonly hasEnded: boolean }>()
  readonly #firstVersion: string
  readonly #first = Promise.withResolvers<void>()
  #hasBegun = false
  #failures = 0
  #timer: NodeJS.Timeout | undefined
  #closed = false

  constructor(
    options: PollingSourceOptions,
    subject: LiveSubject,
    watcher: Watcher,
    versions: Versions,
  ) {
    this.#options = options
    this.#subject = subject
    this.#watcher = watcher
    this.#versions = versions
    this.#firstVersion = versions.current()
    this.#first.promise.catch(() => {})
  }

  start(): void {
    void this.#poll()
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#first.reject(new Error('There is no listener any more.'))
  }

  async snapshot(since: string | undefined): Promise<Snapshot> {
    await this.#first.promise
    const version = this.#versions.current()
    const runs = [...this.#runs.values()]
    if (this.#subject.kind !== 'application') {
      if (runs.length === 0) throw unknown(this.#subject.kind, this.#subject.name)
      return { version, isComplete: true, changes: runs }
    }
    if (since === undefined) return { version, isComplete: true, changes: [] }
    if (!this.#knows(since)) return { version, isComplete: false, changes: [] }
    return {
      version,
      isComplete: true,
      changes: runs.filter((run) => sequenceOf(run.version) > sequenceOf(since)),
    }
  }

  /** A version of another process, or from before this poll, says nothing about what has changed since. */
  #knows(since: string): boolean {
    const [epoch] = since.split('.')
    const isOurs = this.#firstVersion.split('.')[0] === epoch
    return (
      isOurs &&
      sequenceOf(since) >= sequenceOf(this.#firstVersion) &&
      sequenceOf(since) <= sequenceOf(this.#versions.current())
    )
  }

  async #poll(): Promise<void> {
    try {
      const runs =
        this.#subject.kind === 'application' ? await this.#loadApplication() : await this.#loadRun()
      if (this.#closed) return
      for (const run of runs) this.#note(run)
      this.#forgetEnded()
      if (this.#failures >= failuresUntilStale) this.#watcher.stale(false)
      this.#failures = 0
      this.#hasBegun = true
      this.#first.resolve()
    } catch (error) {
      if (this.#closed) return
      this.#fail(error)
    }
    this.#timer = setTimeout(() => void this.#poll(), this.#pauseMs()).unref()
  }

  #fail(error: unknown): void {
    const status = error instanceof GatewayError ? error.details.upstream?.status : undefined
    this.#failures++
    this.#options.log.debug(
      { err: error, subject: this.#subject },
      'the state for event streams could not be read',
    )
    if (!this.#hasBegun) return void this.#first.reject(error)
    if (status === 401 || status === 403) this.#watcher.refused()
    else if (this.#failures === failuresUntilStale) this.#watcher.stale(true)
  }

  #pauseMs(): number {
    const { pollMs, idlePollMs } = this.#options.settings
    if (this.#failures > 0)
      return (
        backOffMs({ firstMs: pollMs, longestMs: maxPauseMs }, this.#failures) *
        (0.75 + Math.random() / 2)
      )
    return [...this.#runs.values()].some(({ hasEnded }) => !hasEnded) ? pollMs : idlePollMs
  }

  #note(run: JsonObject): void {
    const id = String(run['id'])
    const isGone = run['status'] === undefined
    const summary = isGone
      ? undefined
      : this.#subject.kind === 'task'
        ? summarizeTask(run)
        : summarizeExecution(run)
    const known = this.#runs.get(id)
    if (known === undefined ? isGone : known.summary === summary) return
    const change = {
      id,
      version: this.#versions.next(),
      summary,
      hasEnded: isGone || ended.has(String(run['status'])),
    }
    this.#runs.delete(id)
    if (!isGone) this.#runs.set(id, change)
    if (this.#hasBegun) this.#watcher.changed(change)
  }

  #forgetEnded(): void {
    const endedRuns = [...this.#runs.values()].filter(({ hasEnded }) => hasEnded)
    for (const { id } of endedRuns.slice(0, Math.max(0, endedRuns.length - maxEnded)))
      this.#runs.delete(id)
  }

  async #loadRun(): Promise<JsonObject[]> {
    const { kind, name } = this.#subject
    const path = kind === 'task' ? pathTo`/tasks/${name}` : pathTo`/pipelines/${name}`
    const answer = await this.#call({ path })
    if (answer.status === 404) {
      if (!this.#hasBegun) throw unknown(kind, name)
      return [{ id: name }]
    }
    const run = readJson(answer, 'orca', jsonObject)
    return isObject(run) ? [{ ...run, id: name }] : []
  }

  async #loadApplication(): Promise<JsonObject[]> {
    const path = pathTo`/v2/applications/${this.#subject.name}/pipelines`
    const lists = await Promise.all([
      this.#list({ path, query: { statuses: activeStatuses, limit: activeRuns, expand: false } }),
      this.#list({ path, query: { limit: newestRuns, expand: false } }),
    ])
    const found = new Map(lists.flat().map((run) => [String(run['id']), run]))
    const missing = [...this.#runs.values()]
      .filter(({ id, hasEnded }) => !hasEnded && !found.has(id))
      .slice(0, maxLookups)
    if (missing.length > 0) {
      const executionIds = missing.map(({ id }) => id).join(',')
      const answered = await this.#list({
        path: '/pipelines',
        query: { executionIds, expand: false },
      })
      for (const { id } of missing)
        found.set(id, answered.find((run) => run['id'] === id) ?? { id })
    }
    return [...found.values()]
  }

  async #list(call: UpstreamCall): Promise<JsonObject[]> {
    const answer = await this.#call(call)
    if (answer.status === 404) return []
    const application = foldName(this.#subject.name)
    return objectsOf(readJson(answer, 'orca', jsonList)).filter(
      (run) => foldName(String(run['application'])) === application,
    )
  }

  #call(call: UpstreamCall) {
    return this.#options.upstreams.call('orca', call, this.#watcher.identity())
  }
}
