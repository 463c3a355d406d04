/** What can be done to a server group and its instances, with what each says before it is done. */
import { to } from '../address.ts'
import { objectKey, pendingOf } from '../api/actions.ts'
import { useCloudProvider } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { type Action, type ActionTarget, startAction, toCount, useActions } from '../components/actions.tsx'
import { type Json, numberOf, objectOf, textOf } from '../model/read.ts'
import {
  accountOf,
  clusterOf,
  countsOf,
  groupPlace,
  type Instance,
  instanceId,
  isEnabled,
  type ServerGroup,
  siblingsOf,
  versionOf,
} from '../model/server-groups.ts'
import { plural } from '../words.ts'

export interface ServerGroupContext {
  readonly application: string
  /** Those of its cluster at least, for what takes over. */
  readonly groups: readonly ServerGroup[]
}

export function groupKey(group: ServerGroup): string {
  return objectKey('serverGroup', accountOf(group), group.region, group.name)
}

/** A server group, with those of its cluster. */
export function useServerGroup(application: string, { account, region, name }: ReturnType<typeof groupPlace>) {
  const events = applicationEvents(application, 'infrastructure')
  const live = useLive(
    '/applications/{applicationName}/serverGroups/{account}/{region}/{serverGroupName}',
    { path: { applicationName: application, account, region, serverGroupName: name } },
    { refresh: 'live', isBusy: (group) => pendingOf(groupKey(group)) !== undefined, events },
  )
  const group = live.reading.value.body
  const groups = useLive(
    '/applications/{applicationName}/serverGroups',
    group && { path: { applicationName: application }, query: { clusters: `${account}:${clusterOf(group)}` } },
    { refresh: 'steady', events },
  )
  const context: ServerGroupContext = { application, groups: groups.reading.value.body ?? [] }
  return { live, context }
}

/** @param filled Fields of an earlier job, for the dialogs */
export function useServerGroupActions(group: ServerGroup, context: ServerGroupContext, filled: Json = {}): readonly Action[] {
  const refused = useCloudProvider(group.cloudProvider)?.refused
  return useActions(targetOf(group, context), [
    { label: 'Open', icon: 'right', href: to.serverGroup(context.application, groupPlace(group)) },
    resize(group, filled),
    isEnabled(group) ? disable(group, context) : { type: 'enableServerGroup', label: 'Enable', icon: 'power' },
    rollBack(group, context, filled),
    { ...clone(group, context, filled), denied: refused?.['cloneServerGroup'] },
    {
      ...{ type: 'destroyServerGroup', label: 'Destroy', icon: 'trash', destructive: true },
      effect: `${isEnabled(group) ? `${group.name} is disabled first, then its` : 'Its'} ${
        isSingle(group) ? 'one instance stops' : `${countsOf(group).total} instances stop`
      } and the server group is removed. This cannot be undone.`,
    },
  ])
}

/** Asks before the cluster of a server group goes back to another one. */
export function askRollBack(group: ServerGroup, context: ServerGroupContext): void {
  startAction(targetOf(group, context), rollBack(group, context, {}))
}

function targetOf(group: ServerGroup, { application }: ServerGroupContext): ActionTarget {
  const { account, region, name } = groupPlace(group)
  return {
    ...{ application, account, name, object: groupKey(group) },
    facts: [
      ['Server group', name],
      ['Account, region', `${account} / ${region}`],
      ['Runs', versionOf(group) ?? '–'],
    ],
    place: {
      ...{ cloudProvider: group.cloudProvider ?? group.type, credentials: account, account, region, regions: [region] },
      ...{ serverGroupName: name, asgName: name, cluster: group.cluster, moniker: group.moniker },
    },
  }
}

function isSingle(group: ServerGroup): boolean {
  return countsOf(group).total === 1
}

function sizeOf(group: ServerGroup): number {
  return group.capacity?.desired ?? countsOf(group).total
}

function filledSize({ capacity }: Json, usual: number): string {
  return String(numberOf(objectOf(capacity)['desired']) ?? usual)
}

function resize(group: ServerGroup, filled: Json): Action {
  const { name, capacity } = group
  const now = sizeOf(group)
  const isPinned = capacity?.pinned === true || capacity?.min === capacity?.max
  const range = isPinned ? '' : ` Its range is ${capacity?.min ?? '–'} to ${capacity?.max ?? '–'}.`
  const change = (size: number) =>
    size < now ? `${plural(now - size, 'instance')} will stop after draining.` : `${plural(size - now, 'instance')} will start.`
  return {
    ...{ type: 'resizeServerGroup', label: 'Resize', icon: 'resize' },
    effect: `${name} has ${plural(now, 'instance')}.${range} Instances that stop finish their requests first.`,
    fields: [
      {
        ...{ name: 'desired', label: 'Desired instances', kind: 'count', value: filledSize(filled, now) },
        help: (text) => {
          const size = toCount(text)
          return size === 0 ? 'All instances stop; the server group stays.' : size === now ? '' : change(size)
        },
      },
    ],
    level: ({ desired }) => (toCount(desired) === 0 ? 2 : 1),
    task: ({ desired }) => `Resize ${name} to ${toCount(desired)}`,
    job: ({ desired }) => {
      const size = toCount(desired)
      const min = isPinned ? size : Math.min(capacity?.min ?? size, size)
      const max = isPinned ? size : Math.max(capacity?.max ?? size, size)
      return { capacity: { min, max, desired: size } }
    },
  }
}

function disable(group: ServerGroup, context: ServerGroupContext): Action {
  const { total } = countsOf(group)
  const takers = siblingsOf(group, context.groups).filter((other) => isEnabled(other) && countsOf(other).up > 0)
  return {
    ...{ type: 'disableServerGroup', label: 'Disable', icon: 'power' },
    effect: (
      <>
        <p>{`${group.name} takes no more traffic; its ${isSingle(group) ? 'one instance keeps' : `${total} instances keep`} running.`}</p>
        <p>
          {takers.length === 0
            ? 'No other server group of this cluster takes traffic: requests will fail.'
            : `${takers.map((other) => `${other.name} (${countsOf(other).up} up)`).join(', ')} ${takers.length === 1 ? 'takes' : 'take'} all traffic.`}
        </p>
      </>
    ),
  }
}

function rollBack(group: ServerGroup, context: ServerGroupContext, filled: Json): Action {
  const { name, createdTime } = group
  const choices = siblingsOf(group, context.groups).toSorted((a, b) => (b.createdTime ?? 0) - (a.createdTime ?? 0))
  const earlier = objectOf(filled['rollbackContext'])['restoreServerGroupName']
  const target =
    choices.find((choice) => choice.name === earlier) ??
    choices.find((choice) => (choice.createdTime ?? 0) < (createdTime ?? 0)) ??
    choices[0]
  const textOfChoice = (choice: ServerGroup) =>
    `${choice.name} (${[versionOf(choice), plural(countsOf(choice).total, 'instance')].filter(Boolean).join(', ')})`
  return {
    ...{ type: 'rollbackServerGroup', label: 'Roll back', icon: 'undo' },
    denied: !isEnabled(group)
      ? 'It takes no traffic.'
      : target === undefined
        ? 'There is no other server group to go back to.'
        : undefined,
    effect: `The chosen server group is enabled first; when it is healthy, ${name} is disabled and keeps running.`,
    fields: [
      {
        ...{ name: 'target', label: 'Go back to', value: target?.name ?? '' },
        choices: choices.map((choice) => [choice.name, textOfChoice(choice)] as const),
      },
    ],
    task: (values) => `Roll back ${name} to ${values['target']}`,
    job: (values) => ({
      rollbackType: 'EXPLICIT',
      rollbackContext: {
        rollbackServerGroupName: name,
        restoreServerGroupName: values['target'],
        targetHealthyRollbackPercentage: 100,
      },
      platformHealthOnlyShowOverride: false,
    }),
  }
}

/** What becomes of the other server groups. */
const cloneStrategies = [
  ['', 'stay as they are'],
  ['redblack', 'are disabled once the new one is up'],
  ['highlander', 'are destroyed once the new one is up'],
] as const

function clone(group: ServerGroup, { application }: ServerGroupContext, filled: Json): Action {
  const { name, moniker } = group
  const { account, region } = groupPlace(group)
  const before = versionOf(group) ?? ''
  const usual = String(sizeOf(group))
  return {
    ...{ type: 'cloneServerGroup', label: 'Clone', icon: 'copy' },
    effect: `A new server group starts in the cluster, with everything as in ${name} but what you change here.`,
    fields: [
      { name: 'image', label: 'Image', value: textOf(filled['imageId']) ?? before },
      { name: 'desired', label: 'Desired instances', kind: 'count', value: filledSize(filled, sizeOf(group)) },
      {
        ...{ name: 'strategy', label: 'Other server groups of the cluster', value: textOf(filled['strategy']) ?? '' },
        choices: cloneStrategies,
      },
    ],
    // What is emptied stays as in the source.
    job: ({ image = '', desired = '', strategy }) => {
      const size = toCount(desired)
      return {
        application,
        ...(moniker?.stack && { stack: moniker.stack }),
        ...(moniker?.detail && { freeFormDetails: moniker.detail }),
        source: { account, region, asgName: name, serverGroupName: name },
        ...(![before, ''].includes(image.trim()) && { imageId: image.trim() }),
        ...(![usual, ''].includes(desired) && { capacity: { min: size, max: size, desired: size } }),
        ...(strategy && { strategy }),
      }
    },
  }
}

/** What can be done to one instance of a group. */
export function useInstanceActions(group: ServerGroup, context: ServerGroupContext, instance: Instance): readonly Action[] {
  const { desired, min } = group.capacity ?? {}
  const id = instanceId(instance)
  const isSmallest = desired != null && min != null && desired <= min
  const size = sizeOf(group)
  const target = targetOf(group, context)
  const place = { ...target.place, instance: id, instanceIds: [id], zone: instance.zone }
  return useActions({ ...target, name: id, place }, [
    {
      ...{ label: 'Console output', icon: 'terminal' },
      href: to.instance(context.application, { ...groupPlace(group), id }, { tab: 'console' }),
    },
    {
      ...{ type: 'rebootInstances', label: 'Reboot', icon: 'refresh' },
      effect: `${id} stops and starts again; meanwhile it takes no traffic.`,
    },
    {
      ...{ type: 'terminateInstances', label: 'Terminate', icon: 'trash', destructive: true, level: 1 },
      effect: `${id} stops; its server group starts another instance.`,
    },
    {
      ...{ type: 'terminateInstanceAndDecrementServerGroup', label: 'Terminate and shrink' },
      ...{ icon: 'trash', destructive: true, level: 1 },
      denied: isSmallest ? 'The server group is at its minimum size.' : undefined,
      effect: `${id} stops; its server group goes from ${plural(size, 'instance')} to ${Math.max(0, size - 1)}.`,
    },
  ])
}
