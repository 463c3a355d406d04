/** Figures of delivery: how often, how fast and how well versions reach an environment, by the runs that deploy them. */
import { list, or, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, numberOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import { type DeployedPlace, type Environment, isPlacedIn } from './declaration.ts'
import {
  type BuildReference,
  type Commit,
  deploymentOf,
  type Run,
  type RunStage,
  sourceOf,
  toRun,
  toTarget,
  userOf,
} from './pipelines.ts'

/** What is kept of a run that has ended. */
export interface RunFacts {
  readonly id: string
  readonly pipeline: string
  readonly user: string | undefined
  readonly commit: Commit | undefined
  readonly build: BuildReference | undefined
  readonly steps: readonly DeliveryStep[]
  /** Undefined: it has not failed. */
  readonly failure: { readonly text: string; readonly account: string | undefined } | undefined
}

/** A stage that has changed what runs. */
interface DeliveryStep {
  readonly kind: 'deployment' | 'rollback'
  readonly account: string
  /** Empty, here and below: it is not known. */
  readonly regions: readonly string[]
  readonly clusters: readonly string[]
  readonly images: readonly string[]
  readonly atMs: number
  /** When a deployment that failed had taken itself back. */
  readonly undoneAtMs?: number
}

/** A run that has deployed to an environment. */
export interface Change {
  readonly run: {
    readonly id: string
    readonly pipeline: string
    readonly user: string | undefined
  }
  readonly atMs: number
  /** `restoration`: it deploys again what ran before. */
  readonly kind: 'deployment' | 'restoration'
  readonly clusters: readonly string[]
  readonly images: readonly string[]
  readonly commit: Commit | undefined
  readonly build: BuildReference | undefined
  /** From the commit, for the first deployment of it. */
  readonly leadMs: number | undefined
  /** Why it counts as failed. */
  readonly failure: string | undefined
  /** When the environment was good again. */
  readonly restoredAtMs: number | undefined
}

export interface DeliveryFigures {
  readonly deploymentFrequency: { readonly perDay: number; readonly deployments: number }
  readonly leadTime: { readonly medianMs: number | null; readonly of: number }
  readonly changeFailureRate: {
    readonly share: number | null
    readonly failed: number
    readonly of: number
  }
  readonly timeToRestore: {
    readonly medianMs: number | null
    readonly of: number
    readonly open: number
  }
}

/** Stages that make what serves; others contain them. */
export const deploymentTypes = ['createServerGroup', 'cloneServerGroup', 'deployManifest']
export const singleRollbackTypes = ['rollbackServerGroup', 'undoRolloutManifest']
export const rollbackTypes = [...singleRollbackTypes, 'rollbackCluster']
const deployingTypes = /^(?:deploy|createServerGroup|cloneServerGroup|deployManifest|promote)/i
const dayMs = 86_400_000

const toListed = shape({ stages: list(shape({ type: or(textOf, ''), status: textOf })) })

/** Whether a run without the contexts of its stages may have changed what runs. */
export function mayDeploy(run: unknown): boolean {
  return toListed(run).stages.some(
    ({ type, status }) =>
      status !== 'NOT_STARTED' &&
      status !== 'SKIPPED' &&
      (deployingTypes.test(type) || rollbackTypes.includes(type)),
  )
}

/** @param view Of a run, with the contexts of its stages; a task is one, too. */
export function factsOf(view: unknown): RunFacts {
  const run = toRun(view)
  const { stages } = run
  const byId = new Map(stages.map((stage) => [stage.id, stage]))
  const found = stages
    .filter((stage) => !isOfCanary(stage, byId))
    .flatMap((stage) => deploymentBy(run, stage))
  const { commit, build } = found.find((each) => (each.commit ?? each.build) !== undefined) ?? {}
  const failed =
    run.status === 'TERMINAL'
      ? stages.find(
          ({ status, parentStageId }) => status === 'TERMINAL' && parentStageId === undefined,
        )
      : undefined
  return {
    id: run.id,
    pipeline: run.name ?? '',
    user: userOf(run),
    commit,
    build,
    steps: [...found.map(({ step }) => step), ...stages.flatMap(rollbackBy)],
    failure: failed && {
      text: `The stage "${failed.name ?? failed.type}" failed.`,
      account: deployingTypes.test(failed.type) ? failed.context.account : undefined,
    },
  }
}

/** What an analysis deploys for itself is gone when it ends. */
export function isOfCanary(
  { parentStageId }: RunStage,
  stages: ReadonlyMap<string, RunStage>,
): boolean {
  const parent = parentStageId === undefined ? undefined : stages.get(parentStageId)
  return parent !== undefined && (parent.type === 'kayentaCanary' || isOfCanary(parent, stages))
}

/** A stage that failed after it had deployed has changed something as well. */
function deploymentBy(
  run: Run,
  stage: RunStage,
): { step: DeliveryStep; commit: Commit | undefined; build: BuildReference | undefined }[] {
  const { status, context, outputs, tasks } = stage
  const hasFailed = status === 'TERMINAL'
  const hasChanged = Object.keys(context.serverGroups).length > 0 || outputs.manifests.length > 0
  if (status !== 'SUCCEEDED' && !(hasFailed && hasChanged)) return []
  const [deployment] = deploymentOf(run, stage)
  if (deployment === undefined) return []
  const { account, images, serverGroups, manifests, run: of } = deployment
  const named = manifests
    .filter(({ hasImages }) => hasImages)
    .map(({ kind, name }) => `${kind} ${name}`.toLowerCase())
  // The end of its own work, which what failed followed.
  const workedUntilMs = tasks.findLast((task) => task.status === 'SUCCEEDED')?.endTime
  // As strategies do unless told otherwise.
  const takesItselfBack = context.strategy === 'canary' || context.rollback.onFailure !== 'false'
  const step: DeliveryStep = {
    kind: 'deployment',
    account,
    images,
    atMs: (hasFailed ? workedUntilMs : undefined) ?? of.atMs ?? 0,
    undoneAtMs: hasFailed && takesItselfBack ? of.atMs : undefined,
    regions: [
      ...new Set([
        ...Object.keys(serverGroups),
        ...manifests.flatMap(({ namespace }) => namespace ?? []),
      ]),
    ],
    clusters: [...new Set([...clustersOf(serverGroups), ...named])].toSorted(),
  }
  // The build of a run that another one has started is known to that one.
  const sources = deployment.commit === undefined ? parentsOf(run).map(sourceOf) : []
  const { commit, build } =
    sources.findLast((each) => (each.commit ?? each.build) !== undefined) ?? deployment
  return [{ step, commit, build }]
}

/** The run as those would have started it that have led to it, the nearest first. */
function parentsOf({
  trigger: { parent },
  stages,
}: Pick<Run, 'trigger' | 'stages'>): Pick<Run, 'trigger' | 'stages'>[] {
  return parent === undefined
    ? []
    : [{ trigger: parent, stages }, ...parentsOf({ trigger: parent, stages })]
}

/** Where a stage deploys or rolls back. */
export function placeOfStage({ context }: RunStage): DeployedPlace {
  const { account, places, cluster, manifestName, serverGroups, rollbackContext } = context
  const names = [context.serverGroupName, rollbackContext.rollbackServerGroupName]
  const regions = Object.keys(serverGroups)
  return {
    account,
    regions: regions.length > 0 ? regions : places,
    clusters: [
      ...cluster,
      ...manifestName,
      ...clustersOf(serverGroups),
      ...names.flatMap((name) => (name === undefined ? [] : clusterOf(name))),
    ],
  }
}

/** Where a stage of a run will deploy, as its definition says. */
export function targetsOfStage(stage: RunStage): DeployedPlace[] {
  return stage.type === 'deploy'
    ? stage.context.clusters.map(toTarget)
    : stage.type === 'deployManifest'
      ? [placeOfStage(stage)]
      : []
}

/** @param serverGroups Names by region */
export function clustersOf(serverGroups: JsonObject): string[] {
  return Object.values(serverGroups).flatMap(textsOf).map(clusterOf)
}

function clusterOf(serverGroup: string): string {
  return parseMoniker(serverGroup).cluster ?? serverGroup
}

function rollbackBy(stage: RunStage): DeliveryStep[] {
  const { account, regions, clusters } = placeOfStage(stage)
  if (!rollbackTypes.includes(stage.type) || stage.status !== 'SUCCEEDED' || account === undefined)
    return []
  return [
    {
      kind: 'rollback',
      account,
      images: [],
      atMs: stage.endTime ?? 0,
      regions,
      clusters: clusters.map((name) => name.toLowerCase()),
    },
  ]
}

/** Undefined: all that is deployed anywhere. */
type EnvironmentScope = Pick<Environment, 'accounts' | 'regions' | 'clusters'> | undefined

type ChangeDraft = { -readonly [Key in keyof Change]: Change[Key] }

/** The changes of an environment, the oldest first. */
export function changesIn(place: EnvironmentScope, runs: readonly RunFacts[]): Change[] {
  const sources = new Map(
    runs.filter(({ commit }) => commit !== undefined).flatMap(imagesWithSource),
  )
  const events = runs
    .flatMap((run) => eventsOf(place, run))
    .toSorted((one, other) => one.atMs - other.atMs)
  const changes: ChangeDraft[] = []
  let open: ChangeDraft[] = []
  const seen = new Set<string>()
  for (const { run, step, atMs } of events) {
    const before = lastTwo(changes, step.clusters)
    if (step.kind === 'rollback') {
      fail(before[0], 'It was rolled back.', atMs)
      continue
    }
    const source =
      run.commit === undefined
        ? step.images.map((image) => sources.get(image)).find((known) => known !== undefined)
        : run
    const change = toChange({ run, step, atMs }, source)
    const isFirst = change.commit !== undefined && !seen.has(change.commit.sha)
    if (change.commit !== undefined) seen.add(change.commit.sha)
    const failure =
      run.failure !== undefined && concerns(place, run.failure.account)
        ? run.failure.text
        : undefined
    if (failure === undefined) {
      noteReturn(before, change)
      open = open.filter((each) => each.restoredAtMs === undefined && !restores(change, each))
    }
    if (failure !== undefined) open.push(change)
    if (!isFirst || change.kind === 'restoration') change.leadMs = undefined
    change.failure = failure
    change.restoredAtMs = failure === undefined ? undefined : step.undoneAtMs
    changes.push(change)
  }
  return changes
}

function imagesWithSource(run: RunFacts): [image: string, source: RunFacts][] {
  return run.steps.flatMap(({ images }) => images.map((image): [string, RunFacts] => [image, run]))
}

interface DeliveryEvent {
  readonly run: RunFacts
  readonly step: DeliveryStep
  readonly atMs: number
}

/** The deployments of a run to an environment are one, which ends with the last of them. */
function eventsOf(place: EnvironmentScope, run: RunFacts): DeliveryEvent[] {
  const own = run.steps.filter((step) => place === undefined || isPlacedIn(place, step))
  const deployments = own.filter(({ kind }) => kind === 'deployment')
  const rollbacks = own
    .filter(({ kind }) => kind === 'rollback')
    .map((step) => ({ run, step, atMs: step.atMs }))
  const [first] = deployments
  if (first === undefined) return rollbacks
  const merged = (values: (step: DeliveryStep) => readonly string[]) =>
    [...new Set(deployments.flatMap(values))].toSorted()
  const undoneAtMs = deployments.find((each) => each.undoneAtMs !== undefined)?.undoneAtMs
  const step = {
    ...first,
    undoneAtMs,
    images: merged(({ images }) => images),
    clusters: merged(({ clusters }) => clusters),
  }
  return [{ run, step, atMs: Math.max(...deployments.map(({ atMs }) => atMs)) }, ...rollbacks]
}

function overlap(one: readonly string[], other: readonly string[]): boolean {
  return one.length === 0 || other.length === 0 || one.some((each) => other.includes(each))
}

function concerns(place: EnvironmentScope, account: string | undefined): boolean {
  return account === undefined || (place?.accounts.includes(account) ?? true)
}

function toChange(
  { run, step, atMs }: DeliveryEvent,
  source: Pick<RunFacts, 'commit' | 'build'> | undefined,
): ChangeDraft {
  const { commit } = source ?? {}
  const commitMs = toMs(commit?.timestamp)
  return {
    run: { id: run.id, pipeline: run.pipeline, user: run.user },
    atMs,
    kind: 'deployment',
    clusters: step.clusters,
    images: step.images,
    commit,
    build: run.build ?? source?.build,
    leadMs: commitMs === undefined || commitMs > atMs ? undefined : atMs - commitMs,
    failure: undefined,
    restoredAtMs: undefined,
  }
}

function toMs(timestamp: string | number | undefined): number | undefined {
  const ms =
    typeof timestamp === 'string' ? (numberOf(timestamp) ?? Date.parse(timestamp)) : timestamp
  return ms === undefined || Number.isNaN(ms) ? undefined : ms
}

function fail(change: ChangeDraft | undefined, failure: string, atMs: number): void {
  if (change === undefined || change.kind === 'restoration') return
  change.failure ??= failure
  change.restoredAtMs ??= atMs
}

/** A good deployment of the version that ran before the latest one says that this has failed. */
function noteReturn([latest, earlier]: readonly ChangeDraft[], change: ChangeDraft): void {
  if (
    earlier === undefined ||
    latest === undefined ||
    !isSame(earlier, change) ||
    isSame(latest, change)
  )
    return
  change.kind = 'restoration'
  fail(latest, 'The version before it was deployed again.', change.atMs)
}

function restores(change: ChangeDraft, failed: ChangeDraft): boolean {
  if (!overlap(change.clusters, failed.clusters)) return false
  failed.restoredAtMs = change.atMs
  return true
}

/** Changes of these clusters, the latest first. */
function lastTwo(changes: readonly ChangeDraft[], clusters: readonly string[]): ChangeDraft[] {
  const found: ChangeDraft[] = []
  for (let index = changes.length - 1; index >= 0 && found.length < 2; index--) {
    const change = changes[index] as ChangeDraft
    if (overlap(change.clusters, clusters)) found.push(change)
  }
  return found
}

function isSame(one: Pick<Change, 'images'>, other: Pick<Change, 'images'>): boolean {
  return one.images.join() === other.images.join()
}

/** @param window Milliseconds since the epoch */
export function figuresOf(
  changes: readonly Change[],
  window: { readonly sinceMs: number; readonly untilMs: number },
): DeliveryFigures {
  const within = changes.filter(({ atMs }) => atMs >= window.sinceMs && atMs <= window.untilMs)
  const deployments = within.filter(({ kind }) => kind === 'deployment')
  const failed = deployments.filter(({ failure }) => failure !== undefined)
  const leads = deployments.flatMap(({ leadMs }) => leadMs ?? [])
  const restores = failed.flatMap(({ restoredAtMs, atMs }) =>
    restoredAtMs === undefined ? [] : restoredAtMs - atMs,
  )
  const days = Math.max((window.untilMs - window.sinceMs) / dayMs, 1)
  return {
    deploymentFrequency: {
      perDay: toPlaces(deployments.length / days, 2),
      deployments: deployments.length,
    },
    leadTime: { medianMs: median(leads), of: leads.length },
    changeFailureRate: {
      share: deployments.length === 0 ? null : toPlaces(failed.length / deployments.length, 4),
      failed: failed.length,
      of: deployments.length,
    },
    timeToRestore: {
      medianMs: median(restores),
      of: restores.length,
      open: failed.length - restores.length,
    },
  }
}

function median(values: readonly number[]): number | null {
  const sorted = values.toSorted((one, other) => one - other)
  const [low, high] = [
    sorted[Math.floor((sorted.length - 1) / 2)],
    sorted[Math.floor(sorted.length / 2)],
  ]
  return low === undefined || high === undefined ? null : Math.round((low + high) / 2)
}

function toPlaces(value: number, places: number): number {
  return Number(value.toFixed(places))
}

/** The environment that is production: one whose name says so, else the last of those that are declared. Undefined: none is. */
export function productionOf(
  list: readonly Environment[],
  isDeclared: boolean,
): Environment | undefined {
  return (
    list.findLast(({ name }) => /prod|live/i.test(name)) ?? (isDeclared ? list.at(-1) : undefined)
  )
}
