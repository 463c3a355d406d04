/** Projects of a GitLab server, and the jobs that they are: `shop/web`, `shop/web/main` for its branch, or by number: `42`. */
import { sharedWork } from '@fairlead/base/concurrency/shared-work.ts'
import { list, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, numberOf, textOf } from '@fairlead/base/json/values.ts'
import { encodeSegment, formatQuery } from '@fairlead/base/net/encode-path.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { ServerCalls } from '../server-calls.ts'
import type { GitlabHost } from './gitlab-settings.ts'

/** What a job names. */
export interface JobTarget {
  /** Path of the project. */
  readonly project: string
  /** `tags`: any tag, as in igor; undefined: any branch or tag. */
  readonly branch: string | undefined
}

const toProject = shape({
  id: numberOf,
  path: [textOf, 'path_with_namespace'],
  level: [textOf, 'builds_access_level'],
  name: [textOf, 'name_with_namespace'],
  description: textOf,
  url: [textOf, 'web_url'],
  branch: [textOf, 'default_branch'],
  archived: isTrue,
})

const pageLength = 100
const mostPages = 50
const freshMs = 5 * 60_000

export class Projects {
  readonly #host: GitlabHost
  readonly #calls: ServerCalls
  readonly #context: Pick<BackendContext, 'log' | 'steady'>
  #listed: { readonly paths: readonly string[]; readonly atMs: number } | undefined
  readonly #loadOnce = sharedWork(() => this.#load())
  /** Paths by the number of the project. */
  readonly #numbered = new Map<string, string>()

  constructor(
    host: GitlabHost,
    calls: ServerCalls,
    context: Pick<BackendContext, 'log' | 'steady'>,
  ) {
    this.#host = host
    this.#calls = calls
    this.#context = context
  }

  /** Paths of those whose pipelines are builds. A list that cannot be renewed is kept. @throws {PortError} */
  async paths(): Promise<readonly string[]> {
    if (this.#host.projects.length > 0) return this.#host.projects
    const listed = this.#listed
    if (listed !== undefined && this.#context.steady() - listed.atMs < freshMs) return listed.paths
    try {
      return await this.#loadOnce()
    } catch (error) {
      if (listed === undefined) throw error
      return listed.paths
    }
  }

  /** Undefined: no such project. */
  async targetOf(job: string): Promise<JobTarget | undefined> {
    const paths = await this.paths()
    // Groups, projects and branches hold slashes: the longest path wins.
    const project = paths
      .filter((path) => job === path || job.startsWith(`${path}/`))
      .sort((a, b) => b.length - a.length)[0]
    if (project !== undefined)
      return { project, branch: job === project ? undefined : job.slice(project.length + 1) }
    const { id, branch } = /^(?<id>\d{1,15})(?:\/(?<branch>.+))?$/.exec(job)?.groups ?? {}
    const numbered = id === undefined ? undefined : await this.#pathOf(id)
    return numbered === undefined ? undefined : { project: numbered, branch }
  }

  /** @param project Its path, or its number; undefined: it is missing, or hidden from the token */
  async load(project: string): Promise<ShapeOf<typeof toProject> | undefined> {
    const found = await this.#calls.loadIfChanged(projectPath(project))
    return found === undefined ? undefined : toProject(found)
  }

  /** Undefined: no project of that number, or none whose pipelines are builds. */
  async #pathOf(id: string): Promise<string | undefined> {
    const paths = await this.paths()
    const known = this.#numbered.get(id)
    if (known !== undefined && paths.includes(known)) return known
    const loaded = toProject(await this.#calls.load(projectPath(id))).path?.toLowerCase()
    const path = paths.find((each) => each.toLowerCase() === loaded)
    if (path !== undefined) this.#numbered.set(id, path)
    return path
  }

  async #load(): Promise<readonly string[]> {
    const { limitByMembership, limitByOwnership, name } = this.#host
    const limits = {
      membership: limitByMembership || undefined,
      owned: limitByOwnership || undefined,
    }
    const paths: string[] = []
    let isComplete = false
    for (let page = 1; page <= mostPages && !isComplete; page++) {
      const query = { ...limits, archived: false, order_by: 'id', per_page: pageLength, page }
      const projects = list(toProject)(await this.#calls.load(`/projects${formatQuery(query)}`))
      paths.push(...projects.flatMap(({ level, path = [] }) => (level === 'disabled' ? [] : path)))
      isComplete = projects.length < pageLength
    }
    if (!isComplete) {
      const most = mostPages * pageLength
      this.#context.log.warn(
        { buildServer: name },
        `only the first ${most} projects are polled; list those that matter in "projects"`,
      )
    }
    this.#listed = { paths, atMs: this.#context.steady() }
    return paths
  }
}

/** @param project Its path */
export function projectPath(project: string): string {
  return `/projects/${encodeSegment(project)}`
}
