/** A cluster of objects with manifests: its managers, each with what it runs, and its other server groups. */
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { Icon } from '../components/icon.tsx'
import { Menu } from '../components/menu.tsx'
import { Name } from '../components/name.tsx'
import { PendingChip } from '../components/pending-chip.tsx'
import { StatusText } from '../components/status-mark.tsx'
import { Time } from '../components/time.tsx'
import {
  accountOf,
  type Cluster,
  instanceId,
  instancesOf,
  isEnabled,
  loadBalancersOf,
  type ServerGroup,
  shortName,
} from '../model/server-groups.ts'
import { instanceStatus } from '../model/status.ts'
import { GroupLine } from '../screens/group-line.tsx'
import type { ServerGroupContext } from '../screens/server-group-actions.tsx'
import { plural } from '../words.ts'
import { type ActedObject, keyOfObject, useManifestActions } from './actions.tsx'
import { bareName, isKind, kindOf, toFullName } from './names.ts'
import { isPaused, type ObjectPlace, pillsOf, reasonsOf } from './object.ts'
import { PodReason } from './pod-rows.tsx'
import { useManifest } from './use-object.ts'
import { manifestWords } from './words.ts'
import { isAllUp, isInUse, isManagedBy, type Manager, managerPlace, revisionOf, revisionsOf } from './workload.ts'

interface ClusterRowsProps {
  readonly cluster: Cluster
  readonly context: ServerGroupContext
  /** Among groups of other clusters: without managers, and with whole names. */
  readonly isAlone: boolean
}

export function ClusterRows({ cluster, context, isAlone }: ClusterRowsProps) {
  const { application } = context
  const { body } = useLive(
    '/applications/{application}/serverGroupManagers',
    { path: { application } },
    { refresh: 'steady', events: applicationEvents(application, 'infrastructure') },
  ).reading.value
  const managers = isAlone ? [] : (body ?? []).filter((manager) => isOf(manager, cluster))
  const others = cluster.groups.filter((group) => !managers.some((manager) => isManagedBy(group, managerPlace(manager))))
  return (
    <ul class="rows" aria-label={`Server groups of ${cluster.name}`}>
      {managers.map((manager) => (
        <li key={`${manager.region}/${manager.name}`}>
          <ManagerRows manager={manager} cluster={cluster} context={context} />
        </li>
      ))}
      {others.map((group) => (
        <li key={`${group.region}/${group.name}`}>
          {isKind(group.name, 'job') ? (
            <JobRow group={group} context={context} />
          ) : (
            <GroupRow group={group} cluster={cluster} context={context} isAlone={isAlone} />
          )}
        </li>
      ))}
    </ul>
  )
}

/** What is not in any group yet has no cluster but its own name. */
function isOf(manager: Manager, { account, name, groups }: Cluster): boolean {
  const place = managerPlace(manager)
  if (place.account !== account) return false
  return (manager.moniker?.cluster ?? manager.name) === name || groups.some((group) => isManagedBy(group, place))
}

interface ManagerRowsProps {
  readonly manager: Manager
  readonly cluster: Cluster
  readonly context: ServerGroupContext
}

function ManagerRows({ manager, cluster, context }: ManagerRowsProps) {
  const place = managerPlace(manager)
  const revisions = revisionsOf(cluster.groups, place)
  const shown = revisions.filter(({ group, isCurrent }) => isCurrent || isInUse(group))
  const older = revisions.length - shown.length
  return (
    <>
      <ManagerRow manager={manager} groups={revisions.map(({ group }) => group)} context={context} />
      <ul class="rows inner-rows">
        {shown.map(({ group }) => (
          <li key={group.name}>
            <GroupRow group={group} cluster={cluster} context={context} isAlone={false} />
          </li>
        ))}
        {older > 0 && (
          <li class="run-row older-row">
            <a href={to.manifest(context.application, place, { tab: 'history' })}>{plural(older, 'older revision')}</a>
          </li>
        )}
      </ul>
    </>
  )
}

interface ManagerRowProps {
  readonly manager: Manager
  readonly groups: readonly ServerGroup[]
  readonly context: ServerGroupContext
}

function ManagerRow({ manager, groups, context: { application } }: ManagerRowProps) {
  const place = managerPlace(manager)
  const inUse = groups.filter(isInUse)
  // The cluster is asked only while something moves.
  const isMoving = inUse.length > 1 || !inUse.every(isAllUp)
  const view = useManifest(isMoving ? place : undefined).reading.value.body
  const [pill] = view === undefined ? [] : pillsOf(view)
  const reason = view && reasonsOf(view)[0]
  const object: ActedObject = {
    application,
    provider: groups[0]?.cloudProvider ?? String(manager['cloudProvider'] ?? ''),
    place,
    owner: undefined,
    replicas: inUse[0]?.capacity?.desired ?? undefined,
    isPaused: view && isPaused(view),
    revisions: revisionsOf(groups, place),
    traffic: undefined,
  }
  return (
    <div class="run-row group-row manager-row">
      <Icon name="graph" />
      <a class="row-link row-title cut" href={to.manifest(application, place)} aria-label={place.name}>
        <Name text={bareName(place.name)} max={50} />
      </a>
      <span class="muted hide-phone">{kindOf(place.name)}</span>
      <span class="muted hide-narrow">{place.location}</span>
      {pill !== undefined && <StatusText status={pill} />}
      <span class="grow">
        <PendingChip object={keyOfObject(place)} />
        {reason !== undefined && <Name text={reason} max={160} />}
      </span>
      <Menu label={`Actions of ${place.name}`} items={useManifestActions(object)} />
    </div>
  )
}

interface GroupRowProps {
  readonly group: ServerGroup
  readonly cluster: Cluster
  readonly context: ServerGroupContext
  readonly isAlone: boolean
}

function GroupRow({ group, cluster, context: { application }, isAlone }: GroupRowProps) {
  const place = placeOf(group)
  const [owner] = group.serverGroupManagers ?? []
  const revision = owner === undefined || isAlone ? undefined : revisionOf(group)
  const title = revision === undefined ? undefined : manifestWords.revisionNumber(revision)
  const object: ActedObject = {
    ...basicsOf(group, application),
    owner: owner && toFullName('deployment', String(owner['name'])),
    traffic: { isEnabled: isEnabled(group), balancers: loadBalancersOf(group) },
  }
  const down = instancesOf(group).find(({ healthState }) => healthState !== 'Up')
  return (
    <GroupLine
      group={group}
      title={title === undefined ? <Name text={isAlone ? group.name : shortName(group)} max={40} /> : title}
      label={[title, group.name].filter(Boolean).join(', ')}
      isLong
      href={to.manifest(application, place)}
      hrefOf={(instance) => to.manifest(application, { ...place, name: instanceId(instance) })}
      pendingKey={keyOfObject(place)}
      actions={useManifestActions(object)}
      serving={cluster.groups.filter((other) => other.region === group.region)}
      note={owner === undefined && down !== undefined && <PodReason place={{ ...place, name: instanceId(down) }} pod={down} />}
    />
  )
}

/** A job is never up: it runs, then it has succeeded or failed. */
function JobRow({ group, context: { application } }: Pick<GroupRowProps, 'group' | 'context'>) {
  const place = placeOf(group)
  const { body } = useLive(
    '/applications/{applicationName}/jobs',
    { path: { applicationName: application }, query: {} },
    { refresh: 'steady', events: applicationEvents(application, 'infrastructure') },
  ).reading.value
  const job = body?.find((one) => one.account === place.account && toFullName('job', one.name ?? '') === group.name)
  const object: ActedObject = { ...basicsOf(group, application), owner: undefined, traffic: undefined }
  return (
    <div class="run-row group-row">
      <a class="row-link row-title cut" href={to.manifest(application, place)}>
        <Name text={group.name} max={50} />
      </a>
      <span class="muted hide-narrow">{place.location}</span>
      {job !== undefined && <StatusText status={instanceStatus(job.jobState)} />}
      <span class="grow">
        <PendingChip object={keyOfObject(place)} />
      </span>
      <span class="muted hide-phone aside">
        <Time at={group.createdTime} />
      </span>
      <Menu label={`Actions of ${group.name}`} items={useManifestActions(object)} />
    </div>
  )
}

/** Of an object whose manifest is not read. */
function basicsOf(group: ServerGroup, application: string) {
  return {
    application,
    provider: group.cloudProvider ?? group.type ?? '',
    place: placeOf(group),
    replicas: group.capacity?.desired ?? undefined,
    isPaused: undefined,
    revisions: undefined,
  } as const
}

function placeOf(group: ServerGroup): ObjectPlace {
  return { account: accountOf(group), location: group.region, name: group.name }
}
