/** Stages that change a server group: enable, disable, destroy, resize, pin, share traffic; or destroy several. */
import { type JsonObject, numberOf } from '@fairlead/base/json/values.ts'
import { type Effect, effectsKey } from '@fairlead/model/stage-types/effect.ts'
import { bulkDestroy, skipsDisable } from '@fairlead/model/stage-types/infrastructure.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import type { CloudResult } from '@fairlead/ports/cloud-values.ts'
import { StageError } from '../../machine/failure.ts'
import type { Stage } from '../../model.ts'
import {
  inheritedContext,
  type NewStage,
  type StageType,
  type Step,
  type TaskContext,
} from '../stage-type.ts'
import {
  effectOn,
  locationOf,
  type ServerGroupTarget,
  stageTargetFields,
  targetOf,
} from './cloud-context.ts'
import { monitorStep, refreshStep, submitStep } from './cloud-task.ts'
import { createdNote, mayBeMissingNote, withoutNotes } from './notes.ts'
import { resizedCapacity } from './resize.ts'
import { isWhole, readShares, requireServerGroup } from './server-groups.ts'
import { splitByRegion } from './targets.ts'
import { checkTrafficGuards } from './traffic-guard.ts'
import {
  itsTarget,
  type TargetsOf,
  waitCapacityStep,
  waitDisabledStep,
  waitDownStep,
  waitEnabledStep,
  waitGoneStep,
} from './waits.ts'

export const refreshServerGroups = (targets = itsTarget, name = 'forceCacheRefresh') =>
  refreshStep(name, 'ServerGroup', (context) =>
    targets(context).map(({ account, region, name: group }) => ({
      serverGroupName: group,
      asgName: group,
      region,
      account,
    })),
  )

const enable = targetStep('enableServerGroup', 'enabled', async () => ({}))

const disable = targetStep('disableServerGroup', 'disabled', async (context, target) => {
  const { context: settings } = context.stage
  if (isWhole(settings))
    await checkTrafficGuards(context, { targets: [target], doing: 'disabling' })
  return { effect: { percent: readShares(settings).desiredPercentage } }
})

const destroy = targetStep('destroyServerGroup', 'destroyed', async (context, target) => {
  await checkTrafficGuards(context, { targets: [target], doing: 'destroying' })
  return {}
})

const resize = targetStep('resizeServerGroup', 'resized', async (context, target) => {
  const isOptional = mayBeMissingNote.in(context.stage.context)
  if (isOptional && (await context.infrastructure.serverGroup(target)) === undefined)
    return undefined
  const group = await requireServerGroup(context, target)
  const capacity = await resizedCapacity(context, group, target)
  const { desired } = capacity
  if (desired === 0)
    await checkTrafficGuards(context, { targets: [target], doing: 'resizing to 0' })
  return {
    fields: { capacity },
    effect: desired === group.capacity.desired ? { kind: 'pinned' } : { desired },
  }
})

const share = targetStep('shareTraffic', 'shared', async (context, target) => {
  const percent = percentOf(context.stage.context)
  if (percent !== null && percent > 0) await requireServerGroup(context, target)
  if (percent === 0)
    await checkTrafficGuards(context, { targets: [target], doing: 'taking the traffic of' })
  return { fields: { percent }, effect: { percent: percent ?? undefined } }
})

/** Null, which contexts do not keep, takes the share away. @throws {StageError} when it is no percentage */
function percentOf({ percent }: JsonObject): number | null {
  if (percent === undefined || percent === null) return null
  const number = numberOf(percent)
  if (number !== undefined && Number.isInteger(number) && number >= 0 && number <= 100)
    return number
  throw new StageError([
    `"${String(percent)}" is no share: set "percent" to a whole number from 0 to 100, or leave it out to take the share away.`,
  ])
}

/** Fields that an operation has besides its target, and what is to be said of its effect. */
interface Prepared {
  readonly fields?: JsonObject
  readonly effect?: Partial<Effect>
}

/** @param prepare Refuses the operation; undefined: there is nothing to do. */
function targetStep(
  operation: string,
  kind: Effect['kind'],
  prepare: (context: TaskContext, target: ServerGroupTarget) => Promise<Prepared | undefined>,
): Step {
  return submitStep(operation, async (context) => {
    const target = targetOf(context)
    const { account, region, name } = target
    // What clients read about the target.
    const shown = {
      'deploy.account.name': account,
      ...createdNote.as([{ location: region, name }]),
      serverGroupName: name,
      asgName: name,
    }
    const prepared = await prepare(context, target)
    if (prepared === undefined) return { operations: [], context: shown }
    const { fields = {}, effect } = prepared
    const isTraffic = kind === 'enabled' || kind === 'disabled'
    return {
      operations: [{ [operation]: { ...operationFields(context, target), ...fields } }],
      context: {
        ...shown,
        ...(isTraffic && {
          [`targetop.asg.${operation}.name`]: name,
          [`targetop.asg.${operation}.regions`]: [region],
        }),
        ...fields,
        [effectsKey]: [effectOn(context, target, { kind, ...effect })],
      },
    }
  })
}

const readDisabledIds = (results: readonly CloudResult[]): JsonObject => {
  const ids = results.flatMap((result) => result.instanceIdsToDisable)
  return ids.length === 0 ? {} : { instanceIdsToDisable: ids }
}

export const serverGroupStages: readonly StageType[] = [
  perServerGroup('enableServerGroup', [
    enable,
    monitorStep(),
    waitEnabledStep(),
    refreshServerGroups(),
  ]),
  perServerGroup('disableServerGroup', [
    disable,
    monitorStep('monitorTask', { read: readDisabledIds }),
    waitDownStep(),
    waitDisabledStep(),
    refreshServerGroups(),
  ]),
  perServerGroup('resizeServerGroup', [
    resize,
    monitorStep(),
    refreshServerGroups(),
    waitCapacityStep(),
  ]),
  perServerGroup('pinServerGroup', [resize, monitorStep(), refreshServerGroups()]),
  perServerGroup('shareTraffic', [share, monitorStep(), refreshServerGroups()]),
  perServerGroup(
    'destroyServerGroup',
    [destroy, monitorStep(), refreshServerGroups(), waitGoneStep()],
    disableAhead,
  ),
  bulkDestroyStage(),
]

/** A stage of one server group per region; the steps belong to the stages of the regions. */
function perServerGroup(
  type: string,
  steps: readonly Step[],
  ahead?: (stage: Stage) => NewStage[],
): StageType {
  const { isSplit, beforeStages } = splitByRegion(type, ahead)
  return { type, steps, beforeStages, chooseSteps: (stage) => (isSplit(stage) ? [] : steps) }
}

/** Traffic goes first, so running requests end before their instances do. */
function disableAhead(stage: Stage): NewStage[] {
  if (readFields([skipsDisable], stage.context).skipDisableBeforeDestroy) return []
  return [
    { type: 'disableServerGroup', name: 'Disable server group', context: inheritedContext(stage) },
  ]
}

function bulkDestroyStage(): StageType {
  const targets: TargetsOf = ({ stage }) => {
    const place = locationOf(stage.context)
    const { serverGroupNames: names } = readFields(bulkDestroy.fields, stage.context)
    if (names.length === 0)
      throw new StageError(['The stage names no server groups: set "serverGroupNames".'])
    return names.map((name) => ({ ...place, name }))
  }
  const all = (context: TaskContext, operation: string) =>
    targets(context).map((target) => ({ [operation]: operationFields(context, target) }))
  return {
    type: 'bulkDestroyServerGroup',
    steps: [
      submitStep('bulkDisableServerGroup', async (context) => {
        await checkTrafficGuards(context, { targets: targets(context), doing: 'destroying' })
        const effects = targets(context).map((target) =>
          effectOn(context, target, { kind: 'destroyed' }),
        )
        return {
          operations: all(context, 'disableServerGroup'),
          context: { [effectsKey]: effects },
        }
      }),
      monitorStep('monitorDisable'),
      refreshServerGroups(targets),
      submitStep('bulkDestroyServerGroup', (context) => ({
        operations: all(context, 'destroyServerGroup'),
      })),
      monitorStep('monitorDestroy'),
      waitGoneStep(targets),
    ],
  }
}

/** The stage's whole context with the target: services take what they know. */
function operationFields({ stage }: TaskContext, target: ServerGroupTarget): JsonObject {
  return { ...withoutNotes(stage.context), ...stageTargetFields(target) }
}
