/** Deployment strategies: what follows the creation of a server group, and what undoes it (docs/contracts/infrastructure.md#strategies). */
import { type JsonObject, listOf, numberOf } from '@fairlead/base/json/values.ts'
import type { CloudCapacity } from '@fairlead/ports/cloud-values.ts'
import type { Execution, Stage } from '../../model.ts'
import { inSequence, type NewStage } from '../stage-type.ts'
import { pauseOf } from '../wait.ts'
import { abortStages, canaryStepStages, hasHandedOver, takeShareAway } from './canary.ts'
import { placesOf, stageAccountOf, stageProviderOf } from './cloud-context.ts'
import { type Former, keptNote, sourceNote } from './notes.ts'
import { takeBackStages } from './recreate.ts'
import { capacityOf, shareOf } from './resize.ts'
import {
  destroyLatest,
  disableStage,
  newGroupOf,
  pin,
  resizeStage,
  type StrategyPlace,
  type StrategySettings,
  serverGroupStage,
  sourceOf,
  strategyOf,
  strategyPlaceOf,
  strategySettingsOf,
  unpin,
} from './strategy-parts.ts'

/** Stages that run, one after another, once the new server group is up. */
export function strategyStages(stage: Stage, execution: Execution): NewStage[] {
  const place = strategyPlaceOf(stage, execution)
  const settings = strategySettingsOf(stage)
  switch (strategyOf(stage.context)) {
    case 'none':
      return []
    case 'highlander':
      return inSequence([
        disableOthers(place),
        clusterStage('shrinkCluster', 'Shrink cluster', place, {
          shrinkToSize: 1,
          allowDeleteActive: true,
          ...newerFirst,
        }),
      ])
    case 'redblack':
      return sourceOf(stage) === undefined ? [] : inSequence(redBlack(settings, place))
    case 'rollingredblack':
      return inSequence(rollingRedBlack(stage, settings, place))
    case 'canary':
      if (sourceOf(stage) === undefined) return []
      return inSequence([
        ...canaryStepStages(stage, place),
        ...redBlack(settings, place),
        ...takeShareAway(stage, place),
      ])
    case 'recreate':
      // It is disabled already, and may be older than one that has failed.
      return inSequence(shrink(settings, place, keptNote.as([sourceOf(stage)?.name ?? []].flat())))
    case 'custom':
      return [strategyPipeline(stage, settings, execution)]
  }
}

/**
 * Stages that run when the deployment has failed, before its stage ends. A version that has not come up is disabled
 * whatever the definition says: it would take traffic once the cause of the failure is gone.
 */
export function failureStages(stage: Stage, execution: Execution): NewStage[] {
  const strategy = strategyOf(stage.context)
  const source = sourceOf(stage)
  const place = strategyPlaceOf(stage, execution)
  const deployed = newGroupOf(stage)
  const isOver = hasHandedOver({ stage, execution })
  if (strategy === 'recreate')
    return isOver ? [] : inSequence(takeBackStages(stage, place, deployed))
  const stopped = strategy === 'canary' && !isOver ? abortStages(stage, place) : []
  if (stopped.length > 0) return inSequence(stopped)
  const isRollback = strategySettingsOf(stage).rollback.onFailure
  const restored = isOver && isRollback && source?.isDisabled === false ? source : undefined
  const failed = !isOver || restored !== undefined ? deployed : undefined
  // With its instances, which the strategy may have stopped already.
  const restoring = restored && [
    resizeStage('Restore', place, restored.name, restored.capacity),
    serverGroupStage('enableServerGroup', 'Enable', place, restored.name),
  ]
  const unpinning =
    strategy === 'rollingredblack' && source !== undefined ? [unpin(source, place)] : []
  return inSequence([
    ...takeShareAway(stage, place),
    ...(restoring ?? unpinning),
    ...(failed === undefined ? [] : [disableStage(place, failed)]),
    ...(failed !== undefined && isRollback ? destroyLatest(stage, place, { name: failed }) : []),
  ])
}

function shrink(
  { maxRemainingAsgs: most, allowDeleteActive }: StrategySettings,
  place: StrategyPlace,
  more = {},
): NewStage[] {
  const settings = { shrinkToSize: most, allowDeleteActive, ...newerFirst, ...more }
  return most > 0 ? [clusterStage('shrinkCluster', 'Shrink cluster', place, settings)] : []
}

function redBlack(settings: StrategySettings, place: StrategyPlace): NewStage[] {
  return [
    ...shrink(settings, place),
    ...pauseOf(settings.delayBeforeCleanup),
    disableOthers(place),
    ...(settings.scaleDown ? scaleDown(settings, place) : []),
  ]
}

function rollingRedBlack(
  stage: Stage,
  settings: StrategySettings,
  place: StrategyPlace,
): NewStage[] {
  const { context } = stage
  const deployed = newGroupOf(stage)
  if (deployed === undefined) return []
  const source = sourceOf(stage)
  const asked = capacityOf(context)
  const goal = source?.capacity ?? asked ?? { min: 1, max: 1, desired: 1 }
  const wanted = sourceNote.in(context).useSourceCapacity ? goal : (asked ?? goal)
  const grown = percentagesOf(settings).flatMap((percentage) =>
    growth(settings, { deployed, source, percentage, place, wanted }),
  )
  if (source === undefined) return grown
  return [
    pin(source, place),
    ...grown,
    ...(settings.scaleDown ? scaleDown(settings, place) : [unpin(source, place)]),
  ]
}

interface Growth {
  readonly deployed: string
  readonly source: Former | undefined
  readonly percentage: number
  readonly place: StrategyPlace
  readonly wanted: CloudCapacity
}

/** One step: the new server group grows, is validated, and the source gives up as much. */
function growth(
  { delayBeforeCleanup, pipelineBeforeCleanup }: StrategySettings,
  { deployed, source, percentage, place, wanted }: Growth,
): NewStage[] {
  const { desired } = shareOf(source?.capacity ?? wanted, percentage)
  const last = { min: Math.min(wanted.min, desired), max: Math.max(wanted.max, desired), desired }
  const capacity = percentage < 100 ? { min: desired, max: desired, desired } : last
  const share = percentage < 100 ? { desiredPercentage: percentage } : {}
  const {
    application = place.application,
    pipelineId: pipeline,
    pipelineParameters,
  } = pipelineBeforeCleanup
  const parameters = {
    deployedServerGroup: deployed,
    sourceServerGroup: source?.name,
    percentageComplete: percentage,
  }
  const context = {
    application,
    pipeline,
    pipelineParameters: { ...pipelineParameters, ...parameters },
  }
  return [
    { ...resizeStage('Grow', place, deployed, capacity), name: `Grow to ${percentage} %` },
    ...pauseOf(delayBeforeCleanup),
    ...(pipeline === undefined
      ? []
      : [{ type: 'pipeline', name: `Validate at ${percentage} %`, context }]),
    ...(source === undefined
      ? []
      : [
          serverGroupStage(
            'disableServerGroup',
            `Disable ${percentage} % of`,
            place,
            source.name,
            share,
          ),
        ]),
  ]
}

/** In order; 100 is appended where it is missing. */
function percentagesOf({ targetPercentages }: StrategySettings): number[] {
  const given = listOf(targetPercentages).flatMap((value) => numberOf(value) ?? [])
  const percentages = given.filter((value) => value > 0 && value <= 100)
  return percentages.at(-1) === 100 ? percentages : [...percentages, 100]
}

function strategyPipeline(
  { context, id }: Stage,
  settings: StrategySettings,
  execution: Execution,
): NewStage {
  const { application, cluster } = strategyPlaceOf({ context }, execution)
  return {
    type: 'pipeline',
    name: 'Run strategy',
    context: {
      pipeline: settings.strategyPipeline,
      application: settings.strategyApplication,
      isStrategy: true,
      pipelineParameters: {
        ...settings.pipelineParameters,
        application,
        credentials: stageAccountOf(context),
        cluster,
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

function scaleDown(
  { allowScaleDownActive, delayBeforeScaleDownSec }: StrategySettings,
  place: StrategyPlace,
): NewStage[] {
  const settings = {
    remainingFullSizeServerGroups: 1,
    allowScaleDownActive,
    preferLargerOverNewer: false,
  }
  return [
    ...pauseOf(delayBeforeScaleDownSec),
    clusterStage('scaleDownCluster', 'Scale down cluster', place, settings),
  ]
}

const newerFirst = { retainLargerOverNewer: false }

function disableOthers(place: StrategyPlace): NewStage {
  const settings = { remainingEnabledServerGroups: 1, preferLargerOverNewer: false }
  return clusterStage('disableCluster', 'Disable cluster', place, settings)
}

function clusterStage(
  type: string,
  name: string,
  { cluster, common }: StrategyPlace,
  settings: JsonObject,
): NewStage {
  return { type, name, context: { ...common, cluster, ...settings } }
}
