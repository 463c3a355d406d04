/** What can be done to a server group and its instances, with what each says before it is done. */

import { type JsonObject, numberOf, objectOf, scalarOf } from '@fairlead/base/json/values.ts'
import { byAge } from '@fairlead/model/environments/running.ts'
import { to } from '../address.ts'
import { objectKey, pendingOf } from '../api/actions.ts'
import { useCloudProvider } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { useServerGroups } from '../api/pipelines.ts'
import {
  type Action,
  type ActionTarget,
  counted,
  startAction,
  toCount,
  useActions,
} from '../components/actions.tsx'
import { RollBackNote } from '../components/roll-back-note.tsx'
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
  /** Server groups of its cluster at least, for what takes over. */
  readonly groups: readonly ServerGroup[]
}

export function groupKey(group: ServerGroup): string {
  return objectKey('serverGroup', accountOf(group), group.region, group.name)
}

/** A server group, with those of its cluster. */
export function useServerGroup(
  application: string,
  { account, region, name }: ReturnType<typeof groupPlace>,
) {
  const live = useLive(
    '/applications/{applicationName}/serverGroups/{account}/{region}/{serverGroupName}',
    { path: { applicationName: application, account, region, serverGroupName: name } },
    {
      refresh: 'live',
      isBusy: (group) => pendingOf(groupKey(group)) !== undefined,
      events: 'infrastructure',
    },
  )
  const group = live.body
  const groups = useServerGroups(group && application, group && `${account}:${clusterOf(group)}`)
  const context: ServerGroupContext = { application, groups: groups.body ?? [] }
  return { live, context }
}

/** @param filled Fields of an earlier job, for the dialogs */
export function useServerGroupActions(
  group: ServerGroup,
  context: ServerGroupContext,
  filled: JsonObject = {},
): readonly Action[] {
  const refused = useCloudProvider(group.cloudProvider)?.refused
  return useActions(targetOf(group, context), [
    { label: 'Open', icon: 'right', href: to.serverGroup(context.application, groupPlace(group)) },
    resize(group, filled),
    isEnabled(group)
      ? disable(group, context)
      : { type: 'enableServerGroup', label: 'Enable', icon: 'power' },
    rollBack(group, context, filled),
    { ...clone(group, context, filled), denied: refused?.['cloneServerGroup'] },
    {
      type: 'destroyServerGroup',
      label: 'Destroy',
      icon: 'trash',
      destructive: true,
      effect: `${isEnabled(group) ? 'It is disabled first. ' : ''}${itsInstances(group, 'stops', 'stop')} and the server group is removed. This cannot be undone.`,
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
    application,
    account,
    name,
    object: groupKey(group),
    facts: Object.entries({
      'Server group': name,
      'Account, region': `${account} / ${region}`,
      Runs: versionOf(group) ?? '–',
    }),
    place: {
      cloudProvider: group.cloudProvider ?? group.type,
      credentials: account,
      account,
      region,
      regions: [region],
      serverGroupName: name,
      asgName: name,
      cluster: group.cluster,
      moniker: group.moniker,
    },
  }
}

/** Words its instances: `one` is the verb for one, `several` for several. */
function itsInstances(group: ServerGroup, one: string, several: string) {
  const { total } = countsOf(group)
  return total === 1 ? `Its one instance ${one}` : `Its ${total} instances ${several}`
}

function sizeOf(group: ServerGroup) {
  return group.capacity?.desired ?? countsOf(group).total
}

const sizeField = { label: 'Desired instances', input: counted }

function filledSize(group: ServerGroup, { capacity }: JsonObject) {
  return numberOf(objectOf(capacity)['desired']) ?? sizeOf(group)
}

function resize(group: ServerGroup, filled: JsonObject): Action {
  const { name } = group
  const now = sizeOf(group)
  const { min, max, pinned } = group.capacity ?? {}
  const isPinned = pinned === true || min === max
  const changeTo = (size: number) => {
    if (size === 0) return 'All instances stop; the server group stays.'
    if (size === now) return ''
    return size < now
      ? `${plural(now - size, 'instance')} will stop after draining.`
      : `${plural(size - now, 'instance')} will start.`
  }
  return {
    type: 'resizeServerGroup',
    label: 'Resize',
    icon: 'resize',
    effect: `${name} has ${plural(now, 'instance')}.${isPinned ? '' : ` Its range is ${min ?? '–'} to ${max ?? '–'}.`}`,
    values: { desired: filledSize(group, filled) },
    fields: { desired: { ...sizeField, help: (text) => changeTo(toCount(text)) } },
    level: ({ desired }) => (toCount(desired) === 0 ? 2 : 1),
    task: ({ desired }) => `Resize ${name} to ${toCount(desired)}`,
    job: ({ desired }) => {
      const size = toCount(desired)
      const range = isPinned
        ? { min: size, max: size }
        : { min: Math.min(min ?? size, size), max: Math.max(max ?? size, size) }
      return { capacity: { ...range, desired: size } }
    },
  }
}

function disable(group: ServerGroup, context: ServerGroupContext): Action {
  const takers = siblingsOf(group, context.groups).filter(
    (other) => isEnabled(other) && countsOf(other).up > 0,
  )
  const names = takers.map((other) => `${other.name} (${countsOf(other).up} up)`).join(', ')
  const then =
    takers.length === 0
      ? 'No other server group of this cluster takes traffic: requests will fail.'
      : `${names} ${takers.length === 1 ? 'takes' : 'take'} all traffic.`
  return {
    type: 'disableServerGroup',
    label: 'Disable',
    icon: 'power',
    effect: `${group.name} takes no more traffic. ${itsInstances(group, 'keeps', 'keep')} running. ${then}`,
  }
}

function rollBack(group: ServerGroup, context: ServerGroupContext, filled: JsonObject): Action {
  const { name } = group
  const others = siblingsOf(group, context.groups).toSorted(byAge)
  const former = objectOf(filled['rollbackContext'])['restoreServerGroupName']
  const target =
    others.find((other) => other.name === former) ??
    others.find((other) => byAge(group, other) < 0) ??
    others[0]
  const textOfChoice = (other: ServerGroup) =>
    `${other.name} (${[versionOf(other), plural(countsOf(other).total, 'instance')].filter(Boolean).join(', ')})`
  const none = target === undefined ? 'There is no other server group to go back to.' : undefined
  return {
    type: 'rollbackServerGroup',
    label: 'Roll back',
    icon: 'undo',
    denied: isEnabled(group) ? none : 'It takes no traffic.',
    effect: `The chosen server group is enabled first; when it is healthy, ${name} is disabled and keeps running. With a volume for one writer, ${name} ends first.`,
    values: { target: target?.name, reason: '' },
    fields: {
      target: {
        label: 'Go back to',
        choices: others.map((other) => [other.name, textOfChoice(other)] as const),
      },
      reason: { label: 'Why (kept with the rollback)' },
    },
    note: ({ target: chosen }) => (
      <RollBackNote
        application={context.application}
        from={group}
        target={others.find((other) => other.name === chosen)}
      />
    ),
    task: (values) => `Roll back ${name} to ${values['target']}`,
    job: (values) => ({
      rollbackType: 'EXPLICIT',
      rollbackContext: {
        rollbackServerGroupName: name,
        restoreServerGroupName: values['target'],
        targetHealthyRollbackPercentage: 100,
      },
      platformHealthOnlyShowOverride: false,
      ...(values['reason'] ? { reason: values['reason'] } : {}),
    }),
  }
}

/** What becomes of the other server groups. */
const cloneStrategies = Object.entries({
  '': 'stay as they are, unless a volume has one writer',
  redblack: 'are disabled once the new one is up',
  recreate: 'end before the new one starts',
  highlander: 'are destroyed once the new one is up',
})

function clone(
  group: ServerGroup,
  { application }: ServerGroupContext,
  filled: JsonObject,
): Action {
  const { name, moniker } = group
  const { account, region } = groupPlace(group)
  const { imageId: image = versionOf(group), strategy = '' } = filled
  return {
    type: 'cloneServerGroup',
    label: 'Clone',
    icon: 'copy',
    effect: `A new server group starts in the cluster, with everything as in ${name} but what you change here.`,
    values: { image, desired: filledSize(group, filled), strategy },
    fields: {
      image: { label: 'Image' },
      desired: sizeField,
      strategy: { label: 'Other server groups of the cluster', choices: cloneStrategies },
    },
    // What is emptied stays as in the source.
    job: (values) => {
      const imageId = scalarOf(values['image'])?.trim()
      const size = values['desired'] === '' ? sizeOf(group) : toCount(values['desired'])
      return {
        application,
        ...(moniker?.stack && { stack: moniker.stack }),
        ...(moniker?.detail && { freeFormDetails: moniker.detail }),
        source: { account, region, asgName: name, serverGroupName: name },
        ...(imageId && imageId !== versionOf(group) && { imageId }),
        ...(size !== sizeOf(group) && { capacity: { min: size, max: size, desired: size } }),
        ...(values['strategy'] !== '' && { strategy: values['strategy'] }),
      }
    },
  }
}

/** What can be done to one instance of a group. */
export function useInstanceActions(
  group: ServerGroup,
  context: ServerGroupContext,
  instance: Instance,
): readonly Action[] {
  const { desired, min } = group.capacity ?? {}
  const id = instanceId(instance)
  const isSmallest = desired != null && min != null && desired <= min
  const size = sizeOf(group)
  const target = targetOf(group, context)
  const place = { ...target.place, instance: id, instanceIds: [id], zone: instance.zone }
  return useActions({ ...target, name: id, place }, [
    {
      label: 'Console output',
      icon: 'terminal',
      href: to.instance(context.application, { ...groupPlace(group), id }, { tab: 'console' }),
    },
    {
      type: 'rebootInstances',
      label: 'Reboot',
      icon: 'refresh',
      effect: `${id} stops and starts again; meanwhile it takes no traffic.`,
    },
    {
      type: 'terminateInstances',
      label: 'Terminate',
      icon: 'trash',
      destructive: true,
      level: 1,
      effect: `${id} stops; its server group starts another instance.`,
    },
    {
      type: 'terminateInstanceAndDecrementServerGroup',
      label: 'Terminate and shrink',
      icon: 'trash',
      destructive: true,
      level: 1,
      denied: isSmallest ? 'The server group is at its minimum size.' : undefined,
      effect: `${id} stops; its server group goes from ${plural(size, 'instance')} to ${Math.max(0, size - 1)}.`,
    },
  ])
}
