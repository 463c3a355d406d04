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
  withoutNulls,
} from '@fairlead/base/json/values.ts'
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import { type CloudServerGroup, toCapacity } from '@fairlead/ports/cloud-values.ts'
import { StageError } from '../../machine/failure.ts'
import { inSequence, type NewStage, type StageType, type TaskContext, type TaskResult } from '../stage-type.ts'
import { pauseOf } from '../wait.ts'
import { cloudPlaceFields, locationOf, requirePlaces, stageProviderOf } from './cloud-context.ts'
import { submitOperations } from './cloud-task.ts'
import { shareVolume, startStages, stopStages, toOperations } from './recreate.ts'
import { inPlace, newestFirst, requireClusterPlace, requireServerGroup } from './server-groups.ts'
import { serverGroupStage } from './strategy-parts.ts'

export const rollbackServerGroupStage: StageType = {
  type: 'rollbackServerGroup',
  steps: [{ name: 'planRollback', execute: planRollback, readsOnly: true, timeoutMs: 5 * 60_000 }],
  afterStages: ({ context }) => inSequence(rollbackStages(context)),
  onFailureStages: ({ context }) => inSequence(giveBackStages(context)),
  onCancel: async (context) => {
    const operations = toOperations(giveBackStages(context.stage.context))
    if (operations.length === 0) return
    await submitOperations(context, 'abortRollback', operations, stageProviderOf(context.stage.context))
  },
}

export const rollbackClusterStage: StageType = {
  type: 'rollbackCluster',
  steps: [{ name: 'determineRollbackCandidates', execute: determineCandidates, readsOnly: true, timeoutMs: 5 * 60_000 }],
  afterStages: ({ context }) => {
    const pause = numberOf(context['waitTimeBetweenRegions']) ?? 0
    const rollbacks = objectsOf(context['rollbacks'])
    return inSequence(
      rollbacks.flatMap((rollback, index): NewStage[] => [
        ...(index > 0 ? pauseOf(pause) : []),
        { type: typeOfRollback(rollback), name: `Roll back in ${rollback['region']}`, context: rollback },
      ]),
    )
  },
}

/** What a manager such as a deployment owns is rolled back by it. */
function typeOfRollback({ manifestName }: JsonObject): string {
  return manifestName === undefined ? 'rollbackServerGroup' : 'undoRolloutManifest'
}

function undoingManager({ region, all }: CloudServerGroup): JsonObject | undefined {
  const [manager] = objectsOf(all['serverGroupManagers'])
  const name = textOf(fieldOf(manager, 'name'))
  if (name === undefined) return undefined
  return { location: region, manifestName: name.includes(' ') ? name : `deployment ${name}`, numRevisionsBack: 1 }
}

/** Reads both server groups, so that the stages that follow know the capacities of this moment. */
async function planRollback(context: TaskContext): Promise<TaskResult> {
  const settings = context.stage.context
  const rollback = objectOf(settings['rollbackContext'])
  const place = locationOf(settings)
  const read = async (key: string): Promise<CloudServerGroup | undefined> => {
    const name = textOf(rollback[key])
    return name === undefined ? undefined : requireServerGroup(context, { ...place, name })
  }
  const rolledBack = await read('rollbackServerGroupName')
  if (rolledBack === undefined)
    throw new StageError(['The rollback names no server group: set rollbackContext.rollbackServerGroupName.'])
  const restored = await read('restoreServerGroupName')
  const needsRestored = kindOf(settings) === 'EXPLICIT' && !isTrue(rollback['disableOnly'])
  if (needsRestored && restored === undefined) {
    throw new StageError(['The rollback names no server group to restore: set rollbackContext.restoreServerGroupName.'])
  }
  const stopsFirst = shareVolume(rolledBack, restored ?? rolledBack) && !(restored && isRunning(restored))
  return {
    status: 'SUCCEEDED',
    context: {
      'notification.type': 'rollbackservergroup',
      // Where it was stopped by an earlier attempt, the size of then counts.
      ...((rolledBack.capacity.desired > 0 || settings['rollback.capacity'] === undefined) && {
        'rollback.capacity': rolledBack.capacity,
      }),
      'rollback.stopsFirst': stopsFirst,
      ...(stopsFirst && { notice: `${rolledBack.name} ends first, as it has a volume with one writer.` }),
      ...(isObject(rolledBack.all['moniker']) && { 'rollback.moniker': rolledBack.all['moniker'] }),
      ...(restored !== undefined && { 'restore.capacity': restored.capacity }),
      'targetop.asg.disableServerGroup.name': rolledBack.name,
      ...(restored !== undefined && { 'targetop.asg.enableServerGroup.name': restored.name }),
    },
  }
}

function isRunning({ instances, capacity }: CloudServerGroup): boolean {
  return instances.length > 0 && instances.length >= capacity.desired
}

function kindOf(settings: JsonObject): string {
  return textOf(settings['rollbackType'])?.toUpperCase() ?? 'EXPLICIT'
}

function rollbackStages(settings: JsonObject): NewStage[] {
  const rollback = objectOf(settings['rollbackContext'])
  const rolledBack = String(rollback['rollbackServerGroupName'])
  const restored = String(rollback['restoreServerGroupName'])
  if (kindOf(settings) === 'PREVIOUS_IMAGE') return [cloneOf(settings, rolledBack, rollback)]
  const { interestingHealthProviderNames } = settings
  const place = { common: { ...cloudPlaceFields(locationOf(settings)), ...definedOf({ interestingHealthProviderNames }) } }
  const disable = serverGroupStage('disableServerGroup', 'Disable', place, rolledBack)
  if (isTrue(rollback['disableOnly'])) return [disable]
  const healthy = numberOf(rollback['targetHealthyRollbackPercentage'])
  const share = healthy === undefined ? {} : { targetHealthyDeployPercentage: healthy }
  const enable = serverGroupStage('enableServerGroup', 'Enable', place, restored, share)
  if (isTrue(rollback['enableAndDisableOnly'])) return [enable, disable]
  const from = toCapacity(objectOf(settings['rollback.capacity']))
  const to = toCapacity(objectOf(settings['restore.capacity']))
  const desired = Math.max(from.desired, to.desired)
  const max = Math.max(from.max, to.max, desired)
  const isUnchanged = to.desired === desired && to.max === max && to.min === desired
  if (isTrue(settings['rollback.stopsFirst']))
    return [
      ...stopStages(rolledBack, place),
      ...startStages(restored, { min: Math.min(to.min || from.min, desired), max, desired }, place, share),
    ]
  const resize = (verb: string, min: number, more: JsonObject) =>
    serverGroupStage('resizeServerGroup', verb, place, restored, { capacity: { min, max, desired }, ...more })
  return [
    enable,
    ...(isUnchanged ? [] : [resize('Resize', desired, share)]),
    ...pauseOf(numberOf(rollback['delayBeforeDisableSeconds']) ?? 0),
    disable,
    ...(isUnchanged || to.min === desired ? [] : [resize('Restore minimum of', Math.min(to.min, desired), {})]),
  ]
}

/** What was stopped for a version that has not come up serves again. */
function giveBackStages(settings: JsonObject): NewStage[] {
  const rollback = objectOf(settings['rollbackContext'])
  const isStopping = ['disableOnly', 'enableAndDisableOnly'].every((key) => !isTrue(rollback[key]))
  if (!isTrue(settings['rollback.stopsFirst']) || kindOf(settings) !== 'EXPLICIT' || !isStopping) return []
  const place = { common: cloudPlaceFields(locationOf(settings)) }
  const [rolledBack, restored] = ['rollbackServerGroupName', 'restoreServerGroupName'].map((key) => String(rollback[key]))
  return [
    ...stopStages(restored ?? '', place),
    ...startStages(rolledBack ?? '', toCapacity(objectOf(settings['rollback.capacity'])), place),
  ]
}

/** The image that ran before, deployed in place of the one that is rolled back. */
function cloneOf(settings: JsonObject, rolledBack: string, rollback: JsonObject): NewStage {
  const place = locationOf(settings)
  const named = parseMoniker(rolledBack)
  const { app, stack, detail } = named.app === null ? objectOf(settings['rollback.moniker']) : { ...named }
  const imageId = textOf(rollback['imageId'])
  const amiName = textOf(rollback['imageName']) ?? imageId
  return {
    type: 'cloneServerGroup',
    name: 'Deploy the previous image',
    context: {
      ...cloudPlaceFields(place),
      application: app,
      ...withoutNulls({ stack, freeFormDetails: detail }),
      strategy: isTrue(settings['rollback.stopsFirst']) ? 'recreate' : 'redblack',
      ...(imageId !== undefined && { imageId }),
      amiName,
      useSourceCapacity: true,
      source: {
        account: place.account,
        region: place.region,
        serverGroupName: rolledBack,
        asgName: rolledBack,
        useSourceCapacity: true,
      },
      ...(rollback['targetHealthyRollbackPercentage'] !== undefined && {
        targetHealthyDeployPercentage: rollback['targetHealthyRollbackPercentage'],
      }),
    },
  }
}

/** One rollback per region that has two server groups, one of them enabled. */
async function determineCandidates(context: TaskContext): Promise<TaskResult> {
  const settings = context.stage.context
  const place = requireClusterPlace(settings, context)
  const { provider, account } = place
  const regions = requirePlaces(settings)
  const groups = (await context.infrastructure.cluster(place)) ?? []
  const rollbacks: JsonObject[] = []
  for (const region of regions) {
    const here = newestFirst(inPlace(groups, region))
    const rolledBack = here.find(({ isDisabled }) => !isDisabled)
    if (here.length < 2 || rolledBack === undefined) continue
    const undo = undoingManager(rolledBack)
    if (undo !== undefined) {
      rollbacks.push({ ...cloudPlaceFields({ provider, account, region }), ...undo })
      continue
    }
    const plan = await planFor(context, rolledBack, here)
    if (plan === undefined) continue
    rollbacks.push({
      ...cloudPlaceFields({ provider, account, region }),
      rollbackType: plan.rollbackType,
      rollbackContext: {
        ...plan.rollbackContext,
        rollbackServerGroupName: rolledBack.name,
        targetHealthyRollbackPercentage:
          numberOf(settings['targetHealthyRollbackPercentage']) ?? defaultHealthyShare(rolledBack.capacity.desired),
        ...(settings['delayBeforeDisableSeconds'] !== undefined && {
          delayBeforeDisableSeconds: settings['delayBeforeDisableSeconds'],
        }),
      },
    })
  }
  return { status: 'SUCCEEDED', context: { rollbacks } }
}

/** The named server group, else one with the image that was there before, else that image, else the next newest server group. */
async function planFor(
  context: TaskContext,
  rolledBack: CloudServerGroup,
  groups: readonly CloudServerGroup[],
): Promise<{ rollbackType: 'EXPLICIT' | 'PREVIOUS_IMAGE'; rollbackContext: JsonObject } | undefined> {
  const explicit = (restoreServerGroupName: string) =>
    ({ rollbackType: 'EXPLICIT', rollbackContext: { restoreServerGroupName } }) as const
  const named = textOf(context.stage.context['originalServerGroup'])
  if (named !== undefined && groups.some(({ name }) => name === named)) return explicit(named)
  // Beside a canary, what serves comes before what an earlier one has left.
  const others = groups
    .filter(({ name }) => name !== rolledBack.name)
    .toSorted((one, other) => Number(one.isDisabled) - Number(other.isDisabled))
  const previous = await previousImage(context, rolledBack)
  const imageOf = ({ image }: CloudServerGroup) => textOf(image['imageId'])
  if (previous !== undefined) {
    const same = others.find((group) => imageOf(group) === textOf(previous['imageId']))
    if (same !== undefined) return explicit(same.name)
    return { rollbackType: 'PREVIOUS_IMAGE', rollbackContext: { imageId: previous['imageId'], imageName: previous['imageName'] } }
  }
  const [next] = others
  return next === undefined ? undefined : explicit(next.name)
}

/** What the tag of the last deployment says. */
async function previousImage(context: TaskContext, { name, account, region }: CloudServerGroup): Promise<JsonObject | undefined> {
  const tags = await context.infrastructure.entityTags({ account, region, name })
  const metadata = tags.find((tag) => tag['name'] === 'spinnaker:metadata')
  const previous = objectOf(objectOf(metadata?.['value'])['previousServerGroup'])
  return textOf(previous['imageId']) === undefined ? undefined : previous
}

/** Larger server groups need not be complete before traffic moves. */
function defaultHealthyShare(desired: number): number {
  if (desired < 10) return 100
  return desired < 20 ? 90 : 95
}
