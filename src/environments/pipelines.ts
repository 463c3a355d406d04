/** What pipelines and their runs deploy where. */
import { fieldAt, fieldOf, type JsonObject, numberOf, objectOf, objectsOf, textOf, textsOf } from '../json/values.ts'
import { foldName } from '../names/fold-name.ts'
import type { Environment } from './declaration.ts'
import { imageOfStage, imagesIn } from './images.ts'

interface Target {
  readonly account: string | undefined
  /** Empty: it is not known before the pipeline runs. */
  readonly regions: readonly string[]
}

/** Targets of clusters, and of stages with manifests. */
export function targetsOf(pipeline: unknown): Target[] {
  return objectsOf(fieldOf(pipeline, 'stages'))
    .flatMap((stage) =>
      stage['type'] === 'deploy' ? objectsOf(stage['clusters']) : stage['type'] === 'deployManifest' ? [stage] : [],
    )
    .map(toTarget)
}

/** @param fields Of a cluster, or of a stage with manifests */
export function toTarget(fields: JsonObject): Target {
  const { account, credentials, region, namespace, namespaceOverride, location, regions, availabilityZones } = fields
  const single = [region, namespace, namespaceOverride, location].flatMap((each) => textOf(each) ?? [])
  const several = textsOf(regions)
  return {
    account: textOf(account) ?? textOf(credentials),
    regions: single.length > 0 ? single.slice(0, 1) : several.length > 0 ? several : Object.keys(objectOf(availabilityZones)),
  }
}

/** Whether a pipeline brings versions into an environment. */
export function deploysTo(pipeline: unknown, environment: Environment): boolean {
  const stages = objectsOf(fieldOf(pipeline, 'stages'))
  return (
    stages.some((stage) => promotesTo(stage, environment)) || targetsOf(pipeline).some((target) => isWithin(target, environment))
  )
}

/** @param stage Of a pipeline or of a run */
export function promotesTo(stage: JsonObject, { name }: Pick<Environment, 'name'>): boolean {
  const to = textOf(fieldOf(stage['context'], 'to')) ?? textOf(stage['to']) ?? ''
  return stage['type'] === 'promote' && foldName(to) === foldName(name)
}

function isWithin({ account = '', regions }: Target, environment: Environment): boolean {
  if (!environment.accounts.includes(account)) return false
  return regions.length === 0 || regions.some((region) => environment.regions?.includes(region) ?? true)
}

export interface Commit {
  readonly sha: string
  readonly branch?: string | undefined
  readonly message?: string | undefined
  readonly author?: string | undefined
  readonly timestamp?: string | number | undefined
  readonly url?: string | undefined
}

export interface Build {
  readonly server?: string | undefined
  readonly job?: string | undefined
  readonly number?: number | undefined
  readonly url?: string | undefined
}

/** What a stage of a run has deployed. */
export interface Deployment {
  readonly run: {
    readonly id: string
    readonly pipeline: string
    readonly user: string | undefined
    readonly atMs: number | undefined
  }
  readonly account: string
  /** Names of server groups by region; of manifests, none. */
  readonly serverGroups: JsonObject
  readonly images: readonly string[]
  readonly manifests: readonly JsonObject[]
  readonly commit: Commit | undefined
  readonly build: Build | undefined
}

export function deploymentsOf(runs: readonly JsonObject[]): Deployment[] {
  return runs.flatMap((run) => {
    const source = sourceOf(run)
    return objectsOf(run['stages']).flatMap((stage) => deploymentOf(run, stage, source))
  })
}

export function latestFirst(one: Deployment, other: Deployment): number {
  return (other.run.atMs ?? 0) - (one.run.atMs ?? 0)
}

/** Empty unless the stage of the run has deployed. */
export function deploymentOf(run: JsonObject, stage: JsonObject, source = sourceOf(run)): Deployment[] {
  const { context, outputs, status, type } = stage
  const account = accountOfStage(stage)
  if (status !== 'SUCCEEDED' || account === undefined) return []
  const serverGroups = objectOf(fieldOf(context, 'deploy.server.groups'))
  const manifests = type === 'deployManifest' ? objectsOf(fieldOf(outputs, 'manifests') ?? fieldOf(context, 'manifests')) : []
  const image = imageOfStage(objectOf(context))
  const images = manifests.length > 0 ? imagesIn(manifests) : [image].flatMap((each) => each ?? [])
  if (images.length === 0 || (manifests.length === 0 && Object.keys(serverGroups).length === 0)) return []
  const atMs = [stage['endTime'], stage['startTime']].find((each) => typeof each === 'number')
  const shown = { id: String(run['id']), pipeline: textOf(run['name']) ?? '', user: userOfRun(run), atMs }
  return [{ run: shown, account, serverGroups, images, manifests, ...source }]
}

export function accountOfStage({ context }: JsonObject): string | undefined {
  return textOf(fieldOf(context, 'account')) ?? textOf(fieldOf(context, 'credentials'))
}

export function userOfRun(run: JsonObject): string | undefined {
  return textOf(fieldAt(run, 'authentication', 'user')) ?? textOf(fieldAt(run, 'trigger', 'user'))
}

/** The build that a run began with or has waited for, and its commit. */
function sourceOf({ trigger, stages }: JsonObject): Pick<Deployment, 'build' | 'commit'> {
  const built = objectsOf(stages).map(({ context }) => objectOf(context))
  const sources = [objectOf(trigger), ...built].filter((each) => Object.keys(objectOf(each['buildInfo'])).length > 0)
  const [source = objectOf(trigger)] = sources
  const info = objectOf(source['buildInfo'])
  const build = {
    server: textOf(source['master']),
    job: textOf(source['job']),
    number: numberOf(info['number'] ?? source['buildNumber']),
    url: textOf(info['url']),
  }
  const [commit] = commitsOf(info)
  const pushed = textOf(fieldOf(trigger, 'hash'))
  const branch = textOf(fieldOf(trigger, 'branch'))
  return {
    build: build.number === undefined ? undefined : build,
    commit: commit ?? (pushed === undefined ? undefined : { sha: pushed, branch }),
  }
}

/** Commits of a build, as build services report them. */
export function commitsOf(build: JsonObject): Commit[] {
  return objectsOf(build['scm']).flatMap(({ sha1, branch, message, committer, timestamp, compareUrl }) => {
    const sha = textOf(sha1)
    if (sha === undefined) return []
    const at = typeof timestamp === 'number' ? timestamp : textOf(timestamp)
    return [
      {
        sha,
        branch: textOf(branch),
        message: textOf(message),
        author: textOf(committer),
        timestamp: at,
        url: textOf(compareUrl),
      },
    ]
  })
}
