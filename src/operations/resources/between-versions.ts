/** Commits and builds between two versions of an application. */
import { type Build, type Commit, commitsOf } from '../../environments/pipelines.ts'
import type { Version } from '../../environments/running.ts'
import { encodeSegments, formatQuery, pathTo } from '../../http/encode-path.ts'
import { definedOf, type JsonObject, numberOf, objectsOf, textOf } from '../../json/values.ts'
import type { PermissionView } from '../../permissions/permissions.ts'
import { isGranted } from '../../permissions/rights.ts'
import type { ServiceName } from '../../upstreams/services.ts'
import type { UpstreamCall } from '../../upstreams/upstream-call.ts'

const most = 50

/** A read that the answer can do without; undefined where there is nothing. */
export type Ask = (service: ServiceName, call: UpstreamCall) => Promise<unknown>

interface Context {
  /** Of the application. */
  readonly attributes: JsonObject
  /** Undefined: the caller's permissions limit nothing. */
  readonly view: PermissionView | undefined
  readonly ask: Ask
}

interface Between {
  readonly commits: readonly Commit[]
  readonly authors: readonly string[]
  readonly builds: readonly Build[]
}

export const nothingBetween: Between = { commits: [], authors: [], builds: [] }

/** Commits and builds that the earlier environment has and the later one has not, the newest first. */
export async function loadBetween(source: Version | undefined, target: Version | undefined, context: Context): Promise<Between> {
  const [compared, built] = await Promise.all([loadCommits(source, target, context), loadBuilds(source, target, context)])
  const own = source?.commit === undefined || source.commit.sha === target?.commit?.sha ? [] : [source.commit]
  const ofBuilds = [...new Map(built.flatMap(commitsOf).map((commit) => [commit.sha, commit])).values()]
  const commits = [compared, ofBuilds, own].find((list) => list.length > 0)?.slice(0, most) ?? []
  const authors = [...new Set(commits.flatMap(({ author }) => author ?? []))]
  return { commits, authors, builds: built.map((build) => toBuild(build, source?.build)) }
}

/** By the source control system of the application's repository. */
async function loadCommits(
  source: Version | undefined,
  target: Version | undefined,
  { attributes, ask }: Context,
): Promise<Commit[]> {
  const [type, project, repository] = ['repoType', 'repoProjectKey', 'repoSlug'].map((key) => textOf(attributes[key]))
  const [from, to] = [source?.commit?.sha, target?.commit?.sha]
  if (type === undefined || project === undefined || repository === undefined || from === undefined || to === undefined) return []
  const path = pathTo`/${type}/${project}/${repository}/compareCommits` + formatQuery({ to, from })
  const compared = objectsOf(await ask('igor', { path })).flatMap((commit) => {
    const sha = textOf(commit['id'])
    // A comparison that is not found is one commit that says so.
    if (sha === undefined || sha === 'NOT_FOUND') return []
    const [message, author, url] = ['message', 'authorDisplayName', 'commitUrl'].map((key) => textOf(commit[key]))
    return [{ sha, message, author, url, timestamp: textOf(commit['timestamp']) ?? numberOf(commit['timestamp']) }]
  })
  return compared.toReversed()
}

/** Of the same job, after the build of the later environment up to that of the earlier one. */
async function loadBuilds(
  source: Version | undefined,
  target: Version | undefined,
  { view, ask }: Context,
): Promise<JsonObject[]> {
  const { server, job, number } = source?.build ?? {}
  if (server === undefined || job === undefined || number === undefined) return []
  if (view !== undefined && !isGranted(view, 'build-service', server, 'READ')) return []
  const isSameJob = target?.build?.server === server && target.build.job === job
  const after = isSameJob ? (target.build.number ?? number - 1) : number - 1
  const listed = objectsOf(await ask('igor', { path: pathTo`/builds/all/${server}/` + encodeSegments(job) }))
  const isBetween = (build: JsonObject) => {
    const each = numberOf(build['number']) ?? 0
    return each > after && each <= number
  }
  const found = listed.filter(isBetween).toSorted((a, b) => Number(b['number']) - Number(a['number']))
  return found.slice(0, most)
}

function toBuild(build: JsonObject, { server, job }: Build = {}): Build {
  return definedOf({ server, job, number: numberOf(build['number']), url: textOf(build['url']), result: textOf(build['result']) })
}
