import { maybe, shape } from '@fairlead/base/json/shape.ts'
import { definedOf, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { effectsKey } from '@fairlead/model/stage-types/effect.ts'
import { type CloudServerGroup, type CloudVolume, toVolumes } from '@fairlead/ports/cloud-values.ts'
import { hasOneWriter } from '@fairlead/ports/image-file.ts'
import { StageError } from '../../machine/failure.ts'
import type { Stage } from '../../model.ts'
import type { NewStage, Step, Submission, TaskContext, TaskResult } from '../stage-type.ts'
import {
  applicationOf,
  effectOn,
  locationOf,
  type ServerGroupTarget,
  stageProviderOf,
  stageTargetFields,
} from './cloud-context.ts'
import { minuteMs, monitorStep, preview, submitStep } from './cloud-task.ts'
import { type Former, givenSourceNote, sourceNote, stoppedNote, strategyNote } from './notes.ts'
import { refreshServerGroups } from './server-group-operations.ts'
import { createdPlaces, inPlace, readShares } from './server-groups.ts'
import {
  destroyLatest,
  disableStage,
  empty,
  type StrategyPlace,
  startStages,
  stopStages,
  strategyOf,
  strategySettingsOf,
} from './strategy-parts.ts'
import { checkTrafficGuards } from './traffic-guard.ts'
import { waitEmptyStep } from './waits.ts'

interface Creation {
  /** What is going to be submitted. */
  readonly describe: (context: TaskContext) => Promise<Submission['operations'][number]>
  /** Undefined: a clone keeps the image of its source. */
  readonly imageIdOf: (context: TaskContext) => string | undefined
}

/** Ahead of the creation. */
export function recreateSteps(creation: Creation): readonly Step[] {
  return [
    {
      name: 'planStop',
      readsOnly: true,
      timeoutMs: 5 * minuteMs,
      execute: (context) => planStop(context, creation),
    },
    submitStep('stopServerGroups', (context) => ({
      operations: stoppedTargets(context)
        .map(stageTargetFields)
        .flatMap((target): Submission['operations'] => [
          { disableServerGroup: target },
          { resizeServerGroup: { ...target, capacity: empty } },
        ]),
    })),
    monitorStep('monitorStop', {
      read: (_results, context) => ({
        [effectsKey]: stoppedTargets(context).map((target) =>
          effectOn(context, target, { kind: 'resized', desired: 0, atMs: context.now }),
        ),
      }),
    }),
    waitEmptyStep(stoppedTargets),
    refreshServerGroups(stoppedTargets, 'refreshAfterStop'),
  ]
}

/** Whether the steps are of use: the strategy is given, or volumes may choose it. */
export function mayRecreate(context: JsonObject): boolean {
  const strategy = strategyOf(context)
  return (
    strategy === 'recreate' ||
    (strategy === 'none' && stageProviderOf(context) === standalone.provider)
  )
}

async function planStop(
  context: TaskContext,
  { describe, imageIdOf }: Creation,
): Promise<TaskResult> {
  const { context: settings } = context.stage
  const isGiven = strategyOf(settings) === 'recreate'
  const volume = isGiven
    ? undefined
    : (await volumesOf(context, imageIdOf(context))).find(hasOneWriter)?.name
  if (!isGiven && volume === undefined) return { status: 'SUCCEEDED' }
  const stopped = await groupsToStop(context)
  const serving = stopped.filter(({ isDisabled }) => !isDisabled)
  await checkTrafficGuards(context, { targets: toTargets(context, serving), doing: 'stopping' })
  // What would be refused afterwards is refused while the former version still serves.
  const errors =
    stopped.length === 0 ? [] : ((await preview(context, [await describe(context)])) ?? [])
  if (errors.length > 0) throw new StageError(errors)
  const names = stopped.map(({ name }) => name).join(' and ')
  const effect =
    names === ''
      ? 'nothing runs in the cluster yet'
      : `${names} ends before the new server group starts`
  // An earlier attempt may have taken the instances of the source.
  const source = stopped.find(({ name }) => name === sourceNote.in(settings).name)
  return {
    status: 'SUCCEEDED',
    context: {
      ...strategyNote.as('recreate'),
      ...stoppedNote.as(stopped),
      ...(volume !== undefined && {
        notice: `The strategy is recreate, as the volume "${volume}" has one writer: ${effect}.`,
      }),
      ...(source && {
        source: {
          ...givenSourceNote.in(settings),
          capacity: source.capacity,
          isDisabled: source.isDisabled,
        },
      }),
    },
  }
}

const readImage = shape({ volumes: maybe(toVolumes), imageAccount: textOf })

/** Volumes of the program, else of the image; a clone without its own image has those of its source. */
async function volumesOf(
  context: TaskContext,
  imageId: string | undefined,
): Promise<readonly CloudVolume[]> {
  const { infrastructure, stage } = context
  const { volumes, imageAccount } = readImage(stage.context)
  if (volumes !== undefined) return volumes
  const place = locationOf(stage.context)
  if (imageId === undefined) {
    const { name, account = place.account, region = place.region } = sourceNote.in(stage.context)
    return name === undefined
      ? []
      : ((await infrastructure.serverGroup({ account, region, name }))?.volumes ?? [])
  }
  for (const account of [place.account, ...(imageAccount === undefined ? [] : [imageAccount])]) {
    const image = await infrastructure.image({ ...place, account, name: imageId })
    if (image !== undefined) return image.volumes
  }
  return []
}

/** Whether two server groups have a volume in common that only one of them may write. */
export function shareVolume(one: CloudServerGroup, other: CloudServerGroup): boolean {
  return one.volumes.some(
    (volume) => hasOneWriter(volume) && other.volumes.some(({ name }) => name === volume.name),
  )
}

/** Whatever serves or runs in the cluster. */
async function groupsToStop(context: TaskContext): Promise<Former[]> {
  const { context: settings } = context.stage
  const before = stoppedNote.in(settings)
  const places = createdPlaces(settings, applicationOf(context))
  const loaded = await Promise.all(places.map((place) => context.infrastructure.cluster(place)))
  const here = inPlace(
    loaded.flatMap((groups) => groups ?? []),
    locationOf(settings).region,
  )
  const serves = here.some(({ isDisabled, instances }) => !isDisabled && instances.length > 0)
  return here.flatMap(
    ({ name, capacity, isDisabled, instances, serverGroupManagers: [manager] }) => {
      if (isDisabled && instances.length === 0 && capacity.desired === 0)
        return serves ? [] : before.filter((each) => each.name === name)
      if (manager?.name === undefined) return [{ name, capacity, isDisabled }]
      throw new StageError([
        `${name} belongs to ${manager.name}, which would start its pods again: deploy the manifest of that one with "strategy: {type: Recreate}".`,
      ])
    },
  )
}

function toTargets({ stage }: TaskContext, groups: readonly Former[]): ServerGroupTarget[] {
  return groups.map(({ name }) => ({ ...locationOf(stage.context), name }))
}

function stoppedTargets(context: TaskContext): ServerGroupTarget[] {
  return toTargets(context, stoppedNote.in(context.stage.context))
}

/** The size that the source had before it was stopped, where the new server group is to have it. */
export function recreatedCapacity({ context }: Stage, isClone: boolean): JsonObject {
  const { useSourceCapacity: takesAll, capacity } = sourceNote.in(context)
  if (capacity === undefined || !(takesAll || isClone)) return {}
  return {
    capacity: takesAll ? capacity : { ...capacity, ...definedOf(readShares(context).capacity) },
  }
}

/** Stages in order: the new one ends, then what served before starts and serves again. @param deployed Undefined: it was not created */
export function takeBackStages(
  stage: Stage,
  place: StrategyPlace,
  deployed: string | undefined,
  isCanceled = false,
): NewStage[] {
  const isRollback = strategySettingsOf(stage).rollback.onFailure
  const restored = isRollback
    ? stoppedNote.in(stage.context).filter(({ isDisabled }) => !isDisabled)
    : []
  return [
    ...(deployed === undefined
      ? []
      : restored.length === 0
        ? [disableStage(place, deployed)]
        : stopStages(deployed, place)),
    ...restored.flatMap(({ name, capacity }) => startStages(name, capacity, place)),
    ...(deployed !== undefined && isRollback
      ? destroyLatest(stage, place, { name: deployed, isCanceled })
      : []),
  ]
}
