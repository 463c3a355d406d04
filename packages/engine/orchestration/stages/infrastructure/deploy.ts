/** `deploy`, `createServerGroup` and `cloneServerGroup`: creates server groups and hands traffic over as the strategy says. */
import { list, maybeObject, shape } from '@fairlead/base/json/shape.ts'
import {
  definedOf,
  type JsonObject,
  objectOf,
  objectsOf,
  textOf,
} from '@fairlead/base/json/values.ts'
import {
  clusterIn,
  type Effect,
  effectsKey,
  effectsOf,
} from '@fairlead/model/stage-types/effect.ts'
import { deploy, newGroupFields } from '@fairlead/model/stage-types/infrastructure.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import type { CloudResult, CloudServerGroup } from '@fairlead/ports/cloud-values.ts'
import { artifactsSeenBy, expectedArtifactsById } from '../../artifacts-at-hand.ts'
import { RetryableError, StageError } from '../../machine/failure.ts'
import type { Execution, Stage } from '../../model.ts'
import type {
  CallStep,
  NewStage,
  StageType,
  Step,
  Submission,
  TaskContext,
  TaskResult,
} from '../stage-type.ts'
import { cancelDeployment, checkCanarySteps, describeStop, rivalOf } from './canary.ts'
import {
  applicationOf,
  createdClusterOf,
  createdIn,
  firstText,
  kubernetes,
  locationOf,
  placesOf,
  requireAccount,
  type ServerGroupTarget,
  stageAccountOf,
  stageProviderOf,
} from './cloud-context.ts'
import {
  attempt,
  createdBy,
  isAbsence,
  monitorStep,
  submitOperations,
  submitStep,
} from './cloud-task.ts'
import { createdNote, givenSourceNote, sourceNote, strategyNote, withoutNotes } from './notes.ts'
import { mayRecreate, recreatedCapacity, recreateSteps } from './recreate.ts'
import { refreshServerGroups } from './server-group-operations.ts'
import { createdPlaces, inPlace, newestFirst, servesAsGroup } from './server-groups.ts'
import { failureStages, strategyStages } from './strategies.ts'
import { empty, newGroupOf, sourceOf, strategyOf } from './strategy-parts.ts'
import { waitUpStep } from './waits.ts'

export const deployStage: StageType = {
  type: 'deploy',
  steps: [
    {
      name: 'checkClusters',
      decide: () => {
        throw new StageError([
          'The stage names no server group to create: add it to "clusters", with account, region, image and capacity.',
        ])
      },
    },
  ],
  chooseSteps: (stage, execution) =>
    clustersOf(stage, execution).length === 0 ? deployStage.steps : [],
  beforeStages: (stage, execution) =>
    clustersOf(stage, execution).flatMap((cluster) => deployments(stage, cluster)),
}

export const createServerGroupStage = creating('createServerGroup', 'createdeploy')
export const cloneServerGroupStages = ['cloneServerGroup', 'copyLastAsg'].map((type) =>
  creating(type, 'createcopylastasg'),
)

function creating(type: string, notification: string): StageType {
  const operation = type === 'createServerGroup' ? 'createServerGroup' : 'cloneServerGroup'
  const describe = async (context: TaskContext) => ({
    [operation]: description(context, operation === 'cloneServerGroup'),
  })
  const recreation = recreateSteps({ describe, imageIdOf })
  const create = submitStep(
    operation,
    async (context) => {
      const operation = await describe(context)
      return {
        operations: [operation],
        context: { [effectsKey]: plannedEffects(context, operation) },
      }
    },
    notification,
  )
  const steps: Step[] = [
    {
      name: 'determineSourceServerGroup',
      execute: determineSource,
      readsOnly: true,
      timeoutMs: 5 * 60_000,
    },
    ...recreation,
    create,
    monitorStep('monitorDeploy', { expectsResult: true, read: readDeployment }),
    refreshServerGroups(created),
    { name: 'tagServerGroup', timeoutMs: 5 * 60_000, execute: tag },
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
    // A new start looks for its source again, and creates another server group.
    prepareRestart(stage) {
      const { source, 'source.given': given = source, notice: _notice, ...context } = stage.context
      const forgotten = { ...strategyNote.as(undefined), [effectsKey]: undefined }
      stage.context = definedOf({
        ...context,
        ...forgotten,
        source: maybeObject(given),
      })
    },
  }
}

/** Nothing else serves where the first version fails. */
function advisingOnFirst(step: CallStep): CallStep {
  const execute = async (context: TaskContext): Promise<TaskResult> => {
    try {
      return await step.execute(context)
    } catch (error) {
      if (
        !(error instanceof StageError) ||
        error instanceof RetryableError ||
        sourceOf(context.stage) !== undefined
      )
        throw error
      const advice = `${newGroupOf(context.stage)} is the first of its cluster, and stays without traffic. Deploy again, or press "Enable" on its page in the console once the cause is gone.`
      throw new StageError([...error.errors, `\n${advice}`], error.details)
    }
  }
  return { ...step, execute }
}

/** The settings with the size that the server group is created with; some strategies let it grow afterwards. */
function initialSettings({ context }: Stage): JsonObject {
  return strategyOf(context) === 'rollingredblack' ? { ...context, capacity: empty } : context
}

/** Where numbers of replicas make shares of the traffic, a server group has not the size that it was created with. */
function awaitedSettings(stage: Stage): JsonObject {
  const { context } = stage
  const hasShare = context['trafficPercent'] !== undefined || rivalOf(stage) !== undefined
  const isSized = stageProviderOf(context) === kubernetes && hasShare
  return isSized ? { ...context, capacity: undefined } : initialSettings(stage)
}

const readZones = shape({ availabilityZones: objectOf })

/** One stage per region of the cluster. */
function deployments(stage: Stage, cluster: JsonObject): NewStage[] {
  const {
    application,
    interestingHealthProviderNames,
    targetHealthyDeployPercentage,
    stageTimeoutMs,
    comments,
    user,
  } = stage.context
  const account = stageAccountOf(cluster) ?? stageAccountOf(stage.context)
  const context: JsonObject = {
    ...definedOf({
      application,
      interestingHealthProviderNames,
      targetHealthyDeployPercentage,
      stageTimeoutMs,
      comments,
      user,
    }),
    ...cluster,
    ...(account !== undefined && { account, credentials: account }),
  }
  const isClone =
    cluster['source'] !== undefined && !cluster['imageId'] && cluster['isClone'] === true
  const type = isClone ? 'cloneServerGroup' : 'createServerGroup'
  const places = placesOf(context)
  if (places.length < 2) return [{ type, name: `Deploy in ${places[0] ?? 'unknown'}`, context }]
  const { availabilityZones: zones } = readZones(context)
  return places.map((region) => {
    const own =
      zones[region] === undefined ? {} : { availabilityZones: { [region]: zones[region] } }
    return {
      type,
      name: `Deploy in ${region}`,
      context: { ...context, region, regions: [region], ...own },
    }
  })
}

const readClusters = shape({ clusters: objectsOf, cluster: maybeObject })
const readStages = shape({ stages: list(shape({ id: textOf, context: objectOf })) })

/** In a strategy's pipeline, the clusters are those of the stage that uses the strategy, deployed without one. */
function clustersOf({ context }: Stage, { trigger }: Execution): JsonObject[] {
  const { stages } = readStages(trigger.strategy ? trigger['parentExecution'] : undefined)
  const parent = stages.find(({ id }) => id === trigger.parameters['parentStageId'])
  if (parent !== undefined) {
    const traffic = readFields(deploy.fields, context).trafficOptions?.toLowerCase()
    const { strategy: _strategy, ...cluster } = withoutNotes(parent.context)
    return [
      {
        ...cluster,
        strategy: '',
        ...(traffic !== undefined && { startDisabled: traffic === 'disable' }),
      },
    ]
  }
  const { clusters, cluster } = readClusters(context)
  return clusters.length === 0 && cluster !== undefined ? [cluster] : clusters
}

function created({ stage: { context } }: TaskContext): ServerGroupTarget[] {
  return createdIn(context, {
    provider: stageProviderOf(context),
    account: requireAccount(context),
  })
}

/** For clients: what the operation is going to create, beside what the stage has stopped. */
function plannedEffects(
  context: TaskContext,
  operation: Submission['operations'][number],
): readonly Effect[] {
  const { stage } = context
  const { useSourceCapacity, capacity, trafficPercent } = readFields(
    newGroupFields,
    Object.values(operation)[0],
  )
  const { account, region } = locationOf(stage.context)
  const source = sourceOf(stage)
  const planned = {
    kind: 'created',
    account,
    region,
    source: source?.name,
    cluster: createdClusterOf(stage.context, applicationOf(context)),
    desired: useSourceCapacity ? source?.capacity.desired : capacity.desired,
    percent: trafficPercent,
  } as const
  return [...effectsOf(stage).filter(({ kind }) => kind !== 'created'), planned]
}

function readDeployment(results: readonly CloudResult[], context: TaskContext): JsonObject {
  const { stage, now } = context
  const groups = createdBy(results)
  const [first] = groups
  const named = (effect: Effect) =>
    groups.map(({ name }) => ({
      ...effect,
      serverGroup: name,
      cluster: clusterIn(stage.context, name),
      atMs: now,
    }))
  return {
    ...createdNote.as(groups),
    'deploy.account.name': stageAccountOf(stage.context),
    [effectsKey]: effectsOf(stage).flatMap((effect) =>
      effect.kind === 'created' ? named(effect) : effect,
    ),
    ...definedOf({
      'deploy.image': imageFields(context)['imageId'],
      notice: results.map(({ notice }) => notice).find(Boolean),
    }),
    ...(first !== undefined && { serverGroupName: first.name, asgName: first.name }),
  }
}

const sourceLookups = { key: 'source.lookups', tries: 3, pauseMs: 250 }

/** The source, explicit or the newest enabled server group of the cluster, with its capacity at this moment. */
async function determineSource(context: TaskContext): Promise<TaskResult> {
  const { context: settings } = context.stage
  const { useSourceCapacity: isRequired, preferSourceCapacity: isPreferred } = readFields(
    newGroupFields,
    settings,
  )
  const found = await findSource(context, isRequired || isPreferred)
  if (found === undefined) {
    if (!isRequired || isPreferred)
      return { status: 'SUCCEEDED', context: isPreferred ? { useSourceCapacity: false } : {} }
    return attempt(context, { ...sourceLookups, mayPass: isAbsence }, () => {
      throw new StageError([
        'There is no server group to take the capacity from. Give "capacity" for a first deployment, or use preferSourceCapacity.',
      ])
    })
  }
  const { name, account, region, capacity, isDisabled, moniker } = found
  const source = {
    ...givenSourceNote.in(settings),
    ...{ account, region, serverGroupName: name, asgName: name, capacity, isDisabled },
    useSourceCapacity: isRequired || isPreferred,
    ...(servesAsGroup(found) && definedOf({ cluster: moniker?.cluster })),
  }
  const given = settings['source.given'] ?? settings['source'] ?? null
  return {
    status: 'SUCCEEDED',
    context: { 'source.given': given, source, ...(isPreferred && { useSourceCapacity: true }) },
  }
}

async function findSource(
  context: TaskContext,
  byCapacity: boolean,
): Promise<CloudServerGroup | undefined> {
  const settings = context.stage.context
  const place = locationOf(settings)
  const { name, account = place.account, region = place.region, ...given } = sourceNote.in(settings)
  if (name !== undefined) {
    const found = await context.infrastructure.serverGroup({ account, region, name })
    if (found === undefined)
      throw new StageError([`The source ${name} was not found in ${account}/${region}.`])
    return found
  }
  const { cluster } = given
  const application = applicationOf(context)
  // The cluster that the stage names as it, else that of the new server group.
  const places =
    cluster === undefined
      ? createdPlaces(settings, application)
      : [
          {
            application: given.application ?? application,
            provider: place.provider,
            account,
            cluster,
          },
        ]
  const loaded = await Promise.all(places.map((each) => context.infrastructure.cluster(each)))
  const groups = newestFirst(
    inPlace(loaded.find((each) => each !== undefined && each.length > 0) ?? [], place.region),
  )
  const enabled = groups.filter(({ isDisabled }) => !isDisabled)
  // A canary that is under way does not tell what serves.
  const whole = enabled.filter(({ trafficPercent }) => trafficPercent === undefined)
  const candidates = [whole, enabled, groups].find(({ length }) => length > 0) ?? []
  if (!byCapacity) return candidates[0]
  return candidates.toSorted((one, other) => other.instances.length - one.instances.length)[0]
}

/** The operation: the stage's context, its source, and the image that an earlier stage has baked or found. */
function description(context: TaskContext, isClone: boolean): JsonObject {
  const { stage } = context
  const settings = withoutNotes(initialSettings(stage))
  const { account, region } = locationOf(settings)
  const strategy = strategyOf(stage.context)
  const { capacity: _snapshot, isDisabled: _disabled, ...reference } = givenSourceNote.in(settings)
  const isOfSource = sourceNote.in(settings).useSourceCapacity
  const useSourceCapacity = strategy !== 'rollingredblack' && strategy !== 'recreate' && isOfSource
  return {
    ...settings,
    application: applicationOf(context),
    credentials: account,
    account,
    region,
    ...imageFields(context),
    ...(reference['serverGroupName'] !== undefined && {
      source: { ...reference, useSourceCapacity },
    }),
    useSourceCapacity,
    ...(strategy === 'recreate' && recreatedCapacity(stage, isClone)),
    // It must never get more than its first share.
    ...(rivalOf(stage) !== undefined && { trafficPercent: 0 }),
  }
}

const readImage = shape({ image: shape({ imageId: [textOf, 'imageId', 'name'] }) })

function imageIdOf(context: TaskContext): string | undefined {
  const settings = context.stage.context
  const given =
    firstText(settings, 'imageId', 'image', 'amiName') ?? readImage(settings).image.imageId
  return given ?? firstText(imageFields(context), 'imageId')
}

const readDetails = list(
  shape({ region: textOf, imageId: [textOf, 'imageId', 'ami'], imageName: textOf }),
)

function imageFields(context: TaskContext): JsonObject {
  const settings = context.stage.context
  if (['imageId', 'amiName', 'image'].some((key) => settings[key] !== undefined)) return {}
  const [place] = placesOf(settings)
  const details = readDetails(context.read('deploymentDetails'))
  const found =
    details.find(({ region }) => region === place) ??
    details.find(({ region = 'global' }) => region === 'global')
  const imageId = found?.imageId ?? (details.length === 0 ? builtImage(context) : undefined)
  return imageId === undefined ? {} : { imageId, amiName: found?.imageName ?? imageId }
}

const readArtifact = shape({ type: textOf, reference: textOf })

/** An image of the provider, or of a container, among the artifacts at hand; an expected artifact may name it. */
function builtImage({ execution, stage }: TaskContext): string | undefined {
  const place = { execution, stage }
  const { imageArtifactId: expected } = readFields(newGroupFields, stage.context)
  if (expected !== undefined) {
    const { reference } = readArtifact(expectedArtifactsById(place).get(expected))
    if (reference !== undefined) return reference
    throw new StageError([
      `No image was found for the expected artifact "${expected}" (imageArtifactId).`,
    ])
  }
  const artifacts = artifactsSeenBy(place).map(readArtifact)
  const firstOf = (wanted: string) => artifacts.find(({ type }) => type === wanted)
  return (firstOf(`${stageProviderOf(stage.context)}/image`) ?? firstOf('docker/image'))?.reference
}

/** Tags the new server group with its author and predecessor, for rollbacks. */
async function tag(context: TaskContext): Promise<TaskResult> {
  const { infrastructure, execution, stage } = context
  // Tags belong to an application by the name of what they are about.
  if (stageProviderOf(stage.context) === kubernetes) return { status: 'SKIPPED' }
  if (!(await infrastructure.operationNames()).includes('upsertEntityTags'))
    return { status: 'SKIPPED' }
  const { application } = execution
  for (const target of created(context)) {
    const { provider, name, account, region } = target
    const entityRef = {
      cloudProvider: provider,
      entityType: 'servergroup',
      entityId: name,
      account,
      region,
      application,
    }
    const value = {
      stageId: stage.id,
      executionId: execution.id,
      executionType: execution.type.toLowerCase(),
      application,
      user: execution.authentication.user,
      description: execution.description ?? execution.name,
      pipelineConfigId: execution.pipelineConfigId,
      comments: stage.context['comments'],
      ...definedOf({ previousServerGroup: await predecessorOf(context, target) }),
    }
    const tags = [
      { name: 'spinnaker:metadata', namespace: 'spinnaker', value, valueType: 'object' },
    ]
    await submitOperations(context, `tag-${region}-${name}`, [
      { upsertEntityTags: { entityRef, tags, isPartial: true } },
    ])
  }
  return { status: 'SUCCEEDED' }
}

async function predecessorOf(
  { stage, infrastructure }: TaskContext,
  { account, provider: cloudProvider, ...target }: ServerGroupTarget,
): Promise<JsonObject | undefined> {
  const { name, region = target.region } = sourceNote.in(stage.context)
  const found =
    name === undefined ? undefined : await infrastructure.serverGroup({ account, region, name })
  if (found === undefined) return undefined
  const { image, buildInfo } = found
  return {
    name: found.name,
    imageName: image.imageName,
    imageId: image.imageId,
    cloudProvider,
    buildInfo,
  }
}
