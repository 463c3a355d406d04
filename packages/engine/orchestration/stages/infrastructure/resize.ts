/** Arithmetic of resizing (docs/contracts/infrastructure.md#resizing). */
import { isTrue, type JsonObject, numberOf, objectOf, textOf } from '@fairlead/base/json/values.ts'
import { type CloudCapacity, type CloudServerGroup, toCapacity } from '@fairlead/ports/cloud-values.ts'
import { StageError } from '../../machine/failure.ts'
import type { TaskContext } from '../stage-type.ts'
import { type ServerGroupTarget, serverGroupNameOf } from './cloud-context.ts'
import { findServerGroupPlace, inPlace, requireServerGroup } from './server-groups.ts'

/** The capacity that the stage asks for, given what the server group has now. */
export async function resizedCapacity(
  context: TaskContext,
  group: CloudServerGroup,
  target: ServerGroupTarget,
): Promise<CloudCapacity> {
  return pinned(context.stage.context, await unpinnedCapacity(context, group, target), group.capacity)
}

async function unpinnedCapacity(
  context: TaskContext,
  { capacity }: CloudServerGroup,
  target: ServerGroupTarget,
): Promise<CloudCapacity> {
  const settings = context.stage.context
  const action = settings['resizeType'] === 'exact' ? 'scale_exact' : (textOf(settings['action']) ?? 'scale_exact')
  switch (action) {
    case 'scale_exact':
      return exactCapacity(objectOf(settings['capacity']), capacity)
    case 'scale_up':
      return scaled(capacity, settings, 1)
    case 'scale_down':
      return scaled(capacity, settings, -1)
    case 'scale_to_cluster': {
      const place = await findServerGroupPlace(context, target)
      const groups = place === undefined ? [] : inPlace((await context.infrastructure.cluster(place)) ?? [], target.region)
      return grown(largestOf(groups.map((each) => each.capacity)), settings)
    }
    case 'scale_to_server_group':
      return shareOf(await sourceCapacity(context, target), numberOf(settings['scalePct']) ?? 100)
    default:
      throw new StageError([
        `The resize action "${action}" is unknown: use scale_exact, scale_up, scale_down, scale_to_cluster or scale_to_server_group.`,
      ])
  }
}

/** Given parts win; the others follow so that min ≤ desired ≤ max. */
export function exactCapacity(given: JsonObject, current: CloudCapacity): CloudCapacity {
  const asked = { min: numberOf(given['min']), max: numberOf(given['max']), desired: numberOf(given['desired']) }
  const min = asked.min ?? (asked.max === undefined ? current.min : Math.min(current.min, asked.max))
  const max = asked.max ?? Math.max(current.max, min)
  const desired = asked.desired ?? Math.min(Math.max(current.desired, min), max)
  return { min, max, desired }
}

function scaled(current: CloudCapacity, settings: JsonObject, sign: 1 | -1): CloudCapacity {
  const percentage = numberOf(settings['scalePct'])
  const count = numberOf(settings['scaleNum']) ?? 0
  const change = (value: number) => {
    const by = percentage === undefined ? count : Math.ceil((value * percentage) / 100)
    return Math.max(0, value + sign * by)
  }
  return { min: change(current.min), max: change(current.max), desired: change(current.desired) }
}

function largestOf(capacities: readonly CloudCapacity[]): CloudCapacity {
  const largest = (part: keyof CloudCapacity) => Math.max(0, ...capacities.map((capacity) => capacity[part]))
  return { min: largest('min'), max: largest('max'), desired: largest('desired') }
}

function grown({ min, max, desired }: CloudCapacity, settings: JsonObject): CloudCapacity {
  const percentage = numberOf(settings['scalePct'])
  const by = percentage === undefined ? (numberOf(settings['scaleNum']) ?? 0) : Math.ceil((desired * percentage) / 100)
  return { min, max, desired: Math.min(max, desired + by) }
}

/** A share of a capacity: desired rounded up, the bounds widened to hold it. */
export function shareOf({ min, max, desired }: CloudCapacity, percentage: number): CloudCapacity {
  const share = Math.ceil((desired * percentage) / 100)
  return { min: Math.min(min, share), max: Math.max(max, share), desired: share }
}

async function sourceCapacity(context: TaskContext, target: ServerGroupTarget): Promise<CloudCapacity> {
  const source = objectOf(context.stage.context['source'])
  const name = serverGroupNameOf(source)
  if (name === undefined) throw new StageError(['scale_to_server_group needs "source" with "serverGroupName".'])
  const region = textOf(source['region']) ?? target.region
  return (await requireServerGroup(context, { ...target, region, name })).capacity
}

function pinned(settings: JsonObject, capacity: CloudCapacity, current: CloudCapacity): CloudCapacity {
  const { min, max, desired } = capacity
  if (isTrue(settings['unpinMinimumCapacity'])) {
    const original = numberOf(settings['originalMin']) ?? numberOf(objectOf(settings['originalCapacity'])['min'])
    return { min: original ?? Math.min(min, current.min), max, desired }
  }
  if (isTrue(settings['pinCapacity'])) return { min: desired, max: desired, desired }
  return isTrue(settings['pinMinimumCapacity']) ? { min: desired, max, desired } : { min, max, desired }
}

/** For plans that are made before the stage runs. */
export function capacityOf(value: unknown): CloudCapacity | undefined {
  const capacity = objectOf(value)
  return numberOf(capacity['desired']) === undefined ? undefined : toCapacity(capacity)
}
