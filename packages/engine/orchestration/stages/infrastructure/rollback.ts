import { shape } from '@fairlead/base/json/shape.ts'
import { definedOf, type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import { rollbackCluster, rollbackServerGroup } from '@fairlead/model/stage-types/infrastructure.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import type { CloudServerGroup } from '@fairlead/ports/cloud-values.ts'
import { StageError } from '../../machine/failure.ts'
import type { Stage } from '../../model.ts'
import {
  inSequence,
  type NewStage,
  type StageType,
  type TaskContext,
  type TaskResult,
} from '../stage-type.ts'
import { pauseOf } from '../wait.ts'
import { cloudPlaceFields, locationOf, requirePlaces, stageProviderOf } from './cloud-context.ts'
import { submitOperations } from './cloud-task.ts'
import { note, readRollback } from './notes.ts'
import { shareVolume } from './recreate.ts'
import { inPlace, newestFirst, requireClusterPlace, requireServerGroup } from './server-groups.ts'
import {
  disableStage,
  serverGroupStage,
  startStages,
  stopStages,
  toOperations,
} from './strategy-parts.ts'

export const rollbackServerGroupStage: StageType = {
  type: 'rollbackServerGroup',
  steps: [{ name: 'planRollback', execute: planRollback, readsOnly: true, timeoutMs: 5 * 60_000 }],
  afterStages: (stage) => inSequence(rollbackStages(stage)),
  onFailureStages: (stage) => inSequence(giveBackStages(stage)),
  onCancel: async (context) => {
    const operations = toOperations(giveBackStages(context.stage))
    if (operations.length === 0) return
    await submitOperations(
      context,
      'abortRollback',
      operations,
      stageProviderOf(context.stage.context),
    )
  },
}

const rollbacksNote = note('rollbacks', objectsOf)

export const rollbackClusterStage: StageType = {
  type: 'rollbackCluster',
  steps: [
    {
      name: 'determineRollbackCandidates',
      execute: determineCandidates,
      readsOnly: true,
      timeoutMs: 5 * 60_000,
    },
  ],
  afterStages: ({ context }) => {
    const { waitTimeBetweenRegions: pause } = readFields(rollbackCluster.fields, context)
    return inSequence(
      rollbacksNote.in(context).flatMap((rollback, index): NewStage[] => [
        ...(index > 0 ? pauseOf(pause) : []),
        {
          // What a manager such as a deployment owns is rolled back by it.
          type: 'manifestName' in rollback ? 'undoRolloutManifest' : 'rollbackServerGroup',
          name: `Roll back in ${rollback['region']}`,
          context: rollback,
        },
      ]),
    )
  },
}

function settingsOf({ context }: Stage) {
  const { rollbackType, rollbackContext } = readFields(rollbackServerGroup.fields, context)
  const { disableOnly, enableAndDisableOnly } = rollbackContext
  const isExplicit = rollbackType.toUpperCase() === 'EXPLICIT'
  return { ...rollbackContext, isExplicit, isWhole: !disableOnly && !enableAndDisableOnly }
}

/** Reads both server groups, so that the stages that follow know the capacities of this moment. */
async function planRollback(context: TaskContext): Promise<TaskResult> {
  const { context: settings } = context.stage
  const { rollbackServerGroupName, restoreServerGroupName, isExplicit, disableOnly } = settingsOf(
    context.stage,
  )
  const place = locationOf(settings)
  if (rollbackServerGroupName === undefined)
    throw new StageError([
      'The rollback names no server group: set rollbackContext.rollbackServerGroupName.',
    ])
  const rolledBack = await requireServerGroup(context, { ...place, name: rollbackServerGroupName })
  const restored =
    restoreServerGroupName &&
    (await requireServerGroup(context, { ...place, name: restoreServerGroupName }))
  if (isExplicit && !disableOnly && !restored)
    throw new StageError([
      'The rollback names no server group to restore: set rollbackContext.restoreServerGroupName.',
    ])
  const stopsFirst =
    shareVolume(rolledBack, restored || rolledBack) && !(restored && isRunning(restored))
  const { name, capacity, moniker } = rolledBack
  return {
    status: 'SUCCEEDED',
    context: {
      'notification.type': 'rollbackservergroup',
      // Where it was stopped by an earlier attempt, the size of then counts.
      ...((capacity.desired > 0 || settings['rollback.capacity'] === undefined) && {
        'rollback.capacity': capacity,
      }),
      'rollback.stopsFirst': stopsFirst,
      ...(stopsFirst && { notice: `${name} ends first, as it has a volume with one writer.` }),
      ...definedOf({ 'rollback.moniker': moniker }),
      'rollback.images': definedOf({
        from: rolledBack.image.imageId,
        to: restored ? restored.image.imageId : undefined,
      }),
      'targetop.asg.disableServerGroup.name': name,
      ...(restored && {
        'restore.capacity': restored.capacity,
        'targetop.asg.enableServerGroup.name': restored.name,
      }),
    },
  }
}

function isRunning({ instances, capacity }: CloudServerGroup): boolean {
  return instances.length > 0 && instances.length >= capacity.desired
}

function rollbackStages(stage: Stage): NewStage[] {
  const settings = settingsOf(stage)
  const { rollbackServerGroupName: rolledBack = '', restoreServerGroupName: restored = '' } =
    settings
  if (!settings.isExplicit) return [cloneOf(stage)]
  const { interestingHealthProviderNames } = stage.context
  const place = {
    common: {
      ...cloudPlaceFields(locationOf(stage.context)),
      ...definedOf({ interestingHealthProviderNames }),
    },
  }
  const disable = disableStage(place, rolledBack)
  if (settings.disableOnly) return [disable]
  const share = definedOf({
    targetHealthyDeployPercentage: settings.targetHealthyRollbackPercentage,
  })
  const enable = serverGroupStage('enableServerGroup', 'Enable', place, restored, share)
  if (settings.enableAndDisableOnly) return [enable, disable]
  const { capacity: from, restored: to, stopsFirst } = readRollback(stage.context)
  const desired = Math.max(from.desired, to.desired)
  const max = Math.max(from.max, to.max, desired)
  const isUnchanged = to.desired === desired && to.max === max && to.min === desired
  if (stopsFirst)
    return [
      ...stopStages(rolledBack, place),
      ...startStages(
        restored,
        { min: Math.min(to.min || from.min, desired), max, desired },
        place,
        share,
      ),
    ]
  const resize = (verb: string, min: number, more: JsonObject) =>
    serverGroupStage('resizeServerGroup', verb, place, restored, {
      capacity: { min, max, desired },
      ...more,
    })
  return [
    enable,
    ...(isUnchanged ? [] : [resize('Resize', desired, share)]),
    ...pauseOf(settings.delayBeforeDisableSeconds),
    disable,
    ...(isUnchanged || to.min === desired
      ? []
      : [resize('Restore minimum of', Math.min(to.min, desired), {})]),
  ]
}

/** What was stopped for a version that has not come up serves again. */
function giveBackStages(stage: Stage): NewStage[] {
  const {
    isExplicit,
    isWhole,
    rollbackServerGroupName: rolledBack = '',
    restoreServerGroupName = '',
  } = settingsOf(stage)
  const { stopsFirst, capacity } = readRollback(stage.context)
  if (!stopsFirst || !isExplicit || !isWhole) return []
  const place = { common: cloudPlaceFields(locationOf(stage.context)) }
  return [...stopStages(restoreServerGroupName, place), ...startStages(rolledBack, capacity, place)]
}

/** The image that ran before, deployed in place of the one that is rolled back. */
function cloneOf(stage: Stage): NewStage {
  const settings = settingsOf(stage)
  const { rollbackServerGroupName: name = '', imageId, imageName: amiName = imageId } = settings
  const { moniker, stopsFirst } = readRollback(stage.context)
  const place = locationOf(stage.context)
  const { account, region } = place
  const named = parseMoniker(name)
  const { app, stack, detail } = named.app === null ? moniker : named
  return {
    type: 'cloneServerGroup',
    name: 'Deploy the previous image',
    context: {
      ...cloudPlaceFields(place),
      application: app,
      ...(stack && { stack }),
      ...(detail && { freeFormDetails: detail }),
      strategy: stopsFirst ? 'recreate' : 'redblack',
      ...definedOf({
        imageId,
        targetHealthyDeployPercentage: settings.targetHealthyRollbackPercentage,
      }),
      amiName,
      useSourceCapacity: true,
      source: { account, region, serverGroupName: name, asgName: name, useSourceCapacity: true },
    },
  }
}

/** One rollback per region that has two server groups, one of them enabled. */
async function determineCandidates(context: TaskContext): Promise<TaskResult> {
  const { context: settings } = context.stage
  const place = requireClusterPlace(settings, context)
  const { targetHealthyRollbackPercentage, delayBeforeDisableSeconds, additionalRollbackContext } =
    readFields(rollbackCluster.fields, settings)
  const regions = requirePlaces(settings)
  const groups = (await context.infrastructure.cluster(place)) ?? []
  const rollbacks: JsonObject[] = []
  for (const region of regions) {
    const here = newestFirst(inPlace(groups, region))
    const rolledBack = here.find(({ isDisabled }) => !isDisabled)
    if (here.length < 2 || rolledBack === undefined) continue
    const common = cloudPlaceFields({ ...place, region })
    const manager = rolledBack.serverGroupManagers[0]?.name
    if (manager !== undefined) {
      const manifestName = manager.includes(' ') ? manager : `deployment ${manager}`
      rollbacks.push({ ...common, location: rolledBack.region, manifestName, numRevisionsBack: 1 })
      continue
    }
    const plan = await planFor(context, rolledBack, here)
    if (plan === undefined) continue
    rollbacks.push({
      ...common,
      ...plan,
      rollbackContext: {
        ...plan.rollbackContext,
        rollbackServerGroupName: rolledBack.name,
        targetHealthyRollbackPercentage:
          targetHealthyRollbackPercentage ?? defaultHealthyShare(rolledBack.capacity.desired),
        delayBeforeDisableSeconds,
        ...additionalRollbackContext,
      },
    })
  }
  return { status: 'SUCCEEDED', context: rollbacksNote.as(rollbacks) }
}

/** The named server group, else one with the image that was there before, else that image, else the next newest server group. */
async function planFor(
  context: TaskContext,
  rolledBack: CloudServerGroup,
  groups: readonly CloudServerGroup[],
): Promise<
  { rollbackType: 'EXPLICIT' | 'PREVIOUS_IMAGE'; rollbackContext: JsonObject } | undefined
> {
  const explicit = (restoreServerGroupName: string) =>
    ({ rollbackType: 'EXPLICIT', rollbackContext: { restoreServerGroupName } }) as const
  // Beside a canary, what serves comes before what an earlier one has left.
  const others = groups
    .filter(({ name }) => name !== rolledBack.name)
    .toSorted((one, other) => Number(one.isDisabled) - Number(other.isDisabled))
  const { originalServerGroup } = readFields(rollbackCluster.fields, context.stage.context)
  const named = others.find(({ name }) => name === originalServerGroup)
  if (named !== undefined) return explicit(named.name)
  const { imageId, imageName } = await previousImage(context, rolledBack)
  if (imageId !== undefined) {
    const same = others.find(({ image }) => image.imageId === imageId)
    return same
      ? explicit(same.name)
      : { rollbackType: 'PREVIOUS_IMAGE', rollbackContext: { imageId, imageName } }
  }
  const [next] = others
  return next && explicit(next.name)
}

const readMetadata = shape({ previousServerGroup: shape({ imageId: textOf, imageName: textOf }) })

/** What the tag of the last deployment says. */
async function previousImage({ infrastructure }: TaskContext, group: CloudServerGroup) {
  const metadata = (await infrastructure.entityTags(group)).find(
    ({ name }) => name === 'spinnaker:metadata',
  )
  return readMetadata(metadata?.value).previousServerGroup
}

/** Larger server groups need not be complete before traffic moves. */
function defaultHealthyShare(desired: number): number {
  if (desired < 10) return 100
  return desired < 20 ? 90 : 95
}
