import { fieldOf, isObject, isTrue, type JsonObject, objectOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { type Effect, effectsKey } from '@fairlead/model/stage-types/effect.ts'
import { type CloudCapacity, type CloudServerGroup, toCapacity } from '@fairlead/ports/cloud-values.ts'
import { hasOneWriter } from '@fairlead/ports/image-file.ts'
import { StageError } from '../../machine/failure.ts'
import { isFalse, type Stage } from '../../model.ts'
import type { NewStage, Step, Submission, TaskContext, TaskResult } from '../stage-type.ts'
import {
  createdClustersOf,
  effectOn,
  firstText,
  locationOf,
  type ServerGroupTarget,
  serverGroupNameOf,
  stageProviderOf,
  stageTargetFields,
} from './cloud-context.ts'
import { minuteMs, monitorStep, preview, submitStep } from './cloud-task.ts'
import { refreshServerGroups } from './server-group-operations.ts'
import { inPlace } from './server-groups.ts'
import { type StrategyPlace, serverGroupStage, sourceOf, strategyKey, strategyOf } from './strategy-parts.ts'
import { checkTrafficGuards } from './traffic-guard.ts'
import { waitEmptyStep } from './waits.ts'

/** A server group as it was before it was stopped. */
interface Stopped {
  readonly name: string
  readonly capacity: CloudCapacity
  readonly isDisabled: boolean
}

/** Outlives a restart of the stage: what an earlier attempt has stopped shows its size no more. */
const stoppedKey = 'source.stopped'
const empty: CloudCapacity = { min: 0, max: 0, desired: 0 }

/** Ahead of the creation. @param describe What that is going to submit @param imageIdOf Undefined: a clone keeps the image of its source */
export function recreateSteps(
  describe: (context: TaskContext) => Promise<Submission['operations'][number]>,
  imageIdOf: (context: TaskContext) => string | undefined,
): readonly Step[] {
  return [
    {
      name: 'planStop',
      readsOnly: true,
      timeoutMs: 5 * minuteMs,
      execute: (context) => planStop(context, describe, imageIdOf(context)),
    },
    submitStep('stopServerGroups', 'stopservergroups', async ({ stage }) => ({
      operations: stoppedOf(stage.context).flatMap(({ name }): Submission['operations'] => {
        const target = stageTargetFields({ ...locationOf(stage.context), name })
        return [{ disableServerGroup: target }, { resizeServerGroup: { ...target, capacity: empty } }]
      }),
    })),
    monitorStep('monitorStop', { read: (_results, context) => ({ [effectsKey]: stops(context) }) }),
    waitEmptyStep(stoppedTargets),
    refreshServerGroups(stoppedTargets, 'refreshAfterStop'),
  ]
}

function stops(context: TaskContext): Effect[] {
  const effect = { kind: 'resized', desired: 0, atMs: context.now } as const
  return stoppedTargets(context).map((target) => effectOn(context, target, effect))
}

/** Whether the steps are of use: the strategy is given, or volumes may choose it. */
export function mayRecreate(context: JsonObject): boolean {
  const strategy = strategyOf(context)
  return strategy === 'recreate' || (strategy === 'none' && stageProviderOf(context) === standalone.provider)
}

async function planStop(
  context: TaskContext,
  describe: (context: TaskContext) => Promise<Submission['operations'][number]>,
  imageId: string | undefined,
): Promise<TaskResult> {
  const { stage } = context
  const isGiven = strategyOf(stage.context) === 'recreate'
  const volume = isGiven ? undefined : await volumeOfOneWriter(context, imageId)
  if (!isGiven && volume === undefined) return { status: 'SUCCEEDED' }
  const stopped = await groupsToStop(context)
  const targets = stopped.filter(({ isDisabled }) => !isDisabled).map(({ name }) => ({ ...locationOf(stage.context), name }))
  await checkTrafficGuards(context, { targets, doing: 'stopping' })
  // What would be refused afterwards is refused while the former version still serves.
  const errors = stopped.length === 0 ? [] : ((await preview(context, [await describe(context)])) ?? [])
  if (errors.length > 0) throw new StageError(errors)
  return { status: 'SUCCEEDED', context: { ...notesOf(stopped, volume), ...sourceWithSize(stage, stopped) } }
}

function notesOf(stopped: readonly Stopped[], volume: string | undefined): JsonObject {
  const names = stopped.map(({ name }) => name).join(' and ')
  const effect = names === '' ? 'nothing runs in the cluster yet' : `${names} ends before the new server group starts`
  return {
    [strategyKey]: 'recreate',
    [stoppedKey]: stopped,
    ...(volume !== undefined && { notice: `The strategy is recreate, as the volume "${volume}" has one writer: ${effect}.` }),
  }
}

/** An earlier attempt may have taken the instances of the source. */
function sourceWithSize({ context }: Stage, stopped: readonly Stopped[]): JsonObject {
  const source = objectOf(context['source'])
  const found = stopped.find(({ name }) => name === serverGroupNameOf(source))
  return found === undefined ? {} : { source: { ...source, capacity: found.capacity, isDisabled: found.isDisabled } }
}

/** Name of a volume of the program to be deployed; undefined where nothing tells of one. */
async function volumeOfOneWriter(context: TaskContext, imageId: string | undefined): Promise<string | undefined> {
  const { context: settings } = context.stage
  const volumes = Array.isArray(settings['volumes']) ? objectsOf(settings['volumes']) : await knownVolumes(context, imageId)
  return textOf(volumes.find(isOfOneWriter)?.['name'])
}

function isOfOneWriter({ shared, writers }: JsonObject): boolean {
  return hasOneWriter({ shared: isTrue(shared), writers: writers === 'many' ? 'many' : 'one' })
}

/** Those of the image; a clone without an image of its own has those of its source. */
async function knownVolumes(context: TaskContext, imageId: string | undefined): Promise<JsonObject[]> {
  const { stage } = context
  const place = locationOf(stage.context)
  const source = sourceOf(stage)?.name
  if (imageId === undefined) {
    const { account = place.account, region = place.region } = objectOf(stage.context['source'])
    const target = { ...place, account: String(account), region: String(region), name: source ?? '' }
    return source === undefined ? [] : volumesOf((await context.infrastructure.serverGroup(target))?.all)
  }
  const accounts = [place.account, ...[firstText(stage.context, 'imageAccount')].filter((each) => each !== undefined)]
  for (const account of accounts) {
    const { provider, region } = place
    const image = await context.infrastructure.image({ provider, account, region, name: imageId })
    if (image !== undefined) return volumesOf(image)
  }
  return []
}

function volumesOf(view: JsonObject | undefined): JsonObject[] {
  return objectsOf(view?.['volumes'])
}

/** Whether two server groups have a volume in common that only one of them may write. */
export function shareVolume(one: CloudServerGroup, other: CloudServerGroup): boolean {
  const names = new Set(volumesOf(other.all).map(({ name }) => name))
  return volumesOf(one.all).some((volume) => isOfOneWriter(volume) && names.has(volume['name']))
}

/** Whatever serves or runs in the cluster. */
async function groupsToStop(context: TaskContext): Promise<Stopped[]> {
  const { stage, execution } = context
  const { provider, account, region } = locationOf(stage.context)
  const application = textOf(stage.context['application']) ?? execution.application
  const before = stoppedOf(stage.context)
  const loaded = await Promise.all(
    createdClustersOf(stage.context, application).map((cluster) =>
      context.infrastructure.cluster({ application, provider, account, cluster }),
    ),
  )
  const all = loaded.flatMap((groups) => groups ?? [])
  const here = inPlace(all, region)
  const serves = here.some(({ isDisabled, instances }) => !isDisabled && instances.length > 0)
  return here.flatMap((group) => {
    const { name, capacity, isDisabled, instances } = group
    if (isDisabled && instances.length === 0 && capacity.desired === 0)
      return serves ? [] : before.filter((each) => each.name === name)
    refuseManaged(group)
    return [{ name, capacity, isDisabled }]
  })
}

function refuseManaged({ name, all }: CloudServerGroup): void {
  const manager = fieldOf(objectsOf(all['serverGroupManagers'])[0], 'name')
  if (manager === undefined) return
  throw new StageError([
    `${name} belongs to ${String(manager)}, which would start its pods again: deploy the manifest of that one with "strategy: {type: Recreate}".`,
  ])
}

function stoppedOf(context: JsonObject): Stopped[] {
  return objectsOf(context[stoppedKey]).map(({ name, capacity, isDisabled }) => ({
    name: String(name),
    capacity: toCapacity(objectOf(capacity)),
    isDisabled: isTrue(isDisabled),
  }))
}

function stoppedTargets({ stage }: TaskContext): ServerGroupTarget[] {
  return stoppedOf(stage.context).map(({ name }) => ({ ...locationOf(stage.context), name }))
}

/** The size that the source had before it was stopped, where the new server group is to have it. */
export function recreatedCapacity({ context }: Stage, isClone: boolean): JsonObject {
  const source = objectOf(context['source'])
  const takesAll = isTrue(source['useSourceCapacity'])
  if (!isObject(source['capacity']) || !(takesAll || isClone)) return {}
  return { capacity: { ...source['capacity'], ...(takesAll ? {} : objectOf(context['capacity'])) } }
}

/** Stages in order: the new one ends, then what served before starts and serves again. @param deployed Undefined: it was not created */
export function takeBackStages({ context }: Stage, place: StrategyPlace, deployed: string | undefined): NewStage[] {
  const { onFailure, destroyLatest } = objectOf(context['rollback'])
  const isRollback = !isFalse(onFailure)
  const restored = isRollback ? stoppedOf(context).filter(({ isDisabled }) => !isDisabled) : []
  const [disable, stop] = deployed === undefined ? [] : stopStages(deployed, place)
  return [
    ...(disable === undefined ? [] : [disable]),
    ...(stop === undefined || restored.length === 0 ? [] : [stop]),
    ...restored.flatMap(({ name, capacity }) => startStages(name, capacity, place)),
    ...(deployed !== undefined && isRollback && isTrue(destroyLatest)
      ? [serverGroupStage('destroyServerGroup', 'Destroy', place, deployed, { skipDisableBeforeDestroy: true })]
      : []),
  ]
}

/** What the stages of single server groups submit: operations have their names. */
export function toOperations(stages: readonly NewStage[]): Submission['operations'] {
  return stages.map(({ type, context }) => ({ [type]: context }))
}

type Place = Pick<StrategyPlace, 'common'>

/** It starts without traffic, which it gets once its instances are up. */
export function startStages(name: string, capacity: CloudCapacity, place: Place, settings: JsonObject = {}): NewStage[] {
  return [
    serverGroupStage('resizeServerGroup', 'Start', place, name, { capacity }),
    serverGroupStage('enableServerGroup', 'Enable', place, name, settings),
  ]
}

/** The last stage ends once its processes have. */
export function stopStages(name: string, place: Place): [disable: NewStage, stop: NewStage] {
  return [
    serverGroupStage('disableServerGroup', 'Disable', place, name),
    serverGroupStage('resizeServerGroup', 'Stop', place, name, { capacity: empty }),
  ]
}
