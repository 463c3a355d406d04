/** Builds of this machine from the queue to their end: the agent runs them, so that they outlive this process. docs/decisions/builds.md. */

import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Cause, reasonEnding } from '@fairlead/base/causes/cause.ts'
import { CauseReader } from '@fairlead/base/causes/reader.ts'
import { definedOf } from '@fairlead/base/json/values.ts'
import { adviseOnOutgoing } from '@fairlead/base/outside/outgoing-advice.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { CacheFolders } from '@fairlead/base/storage/cache-folders.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { BuilderOrder, Machine } from '@fairlead/ports/machine.ts'
import type { BuildFiles } from './build-files.ts'
import type { BuildStore, StoredBuild } from './build-store.ts'
import { type BuildOutcome, finishBuild } from './finish-build.ts'
import type { JobCatalog, KnownJob } from './job-catalog.ts'
import { maskParameters } from './parameters.ts'
import { type PreparedBuild, prepareBuild } from './prepare-build.ts'
import { nextBuild } from './queue.ts'
import type { RepositoryReader } from './repository.ts'
import type { LocalBuildSettings } from './settings.ts'
import type { SourceStore } from './sources/source-store.ts'

interface LocalBuildsOptions {
  readonly context: BackendContext
  readonly settings: LocalBuildSettings
  readonly machine: Machine
  readonly catalog: JobCatalog
  readonly repositories: RepositoryReader
  readonly uploads: SourceStore
  readonly store: BuildStore
  readonly files: BuildFiles
  readonly caches: CacheFolders
  /** Called when a build begins or ends. */
  readonly changed: (build: StoredBuild) => void
}

/** Pause between two looks at builds that run. */
const pollMs = 200
/** Pause after a failure of this machine, such as a full disk. */
const retryMs = 2_000
const logPartBytes = 256 * 1024
/** The end of a log, which says why a build failed. */
const adviceBytes = 16 * 1024
/** The agent drops nothing until half of what it may keep is full. */
const keptShare = 2

export class LocalBuilds {
  readonly #options: LocalBuildsOptions
  /** Builds that are being prepared or finished, by id. */
  readonly #work = new Map<string, Promise<void>>()
  /** Builds whose end is being recorded, by id. */
  readonly #ends = new Map<string, Promise<void>>()
  /** Builds whose runner may still need what it begins with. */
  readonly #contents = new Set<string>()
  /** When each application last had its turn. */
  #turns = new Map<string, number>()
  readonly #closing = new AbortController()
  #watching: Promise<void> | undefined
  #isAwaited = false
  #woken = Promise.withResolvers<void>()

  constructor(options: LocalBuildsOptions) {
    this.#options = options
  }

  /** Goes on with what ran when Fairlead ended, and removes what is left of others. */
  start(): void {
    const { store, files, machine, context } = this.#options
    const isOver = (id: string) => store.byId(id)?.state !== 'RUNNING'
    try {
      for (const id of machine.builders.ids('build')) if (isOver(id)) machine.builders.remove(id)
      for (const id of files.ids().filter(isOver)) {
        this.#discard(store.byId(id) === undefined ? files.remove(id) : files.removeContent(id))
      }
      for (const { id } of store.inState('RUNNING')) this.#contents.add(id)
      this.#turns = store.lastStarts()
    } catch (error) {
      context.log.warn({ err: error }, 'what earlier builds left could not be removed')
    }
    this.wake()
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#options.repositories.close()
    this.#woken.resolve()
    await this.#watching
    await Promise.all(this.#work.values())
  }

  /** Looks at once whether a build can begin. */
  wake(): void {
    this.#isAwaited = true
    this.#woken.resolve()
    if (this.#closing.signal.aborted) return
    this.#watching ??= this.#watch().finally(() => {
      this.#watching = undefined
      // It was called after the last look.
      if (this.#isAwaited) this.wake()
    })
  }

  /** Ends a build that waits or runs; one that has ended stays as it is. */
  async abort({ item, id }: StoredBuild, words: string): Promise<void> {
    const { store, context } = this.#options
    const build = store.item(item)
    if (build === undefined || build.state === 'ENDED') return
    // In one write: whenever Fairlead ends, the build is not launched afterwards.
    const mark = { isStopped: true, reason: words }
    let stopped: StoredBuild = { ...build, ...mark }
    if (build.state === 'RUNNING') store.put(stopped)
    else stopped = store.begin(build, { ...mark, state: 'RUNNING', startedMs: context.now() })
    try {
      await this.#end(stopped, { result: 'ABORTED', reason: words })
    } catch (error) {
      context.log.warn(
        { err: error, build: id },
        'a build that was stopped is ended as soon as the agent answers',
      )
    }
    this.wake()
  }

  /** The newest part of what a build has written until now. */
  async output({ id }: StoredBuild, maxBytes: number): Promise<string> {
    const part = await this.#options.machine.builders.consolePart(
      id,
      { tail: Number.MAX_SAFE_INTEGER },
      maxBytes,
    )
    return part?.output ?? ''
  }

  async #watch(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      let isIdle = false
      this.#isAwaited = false
      try {
        this.#begin()
        isIdle = this.#follow() === 0
      } catch (error) {
        this.#options.context.log.warn({ err: error }, 'builds cannot be followed at the moment')
      }
      if (isIdle) return
      this.#woken = Promise.withResolvers()
      await Promise.race([
        this.#woken.promise,
        sleep(pollMs, undefined, { signal: this.#closing.signal }).catch(() => {}),
      ])
    }
  }

  /** Starts builds of the queue while there is room. */
  #begin(): void {
    const { store, settings, context, changed } = this.#options
    while (store.count('QUEUED') > 0 && store.count('RUNNING') < settings.maxRunning) {
      const [queued, running] = [store.inState('QUEUED'), store.inState('RUNNING')]
      const build = nextBuild({
        queued,
        running,
        maxRunning: settings.maxRunning,
        turns: this.#turns,
      })
      if (build === undefined) return
      this.#turns.set(build.application, context.now())
      changed(store.begin(build, { state: 'RUNNING', startedMs: context.now() }))
    }
  }

  /** @returns the number of builds that wait or run */
  #follow(): number {
    const { store, machine, files } = this.#options
    const running = store.inState('RUNNING')
    for (const build of running) {
      if (this.#work.has(build.id)) continue
      const state = machine.builders.look(build.id)
      if (build.isStopped === true)
        this.#do(build, () => this.#end(build, { result: 'ABORTED', reason: build.reason }))
      else if (state === undefined && build.isLaunched !== true)
        this.#do(build, () => this.#launch(build))
      else if (state === undefined)
        this.#do(build, () =>
          this.#end(build, { result: 'FAILURE', reason: 'The runner has vanished.' }),
        )
      else if (state.hasEnded) this.#do(build, () => this.#finish(build))
      else if (state.hasBegun && this.#contents.delete(build.id))
        this.#discard(files.removeContent(build.id))
    }
    return running.length + store.count('QUEUED')
  }

  /** What stays after a failure is removed at the next start. */
  #discard(removal: Promise<void>): void {
    removal.catch((error: unknown) =>
      this.#options.context.log.warn({ err: error }, 'files of a build could not be removed'),
    )
  }

  #do(build: StoredBuild, work: () => Promise<void>): void {
    const done = work()
      .catch(async (error: unknown) => {
        if (this.#closing.signal.aborted) return
        this.#options.context.log.error(
          { err: error, build: build.id },
          'a build cannot go on at the moment',
        )
        await sleep(retryMs, undefined, { signal: this.#closing.signal }).catch(() => {})
      })
      .finally(() => {
        this.#work.delete(build.id)
        this.wake()
      })
    this.#work.set(build.id, done)
  }

  /** Prepares a build, and hands it to the agent. */
  async #launch(build: StoredBuild): Promise<void> {
    try {
      const job = await this.#requireJob(build)
      const prepared = await prepareBuild(build, job, this.#options)
      const { content, timeLimitMs, change } = prepared
      const command = await this.#runnerOf(build, prepared)
      const current = this.#current(build)
      if (this.#closing.signal.aborted) return
      // It was stopped meanwhile.
      if (current === undefined || current.isStopped === true)
        return await this.#options.files.removeContent(build.id)
      this.#options.store.put({ ...current, ...change })
      this.#contents.add(build.id)
      this.#startRunner(build, { command, content, timeLimitMs })
      const launched = this.#current(build)
      // Only now: a build that is prepared once more needs the values.
      const parameters = maskParameters(build.parameters)
      if (launched !== undefined)
        this.#options.store.put({ ...launched, parameters, isLaunched: true })
    } catch (error) {
      if (this.#closing.signal.aborted) return
      if (!(error instanceof PortError))
        this.#options.context.log.error(
          { err: error, build: build.id },
          'a build cannot be prepared',
        )
      await this.#end(build, { result: 'FAILURE', reason: (error as Error).message })
    }
  }

  async #requireJob({ job: name, application, account }: StoredBuild): Promise<KnownJob> {
    const job = await this.#options.catalog.find(name)
    if (job === undefined) throw new PortError(400, this.#options.catalog.describeAbsence(name))
    if (job.buildsSources === true) return { ...job, account }
    if ((job.application ?? '') === application && job.account === account) return job
    throw new PortError(
      400,
      `The job "${name}" has another application or account since the build was started. Start it again.`,
    )
  }

  /** @throws {PortError} where this machine has no sandbox */
  #runnerOf(
    { id, account }: StoredBuild,
    { cache, runsContainers }: Pick<PreparedBuild, 'cache' | 'runsContainers'>,
  ): Promise<string[]> {
    const { machine, settings } = this.#options
    const places = { id, account, readable: settings.readable, runsContainers }
    return machine.confineFile([runnerFile()], { ...places, ...definedOf({ cache }) })
  }

  #startRunner(
    { id, account, application }: StoredBuild,
    order: Pick<BuilderOrder, 'command' | 'timeLimitMs'> & { readonly content: string },
  ): void {
    const { machine, settings } = this.#options
    const { memoryMb, diskMb, processes, logBytes } = settings
    machine.builders.start(id, {
      ...order,
      account,
      application,
      environment: {},
      memoryMb,
      diskMb,
      processes,
      consoleBytes: keptShare * logBytes,
    })
  }

  async #finish(build: StoredBuild): Promise<void> {
    const { machine } = this.#options
    const state = machine.builders.look(build.id)
    if (state === undefined) return
    const outcome = await finishBuild(build, state, this.#options)
    const cause =
      outcome.result === 'FAILURE' || outcome.result === 'UNSTABLE'
        ? await this.#causeOf(build, outcome)
        : undefined
    const advice =
      outcome.result === 'FAILURE'
        ? adviseOnOutgoing(await this.output(build, adviceBytes), build.account)
        : ''
    const reason = advice === '' ? outcome.reason : `${outcome.reason} ${advice}`
    await this.#end(build, { ...outcome, reason, cause })
    if (build.cacheName !== undefined) this.#discard(this.#options.caches.trim(build.cacheName))
  }

  /** Its log is read once, as it is kept; the lines of the runner itself say only that something failed. */
  async #causeOf({ id }: StoredBuild, { reason = '' }: BuildOutcome): Promise<Cause | undefined> {
    const reader = new CauseReader()
    for (let offset = 0, isMore = true; isMore; ) {
      const part = await this.#options.machine.builders.logPart(id, offset, logPartBytes)
      if (part === undefined) break
      reader.feed(part.output)
      isMore = part.nextOffset > offset && part.nextOffset < part.endOffset
      offset = part.nextOffset
    }
    const [, signal] = /failed with (SIG[A-Z]+)/.exec(reason) ?? []
    const [, code] = /failed with exit code (\d+)/.exec(reason) ?? []
    return reader.end({
      signal,
      exitCode: code === undefined ? undefined : Number(code),
      ...reasonEnding(reason),
    })
  }

  /** Once only: what comes later does not change the result. */
  #end(build: StoredBuild, outcome: BuildOutcome): Promise<void> {
    const { id } = build
    return this.#ends.getOrInsertComputed(id, () =>
      this.#record(build, outcome).finally(() => this.#ends.delete(id)),
    )
  }

  /** The log comes first, so that a crash in between loses none of it. */
  async #record(build: StoredBuild, outcome: BuildOutcome): Promise<void> {
    if (this.#current(build) === undefined) return
    const { store, files, machine, context, settings, changed } = this.#options
    const { result, reason } = outcome
    const lastLine = `${result}${reason === undefined ? '' : `: ${reason}`}\n`
    const read = (offset: number) => machine.builders.logPart(build.id, offset, logPartBytes)
    await files.keepLog(build.id, read, { maxBytes: settings.logBytes, lastLine })
    const current = this.#current(build)
    if (current === undefined) return
    const parameters = maskParameters(current.parameters)
    const ended: StoredBuild = {
      ...current,
      ...outcome,
      parameters,
      state: 'ENDED',
      endedMs: context.now(),
    }
    store.put(ended)
    store.setKeptBytes(ended, files.bytesOf(build.id))
    this.#contents.delete(build.id)
    machine.builders.remove(build.id)
    await files.removeContent(build.id)
    changed(ended)
    await this.#makeRoom(build.job)
  }

  /** The stored record; undefined once it has ended. */
  #current({ item }: StoredBuild): StoredBuild | undefined {
    const current = this.#options.store.item(item)
    return current?.state === 'RUNNING' ? current : undefined
  }

  async #makeRoom(job: string): Promise<void> {
    const { store, files, settings } = this.#options
    for (const build of store.beyond(job, settings.keptBuilds)) {
      await files.remove(build.id)
      store.remove(build)
    }
    for (const build of store.heavy(settings.keptBytes)) {
      await files.remove(build.id)
      store.setKeptBytes(build, 0)
    }
  }
}

function runnerFile(): string {
  return fileURLToPath(
    new URL(import.meta.url.endsWith('.ts') ? './runner.ts' : './build-runner.js', import.meta.url),
  )
}
