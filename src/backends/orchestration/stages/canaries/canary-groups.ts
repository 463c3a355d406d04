/** Server groups of a canary analysis: baseline and canary, which the stage deploys with equal shares of the traffic, and removes. */
import { setTimeout as sleep } from 'node:timers/promises'
import { pathTo } from '../../../../http/encode-path.ts'
import { fieldAt, isTrue, type JsonObject, numberOf, objectOf, objectsOf, textOf, textsOf } from '../../../../json/values.ts'
import { StageError } from '../../machine/failure.ts'
import { graphOf } from '../../machine/graph.ts'
import { passedMs } from '../../machine/timeout.ts'
import type { Execution, Stage, StagePlace } from '../../model.ts'
import {
  createdClustersOf,
  kubernetes,
  placesOf,
  type ServerGroupTarget,
  stageAccountOf,
  stageProviderOf,
  stageTargetFields,
} from '../infrastructure/cloud-context.ts'
import { monitorStep, postOperations, submitStep } from '../infrastructure/cloud-task.ts'
import { inPlace, loadCluster } from '../infrastructure/server-groups.ts'
import { waitGoneStep } from '../infrastructure/waits.ts'
import type { NewStage, StageType, Submission, TaskContext, TaskResult } from '../stage-type.ts'
import { durationMs } from './canary-settings.ts'

const sides = ['control', 'experiment'] as const
type Side = (typeof sides)[number]

interface CanaryGroup {
  readonly side: Side
  /** Its definition, as `deploy` has it. */
  readonly spec: JsonObject
  readonly provider: string
  readonly account: string
  readonly application: string
  readonly regions: readonly string[]
  /** Names that its cluster may have; nothing else is in them. */
  readonly clusters: readonly string[]
  /** Of the traffic. */
  readonly percent: number | undefined
}

/**
 * What `deployments` of a canary stage asks for.
 *
 * @throws {StageError} when something is missing, or what runs already would be removed with the canary
 */
export function canaryGroupsOf({ context }: Stage, ofExecution: string): CanaryGroup[] {
  const deployments = objectOf(context['deployments'])
  const baseline = baselineOf(deployments, ofExecution)
  const pairs = objectsOf(deployments['serverGroupPairs'])
  if (pairs.length === 0) throw new StageError(['The stage deploys nothing: add a pair to "deployments.serverGroupPairs".'])
  const groups = pairs.flatMap((pair) => sides.map((side) => toCanaryGroup(pair, side, ofExecution)))
  const others = new Set([baseline.cluster])
  for (const { side, clusters } of groups.filter((each, index) => groups.findIndex((one) => isSame(one, each)) === index)) {
    const taken = clusters.find((cluster) => others.has(cluster))
    if (taken !== undefined) {
      throw new StageError([
        `The ${side} would be in the cluster ${taken}, which is not its own: give it a "freeFormDetails" that no other one has.`,
      ])
    }
    for (const cluster of clusters) others.add(cluster)
  }
  return groups
}

/** The same cluster in another region or account. */
function isSame(one: CanaryGroup, other: CanaryGroup): boolean {
  return one.side === other.side && one.clusters.join() === other.clusters.join()
}

interface Baseline {
  readonly provider: string
  readonly account: string
  readonly application: string
  readonly cluster: string
}

function baselineOf({ baseline }: JsonObject, ofExecution: string): Baseline {
  const settings = objectOf(baseline)
  const [account, cluster] = [stageAccountOf(settings), textOf(settings['cluster'])]
  if (account === undefined || cluster === undefined) {
    throw new StageError([
      'The stage does not say what the baseline runs: set "account" and "cluster" in "deployments.baseline".',
    ])
  }
  return { provider: stageProviderOf(settings), account, cluster, application: textOf(settings['application']) ?? ofExecution }
}

function toCanaryGroup(pair: JsonObject, side: Side, ofExecution: string): CanaryGroup {
  const spec = objectOf(pair[side])
  const [account, regions] = [stageAccountOf(spec), placesOf(spec)]
  const field = `"deployments.serverGroupPairs[].${side}"`
  if (account === undefined || regions.length === 0) throw new StageError([`Set "account" and "region" in ${field}.`])
  const percent = numberOf(pair['trafficPercent'])
  if (percent !== undefined && (percent < 1 || percent > 50)) {
    throw new StageError([`"trafficPercent" is ${percent}, and each of the two gets it: set it to a number from 1 to 50.`])
  }
  const application = textOf(spec['application']) ?? ofExecution
  const clusters = createdClustersOf(spec, application)
  return { side, spec, provider: stageProviderOf(spec), account, application, regions, clusters, percent }
}

export const deployCanaryServerGroupsStage: StageType = {
  type: 'deployCanaryServerGroups',
  steps: [
    submitStep('shareTraffic', 'sharetraffic', (context) => shares(context)),
    monitorStep('monitorShareTraffic'),
    { name: 'propagateDeployedServerGroupScopes', decide: propagateScopes },
  ],
  chooseSteps: (stage, execution) =>
    groupsAround({ execution, stage }).some(({ percent }) => percent !== undefined)
      ? deployCanaryServerGroupsStage.steps
      : deployCanaryServerGroupsStage.steps.slice(-1),
  beforeStages: (stage, execution) => deployments({ execution, stage }),
}

/** Of the canary stage that the stage is a part of. */
function groupsAround(place: StagePlace): CanaryGroup[] {
  return canaryGroupsOf(canaryStageOf(place), place.execution.application)
}

function canaryStageOf({ execution, stage }: StagePlace): Stage {
  const parent = graphOf(execution).parentOf(stage)
  if (parent !== undefined) return parent
  throw new StageError([`A stage of the type ${stage.type} is a part of a stage kayentaCanary, and does nothing alone.`])
}

const deployNames = { control: 'Deploy control server groups', experiment: 'Deploy experiment server groups' } as const

function deployments(place: StagePlace): NewStage[] {
  const baseline = baselineOf(objectOf(canaryStageOf(place).context['deployments']), place.execution.application)
  const groups = groupsAround(place)
  const clustersOf = (side: Side) => groups.filter((group) => group.side === side).map((group) => toCluster(group, baseline))
  const { provider, account, application, cluster } = baseline
  const regions = [...new Set(groups.flatMap((group) => group.regions))]
  return [
    {
      type: 'findImageFromCluster',
      name: 'Find baseline image',
      context: { cloudProvider: provider, credentials: account, account, application, cluster, regions },
    },
    { type: 'deploy', name: deployNames.control, context: { clusters: clustersOf('control') }, requires: [0] },
    // Its image is its own, or that of a stage ahead.
    { type: 'deploy', name: deployNames.experiment, context: { clusters: clustersOf('experiment') } },
  ]
}

/** As `deploy` takes it; what an interrupted analysis has left in the cluster is removed. */
function toCluster({ spec, percent, provider }: CanaryGroup, { account, application, cluster }: Baseline): JsonObject {
  const takesPods = provider === kubernetes && spec['manifest'] === undefined && spec['source'] === undefined
  return {
    ...spec,
    strategy: 'highlander',
    ...(percent !== undefined && { trafficPercent: percent }),
    ...(takesPods && { source: { account, application, cluster } }),
  }
}

/** Server groups that the stage has created, in the order of its pairs. */
function createdBy({ execution, stage }: StagePlace, side: Side): ServerGroupTarget[] {
  const graph = graphOf(execution)
  const deployed = graph.childrenOf(stage).filter(({ name }) => name === deployNames[side])
  return deployed
    .flatMap((each) => graph.childrenOf(each))
    .flatMap(({ context, outputs }) => {
      const place = { provider: stageProviderOf(context), account: stageAccountOf(context) ?? '' }
      const byRegion = Object.entries(objectOf(outputs['deploy.server.groups']))
      return byRegion.flatMap(([region, names]) => textsOf(names).map((name) => ({ ...place, region, name })))
    })
}

function shares({ execution, stage }: TaskContext): Submission {
  const place = { execution, stage }
  const groups = groupsAround(place)
  const operations = sides.flatMap((side) =>
    createdBy(place, side).flatMap((target) => {
      const percent = groups.find((group) => group.side === side && group.regions.includes(target.region))?.percent
      return percent === undefined ? [] : [{ shareTraffic: { ...stageTargetFields(target), percent } }]
    }),
  )
  return { operations, context: { cloudProvider: groups[0]?.provider } }
}

/** What the intervals compare, and what clients show as baseline and canary. */
function propagateScopes({ execution, stage }: TaskContext): TaskResult {
  const controls = createdBy({ execution, stage }, 'control')
  const experiments = createdBy({ execution, stage }, 'experiment')
  const deployedServerGroups = controls.flatMap((control, index) => {
    const experiment = experiments[index]
    if (experiment === undefined) return []
    return [
      {
        controlLocation: control.region,
        controlScope: control.name,
        experimentLocation: experiment.region,
        experimentScope: experiment.name,
      },
    ]
  })
  if (deployedServerGroups.length > 0) return { status: 'SUCCEEDED', outputs: { deployedServerGroups } }
  throw new StageError(['The deployments of baseline and canary name no server groups that could be compared.'])
}

export const cleanupCanaryClustersStage: StageType = {
  type: 'cleanupCanaryClusters',
  steps: [
    submitStep('disableCanaryServerGroups', 'disableservergroup', (context) => removal(context, withoutTraffic)),
    monitorStep('monitorDisable'),
    { name: 'waitBeforeCleanup', decide: waitBeforeCleanup },
    submitStep('destroyCanaryServerGroups', 'destroyservergroup', (context) => removal(context, destroyed)),
    monitorStep('monitorDestroy'),
    waitGoneStep(({ stage }) => objectsOf(stage.context['chosenServerGroups']) as unknown as ServerGroupTarget[]),
  ],
}

interface FoundGroup {
  readonly target: ServerGroupTarget
  readonly hasShare: boolean
}

type Operations = Submission['operations']

/** The share ends first: without one, it would take as much traffic as any other server group until it is disabled. */
function withoutTraffic({ target, hasShare }: FoundGroup): Operations {
  const fields = stageTargetFields(target)
  return [...(hasShare ? [{ shareTraffic: { ...fields, percent: 0 } }] : []), { disableServerGroup: fields }]
}

function destroyed({ target, hasShare }: FoundGroup): Operations {
  const fields = stageTargetFields(target)
  return [...(hasShare ? [{ shareTraffic: { ...fields, percent: null } }] : []), { destroyServerGroup: fields }]
}

async function removal(context: TaskContext, change: (found: FoundGroup) => Operations): Promise<Submission> {
  const groups = groupsAround(context)
  const found = await findGroups(context, groups)
  return {
    operations: found.flatMap(change),
    context: { chosenServerGroups: found.map(({ target }) => target), cloudProvider: groups[0]?.provider },
  }
}

async function findGroups(context: TaskContext, groups: readonly CanaryGroup[]): Promise<FoundGroup[]> {
  const found = groups.map(async ({ application, provider, account, clusters, regions, percent }) => {
    const loaded = await Promise.all(clusters.map((cluster) => loadCluster(context, { application, provider, account, cluster })))
    const all = loaded.flatMap((each) => each ?? [])
    return regions
      .flatMap((region) => inPlace(all, region))
      .map(({ name, region }) => ({ target: { provider, account, region, name }, hasShare: percent !== undefined }))
  })
  return (await Promise.all(found)).flat()
}

/** For those who want to look at the server groups once they are without traffic. */
function waitBeforeCleanup({ execution, stage, now }: TaskContext): TaskResult {
  const { delayBeforeCleanup } = objectOf(canaryStageOf({ execution, stage }).context['deployments'])
  const task = stage.tasks.find(({ name }) => name === 'waitBeforeCleanup')
  const wantedMs = durationMs(delayBeforeCleanup, 'delayBeforeCleanup') ?? 0
  const remainingMs = wantedMs - passedMs(execution, task?.startTime ?? now, now)
  return remainingMs <= 0 ? { status: 'SUCCEEDED' } : { status: 'RUNNING', pollMs: remainingMs }
}

/** Whether the stage has begun to deploy, so that something has to be removed. */
export function hasDeployed(stage: Stage, execution: Execution): boolean {
  const children = graphOf(execution).childrenOf(stage)
  return children.some(({ type, status }) => type === deployCanaryServerGroupsStage.type && status !== 'NOT_STARTED')
}

const lookMs = 500
/** Then the rest is for the next attempt. */
const mostLooks = 60
/** How long a submission may be on its way of which no answer was recorded. */
const onItsWayMs = 5000

/** Removes baseline and canary of a canary stage that was cancelled; what was about to be created then is waited for. */
export async function removeCanaryGroups(context: TaskContext): Promise<void> {
  const { stage, execution } = context
  if (!hasDeployed(stage, execution)) return
  const groups = canaryGroupsOf(stage, execution.application)
  const ordered = new Set<string>()
  for (let look = 0; look < mostLooks; look++) {
    const isCreating = await isOneBeingCreated(context, context.now + look * lookMs)
    const found = await findGroups(context, groups)
    if (found.length === 0 && !isCreating) return
    const added = found.filter(({ target }) => !ordered.has(JSON.stringify(target)))
    for (const { target } of added) ordered.add(JSON.stringify(target))
    const operations = added.flatMap((each) => [...withoutTraffic(each), ...destroyed(each)])
    // Another attempt is another request.
    const name = `removeCanaries-${context.now}-${look}`
    if (operations.length > 0) await postOperations(context, name, operations, pathTo`/${groups[0]?.provider ?? ''}/ops`)
    await sleep(lookMs)
  }
  throw new StageError(['Baseline and canary of a cancelled analysis still exist.'])
}

async function isOneBeingCreated(context: TaskContext, now: number): Promise<boolean> {
  const { stage, execution } = context
  const creations = graphOf(execution)
    .descendantsOf(stage)
    .filter(({ type }) => type === 'createServerGroup')
  for (const creation of creations) {
    const submission = creation.tasks.find(({ name }) => name === 'createServerGroup')
    const id = textOf(fieldAt(creation.context, 'kato.last.task.id', 'id'))
    if (id !== undefined) {
      const { status, body } = await context.call('clouddriver', { method: 'GET', path: pathTo`/task/${id}` }, [404])
      if (status !== 404 && !isTrue(fieldAt(body, 'status', 'completed'))) return true
    } else if (submission?.status === 'CANCELED' && now - (submission.endTime ?? 0) < onItsWayMs) return true
  }
  return false
}
