/** Traffic guards: protect the last healthy instances of a cluster. @see docs/contracts/infrastructure.md#traffic-guards */
import type { CloudServerGroup } from '@fairlead/ports/cloud-values.ts'
import { StageError } from '../../machine/failure.ts'
import type { TaskContext } from '../stage-type.ts'
import type { ServerGroupTarget } from './cloud-context.ts'
import {
  findServerGroupPlace,
  groupsIn,
  type ServerGroupPlace,
  servesAsGroup,
} from './server-groups.ts'

/** What is about to be taken away: whole server groups, or single instances of them. */
interface Removal {
  readonly targets: readonly ServerGroupTarget[]
  /** Ids of instances; undefined: all of the targets. */
  readonly instanceIds?: readonly string[]
  /** Such as `disabling`, for the message. */
  readonly doing: string
}

/** @throws {StageError} when a guard forbids it; the message names cluster, account, location and server groups */
export async function checkTrafficGuards(
  context: TaskContext,
  { targets, instanceIds, doing }: Removal,
): Promise<void> {
  const placed = targets.map(async (target) => ({
    ...target,
    place: await findServerGroupPlace(context, target),
  }))
  // Server groups that do not exist have no traffic to guard.
  const known = (await Promise.all(placed)).filter(
    (each): each is PlacedTarget => each.place !== undefined,
  )
  const byCluster = Map.groupBy(known, ({ account, region, place }) =>
    [account, region, place.cluster].join('\n'),
  )
  for (const removed of byCluster.values()) {
    const [first] = removed
    if (first === undefined || !(await isGuarded(context, first))) continue
    const groups = await groupsIn(context, first.place, first.region)
    const names = removed.map(({ name }) => name)
    const now = upIn(groups, () => true)
    if (now === 0) continue
    const left = upIn(
      groups,
      (group, id) =>
        !names.includes(group.name) || (instanceIds !== undefined && !instanceIds.includes(id)),
    )
    if (left > 0 || (instanceIds === undefined && isOneOfEquals(groups, names))) continue
    throw new StageError([
      `The traffic guard of the cluster ${first.place.cluster} in ${first.account}/${first.region} forbids ${doing} ${names.join(', ')}: ` +
        `no instance would remain up of ${now}. Deploy another server group first, or change the guard of the application.`,
    ])
  }
}

interface PlacedTarget extends ServerGroupTarget {
  readonly place: ServerGroupPlace
}

/** Several pinned groups of one size may go away together while others of the cluster stay enabled. */
function isOneOfEquals(groups: readonly CloudServerGroup[], removed: readonly string[]): boolean {
  if (removed.length < 2) return false
  const going = groups.filter(({ name }) => removed.includes(name))
  const sizes = new Set(
    going.map(({ capacity }) => `${capacity.min}/${capacity.max}/${capacity.desired}`),
  )
  const stay = groups.some(({ name, isDisabled }) => !removed.includes(name) && !isDisabled)
  return (
    sizes.size === 1 &&
    stay &&
    going.every(({ capacity: { min, max, desired } }) => min === max && max === desired)
  )
}

function upIn(
  groups: readonly CloudServerGroup[],
  counts: (group: CloudServerGroup, id: string) => boolean,
): number {
  const serving = groups.filter(
    (group) => (!group.isDisabled || !servesAsGroup(group)) && group.trafficPercent !== 0,
  )
  return serving.flatMap((group) =>
    group.instances.filter(({ id, healthState }) => healthState === 'Up' && counts(group, id)),
  ).length
}

async function isGuarded(
  { definitions }: TaskContext,
  { account, region, place }: PlacedTarget,
): Promise<boolean> {
  const { stack, detail } = place
  const application = await definitions.application(place.application)
  // An absent field matches an absent part only; `*` matches everything.
  const matches = (wanted: string, value: string | null) =>
    wanted === '*' || wanted === (value ?? '')
  return (application?.trafficGuards ?? []).some(
    (rule) =>
      rule.enabled &&
      matches(rule.account, account) &&
      matches(rule.location, region) &&
      matches(rule.stack, stack) &&
      matches(rule.detail, detail),
  )
}
