/** Jobs of Jenkins with new builds: one request for the last build of each job, and one for each job where it changed. */

import { formatQuery } from '@fairlead/base/net/encode-path.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { ConcurrencyLimit } from '@fairlead/base/stores/in-turns.ts'
import type { FastifyBaseLogger } from 'fastify'
import type { RecentBuilds } from '../build-server.ts'
import type { ListedBuild } from '../listed-build.ts'
import { endOf, type Position } from '../polls/position.ts'
import type { ServerCalls } from '../server-calls.ts'
import { toListedBuild } from './builds.ts'
import { jobListMs, jobTree, type LeafJob, leafJobs } from './jobs.ts'

interface RecentParts {
  readonly calls: ServerCalls
  readonly now: () => number
  readonly log: FastifyBaseLogger
  readonly loadBuilds: (
    job: string,
    signal: AbortSignal,
  ) => Promise<readonly ListedBuild[] | undefined>
}

/** Requests for builds at a time. */
const maxRequests = 4
/** The builds of a job whose last one is older are not looked through when the job is first seen. */
const longAgoMs = 24 * 60 * 60_000

export class RecentJenkinsBuilds {
  readonly #parts: RecentParts
  /** The last build of each job when its builds were loaded; undefined while one of them ran. */
  #seen = new Map<string, string | undefined>()

  constructor(parts: RecentParts) {
    this.#parts = parts
  }

  async load(
    signal: AbortSignal,
    positions: ReadonlyMap<string, Position>,
  ): Promise<RecentBuilds[]> {
    const tree = jobTree(',lastBuild[number,building,timestamp,duration]')
    const jobs = leafJobs(
      await this.#parts.calls.load(`/api/json${formatQuery({ tree })}`, {
        signal,
        timeoutMs: jobListMs,
      }),
    )
    const seen = new Map<string, string | undefined>()
    const line = new ConcurrencyLimit(maxRequests)
    const recent = await Promise.all(
      jobs.map((job) => line.run(() => this.#loadJob(job, { seen, signal, positions }))),
    )
    this.#seen = seen
    return recent.flat()
  }

  async #loadJob(
    { name, lastBuild }: LeafJob,
    { seen, signal, positions }: JobSurroundings,
  ): Promise<RecentBuilds[]> {
    if (lastBuild === undefined) return []
    const { number, building } = lastBuild
    const mark = `${number} ${building}`
    const position = positions.get(name)?.upTo
    const isReported = !this.#seen.has(name) && !building && position === number
    const last = toListedBuild(name, lastBuild)
    const isLongAgo =
      position === undefined && !building && endOf(last) < this.#parts.now() - longAgoMs
    if (this.#seen.get(name) !== mark && !isReported && !isLongAgo)
      return this.#loadBuilds(name, mark, { seen, signal, positions })
    seen.set(name, mark)
    return isLongAgo && this.#seen.get(name) !== mark ? [{ job: name, builds: [last] }] : []
  }

  /** A job that cannot be read does not keep the others from being reported, and is read again. */
  async #loadBuilds(
    name: string,
    mark: string,
    { seen, signal }: JobSurroundings,
  ): Promise<RecentBuilds[]> {
    try {
      const builds = (await this.#parts.loadBuilds(name, signal)) ?? []
      seen.set(name, builds.some(({ building }) => building) ? undefined : mark)
      return builds.length === 0 ? [] : [{ job: name, builds }]
    } catch (error) {
      if (!(error instanceof PortError) || error.status === 503 || signal.aborted) throw error
      this.#parts.log.warn(
        { job: name, problem: error.message },
        'the builds of a job cannot be read',
      )
      seen.set(name, undefined)
      return []
    }
  }
}

interface JobSurroundings {
  readonly seen: Map<string, string | undefined>
  readonly signal: AbortSignal
  readonly positions: ReadonlyMap<string, Position>
}
