/** Jobs of this machine: those of the configuration, and those that repositories declare. */
import { randomUUID } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseYaml } from '@fairlead/base/json/yaml.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { describeIssues } from '@fairlead/base/settings/describe-issue.ts'
import { ConcurrencyLimit } from '@fairlead/base/stores/in-turns.ts'
import type { FastifyBaseLogger } from 'fastify'
import { BuildFile, type JobDefinition } from './job-definition.ts'
import type { RepositoryReader } from './repository.ts'
import type { BuildRepository, JobSource, LocalBuildSettings } from './settings.ts'
import { findSourceJob } from './sources/source-job.ts'

export interface KnownJob {
  readonly name: string
  readonly application: string | undefined
  readonly account: string
  readonly repository: BuildRepository | undefined
  /** Definition in the branch of the settings. */
  readonly definition: JobDefinition
  /** Images of other applications that it may publish. */
  readonly images?: readonly string[]
  /** Where the repository declares it: each build takes it from its own commit. */
  readonly declared: { readonly file: string; readonly key: string } | undefined
  /** It builds folders that are uploaded, and takes its steps from them. */
  readonly buildsSources?: true
}

interface CatalogOptions {
  readonly settings: LocalBuildSettings
  readonly repositories: RepositoryReader
  /** For files that are needed for a moment. */
  readonly folder: string
  readonly log: FastifyBaseLogger
}

interface ReadSource {
  readonly commit: string | undefined
  readonly jobs: ReadonlyMap<string, JobDefinition>
  /** On the monotonic clock. */
  readonly readMs: number
  /** Why the last read has failed, or found nothing. */
  readonly problem?: string
}

/** Lists are answered with what is known when a repository takes longer. */
const longestWaitMs = 15_000
/** Each has processes of Git. */
const readAtATime = 4
/** Reading YAML takes long, and nothing else is done meanwhile. */
const maxFileLength = 128 * 1024
/** Between two reads on behalf of jobs that are not in the list. */
const rereadMs = 3_000

export class JobCatalog {
  readonly #options: CatalogOptions
  readonly #sources = new Map<string, ReadSource>()
  readonly #reading = new Map<string, Promise<void>>()
  /** When each source was last read for a job that was not in the list. */
  readonly #rereads = new Map<string, number>()
  readonly #line = new ConcurrencyLimit(readAtATime)

  constructor(options: CatalogOptions) {
    this.#options = options
  }

  /** By name. */
  async jobs(): Promise<KnownJob[]> {
    const { settings } = this.#options
    await Promise.all(settings.sources.map((source) => this.#refresh(source)))
    const configured = settings.jobs.map((job) => ({ ...job, declared: undefined }))
    const declared = settings.sources.flatMap((source) => this.#jobsOf(source))
    return [...configured, ...declared].sort((one, other) => (one.name < other.name ? -1 : 1))
  }

  /** A job that is not in the list may have been pushed just now: the repository is read again. */
  async find(name: string): Promise<KnownJob | undefined> {
    const { settings } = this.#options
    const startMs = performance.now()
    const configured = settings.jobs.find((job) => job.name === name)
    if (configured !== undefined) return { ...configured, declared: undefined }
    const source = this.sourceOf(name)
    if (source === undefined) return findSourceJob(name)
    const findIt = () => this.#jobsOf(source).find((job) => job.name === name)
    await this.#refresh(source)
    if (findIt() === undefined && this.#mayReread(source, startMs)) await this.#refresh(source, 0)
    return findIt()
  }

  /** Why there is no such job, for people. */
  describeAbsence(name: string): string {
    const first = `The job "${name}" does not exist`
    const source = this.sourceOf(name)
    if (source === undefined)
      return `${first}. Add it to builds.local.jobs, or its repository to builds.local.repositories.`
    const known = this.#sources.get(source.name)
    if (known === undefined)
      return `${first}, because its repository has not been read yet. Try again later.`
    const age = `read ${Math.round((performance.now() - known.readMs) / 1000)} seconds ago`
    if (known.problem !== undefined) {
      return `${first}, because its repository cannot be read: ${known.problem.replace(/\.$/, '')} (${age}). Correct builds.local.repositories.`
    }
    const declared = this.#jobsOf(source).map((job) => job.name)
    if (declared.length === 0)
      return `${first}. Its repository has no jobs in ${source.file} (${age}).`
    return `${first}. Its repository declares ${declared.sort().join(', ')} (${age}).`
  }

  /**
   * The repository that may declare the job: of several whose names begin its own, that with the longest, so that no key of a
   * repository takes the place of another one's job.
   */
  sourceOf(name: string): JobSource | undefined {
    const { sources, jobs } = this.#options.settings
    if (jobs.some((job) => job.name === name)) return undefined
    const all = sources.filter((each) => name.startsWith(`${each.name}/`))
    return all.toSorted((one, other) => other.name.length - one.name.length)[0]
  }

  /** @param sinceMs What was read since then is new enough */
  #mayReread({ name }: JobSource, sinceMs: number): boolean {
    const now = performance.now()
    if (
      (this.#sources.get(name)?.readMs ?? 0) >= sinceMs ||
      now - (this.#rereads.get(name) ?? -rereadMs) < rereadMs
    )
      return false
    this.#rereads.set(name, now)
    return true
  }

  #jobsOf(source: JobSource): KnownJob[] {
    const { name, application, account, repository, images, file } = source
    const jobs = [...(this.#sources.get(name)?.jobs ?? [])].filter(
      ([key]) => this.sourceOf(`${name}/${key}`) === source,
    )
    return jobs.map(([key, definition]) => ({
      name: `${name}/${key}`,
      application,
      account,
      repository,
      definition,
      images,
      declared: { file, key },
    }))
  }

  async #refresh(
    source: JobSource,
    maxAgeMs: number = this.#options.settings.refreshMs,
  ): Promise<void> {
    const known = this.#sources.get(source.name)
    if (known !== undefined && performance.now() - known.readMs < maxAgeMs) return
    const reading = this.#reading.getOrInsertComputed(source.name, () =>
      this.#line
        .run(() => this.#read(source, known))
        .finally(() => this.#reading.delete(source.name)),
    )
    await Promise.race([reading, sleep(longestWaitMs, undefined, { ref: false })])
  }

  /** A failed read keeps what is known. */
  async #read(source: JobSource, known: ReadSource | undefined): Promise<void> {
    const { repositories, log } = this.#options
    const { name, repository, file } = source
    const folder = join(this.#options.folder, `reading-${randomUUID()}`)
    const readMs = performance.now()
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const head = await repositories.head(repository, folder)
      if (known?.commit !== undefined && known.commit === head) {
        this.#sources.set(name, { ...known, readMs })
        return
      }
      const commit = await repositories.fetch(repository, undefined, {
        bare: join(folder, 'bare'),
        home: folder,
      })
      const text = await commit.file(file)
      if (text === undefined)
        log.warn(
          { repository: repository.url, file },
          'a repository of builds.local.repositories has no such file',
        )
      const jobs = new Map(
        text === undefined ? [] : Object.entries(parseBuildFile(text, file).jobs),
      )
      this.#sources.set(name, { commit: commit.sha1, jobs, readMs })
    } catch (error) {
      const problem = (error as Error).message
      this.#sources.set(name, {
        commit: undefined,
        jobs: known?.jobs ?? new Map(),
        readMs,
        problem,
      })
      log.warn({ repository: name, problem }, 'the jobs of a repository cannot be read')
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
}

/** @throws {PortError} 400 naming the keys that are wrong */
export function parseBuildFile(text: string, file: string): BuildFile {
  if (text.length > maxFileLength)
    throw new PortError(400, `${file} has more than ${maxFileLength} characters.`)
  let document: unknown
  try {
    document = parseYaml(text)
  } catch (error) {
    throw new PortError(400, `${file} is no YAML: ${(error as Error).message}`)
  }
  const parsed = BuildFile.safeParse(document)
  if (parsed.success) return parsed.data
  throw new PortError(400, `${file} has errors: ${describeIssues(parsed.error, 'the file')}.`)
}
