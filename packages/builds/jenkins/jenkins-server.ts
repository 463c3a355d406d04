/** One Jenkins server, over its JSON API. docs/contracts/builds.md#jenkins. */

import { BoundedMap } from '@fairlead/base/caches/bounded-map.ts'
import { list, maybe, shape } from '@fairlead/base/json/shape.ts'
import { definedOf, type JsonObject, listOf, numberOf, textOf } from '@fairlead/base/json/values.ts'
import { encodeSegments, formatQuery, pathTo } from '@fairlead/base/net/encode-path.ts'
import { maxArtifactBytes } from '@fairlead/base/outside/source-calls.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type {
  BuildRange,
  BuildServer,
  BuildServerType,
  JobOrder,
  RecentBuilds,
} from '../build-server.ts'
import type { ListedBuild } from '../listed-build.ts'
import type { Position } from '../polls/position.ts'
import { parseProperties } from '../property-file.ts'
import { createServerCalls, type ServerCalls } from '../server-calls.ts'
import {
  buildFields,
  buildsTree,
  changesTree,
  type JenkinsBuild,
  toArtifacts,
  toBuild,
  toChanges,
  toJenkinsBuild,
  toListedBuild,
} from './builds.ts'
import { jobFields, jobListMs, jobTree, leafJobs, toJobConfig, toJobPath } from './jobs.ts'
import { JenkinsPosts } from './posts.ts'
import { RecentJenkinsBuilds } from './recent-builds.ts'
import { type JenkinsSettings, jenkinsDeclaration } from './settings.ts'

const maxPropertyBytes = 1024 * 1024
const keptChanges = 100

const toBuildList = shape({ builds: maybe(list(toJenkinsBuild)) })
const toItem = shape({
  executable: shape({ number: numberOf }),
  why: textOf,
  cancelled: (value) => (value === true ? true : undefined),
})

class JenkinsServer implements BuildServer {
  readonly type = 'jenkins'
  readonly archivesLate = true
  readonly name: string
  readonly permissions: BuildServer['permissions']
  readonly maxChanges: number | undefined
  readonly #calls: ServerCalls
  readonly #posts: JenkinsPosts
  readonly #recent: RecentJenkinsBuilds
  readonly #changes = new BoundedMap<string, readonly JsonObject[]>(keptChanges)

  constructor(settings: JenkinsSettings, context: BackendContext) {
    const {
      name,
      address,
      authorization,
      permissions,
      itemUpperThreshold,
      tls,
      skipHostnameVerification,
    } = settings
    this.name = name
    this.permissions = permissions
    this.maxChanges = itemUpperThreshold
    this.#calls = createServerCalls(
      {
        name,
        address,
        settingKey: 'jenkins.masters',
        ...(authorization !== undefined && { credentials: async () => ({ authorization }) }),
        tls: { ...tls, ...(skipHostnameVerification && { checkServerIdentity: () => undefined }) },
      },
      context,
    )
    this.#posts = new JenkinsPosts(this.#calls, settings)
    const loadBuilds = (job: string, signal: AbortSignal) => this.#loadBuilds(job, signal)
    this.#recent = new RecentJenkinsBuilds({
      calls: this.#calls,
      now: context.now,
      log: context.log,
      loadBuilds,
    })
  }

  async jobs(): Promise<readonly string[]> {
    const answer = await this.#calls.load(`/api/json${formatQuery({ tree: jobTree() })}`, {
      timeoutMs: jobListMs,
    })
    return leafJobs(answer).map(({ name }) => name)
  }

  async job(job: string): Promise<JsonObject | undefined> {
    return toJobConfig(await this.#load(job, '', jobFields))
  }

  builds(job: string): Promise<readonly JsonObject[] | undefined> {
    return this.#loadBuilds(job)
  }

  async build(job: string, number: number): Promise<JsonObject | undefined> {
    const build = await this.#loadBuild(job, number, buildFields)
    return build && toBuild(job, build)
  }

  /** Changes of builds that have ended stay as they are. */
  async changes(
    job: string,
    { after, until }: BuildRange,
  ): Promise<readonly JsonObject[] | undefined> {
    const key = `${job} ${after} ${until}`
    const known = this.#changes.get(key)
    if (known !== undefined) return known
    const { builds = [] } = toBuildList(await this.#load(job, '', changesTree))
    // Older ones are no longer listed.
    if (!builds.some(({ number }) => number <= after + 1)) return undefined
    const meant = builds.filter(({ number }) => number > after && number <= until)
    const changes = meant.flatMap(toChanges)
    if (!meant.some(({ building }) => building)) this.#changes.set(key, changes)
    return changes
  }

  async properties(job: string, number: number, fileName: string): Promise<JsonObject | undefined> {
    const build = await this.#loadBuild(job, number, 'artifacts[fileName,relativePath]')
    const file = build?.artifacts.find((artifact) => artifact.fileName === fileName)
    if (file === undefined) return undefined
    const content = await this.#calls.download(
      filePath(job, number, file.relativePath),
      maxPropertyBytes,
    )
    return content && parseProperties(fileName, content.toString('utf8'))
  }

  file(job: string, number: number, path: string): Promise<Buffer | undefined> {
    return this.#calls.download(filePath(job, number, path), maxArtifactBytes)
  }

  async artifacts(job: string, number: number): Promise<readonly JsonObject[] | undefined> {
    const build = await this.#loadBuild(
      job,
      number,
      'number,url,artifacts[fileName,displayPath,relativePath]',
    )
    return build && toArtifacts(job, build)
  }

  /** Jenkins forgets an item five minutes after it has left the queue. */
  async queueItem(item: string, job?: string): Promise<JsonObject | undefined> {
    if (!/^\d+$/.test(item)) return undefined
    const answer = await this.#calls.load(pathTo`/queue/item/${item}/api/json`)
    if (answer === undefined) return job === undefined ? undefined : this.#leftItem(item, job)
    const { executable, why, cancelled } = toItem(answer)
    const { number = null } = executable
    return definedOf({ number, executable: { number }, why, cancelled })
  }

  async start(job: string, { parameters, config }: JobOrder): Promise<string> {
    const path = this.#pathOf(job)
    const definitions = listOf(config['parameterDefinitionList'])
    if (definitions.length === 0 && Object.keys(parameters).length > 0) {
      const names = Object.keys(parameters).join(', ')
      throw new PortError(
        400,
        `The job "${job}" has no parameters, but was given ${names}. Add them there, or leave them out.`,
      )
    }
    const action = definitions.length > 0 ? 'buildWithParameters' : 'build'
    const { status, headers } = await this.#posts.post(`${path}/${action}`, parameters)
    if (status !== 201)
      throw new PortError(
        400,
        `The build server "${this.name}" did not start "${job}": it answered ${status}.`,
      )
    const item = /\/queue\/item\/(\d+)\/?$/.exec(String(headers['location'] ?? ''))?.[1]
    if (item === undefined)
      throw new PortError(
        500,
        `The build server "${this.name}" did not say where "${job}" is in its queue.`,
      )
    return item
  }

  /** A queued build may begin just as it is cancelled. */
  async stop(job: string, item: string, number: number): Promise<void> {
    if (number !== 0) return this.#stopBuild(this.#pathOf(job), number)
    await this.#posts.post(`/queue/cancelItem${formatQuery({ id: item })}`)
    const begun = numberOf((await this.queueItem(item, job))?.['number'])
    if (begun !== undefined) await this.#stopBuild(this.#pathOf(job), begun)
  }

  async describe(job: string, number: number, description: string): Promise<void> {
    const { status } = await this.#posts.post(`${this.#pathOf(job)}/${number}/submitDescription`, {
      description,
    })
    if (status >= 400) throw new PortError(404, `The build ${number} of "${job}" does not exist.`)
  }

  recentBuilds(
    signal: AbortSignal,
    positions: ReadonlyMap<string, Position>,
  ): Promise<readonly RecentBuilds[]> {
    return this.#recent.load(signal, positions)
  }

  async output(job: string, number: number): Promise<string | undefined> {
    const path = toJobPath(job)
    if (path === undefined) return undefined
    const answer = await this.#calls.send(`${path}/${number}/logText/progressiveText?start=0`, {
      expects: [404],
    })
    return answer.status === 404 ? undefined : answer.text
  }

  close(): void {
    this.#calls.close()
  }

  /** What has become of an item that the queue has no more; undefined: its job is missing. */
  async #leftItem(item: string, job: string): Promise<JsonObject | undefined> {
    const { builds } = toBuildList(await this.#load(job, '', 'builds[number,queueId]'))
    const number = builds?.find(({ queueId }) => String(queueId) === item)?.number
    if (builds === undefined) return undefined
    return number === undefined
      ? { number: null, cancelled: true }
      : { number, executable: { number } }
  }

  async #stopBuild(path: string, number: number): Promise<void> {
    const { status } = await this.#posts.post(`${path}/${number}/stop`)
    if (status >= 400)
      throw new PortError(404, `The build server "${this.name}" has no build ${number} to stop.`)
  }

  async #loadBuild(job: string, number: number, tree: string): Promise<JenkinsBuild | undefined> {
    const build = await this.#load(job, `/${number}`, tree)
    return build === undefined ? undefined : toJenkinsBuild(build)
  }

  async #loadBuilds(
    job: string,
    signal?: AbortSignal,
  ): Promise<readonly ListedBuild[] | undefined> {
    const { builds } = toBuildList(await this.#load(job, '', buildsTree, signal))
    return builds?.map((build) => toListedBuild(job, build))
  }

  async #load(job: string, place: string, tree: string, signal?: AbortSignal): Promise<unknown> {
    const path = toJobPath(job)
    return path === undefined
      ? undefined
      : this.#calls.load(`${path}${place}/api/json${formatQuery({ tree })}`, { signal })
  }

  /** @throws {PortError} 404 */
  #pathOf(job: string): string {
    const path = toJobPath(job)
    if (path === undefined) throw new PortError(404, `The job "${job}" does not exist.`)
    return path
  }
}

function filePath(job: string, number: number, path: string): string {
  return `${toJobPath(job)}/${number}/artifact/${encodeSegments(path)}`
}

export const jenkinsType: BuildServerType<readonly JenkinsSettings[]> = {
  ...jenkinsDeclaration,
  open: (servers, context) => servers.map((server) => new JenkinsServer(server, context)),
}
