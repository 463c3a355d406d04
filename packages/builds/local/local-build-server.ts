/** The build server of this machine. */

import { setTimeout as sleep } from 'node:timers/promises'
import { BoundedMap } from '@fairlead/base/caches/bounded-map.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { maxArtifactBytes } from '@fairlead/base/outside/source-calls.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { describeRefusal, standalone } from '@fairlead/base/settings/standalone.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { itself } from '@fairlead/ports/caller.ts'
import { imageVersionPattern } from '@fairlead/ports/image-file.ts'
import type { Machine } from '@fairlead/ports/machine.ts'
import type { SecretHolder } from '@fairlead/ports/secrets.ts'
import type { BuildRange, BuildServer, JobOrder, RecentBuilds } from '../build-server.ts'
import type { Position } from '../polls/position.ts'
import { parseProperties } from '../property-file.ts'
import type { BuildFiles } from './build-files.ts'
import type { BuildStore, LocalBuild, StoredBuild } from './build-store.ts'
import { toArtifactViews, toBuildView, toJobView } from './build-views.ts'
import type { JobCatalog, KnownJob } from './job-catalog.ts'
import { JobRights } from './job-rights.ts'
import type { LocalBuilds } from './local-builds.ts'
import { checkParameters } from './parameters.ts'
import type { RepositoryReader } from './repository.ts'
import type { BuildRepository, LocalBuildSettings } from './settings.ts'
import { inAccountOf } from './sources/source-job.ts'
import type { SourceUploads } from './sources/source-routes.ts'
import type { SourceStore } from './sources/source-store.ts'

interface LocalBuildServerParts {
  readonly type: string
  readonly context: BackendContext
  readonly settings: LocalBuildSettings
  readonly machine: Machine
  readonly catalog: JobCatalog
  readonly store: BuildStore
  readonly files: BuildFiles
  readonly builds: LocalBuilds
  readonly repositories: RepositoryReader
  readonly uploads: SourceStore
  readonly newId: () => string
}

/** Largest part of a log that is shown. The agent, which is to stay small, reads that of a running build. */
const shownLogBytes = 8 * 1024 * 1024
const liveLogBytes = 1024 * 1024
const maxPropertyBytes = 1024 * 1024
const mebibyte = 1024 * 1024
const keptChanges = 100
const longestReadMs = 3_000
/** Pause after a failure. */
const repeatMs = 60_000
const dayMs = 24 * 60 * 60_000

export class LocalBuildServer implements BuildServer {
  readonly type: string
  readonly keepsReferences = true
  readonly name: string
  readonly #parts: LocalBuildServerParts
  readonly #rights: JobRights
  readonly #listeners = new Set<() => void>()
  #timer: NodeJS.Timeout | undefined
  /** Jobs with builds that have changed since the last poll; undefined before the first one. */
  #changedJobs: Set<string> | undefined
  readonly #changes = new BoundedMap<string, Promise<JsonObject[]>>(keptChanges)

  constructor(parts: LocalBuildServerParts) {
    this.type = parts.type
    this.name = parts.settings.name
    this.#parts = parts
    this.#rights = new JobRights(parts.context)
  }

  get sources(): SourceUploads {
    return {
      store: this.#parts.uploads,
      checkWrite: (application, user) => this.#rights.checkUpload(application, user),
    }
  }

  resume(): void {
    this.#parts.builds.start()
    const remove = () => void this.#removeUploads()
    remove()
    this.#timer = setInterval(remove, dayMs).unref()
  }

  async #removeUploads(): Promise<void> {
    const { context, uploads } = this.#parts
    try {
      const all = await context.ports.definitions.applications(itself)
      const names = new Set(all.map(({ name }) => foldName(name)))
      await uploads.removeOthers((application) => names.has(application))
    } catch (error) {
      context.log.warn({ err: error }, 'uploads of deleted applications could not be removed')
    }
  }

  close(): Promise<void> {
    clearInterval(this.#timer)
    return this.#parts.builds.close()
  }

  /** A build has begun or ended. */
  changed({ job }: StoredBuild): void {
    this.#changedJobs?.add(job)
    this.#parts.context.stateChanged()
    for (const listener of this.#listeners) listener()
  }

  async jobs(user?: string): Promise<string[]> {
    const jobs = await this.#rights.readable(await this.#parts.catalog.jobs(), user)
    return jobs.map(({ name }) => name)
  }

  async job(name: string, user?: string): Promise<JsonObject> {
    const job = await this.#requireJob(name, user)
    await this.#rights.checkFollow(job, user)
    return toJobView(job)
  }

  async builds(job: string, user?: string): Promise<JsonObject[]> {
    const builds = this.#parts.store.ofJob(job)
    if (builds.length === 0) await this.#requireJob(job, user)
    return (await this.#rights.readable(builds, user)).map((build) => toBuildView(build, this.name))
  }

  async build(job: string, number: number, user?: string): Promise<JsonObject | undefined> {
    const build = this.#parts.store.find(job, number)
    if (build !== undefined) await this.#rights.checkFollow(build, user)
    return build && toBuildView(build, this.name)
  }

  /** What lies between two commits never changes. Undefined as well while a large repository is read. */
  async changes(
    job: string,
    { after, until }: BuildRange,
    user?: string,
  ): Promise<JsonObject[] | undefined> {
    const [from, to] = [
      await this.#readable(job, after, user),
      await this.#readable(job, until, user),
    ]
    const { repository } = (await this.#parts.catalog.find(job)) ?? {}
    if (repository === undefined || from?.commit === undefined || to?.commit === undefined)
      return undefined
    const commits = { from: from.commit.sha1, to: to.commit.sha1 }
    const key = `${repository.url} ${commits.from} ${commits.to}`
    let changes = this.#changes.get(key)
    if (changes === undefined) {
      changes = this.#readChanges(repository, commits)
      changes.catch(() => setTimeout(() => this.#changes.delete(key), repeatMs).unref())
      this.#changes.set(key, changes)
    }
    return Promise.race([changes, sleep(longestReadMs, undefined, { ref: false })])
  }

  async #readChanges(
    repository: BuildRepository,
    commits: { from: string; to: string },
  ): Promise<JsonObject[]> {
    const { files, repositories, newId } = this.#parts
    const id = `changes-${newId().toLowerCase()}`
    try {
      const found = await repositories.between(repository, commits, {
        bare: files.contentOf(id),
        home: files.gitHomeOf(id),
      })
      return found.map(({ timestampMs, ...commit }) => ({
        ...commit,
        timestamp: new Date(timestampMs).toISOString(),
      }))
    } finally {
      await files.remove(id)
    }
  }

  async properties(
    job: string,
    number: number,
    fileName: string,
    user?: string,
  ): Promise<JsonObject | undefined> {
    const build = await this.#readable(job, number, user)
    const file =
      build?.files?.find(({ path }) => path === fileName) ??
      build?.files?.find(({ path }) => path.split('/').at(-1) === fileName)
    if (build === undefined || file === undefined) return undefined
    const content = await this.#parts.files.readFile(build.id, file.path, maxPropertyBytes)
    return content && parseProperties(fileName, content.toString('utf8'))
  }

  async file(
    job: string,
    number: number,
    path: string,
    user?: string,
  ): Promise<Buffer | undefined> {
    const build = await this.#readable(job, number, user)
    const file = build?.files?.find((each) => each.path === path)
    if (build === undefined || file === undefined) return undefined
    if (file.bytes > maxArtifactBytes) {
      const [size, most] = [file.bytes, maxArtifactBytes].map((bytes) =>
        Math.ceil(bytes / mebibyte),
      )
      throw new PortError(
        413,
        `The file ${path} has ${size} MiB; at most ${most} MiB are fetched. Let the build split it.`,
      )
    }
    return this.#parts.files.readFile(build.id, path, maxArtifactBytes)
  }

  async artifacts(job: string, number: number, user?: string): Promise<JsonObject[] | undefined> {
    const build = this.#parts.store.find(job, number)
    if (build !== undefined) await this.#rights.checkFollow(build, user)
    return build && toArtifactViews(build, this.name)
  }

  async queueItem(item: string): Promise<JsonObject | undefined> {
    const build = /^\d{1,15}$/.test(item) ? this.#parts.store.item(Number(item)) : undefined
    if (build === undefined) return undefined
    const { number = null } = build
    return { number, executable: number === null ? null : { number } }
  }

  /** @returns the number of the queue item */
  async start(name: string, order: JobOrder): Promise<string> {
    const { context, store, builds, machine } = this.#parts
    const accounts = machine.accounts.map((account) => account.name)
    const found = await this.#requireJob(name, order.user)
    const job = inAccountOf(found, order.parameters, accounts)
    this.#checkPlace(job)
    checkParameters(name, job.definition, order.parameters, job.repository !== undefined)
    await this.#rights.checkRun(job, order.user)
    await this.#checkSource(job, order.parameters)
    await this.#rights.checkCheckout(this.#parts.repositories.accountOf(job.repository), order.user)
    const imageAccounts = await this.#rights.changeable(accounts, order.user)
    this.#checkRoom(job.application)
    const queued: LocalBuild = {
      id: `build-${this.#parts.newId().toLowerCase()}`,
      job: name,
      state: 'QUEUED',
      number: undefined,
      application: job.application ?? '',
      account: job.account,
      imageAccounts,
      isExclusive: !job.definition.isConcurrent,
      parameters: order.parameters,
      user: order.user ?? 'anonymous',
      createdMs: context.now(),
    }
    const { item } = store.add(queued)
    builds.wake()
    return String(item)
  }

  /** A build that waits ends as well, with a number and a result, so that whatever follows it gets to know. */
  async stop(job: string, item: string, number: number, user?: string): Promise<void> {
    const { builds } = this.#parts
    const build = number === 0 ? this.#itemOf(job, item) : this.#requireBuild(job, number)
    if (build === undefined) return
    await this.#rights.checkRun(build, user)
    await builds.abort(build, 'The build was stopped.')
  }

  async describe(job: string, number: number, description: string, user?: string): Promise<void> {
    await this.#rights.checkRun(this.#requireBuild(job, number), user)
    // It may have ended meanwhile.
    this.#parts.store.put({
      ...this.#requireBuild(job, number),
      description: description.slice(0, 10_000),
    })
  }

  async recentBuilds(
    _signal: AbortSignal,
    positions: ReadonlyMap<string, Position>,
  ): Promise<RecentBuilds[]> {
    const { store } = this.#parts
    const jobs = this.#changedJobs ?? store.jobs()
    this.#changedJobs = new Set()
    return [...jobs].map((job) => {
      const newer = store
        .ofJob(job)
        .filter(({ number = 0 }) => number > (positions.get(job)?.upTo ?? 0))
      return { job, builds: newer.map((build) => toBuildView(build, this.name)) }
    })
  }

  watch(changed: () => void): void {
    this.#listeners.add(changed)
  }

  async output(job: string, number: number, user?: string): Promise<string | undefined> {
    const { builds, files } = this.#parts
    const build = await this.#readable(job, number, user)
    if (build === undefined) return undefined
    if (build.state !== 'ENDED') return builds.output(build, liveLogBytes)
    return (
      files.logOf(build.id, shownLogBytes) ?? 'The log was removed to make room for newer builds.\n'
    )
  }

  secretHolders(): SecretHolder[] {
    return this.#parts.store.inState('RUNNING').flatMap(({ job, number, secretVersions = [] }) =>
      secretVersions.map((version) => ({
        ...version,
        place: `build ${job} ${number}`,
        count: 1,
      })),
    )
  }

  isRunning(id: string): boolean {
    return this.#parts.store.byId(id)?.state === 'RUNNING'
  }

  /** Whether commands may run, and the account can run them. @throws {PortError} 400 */
  #checkPlace({ name, account }: KnownJob): void {
    const { context, machine } = this.#parts
    if (context.settings.bakery?.allowsCommands !== true)
      throw new PortError(400, describeRefusal('The build'))
    if (machine.accounts.every((each) => each.name !== account))
      throw new PortError(
        400,
        `The account "${account}" of the job "${name}" does not exist. Name one of ${standalone.provider}.accounts.`,
      )
    const problem = machine.users.problemOf(account)
    if (problem !== undefined) throw new PortError(400, problem)
  }

  /** @throws {PortError} 400, 404, 409 */
  async #checkSource(
    { buildsSources, application = '' }: KnownJob,
    { source = '', version = '' }: JobOrder['parameters'],
  ): Promise<void> {
    if (buildsSources !== true) return
    if (!imageVersionPattern.test(version))
      throw new PortError(
        400,
        `"${version}" is no version of an image. Give one such as 1-1a2b3c4.`,
      )
    await this.#parts.uploads.manifest(application, source)
  }

  /** One application leaves room for others. @throws {PortError} 429 */
  #checkRoom(application = ''): void {
    const { store, settings } = this.#parts
    const waiting = store.count('QUEUED')
    if (waiting >= settings.maxQueued) {
      throw new PortError(
        429,
        `${waiting} builds wait, which is as many as may (builds.local.max-queued). Try again later.`,
      )
    }
    const own = store.countQueued(application)
    if (own < settings.maxQueuedOfApplication) return
    const whose =
      application === '' ? 'without an application' : `of the application ${application}`
    const setting = 'builds.local.max-queued-per-application'
    throw new PortError(
      429,
      `${own} builds ${whose} wait, which is as many as may (${setting}). Try again later.`,
    )
  }

  /** @throws {PortError} 404 saying what is there instead, to those who may know */
  async #requireJob(name: string, user: string | undefined): Promise<KnownJob> {
    const { catalog } = this.#parts
    const job = await catalog.find(name)
    if (job !== undefined) return job
    const source = catalog.sourceOf(name)
    if (source !== undefined) await this.#rights.checkFollow(source, user)
    throw new PortError(404, catalog.describeAbsence(name))
  }

  /** @throws {PortError} 404 */
  #requireBuild(job: string, number: number): StoredBuild {
    const build = this.#parts.store.find(job, number)
    if (build === undefined)
      throw new PortError(404, `The build ${number} of "${job}" does not exist.`)
    return build
  }

  /** The build of a queue item, if it is of the job. */
  #itemOf(job: string, item: string): StoredBuild | undefined {
    const build = /^\d{1,15}$/.test(item) ? this.#parts.store.item(Number(item)) : undefined
    return build?.job === job ? build : undefined
  }

  /** Undefined: there is no such build. @throws {PortError} 403, 503 */
  async #readable(
    job: string,
    number: number,
    user: string | undefined,
  ): Promise<StoredBuild | undefined> {
    const build = this.#parts.store.find(job, number)
    if (build !== undefined) await this.#rights.checkRead(build, user)
    return build
  }
}
