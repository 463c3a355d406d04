/** Commits and builds between two versions of an application. */

import { list, shape } from '@fairlead/base/json/shape.ts'
import {
  definedOf,
  type JsonObject,
  numberOf,
  objectsOf,
  textOf,
} from '@fairlead/base/json/values.ts'
import { encodeSegments, formatQuery, pathTo } from '@fairlead/base/net/encode-path.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import {
  type BuildReference,
  type Commit,
  commitsOf,
  type Deployment,
} from '@fairlead/model/environments/pipelines.ts'
import type { Version } from '@fairlead/model/environments/running.ts'
import type { PermissionView } from '@fairlead/model/rights/permissions.ts'
import { isGranted } from '@fairlead/model/rights/rights.ts'
import type { UpstreamCall } from '../../upstreams/upstream-call.ts'

const most = 50

const toRepository = shape({ repoType: textOf, repoProjectKey: textOf, repoSlug: textOf })
const toCommits = list(
  shape({
    sha: [textOf, 'id'],
    message: textOf,
    author: [textOf, 'authorDisplayName'],
    url: [textOf, 'commitUrl'],
    timestamp: (value) => textOf(value) ?? numberOf(value),
  }),
)
const toBuild = shape({ number: numberOf, url: textOf, result: textOf })

export type Ask = (service: ServiceName, call: UpstreamCall) => Promise<unknown>

interface Context {
  readonly attributes: JsonObject
  readonly view: PermissionView | undefined
  readonly deployments: readonly Deployment[]
  readonly ask: Ask
}

export interface Between {
  readonly commits: readonly Commit[]
  readonly authors: readonly string[]
  readonly builds: readonly BuildReference[]
  readonly note?: string
}

export const nothingBetween: Between = { commits: [], authors: [], builds: [] }

/** Commits and builds that the earlier environment has and the later one has not, the newest first. */
export async function loadBetween(
  source: Version | undefined,
  target: Version | undefined,
  context: Context,
): Promise<Between> {
  if (source !== undefined && target !== undefined && isLater(target.build, source.build)) {
    return { ...nothingBetween, note: `${target.label} is of a later build than ${source.label}.` }
  }
  const [compared, changes, built] = await Promise.all([
    loadCommits(source, target, context),
    loadChanges(source, target, context),
    loadBuilds(source, target, context),
  ])
  const own =
    source?.commit === undefined || source.commit.sha === target?.commit?.sha ? [] : [source.commit]
  const known =
    [built.flatMap(commitsOf), deployedBetween(source, target, context.deployments)].find(
      (list) => list.length > 0,
    ) ?? []
  const partly = [...new Map([...own, ...known].map((commit) => [commit.sha, commit])).values()]
  const whole = compared ?? changes
  const commits = (whole ?? partly).slice(0, most)
  const authors = [...new Set(commits.flatMap(({ author }) => author ?? []))]
  const { server, job } = source?.build ?? {}
  const builds = built.map((build): BuildReference => definedOf({ server, job, ...toBuild(build) }))
  return {
    commits,
    authors,
    builds,
    note: whole === undefined ? describeUnknown(source, target) : undefined,
  }
}

function isLater(one: BuildReference = {}, other: BuildReference = {}): boolean {
  return (
    one.server === other.server &&
    one.job === other.job &&
    (one.number ?? 0) > (other.number ?? Number.POSITIVE_INFINITY)
  )
}

function describeUnknown(
  source: Version | undefined,
  target: Version | undefined,
): string | undefined {
  if (source === undefined || target === undefined) return undefined
  const [nameless] = [source, target].filter(({ commit }) => commit === undefined)
  if (nameless !== undefined) {
    return `The commit of ${nameless.label} is not known: deploy what a build has made, or label the image with its commit.`
  }
  return `Other commits may lie between ${target.label} and ${source.label}: neither the build server nor a code host lists them.`
}

/** Versions deployed after the target, without those after the source. */
function deployedBetween(
  source: Version | undefined,
  target: Version | undefined,
  deployments: readonly Deployment[],
): Commit[] {
  const find = (version: Version | undefined) =>
    deployments.findIndex(({ images }) => version !== undefined && images.includes(version.image))
  return deployments
    .slice(Math.max(find(source), 0), Math.max(find(target), 0))
    .flatMap(({ commit, build }) =>
      commit === undefined || isLater(build, source?.build) ? [] : commit,
    )
}

async function loadCommits(
  source: Version | undefined,
  target: Version | undefined,
  { attributes, ask }: Context,
): Promise<Commit[] | undefined> {
  const { repoType: type, repoProjectKey: project, repoSlug: repository } = toRepository(attributes)
  const [from, to] = [source?.commit?.sha, target?.commit?.sha]
  if (
    type === undefined ||
    project === undefined ||
    repository === undefined ||
    from === undefined ||
    to === undefined
  )
    return undefined
  const path = pathTo`/${type}/${project}/${repository}/compareCommits` + formatQuery({ to, from })
  // A comparison that is not found is one commit that says so.
  const compared = toCommits(await ask('igor', { path })).flatMap(({ sha, ...commit }) =>
    sha === undefined || sha === 'NOT_FOUND' ? [] : [{ sha, ...commit }],
  )
  return compared.length === 0 ? undefined : compared.toReversed()
}

async function loadChanges(
  source: Version | undefined,
  target: Version | undefined,
  { view, ask }: Context,
): Promise<Commit[] | undefined> {
  const { server, job, number: until } = source?.build ?? {}
  const { server: before, job: same, number: after } = target?.build ?? {}
  if (server === undefined || job === undefined || until === undefined || after === undefined)
    return undefined
  if (server !== before || job !== same || after >= until || !mayReadBuilds(view, server))
    return undefined
  const path =
    pathTo`/builds/changes/${server}/` + encodeSegments(job) + formatQuery({ after, until })
  const changes = objectsOf(await ask('igor', { path }))
  return changes.length === 0 ? undefined : commitsOf({ scm: changes })
}

function mayReadBuilds(view: PermissionView | undefined, server: string): boolean {
  return view === undefined || isGranted(view, 'build-service', server, 'READ')
}

async function loadBuilds(
  source: Version | undefined,
  target: Version | undefined,
  { view, ask }: Context,
): Promise<JsonObject[]> {
  const { server, job, number } = source?.build ?? {}
  if (server === undefined || job === undefined || number === undefined) return []
  if (!mayReadBuilds(view, server)) return []
  const isSameJob = target?.build?.server === server && target.build.job === job
  const after = isSameJob ? (target.build.number ?? number - 1) : number - 1
  const listed = objectsOf(
    await ask('igor', { path: pathTo`/builds/all/${server}/` + encodeSegments(job) }),
  )
  const isBetween = (build: JsonObject) => {
    const { number: each = 0 } = toBuild(build)
    return each > after && each <= number
  }
  const found = listed
    .filter(isBetween)
    .toSorted((a, b) => Number(b['number']) - Number(a['number']))
  return found.slice(0, most)
}
