/** Pipelines of GitLab projects as builds: a job is the path of a project, or its number, as in newer versions of igor. */
import { parseJson } from '@fairlead/base/json/json.ts'
import { type JsonObject, numberOf, textOf } from '@fairlead/base/json/values.ts'
import { formatQuery } from '@fairlead/base/net/encode-path.ts'
import type { OutsideAnswer } from '@fairlead/base/outside/call-outside.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { BuildServer, BuildServerType, JobOrder, RecentBuilds } from '../build-server.ts'
import { newestIn, type Position } from '../polls/position.ts'
import { ChangePolls } from '../remote/change-polls.ts'
import { formatReason } from '../remote/refusal.ts'
import { createServerCalls, type ServerCalls } from '../server-calls.ts'
import { type GitlabHost, gitlabDeclaration } from './gitlab-settings.ts'
import { PipelineFiles, pipelinePath } from './pipeline-files.ts'
import { type GitlabPipeline, isRunning, toBuild, toPipeline, toPipelines } from './pipelines.ts'
import { type JobTarget, Projects, projectPath } from './projects.ts'

const advice =
  'The token needs the scope "api" and, to start pipelines, the role Developer or higher in the project.'
const refusals = [301, 307, 308, 400, 403, 404, 405, 409, 422]
const newest = { order_by: 'id', sort: 'desc', per_page: 100 }

export const gitlabCiType: BuildServerType<readonly GitlabHost[]> = {
  ...gitlabDeclaration,
  open: (hosts, context) => hosts.map((host) => new GitlabServer(host, context)),
}

class GitlabServer implements BuildServer {
  readonly type = 'gitlab_ci'
  readonly name: string
  readonly permissions: BuildServer['permissions']
  readonly maxChanges: number | undefined
  readonly #calls: ServerCalls
  readonly #projects: Projects
  readonly #files: PipelineFiles
  readonly #polls: ChangePolls<GitlabPipeline>

  constructor(host: GitlabHost, context: BackendContext) {
    const { name, permissions, itemUpperThreshold, privateToken, tls } = host
    const address = `${host.address}/api/v4`
    const credentials: Record<string, string> =
      privateToken === undefined ? {} : { 'private-token': privateToken }
    this.name = name
    this.permissions = permissions
    this.maxChanges = itemUpperThreshold
    const access = {
      name,
      address,
      settingKey: 'gitlab-ci.masters',
      advice,
      tls,
      credentials: async () => credentials,
    }
    this.#calls = createServerCalls(access, context)
    this.#projects = new Projects(host, this.#calls, context)
    this.#files = new PipelineFiles(this.#calls, address)
    this.#polls = new ChangePolls({
      calls: this.#calls,
      log: context.log,
      now: context.now,
      name,
      advice,
      pageLength: newest.per_page,
      itemsOf: toPipelines,
      isRunning,
      load: (project, number) => this.#pipeline(project, number),
    })
  }

  async jobs(): Promise<readonly string[]> {
    return this.#projects.paths()
  }

  async job(job: string): Promise<JsonObject | undefined> {
    const target = await this.#projects.targetOf(job)
    const project = target && (await this.#projects.load(target.project))
    if (project === undefined) return undefined
    return {
      name: job,
      displayName: project.name ?? job,
      description: project.description ?? null,
      url: project.url ?? null,
      buildable: project.level !== 'disabled' && !project.archived,
      concurrentBuild: true,
      // Pipelines take any variable.
      parameterDefinitionList: [
        {
          name: 'ref',
          description: 'Branch or tag that is built.',
          defaultValue: target?.branch ?? project.branch ?? null,
        },
      ],
    }
  }

  async builds(job: string): Promise<readonly JsonObject[] | undefined> {
    const target = await this.#projects.targetOf(job)
    if (target === undefined) return undefined
    const { project, branch } = target
    const filter = branch === 'tags' ? { scope: 'tags' } : { ref: branch }
    const pipelines = await this.#calls.loadIfChanged(
      `${projectPath(project)}/pipelines${formatQuery({ ...newest, ...filter })}`,
    )
    return pipelines === undefined
      ? undefined
      : toPipelines(pipelines).map((each) => toBuild(each, job, project))
  }

  async build(job: string, number: number): Promise<JsonObject | undefined> {
    const found = await this.#find(job, number)
    if (found === undefined) return undefined
    const { project, pipeline } = found
    // A stage that follows it waits for the person, too.
    const shown = pipeline.status === 'manual' ? { ...pipeline, status: 'running' } : pipeline
    return toBuild(shown, job, project, await this.#commit(project, pipeline.sha))
  }

  async properties(job: string, number: number, fileName: string): Promise<JsonObject | undefined> {
    const target = await this.#projects.targetOf(job)
    return target && this.#files.properties(target.project, number, fileName)
  }

  async artifacts(job: string, number: number): Promise<readonly JsonObject[] | undefined> {
    const target = await this.#projects.targetOf(job)
    return target && this.#files.artifacts(target.project, number)
  }

  /** A pipeline has its number at once. */
  async queueItem(item: string): Promise<JsonObject | undefined> {
    if (!/^\d{1,15}$/.test(item)) return undefined
    const number = Number(item)
    return { number, executable: { number } }
  }

  async start(job: string, { parameters }: JobOrder): Promise<string | undefined> {
    const target = await this.#knownTarget(job)
    const { ref: given, ...others } = parameters
    const ref = textOf(given) ?? (await this.#refOf(target))
    const variables = Object.entries(others).map(([key, value]) => ({ key, value }))
    const place = `${projectPath(await this.#lastingName(target.project))}/pipeline`
    const answer = await this.#calls.send(place, {
      method: 'POST',
      json: { ref, variables },
      expects: refusals,
    })
    const what = `The build server "${this.name}" does not start a pipeline of ${target.project} on "${ref}"`
    if (answer.status >= 300) throw toRefusal(what, answer)
    const { id: number } = toPipeline(parseJson(answer.text))
    if (number === 0)
      throw new PortError(502, `The build server "${this.name}" gave no number of the pipeline.`)
    return String(number)
  }

  /** A pipeline that has ended is as good as stopped. */
  async stop(job: string, item: string, number: number): Promise<void> {
    const target = await this.#knownTarget(job)
    const id = number === 0 ? (numberOf(item) ?? 0) : number
    const place = `${pipelinePath(await this.#lastingName(target.project), id)}/cancel`
    const answer = await this.#calls.send(place, { method: 'POST', json: {}, expects: refusals })
    if (answer.status < 300 || answer.status === 409 || (answer.status === 404 && number === 0))
      return
    throw toRefusal(
      `The build server "${this.name}" does not stop pipeline ${id} of ${target.project}`,
      answer,
    )
  }

  /** The description becomes the name of the pipeline, which GitLab has from version 16.6. */
  async describe(job: string, number: number, description: string): Promise<void> {
    const target = await this.#knownTarget(job)
    const call = { method: 'PUT', json: { name: description.slice(0, 255) }, expects: [404, 405] }
    await this.#calls.send(
      `${pipelinePath(await this.#lastingName(target.project), number)}/metadata`,
      call,
    )
  }

  /** A build is one of its project, by path and by number, and one of its branch. */
  async recentBuilds(
    signal: AbortSignal,
    positions: ReadonlyMap<string, Position>,
  ): Promise<readonly RecentBuilds[]> {
    const paths = await this.#projects.paths()
    const toPlace = (name: string) => {
      const position = positions.get(name)
      const path = `${projectPath(name)}/pipelines${formatQuery(newest)}`
      return { name, path, newest: position && newestIn(position), open: position?.open ?? [] }
    }
    return (await this.#polls.read(paths.map(toPlace), signal)).flatMap(
      ({ name: project, items: pipelines }) => {
        const byBranch = Map.groupBy(pipelines, ({ ref }) => `${project}/${ref}`)
        const numbers = new Set(pipelines.flatMap(({ projectId }) => projectId?.toString() ?? []))
        numbers.delete(project)
        const byNumber = [...numbers].map((id) => [id, pipelines] as const)
        return [[project, pipelines] as const, ...byNumber, ...byBranch].map(([job, own]) => ({
          job,
          builds: own.map((pipeline) => toBuild(pipeline, job, project)),
        }))
      },
    )
  }

  async output(job: string, number: number): Promise<string | undefined> {
    const target = await this.#projects.targetOf(job)
    return target && this.#files.log(target.project, number)
  }

  close(): void {
    this.#calls.close()
  }

  async #find(
    job: string,
    number: number,
  ): Promise<{ project: string; pipeline: GitlabPipeline } | undefined> {
    const target = await this.#projects.targetOf(job)
    const pipeline = target && (await this.#pipeline(target.project, number))
    if (pipeline === undefined) return undefined
    const { project, branch } = target as JobTarget
    return branch === undefined || branch === 'tags' || branch === pipeline.ref
      ? { project, pipeline }
      : undefined
  }

  async #pipeline(project: string, number: number): Promise<GitlabPipeline | undefined> {
    const found = await this.#calls.loadIfChanged(pipelinePath(project, number))
    return found === undefined ? undefined : toPipeline(found)
  }

  /** Without its commit, a build is still a build. */
  async #commit(project: string, sha: string | undefined): Promise<unknown> {
    if (sha === undefined) return undefined
    try {
      return await this.#calls.loadIfChanged(
        `${projectPath(project)}/repository/commits/${encodeURIComponent(sha)}`,
      )
    } catch (error) {
      if (error instanceof PortError) return undefined
      throw error
    }
  }

  async #refOf({ project, branch }: JobTarget): Promise<string> {
    if (branch !== undefined && branch !== 'tags') return branch
    const ref = (await this.#projects.load(project))?.branch
    if (ref !== undefined) return ref
    throw new PortError(
      400,
      `The project ${project} has no default branch, or is hidden from the token. Give "ref". ${advice}`,
    )
  }

  /** The number of a project, which it keeps when it is renamed: GitLab redirects reads only. */
  async #lastingName(project: string): Promise<string> {
    return (await this.#projects.load(project))?.id?.toString() ?? project
  }

  async #knownTarget(job: string): Promise<JobTarget> {
    const target = await this.#projects.targetOf(job)
    if (target !== undefined) return target
    const text = `The job "${job}" does not exist on the build server "${this.name}"`
    throw new PortError(
      404,
      `${text}: it has to be the path of one of its projects, such as shop/web or shop/web/main, or its number.`,
    )
  }
}

/** @param what What the server does not do */
function toRefusal(what: string, answer: OutsideAnswer): PortError {
  const { status } = answer
  // Of a project with a former path, GitLab allows no changes.
  if (status < 400 || status === 405)
    return new PortError(400, `${what}: the project has been renamed. Use its new path.`)
  const hint = status === 403 || status === 404 ? ` ${advice}` : ''
  return new PortError(400, `${what} (${status})${formatReason(answer)}.${hint}`)
}
