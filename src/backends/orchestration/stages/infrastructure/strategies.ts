/** Deployment strategies: what follows the creation of a server group, and what undoes it (docs/contracts/infrastructure.md#strategies). */
import { isObject, isTrue, type JsonObject, numberOf, objectOf, textOf, textsOf } from '../../../../json/values.ts'
import { clusterName } from '../../../../names/moniker.ts'
import type { Execution, Stage } from '../../model.ts'
import { inSequence, type NewStage } from '../stage-type.ts'
import { placesOf, stageAccountOf, stageProviderOf } from './cloud-context.ts'
import { capacityOf, shareOf } from './resize.ts'
import { type CloudCapacity, toCapacity } from './server-groups.ts'

type Strategy = 'none' | 'highlander' | 'redblack' | 'rollingredblack' | 'custom'

const known: ReadonlySet<string> = new Set<Strategy>(['highlander', 'redblack', 'rollingredblack', 'custom'])

/** Names compare without case; an unknown one behaves like none. */
export function strategyOf(context: JsonObject): Strategy {
  const name = (textOf(context['strategy']) ?? '').toLowerCase()
  return known.has(name) ? (name as Strategy) : 'none'
}

/** Stages that run, one after another, once the new server group is up. */
export function strategyStages(stage: Stage, execution: Execution): NewStage[] {
  const place = placeOf(stage, execution)
  switch (strategyOf(stage.context)) {
    case 'none':
      return []
    case 'highlander':
      return inSequence([
        clusterStage('disableCluster', 'Disable cluster', place, {
          remainingEnabledServerGroups: 1,
          preferLargerOverNewer: false,
        }),
        clusterStage('shrinkCluster', 'Shrink cluster', place, {
          shrinkToSize: 1,
          allowDeleteActive: true,
          retainLargerOverNewer: false,
        }),
      ])
    case 'redblack':
      return sourceOf(stage) === undefined ? [] : inSequence(redBlack(stage, place))
    case 'rollingredblack':
      return inSequence(rollingRedBlack(stage, place))
    case 'custom':
      return [strategyPipeline(stage, execution)]
  }
}

/** Stages that run when the deployment has failed, before its stage ends. */
export function failureStages(stage: Stage, execution: Execution): NewStage[] {
  const strategy = strategyOf(stage.context)
  const rollback = objectOf(stage.context['rollback'])
  const source = sourceOf(stage)
  const place = placeOf(stage, execution)
  const deployed = newGroup(stage)
  const stages: NewStage[] = []
  if (strategy === 'rollingredblack' && source !== undefined) {
    stages.push(serverGroupStage('resizeServerGroup', `Unpin ${source.name}`, place, source.name, unpinned(source)))
  }
  if (isTrue(rollback['onFailure']) && deployed !== undefined) {
    if (source !== undefined && !source.isDisabled && strategy !== 'none') {
      stages.push(serverGroupStage('enableServerGroup', `Enable ${source.name}`, place, source.name, {}))
    }
    stages.push(serverGroupStage('disableServerGroup', `Disable ${deployed}`, place, deployed, {}))
    if (isTrue(rollback['destroyLatest'])) {
      stages.push(
        serverGroupStage('destroyServerGroup', `Destroy ${deployed}`, place, deployed, { skipDisableBeforeDestroy: true }),
      )
    }
  }
  return inSequence(stages)
}

interface Place {
  readonly application: string
  readonly cluster: string
  readonly common: JsonObject
}

interface Source {
  readonly name: string
  readonly capacity: CloudCapacity
  readonly isDisabled: boolean
}

function placeOf({ context }: Stage, execution: Execution): Place {
  const application = textOf(context['application']) ?? execution.application
  const account = stageAccountOf(context)
  const [region] = placesOf(context)
  const cluster = clusterName({ app: application, stack: textOf(context['stack']), detail: textOf(context['freeFormDetails']) })
  const { interestingHealthProviderNames } = context
  return {
    application,
    cluster,
    common: {
      cloudProvider: stageProviderOf(context),
      credentials: account,
      account,
      region,
      regions: [region],
      application,
      ...(interestingHealthProviderNames !== undefined && { interestingHealthProviderNames }),
    },
  }
}

/** The server group that was there before, as it was when the deployment began. */
function sourceOf({ context }: Stage): Source | undefined {
  const source = context['source']
  const name = isObject(source) ? (textOf(source['serverGroupName']) ?? textOf(source['asgName'])) : undefined
  if (name === undefined) return undefined
  return {
    name,
    capacity: toCapacity(objectOf(objectOf(source)['capacity'])),
    isDisabled: isTrue(objectOf(source)['isDisabled']),
  }
}

function newGroup({ context }: Stage): string | undefined {
  return Object.values(objectOf(context['deploy.server.groups'])).flatMap(textsOf)[0]
}

function redBlack({ context }: Stage, place: Place): NewStage[] {
  const most = numberOf(context['maxRemainingAsgs']) ?? 0
  const delay = numberOf(context['delayBeforeCleanup']) ?? numberOf(context['delayBeforeDisableSec']) ?? 0
  const scaleDownDelay = numberOf(context['delayBeforeScaleDownSec']) ?? 0
  const stages: NewStage[] = []
  if (most > 0) {
    const allowDeleteActive = isTrue(context['allowDeleteActive'])
    stages.push(
      clusterStage('shrinkCluster', 'Shrink cluster', place, {
        shrinkToSize: most,
        allowDeleteActive,
        retainLargerOverNewer: false,
      }),
    )
  }
  if (delay > 0) stages.push(wait(delay))
  stages.push(
    clusterStage('disableCluster', 'Disable cluster', place, { remainingEnabledServerGroups: 1, preferLargerOverNewer: false }),
  )
  if (isTrue(context['scaleDown'])) {
    if (scaleDownDelay > 0) stages.push(wait(scaleDownDelay))
    stages.push(scaleDown(context, place))
  }
  return stages
}

function rollingRedBlack(stage: Stage, place: Place): NewStage[] {
  const { context } = stage
  const deployed = newGroup(stage)
  if (deployed === undefined) return []
  const source = sourceOf(stage)
  const goal = source?.capacity ?? capacityOf(context['capacity']) ?? { min: 1, max: 1, desired: 1 }
  const wanted =
    isTrue(objectOf(context['source'])['useSourceCapacity']) || source === undefined
      ? goal
      : (capacityOf(context['capacity']) ?? goal)
  const base = source?.capacity ?? wanted
  const stages: NewStage[] = []
  if (source !== undefined) {
    const { max, desired } = source.capacity
    stages.push(
      serverGroupStage('resizeServerGroup', `Pin ${source.name}`, place, source.name, {
        capacity: { min: desired, max, desired },
      }),
    )
  }
  for (const percentage of percentagesOf(context)) {
    const share = shareOf(base, percentage)
    const last = { min: Math.min(wanted.min, share.desired), max: Math.max(wanted.max, share.desired), desired: share.desired }
    const capacity = percentage < 100 ? { min: share.desired, max: share.desired, desired: share.desired } : last
    stages.push(serverGroupStage('resizeServerGroup', `Grow to ${percentage} %`, place, deployed, { capacity }))
    const delay = numberOf(context['delayBeforeCleanup']) ?? 0
    if (delay > 0) stages.push(wait(delay))
    const validation = objectOf(context['pipelineBeforeCleanup'])
    if (textOf(validation['pipelineId']) !== undefined)
      stages.push(validationPipeline(validation, { deployed, source, percentage, place }))
    if (source !== undefined) {
      stages.push(
        serverGroupStage('disableServerGroup', `Disable ${percentage} % of ${source.name}`, place, source.name, {
          ...(percentage < 100 && { desiredPercentage: percentage }),
        }),
      )
    }
  }
  if (source === undefined) return stages
  if (!isTrue(context['scaleDown']))
    return [...stages, serverGroupStage('resizeServerGroup', `Unpin ${source.name}`, place, source.name, unpinned(source))]
  const scaleDownDelay = numberOf(context['delayBeforeScaleDownSec']) ?? 0
  return [...stages, ...(scaleDownDelay > 0 ? [wait(scaleDownDelay)] : []), scaleDown(context, place)]
}

/** In order; 100 is appended where it is missing. */
function percentagesOf(context: JsonObject): number[] {
  const given = Array.isArray(context['targetPercentages']) ? context['targetPercentages'].map(numberOf) : []
  const percentages = given.filter((value) => value !== undefined && value > 0 && value <= 100) as number[]
  return percentages.at(-1) === 100 ? percentages : [...percentages, 100]
}

/** Restores the minimum that the source had before the deployment. */
function unpinned({ capacity: { min, max, desired } }: Source): JsonObject {
  return { capacity: { min, max, desired } }
}

function validationPipeline(
  { application, pipelineId, pipelineParameters }: JsonObject,
  { deployed, source, percentage, place }: { deployed: string; source: Source | undefined; percentage: number; place: Place },
): NewStage {
  return {
    type: 'pipeline',
    name: `Validate at ${percentage} %`,
    context: {
      application: textOf(application) ?? place.application,
      pipeline: pipelineId,
      pipelineParameters: {
        ...objectOf(pipelineParameters),
        deployedServerGroup: deployed,
        sourceServerGroup: source?.name,
        percentageComplete: percentage,
      },
    },
  }
}

function strategyPipeline({ context, id }: Stage, execution: Execution): NewStage {
  const place = placeOf({ context } as Stage, execution)
  return {
    type: 'pipeline',
    name: 'Run strategy',
    context: {
      pipeline: context['strategyPipeline'],
      application: context['strategyApplication'],
      isStrategy: true,
      pipelineParameters: {
        ...objectOf(context['pipelineParameters']),
        application: place.application,
        credentials: stageAccountOf(context),
        cluster: place.cluster,
        moniker: context['moniker'],
        region: placesOf(context)[0],
        cloudProvider: stageProviderOf(context),
        strategy: true,
        clone: context['isClone'] === true,
        parentPipelineId: execution.id,
        parentStageId: id,
      },
    },
  }
}

function scaleDown(context: JsonObject, place: Place): NewStage {
  return clusterStage('scaleDownCluster', 'Scale down cluster', place, {
    remainingFullSizeServerGroups: 1,
    allowScaleDownActive: isTrue(context['allowScaleDownActive']),
    preferLargerOverNewer: false,
  })
}

function clusterStage(type: string, name: string, { cluster, common }: Place, settings: JsonObject): NewStage {
  return { type, name, context: { ...common, cluster, ...settings } }
}

function serverGroupStage(type: string, name: string, { common }: Place, serverGroup: string, settings: JsonObject): NewStage {
  return { type, name, context: { ...common, serverGroupName: serverGroup, asgName: serverGroup, ...settings } }
}

function wait(seconds: number): NewStage {
  return { type: 'wait', name: `Wait ${seconds} s`, context: { waitTime: seconds } }
}
