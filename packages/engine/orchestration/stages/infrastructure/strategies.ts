/** Deployment strategies: what follows the creation of a server group, and what undoes it (docs/contracts/infrastructure.md#strategies). */
import { isTrue, type JsonObject, listOf, numberOf, objectOf, textOf } from '@fairlead/base/json/values.ts'
import type { CloudCapacity } from '@fairlead/ports/cloud-values.ts'
import { type Execution, isFalse, type Stage } from '../../model.ts'
import { inSequence, type NewStage } from '../stage-type.ts'
import { pauseOf } from '../wait.ts'
import { abortStages, canaryStages, hasHandedOver, takeShareAway } from './canary.ts'
import { placesOf, stageAccountOf, stageProviderOf } from './cloud-context.ts'
import { takeBackStages } from './recreate.ts'
import { capacityOf, shareOf } from './resize.ts'
import {
  newGroupOf,
  pin,
  resizeStage,
  type Source,
  type StrategyPlace,
  serverGroupStage,
  sourceOf,
  strategyOf,
  strategyPlaceOf,
  unpin,
  usualRemaining,
} from './strategy-parts.ts'

/** Stages that run, one after another, once the new server group is up. */
export function strategyStages(stage: Stage, execution: Execution): NewStage[] {
  const place = strategyPlaceOf(stage, execution)
  switch (strategyOf(stage.context)) {
    case 'none':
      return []
    case 'highlander':
      return inSequence([
        disableOthers(place),
        clusterStage('shrinkCluster', 'Shrink cluster', place, { shrinkToSize: 1, allowDeleteActive: true, ...newerFirst }),
      ])
    case 'redblack':
      return sourceOf(stage) === undefined ? [] : inSequence(redBlack(stage, place))
    case 'rollingredblack':
      return inSequence(rollingRedBlack(stage, place))
    case 'canary':
      if (sourceOf(stage) === undefined) return []
      return inSequence([...canaryStages(stage, place), ...redBlack(stage, place), ...takeShareAway(stage, place)])
    case 'recreate':
      // It is disabled already, and may be older than one that has failed.
      return inSequence(shrink(stage.context, place, { keptServerGroups: [sourceOf(stage)?.name] }))
    case 'custom':
      return [strategyPipeline(stage, execution)]
  }
}

/**
 * Stages that run when the deployment has failed, before its stage ends. A version that has not come up is disabled
 * whatever the definition says: it would take traffic once the cause of the failure is gone.
 */
export function failureStages(stage: Stage, execution: Execution): NewStage[] {
  const { context } = stage
  const source = sourceOf(stage)
  const place = strategyPlaceOf(stage, execution)
  const deployed = newGroupOf(stage)
  const isOver = hasHandedOver({ stage, execution })
  if (strategyOf(context) === 'recreate') return isOver ? [] : inSequence(takeBackStages(stage, place, deployed))
  const stopped = strategyOf(context) === 'canary' && !isOver ? abortStages(stage, place) : []
  if (stopped.length > 0) return inSequence(stopped)
  const rollback = objectOf(context['rollback'])
  const isRollback = !isFalse(rollback['onFailure'])
  const restored = isOver && isRollback && source?.isDisabled === false ? source : undefined
  const isDisabled = deployed !== undefined && (!isOver || restored !== undefined)
  return inSequence([
    ...takeShareAway(stage, place),
    ...(restored !== undefined
      ? restore(restored, place)
      : strategyOf(context) === 'rollingredblack' && source !== undefined
        ? [unpin(source, place)]
        : []),
    ...(isDisabled ? [serverGroupStage('disableServerGroup', 'Disable', place, deployed)] : []),
    ...(isDisabled && isRollback && isTrue(rollback['destroyLatest'])
      ? [serverGroupStage('destroyServerGroup', 'Destroy', place, deployed, { skipDisableBeforeDestroy: true })]
      : []),
  ])
}

/** With its instances, which the strategy may have stopped already. */
function restore({ name, capacity }: Source, place: StrategyPlace): NewStage[] {
  return [resizeStage('Restore', place, name, capacity), serverGroupStage('enableServerGroup', 'Enable', place, name)]
}

function shrink(context: JsonObject, place: StrategyPlace, more: JsonObject = {}): NewStage[] {
  const most = numberOf(context['maxRemainingAsgs']) ?? usualRemaining
  const settings = { shrinkToSize: most, allowDeleteActive: isTrue(context['allowDeleteActive']), ...newerFirst, ...more }
  return most > 0 ? [clusterStage('shrinkCluster', 'Shrink cluster', place, settings)] : []
}

function redBlack({ context }: Stage, place: StrategyPlace): NewStage[] {
  return [
    ...shrink(context, place),
    ...pauseOf(numberOf(context['delayBeforeCleanup']) ?? numberOf(context['delayBeforeDisableSec']) ?? 0),
    disableOthers(place),
    ...(isFalse(context['scaleDown']) ? [] : scaleDown(context, place)),
  ]
}

function rollingRedBlack(stage: Stage, place: StrategyPlace): NewStage[] {
  const { context } = stage
  const deployed = newGroupOf(stage)
  if (deployed === undefined) return []
  const source = sourceOf(stage)
  const goal = source?.capacity ?? capacityOf(context['capacity']) ?? { min: 1, max: 1, desired: 1 }
  const takesGoal = isTrue(objectOf(context['source'])['useSourceCapacity']) || source === undefined
  const wanted = takesGoal ? goal : (capacityOf(context['capacity']) ?? goal)
  const grown = percentagesOf(context).flatMap((percentage) => growth(context, { deployed, source, percentage, place, wanted }))
  if (source === undefined) return grown
  return [pin(source, place), ...grown, ...(isFalse(context['scaleDown']) ? [unpin(source, place)] : scaleDown(context, place))]
}

interface Growth {
  readonly deployed: string
  readonly source: Source | undefined
  readonly percentage: number
  readonly place: StrategyPlace
  readonly wanted: CloudCapacity
}

/** One step: the new server group grows, is validated, and the source gives up as much. */
function growth(context: JsonObject, step: Growth): NewStage[] {
  const { deployed, source, percentage, place, wanted } = step
  const { desired } = shareOf(source?.capacity ?? wanted, percentage)
  const last = { min: Math.min(wanted.min, desired), max: Math.max(wanted.max, desired), desired }
  const capacity = percentage < 100 ? { min: desired, max: desired, desired } : last
  const validation = objectOf(context['pipelineBeforeCleanup'])
  const share = percentage < 100 ? { desiredPercentage: percentage } : {}
  return [
    { ...resizeStage('Grow', place, deployed, capacity), name: `Grow to ${percentage} %` },
    ...pauseOf(numberOf(context['delayBeforeCleanup']) ?? 0),
    ...(textOf(validation['pipelineId']) === undefined ? [] : [validationPipeline(validation, step)]),
    ...(source === undefined
      ? []
      : [serverGroupStage('disableServerGroup', `Disable ${percentage} % of`, place, source.name, share)]),
  ]
}

/** In order; 100 is appended where it is missing. */
function percentagesOf(context: JsonObject): number[] {
  const given = listOf(context['targetPercentages']).flatMap((value) => numberOf(value) ?? [])
  const percentages = given.filter((value) => value > 0 && value <= 100)
  return percentages.at(-1) === 100 ? percentages : [...percentages, 100]
}

function validationPipeline(
  { application, pipelineId, pipelineParameters }: JsonObject,
  { deployed, source, percentage, place }: Growth,
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
  const place = strategyPlaceOf({ context }, execution)
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

function scaleDown(context: JsonObject, place: StrategyPlace): NewStage[] {
  const settings = {
    remainingFullSizeServerGroups: 1,
    allowScaleDownActive: isTrue(context['allowScaleDownActive']),
    preferLargerOverNewer: false,
  }
  return [
    ...pauseOf(numberOf(context['delayBeforeScaleDownSec']) ?? 0),
    clusterStage('scaleDownCluster', 'Scale down cluster', place, settings),
  ]
}

const newerFirst = { retainLargerOverNewer: false }

function disableOthers(place: StrategyPlace): NewStage {
  const settings = { remainingEnabledServerGroups: 1, preferLargerOverNewer: false }
  return clusterStage('disableCluster', 'Disable cluster', place, settings)
}

function clusterStage(type: string, name: string, { cluster, common }: StrategyPlace, settings: JsonObject): NewStage {
  return { type, name, context: { ...common, cluster, ...settings } }
}
