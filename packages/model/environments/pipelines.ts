/** What pipelines and their runs deploy where. */
import { list, or, type Reader, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import {
  definedOf,
  isObject,
  isTrue,
  type JsonObject,
  numberOf,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { clusterName } from '@fairlead/base/names/moniker.ts'
import { type DeployedPlace, type Environment, isPlacedIn } from './declaration.ts'
import { imageKeys, imagesIn } from './images.ts'

const toPlace = shape({
  account: [textOf, 'account', 'credentials'],
  region: [textOf, 'region', 'namespace', 'namespaceOverride', 'location'],
  regions: textsOf,
  zones: [objectOf, 'availabilityZones'],
  app: [textOf, 'application'],
  stack: textOf,
  detail: [textOf, 'freeFormDetails'],
})

/** @param fields Of a cluster, or of a stage with manifests */
export function toTarget(fields: unknown): DeployedPlace {
  const { account, region, regions, zones, app, stack, detail } = toPlace(fields)
  return {
    account,
    regions: region === undefined ? (regions.length > 0 ? regions : Object.keys(zones)) : [region],
    clusters: app === undefined ? [] : [clusterName({ app, ...definedOf({ stack, detail }) })],
  }
}

const toStageFields = shape({ type: textOf, to: textOf, clusters: list(toTarget) })
const toDefinition = shape({
  stages: list((stage) => ({ ...toStageFields(stage), own: toTarget(stage) })),
})

/** Targets of clusters, and of stages with manifests. */
export function targetsOf(pipeline: unknown): DeployedPlace[] {
  return toDefinition(pipeline).stages.flatMap(({ type, clusters, own }) =>
    type === 'deploy' ? clusters : type === 'deployManifest' ? [own] : [],
  )
}

/** Whether a pipeline brings versions into an environment. */
export function deploysTo(pipeline: unknown, environment: Environment): boolean {
  return (
    hasPromotion(pipeline, environment) ||
    targetsOf(pipeline).some((target) => isPlacedIn(environment, target))
  )
}

export function hasPromotion(pipeline: unknown, environment: Environment): boolean {
  return toDefinition(pipeline).stages.some(
    ({ type, to }) => type === 'promote' && isNamed(environment, to),
  )
}

export function promotesTo({ type, context }: RunStage, environment: Environment): boolean {
  return type === 'promote' && isNamed(environment, context.to)
}

function isNamed({ name }: Environment, given = ''): boolean {
  return foldName(given) === foldName(name)
}

export interface BuildReference {
  readonly server?: string
  readonly job?: string
  readonly number?: number
  readonly url?: string
}

const toCommit = shape({
  sha: [or(textOf, ''), 'sha1'],
  branch: textOf,
  message: textOf,
  author: [textOf, 'committer'],
  timestamp: (value) => (typeof value === 'number' ? value : textOf(value)),
  url: [textOf, 'compareUrl'],
})

/** Sources other than Git leave most of it unknown. */
export type Commit = Pick<ShapeOf<typeof toCommit>, 'sha'> & Partial<ShapeOf<typeof toCommit>>

const toScm = shape({ scm: list(toCommit) })

/** Commits of a build, as build services report them. */
export function commitsOf(build: unknown): Commit[] {
  return toScm(build).scm.filter(({ sha }) => sha !== '')
}

const toBuildInfo = shape({
  number: numberOf,
  url: textOf,
  result: textOf,
  reason: textOf,
  tests: [list(shape({ totalCount: or(numberOf, 0), failCount: or(numberOf, 0) })), 'testResults'],
})

/** A build that a trigger or a stage names. */
const sourceFields = {
  master: textOf,
  job: textOf,
  buildNumber: numberOf,
  /** Undefined: it names none. */
  buildInfo: (value: unknown) =>
    isObject(value) && Object.keys(value).length > 0
      ? { ...toBuildInfo(value), commits: commitsOf(value) }
      : undefined,
} as const

const toOwnTrigger = shape({
  ...sourceFields,
  user: textOf,
  hash: textOf,
  branch: textOf,
  /** Commit of an uploaded folder. */
  commit: (value) => (isObject(value) ? toCommit(value) : undefined),
})
const toParent = shape({ parent: [shape({ trigger: (value) => value }), 'parentExecution'] })

interface RunTrigger extends ShapeOf<typeof toOwnTrigger> {
  /** Trigger of the run that has started this one. */
  readonly parent: RunTrigger | undefined
}

function toTrigger(value: unknown): RunTrigger {
  const { trigger } = toParent(value).parent
  return { ...toOwnTrigger(value), parent: trigger === undefined ? undefined : toTrigger(trigger) }
}

const toManifestFields = shape({
  kind: or(textOf, ''),
  metadata: shape({ name: or(textOf, ''), namespace: textOf }),
  spec: shape({ template: isObject, containers: Array.isArray }),
})

function toManifest(whole: JsonObject) {
  const { kind, metadata, spec } = toManifestFields(whole)
  return { whole, kind, ...metadata, hasImages: spec.template || spec.containers }
}

const toManifests: Reader<ReturnType<typeof toManifest>[]> = (value) =>
  objectsOf(value).map(toManifest)

function toList(value: unknown): string[] {
  return typeof value === 'string' ? [value] : textsOf(value)
}

const strategyFields = { strategy: textOf, rollback: shape({ onFailure: String }) } as const

const toPlanned = shape({
  type: or(textOf, ''),
  name: or(textOf, ''),
  context: shape(strategyFields),
})

const toStage = shape({
  id: or(textOf, ''),
  type: or(textOf, ''),
  refId: or(textOf, ''),
  requisiteStageRefIds: textsOf,
  name: textOf,
  status: or(textOf, ''),
  parentStageId: textOf,
  startTime: numberOf,
  endTime: numberOf,
  tasks: list(shape({ status: textOf, endTime: numberOf })),
  outputs: shape({ manifests: toManifests }),
  context: shape({
    ...sourceFields,
    to: textOf,
    account: [textOf, 'account', 'credentials'],
    places: [toList, 'region', 'regions', 'location', 'namespace'],
    cluster: toList,
    manifestName: toList,
    serverGroupName: textOf,
    image: [textOf, ...imageKeys],
    manifests: toManifests,
    serverGroups: [objectOf, 'deploy.server.groups'],
    ...strategyFields,
    rollbackContext: shape({ rollbackServerGroupName: textOf, restoreServerGroupName: textOf }),
    reason: textOf,
    instructions: textOf,
    requiredJudgmentRoles: textsOf,
    inputs: [
      (value: unknown) => objectsOf(value).flatMap((each) => textOf(each['value']) ?? []),
      'judgmentInputs',
    ],
    judgmentStatus: textOf,
    judgmentInput: textOf,
    judgmentComment: textOf,
    lastModifiedBy: textOf,
    canaryScore: numberOf,
    /** Id of a canary's analysis. */
    analysis: [textOf, 'canaryPipelineExecutionId'],
    /** Set once a promotion has found what it promotes. */
    promotion: shape({ to: textOf, version: textOf, stages: list(toPlanned) }),
    /** Clusters of a stage "deploy". */
    clusters: objectsOf,
    waitsFor: [textOf, 'waiting.for'],
  }),
})

export type RunStage = ShapeOf<typeof toStage>

/** A run, or a task, as the orchestrator lists it with the contexts of its stages. */
export const toRun = shape({
  id: or(textOf, ''),
  name: [textOf, 'name', 'description'],
  status: textOf,
  pipelineConfigId: textOf,
  buildTime: numberOf,
  application: or(textOf, ''),
  isTask: isTrue,
  authentication: shape({ user: textOf }),
  trigger: toTrigger,
  stages: list(toStage),
})

export type Run = ShapeOf<typeof toRun>

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
  readonly manifests: ReturnType<typeof toManifests>
  readonly commit: Commit | undefined
  readonly build: BuildReference | undefined
}

export function deploymentsOf(runs: readonly Run[]): Deployment[] {
  return runs.flatMap((run) => {
    const source = sourceOf(run)
    return run.stages.flatMap((stage) =>
      stage.status === 'SUCCEEDED' ? deploymentOf(run, stage, source) : [],
    )
  })
}

export function latestFirst(one: Deployment, other: Deployment): number {
  return (other.run.atMs ?? 0) - (one.run.atMs ?? 0)
}

/** Empty unless the stage of the run, which has ended, has deployed. */
export function deploymentOf(run: Run, stage: RunStage, source = sourceOf(run)): Deployment[] {
  const { context, outputs, type } = stage
  const { account, serverGroups, image } = context
  const made = outputs.manifests.length > 0 ? outputs.manifests : context.manifests
  const manifests = type === 'deployManifest' ? made : []
  const images =
    manifests.length > 0
      ? imagesIn(manifests.map(({ whole }) => whole))
      : image === undefined
        ? []
        : [image]
  const isEmpty =
    images.length === 0 || (manifests.length === 0 && Object.keys(serverGroups).length === 0)
  if (account === undefined || isEmpty) return []
  const shown = {
    id: run.id,
    pipeline: run.name ?? '',
    user: userOf(run),
    atMs: stage.endTime ?? stage.startTime,
  }
  return [{ run: shown, account, serverGroups, images, manifests, ...source }]
}

export function userOf({ authentication, trigger }: Run): string | undefined {
  return authentication.user ?? trigger.user
}

/** The build that a run began with or has waited for, and its commit. */
export function sourceOf({
  trigger,
  stages,
}: Pick<Run, 'trigger' | 'stages'>): Pick<Deployment, 'build' | 'commit'> {
  const sources = [trigger, ...stages.map(({ context }) => context)]
  const {
    master: server,
    job,
    buildInfo,
    buildNumber,
  } = sources.find((each) => each.buildInfo !== undefined) ?? trigger
  const number = buildInfo?.number ?? buildNumber
  const { hash, branch, commit = hash === undefined ? undefined : { sha: hash, branch } } = trigger
  return {
    build: number === undefined ? undefined : { server, job, number, url: buildInfo?.url },
    commit: buildInfo?.commits[0] ?? commit,
  }
}
