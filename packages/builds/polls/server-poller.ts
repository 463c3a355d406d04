/** Polls one build server, and reports each finished build to the event service. */
import { within } from '@fairlead/base/concurrency/within.ts'
import { inTransaction } from '@fairlead/base/storage/database.ts'
import { digestUuid } from '@fairlead/base/stores/digest-uuid.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { itself } from '@fairlead/ports/caller.ts'
import type { ReportedEvent } from '@fairlead/ports/events.ts'
import { type BuildServer, type RecentBuilds, toProvider } from '../build-server.ts'
import type { ListedBuild } from '../listed-build.ts'
import type { PollMemory } from './memory.ts'
import { dueBuilds, type FirstBuildRules, markOf, nextPosition, type Position } from './position.ts'

interface PollRules {
  readonly pollMs: number
  readonly maxChanges: number
  readonly handlesFirstBuilds: boolean
  readonly lookBackMs: number
}

interface PollParts {
  readonly server: BuildServer
  readonly context: BackendContext
  readonly memory: PollMemory
  readonly rules: PollRules
}

/** Longest time of a poll with all its calls. */
const cycleMs = 5 * 60_000
/** How long the end of the process waits for a delivery. */
const closeMs = 2_000
/** Builds of a job that wait to be reported: as many as a poll lists, and those that ran before. */
const mostPending = 1_100

export class ServerPoller {
  readonly #parts: PollParts
  readonly #positions: Map<string, Position>
  /** Builds that the server has listed, and that have not been dealt with. */
  readonly #pending = new Map<string, RecentBuilds['builds']>()
  readonly #closing = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #cycle: Promise<void> | undefined
  /** Something changed during the cycle. */
  #isStale = false
  /** For the log: the state that it has written last. */
  #problem: string | undefined

  constructor(parts: PollParts) {
    this.#parts = parts
    this.#positions = parts.memory.load(parts.server.name)
  }

  get server(): BuildServer {
    return this.#parts.server
  }

  start(): void {
    this.server.watch?.(() => this.pollSoon())
    this.pollSoon()
  }

  /** At once, or after the poll that runs. */
  pollSoon(): void {
    if (this.#cycle === undefined) void this.#run(() => this.#poll())
    else this.#isStale = true
  }

  /** Counts all finished builds as reported. @throws {PortError} when the server cannot be asked */
  async fastForward(): Promise<void> {
    while (this.#cycle !== undefined) await this.#cycle
    await this.#run(() => this.#skip())
  }

  /** What is being delivered is remembered. */
  async close(): Promise<void> {
    this.#closing.abort()
    clearTimeout(this.#timer)
    if (this.#cycle !== undefined) await within(closeMs, this.#cycle)
  }

  /** One at a time; the next poll follows after the pause. */
  #run(work: () => Promise<void>): Promise<void> {
    clearTimeout(this.#timer)
    if (this.#closing.signal.aborted) return Promise.resolve()
    this.#isStale = false
    const running = work()
    this.#cycle = running
      .catch(() => {})
      .then(() => {
        this.#cycle = undefined
        const pauseMs = this.#isStale ? 0 : this.#parts.rules.pollMs
        if (!this.#closing.signal.aborted)
          this.#timer = setTimeout(() => this.pollSoon(), pauseMs).unref()
      })
    return running
  }

  async #skip(): Promise<void> {
    await this.#look()
    inTransaction(this.#parts.context.db, () => {
      for (const [job, builds] of [...this.#pending]) this.#settle(job, builds)
    })
  }

  async #poll(): Promise<void> {
    const { context, server } = this.#parts
    try {
      await this.#look()
      await this.#report()
    } catch (error) {
      if (this.#closing.signal.aborted) return
      const problem = error instanceof Error ? error.message : String(error)
      // Times and counts in it may change.
      const isKnown = problem.replaceAll(/\d/g, '') === this.#problem?.replaceAll(/\d/g, '')
      context.log[isKnown ? 'debug' : 'warn'](
        { buildServer: server.name, problem },
        'builds could not be polled or reported; they are polled again',
      )
      this.#problem = problem
    }
  }

  /** Takes up what the server lists. */
  async #look(): Promise<void> {
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(cycleMs)])
    for (const { job, builds } of await this.server.recentBuilds(signal, this.#positions)) {
      const newer = new Set(builds.map(({ number }) => number))
      const older = this.#pending.get(job)?.filter(({ number }) => !newer.has(number)) ?? []
      this.#pending.set(job, [...builds, ...older].slice(0, mostPending))
    }
  }

  async #report(): Promise<void> {
    const { context, server, rules } = this.#parts
    const first: FirstBuildRules = { ...rules, nowMs: context.now() }
    const due = [...this.#pending].map(([job, builds]) => ({
      job,
      builds,
      unsent: dueBuilds(this.#positions.get(job), builds, first),
    }))
    const [news, others] = [
      due.filter(({ unsent }) => unsent.length > 0),
      due.filter(({ unsent }) => unsent.length === 0),
    ]
    if (news.length > rules.maxChanges)
      throw new Error(describeExcess(server, news.length, rules.maxChanges))
    // A new server has many of them.
    inTransaction(context.db, () => {
      for (const { job, builds } of others) this.#settle(job, builds)
    })
    for (const { job, builds, unsent } of news) await this.#send(job, builds, unsent)
    if (this.#problem !== undefined)
      context.log.info({ buildServer: server.name }, 'builds are polled and reported again')
    this.#problem = undefined
  }

  /** Each is remembered as soon as it is sent. */
  async #send(
    job: string,
    builds: RecentBuilds['builds'],
    unsent: RecentBuilds['builds'],
  ): Promise<void> {
    for (const [index, build] of unsent.entries()) {
      this.#closing.signal.throwIfAborted()
      await this.#deliver(job, build)
      if (index < unsent.length - 1)
        this.#save(job, nextPosition(this.#positions.get(job), builds, unsent.slice(index + 1)))
    }
    this.#settle(job, builds)
  }

  /** All of these builds are dealt with. */
  #settle(job: string, builds: RecentBuilds['builds']): void {
    this.#save(job, nextPosition(this.#positions.get(job), builds))
    this.#pending.delete(job)
  }

  /** @throws {Error} */
  async #deliver(job: string, build: RecentBuilds['builds'][number]): Promise<void> {
    await this.#parts.context.ports.events.report(toBuildEvent(this.server, job, build), itself)
  }

  #save(job: string, position: Position): void {
    const known = this.#positions.get(job)
    if (known !== undefined && JSON.stringify(known) === JSON.stringify(position)) return
    this.#positions.set(job, position)
    this.#parts.memory.save(this.server.name, job, position)
  }
}

function describeExcess({ name }: BuildServer, changes: number, most: number): string {
  return (
    `${changes} jobs of the build server "${name}" have new builds, more than spinnaker.pollingSafeguard.itemUpperThreshold (${most}) ` +
    'allows. None is reported. Raise the setting, or skip these builds; docs/guides/builds.md says how.'
  )
}

/** The same end of a build has the same id, so that a repetition can be recognized. */
export function toBuildEvent(
  { name, type }: BuildServer,
  job: string,
  build: ListedBuild,
): ReportedEvent {
  const { number, timestamp = '' } = build
  return {
    eventId: digestUuid(JSON.stringify([name, job, number, timestamp, markOf(build)])),
    details: { type: 'build', source: 'igor' },
    content: {
      master: name,
      project: { name: job, lastBuild: build },
      ...(type !== 'jenkins' && { type: toProvider(type) }),
    },
  }
}
