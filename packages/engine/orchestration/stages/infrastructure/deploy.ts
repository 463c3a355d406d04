/** `deploy`, `createServerGroup` and `cloneServerGroup`: creates server groups and hands traffic over as the strategy says. */
import {
  definedOf,
  fieldOf,
  isObject,
  isTrue,
  type JsonObject,
  numberOf,
  objectOf,
  objectsOf,
  textOf,
} from '@fairlead/base/json/values.ts'
import { clusterIn, type Effect, effectsKey, effectsOf } from '@fairlead/model/stage-types/effect.ts'
import type { CloudServerGroup } from '@fairlead/ports/cloud-values.ts'
import type { ClusterPlace } from '@fairlead/ports/infrastructure.ts'
import { artifactsSeenBy, expectedArtifactsById } from '../../artifacts-at-hand.ts'
import { RetryableError, StageError } from '../../machine/failure.ts'
import type { Execution, Stage } from '../../model.ts'
import type { CallStep, NewStage, StageType, Step, Submission, TaskContext, TaskResult } from '../stage-type.ts'
import { cancelDeployment, checkCanarySteps, describeStop, rivalOf } from './canary.ts'
import {
  createdClusterOf,
  createdClustersOf,
  createdKey,
  firstText,
  groupsByRegion,
  kubernetes,
  locationOf,
  placesOf,
  requireAccount,
  type ServerGroupTarget,
  serverGroupNameOf,
  stageAccountOf,
  stageProviderOf,
} from './cloud-context.ts'
import { monitorStep, serverGroupNamesByRegion, submitStep } from './cloud-task.ts'
import { mayRecreate, recreatedCapacity, recreateSteps } from './recreate.ts'
import { refreshServerGroups, withoutNotes } from './server-group-operations.ts'
import { inPlace, newestFirst, servesAsGroup } from './server-groups.ts'
import { failureStages, strategyStages } from './strategies.ts'
import { newGroupOf, sourceOf, strategyKey, strategyOf } from './strategy-parts.ts'
import { tagStep } from './tag-server-group.ts'
import { waitUpStep } from './waits.ts'

/** Looks for a source that must exist. */
const sourceLookups = 3

export const deployStage: StageType = {
  type: 'deploy',
  steps: [{ name: 'checkClusters', decide: rejectMissingClusters }],
  chooseSteps: (stage, execution) => (clustersOf(stage, execution).length === 0 ? deployStage.steps : []),
  beforeStages: (stage, execution) => clustersOf(stage, execution).flatMap((cluster) => deployments(stage, cluster)),
}

function rejectMissingClusters(): TaskResult {
  throw new StageError([
    'The stage names no server group to create: add it to "clusters", with account, region, image and capacity.',
  ])
}

export const createServerGroupStage = creating('createServerGroup', 'createdeploy')
export const cloneServerGroupStages = ['cloneServerGroup', 'copyLastAsg'].map((type) => creating(type, 'createcopylastasg'))

function creating(type: string, notification: string): StageType {
  const operation = type === 'createServerGroup' ? 'createServerGroup' : 'cloneServerGroup'
  const describe = async (context: TaskContext) => ({ [operation]: await description(context, operation === 'cloneServerGroup') })
  const recreation = recreateSteps(describe, imageIdOf)
  const steps: Step[] = [
    { name: 'determineSourceServerGroup', execute: determineSource, readsOnly: true, pollMs: 5000, timeoutMs: 5 * 60_000 },
    ...recreation,
    submitStep(operation, notification, async (context) => {
      const operation = await describe(context)
      return { operations: [operation], context: { [effectsKey]: plannedEffects(context, operation) } }
    }),
    monitorStep('monitorDeploy', { expectsResult: true, read: readDeployment }),
    refreshServerGroups(created),
    tagStep(created),
    advisingOnFirst(waitUpStep(created, awaitedSettings)),
    refreshServerGroups(created, 'refreshAfterWait'),
  ]
  return {
    type,
    steps,
    chooseSteps: ({ context }, execution) => {
      if (strategyOf(context) === 'canary') checkCanarySteps(context, execution)
      if (strategyOf(context) === 'custom') return []
      return mayRecreate(context) ? steps : steps.filter((step) => !recreation.includes(step))
    },
    afterStages: strategyStages,
    onFailureStages: failureStages,
    describeFailure: describeStop,
    onCancel: cancelDeployment,
    prepareRestart: forgetDeployment,
  }
}

/** Nothing else serves where the first version fails. */
function advisingOnFirst(step: CallStep): CallStep {
  const execute = async (context: TaskContext): Promise<TaskResult> => {
    try {
      return await step.execute(context)
    } catch (error) {
      if (!(error instanceof StageError) || error instanceof RetryableError || sourceOf(context.stage) !== undefined) throw error
      const advice = `${newGroupOf(context.stage)} is the first of its cluster, and stays disabled. Deploy again, or give it traffic once the cause is gone: "Enable" on its page, or a task enableServerGroup.`
      throw new StageError([...error.errors, `\n${advice}`])
    }
  }
  return { ...step, execute }
}

const empty = { min: 0, max: 0, desired: 0 }

/** The settings with the size that the server group is created with; some strategies let it grow afterwards. */
function initialSettings({ context }: Stage): JsonObject {
  return strategyOf(context) === 'rollingredblack' ? { ...context, capacity: empty } : context
}

/** Where numbers of replicas make shares of the traffic, a server group has not the size that it was created with. */
function awaitedSettings(stage: Stage): JsonObject {
  const { context } = stage
  const isSized =
    stageProviderOf(context) === kubernetes && (context['trafficPercent'] !== undefined || rivalOf(stage) !== undefined)
  return isSized ? { ...context, capacity: undefined } : initialSettings(stage)
}

/** A new start looks for its source again, and creates another server group. */
function forgetDeployment(stage: Stage): void {
  const {
    source,
    'source.given': given = source,
    [strategyKey]: _chosen,
    [effectsKey]: _effects,
    notice: _notice,
    ...context
  } = stage.context
  stage.context = { ...context, ...(isObject(given) && { source: given }) }
}

/** One stage per region of the cluster. */
function deployments(stage: Stage, cluster: JsonObject): NewStage[] {
  const { application, interestingHealthProviderNames, targetHealthyDeployPercentage, stageTimeoutMs, comments, user } =
    stage.context
  const account = stageAccountOf(cluster) ?? stageAccountOf(stage.context)
  const context: JsonObject = {
    ...definedOf({ application, interestingHealthProviderNames, targetHealthyDeployPercentage, stageTimeoutMs, comments, user }),
    ...cluster,
    ...(account !== undefined && { account, credentials: account }),
  }
  const isClone = cluster['source'] !== undefined && textOf(cluster['imageId']) === undefined && cluster['isClone'] === true
  const type = isClone ? 'cloneServerGroup' : 'createServerGroup'
  const places = placesOf(context)
  if (places.length < 2) return [{ type, name: `Deploy in ${places[0] ?? 'unknown'}`, context }]
  const zones = objectOf(context['availabilityZones'])
  return places.map((region) => {
    const place = {
      region,
      regions: [region],
      ...(zones[region] !== undefined && { availabilityZones: { [region]: zones[region] } }),
    }
    return { type, name: `Deploy in ${region}`, context: { ...context, ...place } }
  })
}

/** In a strategy's pipeline, the clusters are those of the stage that uses the strategy, deployed without one. */
function clustersOf(stage: Stage, execution: Execution): JsonObject[] {
  const parent = execution.trigger.strategy ? strategyParent(execution) : undefined
  if (parent !== undefined) {
    const traffic = textOf(stage.context['trafficOptions'])
    const { strategy: _strategy, ...cluster } = parent
    return [{ ...cluster, strategy: '', ...(traffic !== undefined && { startDisabled: traffic.toLowerCase() === 'disable' }) }]
  }
  const { clusters, cluster } = stage.context
  const listed = objectsOf(clusters)
  if (listed.length > 0) return listed
  return isObject(cluster) ? [cluster] : []
}

function strategyParent({ trigger }: Execution): JsonObject | undefined {
  const id = fieldOf(trigger.parameters, 'parentStageId')
  const parent = objectsOf(fieldOf(trigger['parentExecution'], 'stages')).find((stage) => stage['id'] === id)
  return parent === undefined ? undefined : withoutNotes(objectOf(parent['context']))
}

function created({ stage: { context } }: TaskContext): ServerGroupTarget[] {
  return groupsByRegion(context[createdKey], { provider: stageProviderOf(context), account: requireAccount(context) })
}

/** For clients: what the operation is going to create, beside what the stage has stopped. */
function plannedEffects({ stage, execution }: TaskContext, operation: Submission['operations'][number]): readonly Effect[] {
  const { useSourceCapacity, capacity, trafficPercent } = Object.values(operation)[0] ?? {}
  const { account, region } = locationOf(stage.context)
  const source = sourceOf(stage)
  const created = {
    kind: 'created',
    account,
    region,
    source: source?.name,
    cluster: createdClusterOf(stage.context, textOf(stage.context['application']) ?? execution.application),
    desired: isTrue(useSourceCapacity) ? source?.capacity.desired : numberOf(fieldOf(capacity, 'desired')),
    percent: numberOf(trafficPercent),
  } as const
  return [...effectsOf(stage).filter(({ kind }) => kind !== 'created'), created]
}

function readDeployment(results: readonly JsonObject[], context: TaskContext): JsonObject {
  const { stage, now } = context
  const groups = serverGroupNamesByRegion(results)
  const names = Object.values(groups).flat()
  const [first] = names
  const named = (effect: Effect) =>
    names.map((name) => ({ ...effect, serverGroup: name, cluster: clusterIn(stage.context, name), atMs: now }))
  return {
    'deploy.server.groups': groups,
    'deploy.account.name': stageAccountOf(stage.context),
    [effectsKey]: effectsOf(stage).flatMap((effect) => (effect.kind === 'created' ? named(effect) : effect)),
    ...definedOf({
      'deploy.image': imageFields(context)['imageId'],
      notice: results.map(({ notice }) => textOf(notice)).find(Boolean),
    }),
    ...(first !== undefined && { serverGroupName: first, asgName: first }),
  }
}

/** The source, explicit or the newest enabled server group of the cluster, with its capacity at this moment. */
async function determineSource(context: TaskContext): Promise<TaskResult> {
  const { stage } = context
  const { region } = locationOf(stage.context)
  const required = isTrue(stage.context['useSourceCapacity'])
  const preferred = isTrue(stage.context['preferSourceCapacity'])
  const source = await findSource(context, region, required || preferred)
  if (source === undefined) {
    if (!required || preferred) return { status: 'SUCCEEDED', context: preferred ? { useSourceCapacity: false } : {} }
    const lookups = Number(stage.context['source.lookups'] ?? 0) + 1
    if (lookups < sourceLookups) return { status: 'RUNNING', context: { 'source.lookups': lookups }, pollMs: 250 }
    throw new StageError([
      'There is no server group to take the capacity from. Give "capacity" for a first deployment, or use preferSourceCapacity.',
    ])
  }
  const { name, account, capacity, all } = source
  const cluster = fieldOf(all['moniker'], 'cluster')
  return {
    status: 'SUCCEEDED',
    context: {
      'source.given': stage.context['source.given'] ?? stage.context['source'] ?? null,
      source: {
        ...objectOf(stage.context['source']),
        account,
        region: source.region,
        serverGroupName: name,
        asgName: name,
        useSourceCapacity: required || preferred,
        capacity,
        isDisabled: source.isDisabled,
        ...(servesAsGroup(source) && definedOf({ cluster })),
      },
      ...(preferred && { useSourceCapacity: true }),
    },
  }
}

async function findSource(context: TaskContext, region: string, byCapacity: boolean): Promise<CloudServerGroup | undefined> {
  const settings = context.stage.context
  const given = objectOf(settings['source'])
  const name = serverGroupNameOf(given)
  const place = { provider: stageProviderOf(settings), account: requireAccount(settings) }
  if (name !== undefined) {
    const target = {
      ...place,
      account: textOf(given['account']) ?? place.account,
      region: textOf(given['region']) ?? region,
      name,
    }
    const found = await context.infrastructure.serverGroup(target)
    if (found === undefined) throw new StageError([`The source ${name} was not found in ${target.account}/${target.region}.`])
    return found
  }
  const loaded = await Promise.all(sourceClusters(context).map((each) => context.infrastructure.cluster(each)))
  const groups = newestFirst(inPlace(loaded.find((each) => each !== undefined && each.length > 0) ?? [], region))
  const enabled = groups.filter(({ isDisabled }) => !isDisabled)
  // A canary that is under way does not tell what serves.
  const whole = enabled.filter(({ all }) => all['trafficPercent'] === undefined)
  const candidates = [whole, enabled, groups].find(({ length }) => length > 0) ?? []
  if (!byCapacity) return candidates[0]
  return candidates.toSorted((one, other) => other.instances.length - one.instances.length)[0]
}

/** Where the source is looked for: the cluster that the stage names as it, else that of the new server group. */
function sourceClusters({ stage: { context }, execution }: TaskContext): ClusterPlace[] {
  const provider = stageProviderOf(context)
  const given = objectOf(context['source'])
  const cluster = textOf(given['cluster'])
  const application = textOf(context['application']) ?? execution.application
  if (cluster === undefined) {
    const place = { application, provider, account: requireAccount(context) }
    return createdClustersOf(context, application).map((each) => ({ ...place, cluster: each }))
  }
  const account = stageAccountOf(given) ?? requireAccount(context)
  return [{ application: textOf(given['application']) ?? application, provider, account, cluster }]
}

/** The operation: the stage's context, its source, and the image that an earlier stage has baked or found. */
async function description(context: TaskContext, isClone: boolean): Promise<JsonObject> {
  const settings = withoutNotes(initialSettings(context.stage))
  const { account, region } = locationOf(settings)
  const strategy = strategyOf(context.stage.context)
  const source = objectOf(settings['source'])
  const { capacity: _snapshot, isDisabled: _disabled, ...reference } = source
  const useSource = strategy !== 'rollingredblack' && strategy !== 'recreate' && isTrue(source['useSourceCapacity'])
  return {
    ...settings,
    application: textOf(settings['application']) ?? context.execution.application,
    credentials: account,
    account,
    region,
    ...imageFields(context),
    ...(source['serverGroupName'] !== undefined && { source: { ...reference, useSourceCapacity: useSource } }),
    useSourceCapacity: useSource,
    ...(strategy === 'recreate' && recreatedCapacity(context.stage, isClone)),
    // It must never get more than its first share.
    ...(rivalOf(context.stage) !== undefined && { trafficPercent: 0 }),
  }
}

function imageIdOf(context: TaskContext): string | undefined {
  const { image } = context.stage.context
  const given = firstText(context.stage.context, 'imageId', 'image', 'amiName') ?? firstText(objectOf(image), 'imageId', 'name')
  return given ?? textOf(imageFields(context)['imageId'])
}

function imageFields(context: TaskContext): JsonObject {
  const settings = context.stage.context
  if (['imageId', 'amiName', 'image'].some((key) => settings[key] !== undefined)) return {}
  const [place] = placesOf(settings)
  const details = objectsOf(context.read('deploymentDetails'))
  const found =
    details.find(({ region }) => region === place) ?? details.find(({ region }) => region === 'global' || region === undefined)
  const imageId = textOf(found?.['imageId']) ?? textOf(found?.['ami']) ?? (details.length === 0 ? builtImage(context) : undefined)
  return imageId === undefined ? {} : { imageId, amiName: textOf(found?.['imageName']) ?? imageId }
}

/** An image of the provider, or of a container, among the artifacts at hand; an expected artifact may name it. */
function builtImage({ execution, stage }: TaskContext): string | undefined {
  const place = { execution, stage }
  const expected = textOf(stage.context['imageArtifactId'])
  if (expected !== undefined) {
    const reference = textOf(expectedArtifactsById(place).get(expected)?.['reference'])
    if (reference !== undefined) return reference
    throw new StageError([`No image was found for the expected artifact "${expected}" (imageArtifactId).`])
  }
  const artifacts = objectsOf(artifactsSeenBy(place))
  const firstOf = (wanted: string) => artifacts.find(({ type }) => type === wanted)
  const image = firstOf(`${stageProviderOf(stage.context)}/image`) ?? firstOf('docker/image')
  return textOf(image?.['reference'])
}
