/** Arithmetic of resizing (docs/contracts/infrastructure.md#resizing). */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { resizing } from '@fairlead/model/stage-types/infrastructure.ts'
import { readFields, type ValuesOf } from '@fairlead/model/stage-types/read-fields.ts'
import {
  type CloudCapacity,
  type CloudServerGroup,
  toCapacity,
} from '@fairlead/ports/cloud-values.ts'
import { StageError } from '../../machine/failure.ts'
import type { TaskContext } from '../stage-type.ts'
import type { ServerGroupTarget } from './cloud-context.ts'
import { findServerGroupPlace, groupsIn, readShares, requireServerGroup } from './server-groups.ts'

type ResizeSettings = ValuesOf<typeof resizing>

/** The capacity that the stage asks for, given what the server group has now. */
export async function resizedCapacity(
  context: TaskContext,
  { capacity }: CloudServerGroup,
  target: ServerGroupTarget,
): Promise<CloudCapacity> {
  const settings = readFields(resizing, context.stage.context)
  return pinned(settings, await unpinnedCapacity(context, { settings, capacity, target }), capacity)
}

async function unpinnedCapacity(
  context: TaskContext,
  {
    settings,
    capacity,
    target,
  }: { settings: ResizeSettings; capacity: CloudCapacity; target: ServerGroupTarget },
): Promise<CloudCapacity> {
  const { resizeType, source, scalePct = 100 } = settings
  const action = resizeType === 'exact' ? 'scale_exact' : settings.action
  switch (action) {
    case 'scale_exact':
      return exactCapacity(settings.capacity, capacity)
    case 'scale_up':
    case 'scale_down': {
      const sign = action === 'scale_up' ? 1 : -1
      const change = (value: number) => Math.max(0, value + sign * stepOf(settings, value))
      return {
        min: change(capacity.min),
        max: change(capacity.max),
        desired: change(capacity.desired),
      }
    }
    case 'scale_to_cluster': {
      const place = await findServerGroupPlace(context, target)
      const groups = place === undefined ? [] : await groupsIn(context, place, target.region)
      const largest = (part: keyof CloudCapacity) =>
        Math.max(0, ...groups.map((each) => each.capacity[part]))
      const [min, max, desired] = [largest('min'), largest('max'), largest('desired')]
      return { min, max, desired: Math.min(max, desired + stepOf(settings, desired)) }
    }
    case 'scale_to_server_group': {
      const { serverGroupName: name, region = target.region } = source
      if (name === undefined)
        throw new StageError(['scale_to_server_group needs "source" with "serverGroupName".'])
      return shareOf(
        (await requireServerGroup(context, { ...target, region, name })).capacity,
        scalePct,
      )
    }
    default:
      throw new StageError([
        `The resize action "${action}" is unknown: use scale_exact, scale_up, scale_down, scale_to_cluster or scale_to_server_group.`,
      ])
  }
}

/** Given parts win; the others follow so that min ≤ desired ≤ max. */
function exactCapacity(
  given: { readonly [Part in keyof CloudCapacity]: number | undefined },
  current: CloudCapacity,
): CloudCapacity {
  const min =
    given.min ?? (given.max === undefined ? current.min : Math.min(current.min, given.max))
  const max = given.max ?? Math.max(current.max, min)
  const desired = given.desired ?? Math.min(Math.max(current.desired, min), max)
  return { min, max, desired }
}

function stepOf({ scalePct, scaleNum }: ResizeSettings, value: number): number {
  return scalePct === undefined ? scaleNum : Math.ceil((value * scalePct) / 100)
}

/** A share of a capacity: desired rounded up, the bounds widened to hold it. */
export function shareOf({ min, max, desired }: CloudCapacity, percentage: number): CloudCapacity {
  const share = Math.ceil((desired * percentage) / 100)
  return { min: Math.min(min, share), max: Math.max(max, share), desired: share }
}

function pinned(
  settings: ResizeSettings,
  { min, max, desired }: CloudCapacity,
  current: CloudCapacity,
): CloudCapacity {
  const { unpinMinimumCapacity, originalMin, originalCapacity, pinCapacity, pinMinimumCapacity } =
    settings
  if (unpinMinimumCapacity)
    return { min: originalMin ?? originalCapacity.min ?? Math.min(min, current.min), max, desired }
  return {
    min: pinCapacity || pinMinimumCapacity ? desired : min,
    max: pinCapacity ? desired : max,
    desired,
  }
}

/** For plans that are made before the stage runs. */
export function capacityOf(settings: JsonObject): CloudCapacity | undefined {
  const { capacity } = readShares(settings)
  return capacity.desired === undefined ? undefined : toCapacity(capacity)
}
