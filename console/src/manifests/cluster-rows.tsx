/** A cluster of objects with manifests: its managers, each with what it runs, and its other server groups. */
import type { ComponentChildren } from 'preact'
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
  type Cluster,
  countsOf,
  instanceId,
  instancesOf,
  isEnabled,
  loadBalancersOf,
  type ServerGroup,
  versionIn,
} from '../model/server-groups.ts'
import { instanceStatus, type Status } from '../model/status.ts'
import { GroupLine } from '../screens/group-line.tsx'
import type { ServerGroupContext } from '../screens/server-group-actions.tsx'
import { plural } from '../words.ts'
import { useManifestActions } from './actions.tsx'
import { bareName, isKind, kindOf, toFullName } from './names.ts'
import { isPaused, pillsOf, reasonsOf } from './object.ts'
import { PodReason } from './pods.tsx'
import { type ActedObject, keyOfObject, useManifest } from './use-object.ts'
import { isInUse, isManagedBy, type Manager, managerPlace, placeOfGroup, revisionOf, revisionsOf } from './workload.ts'

interface ClusterRowsProps {
  readonly cluster: Cluster
  readonly context: ServerGroupContext
  /** Among groups of other clusters: without managers, and with whole names. */
  readonly isAlone: boolean
}

export function ClusterRows({ cluster, context, isAlone }: ClusterRowsProps) {
  const { application } = context
  const { body = [] } = useLive(
    '/applications/{application}/serverGroupManagers',
    { path: { application } },
    { refresh: 'steady', events: applicationEvents(application, 'infrastructure') },
  ).reading.value
  const managers = isAlone ? [] : body.filter((manager) => isOf(manager, cluster))
  const others = cluster.groups.filter((group) => !managers.some((manager) => isManagedBy(group, managerPlace(manager))))
  return (
    <ul class="rows" aria-label={`Server groups of ${cluster.name}`}>
      {managers.map((manager) => (
        <li key={`${manager.region}/${manager.name}`}>
          <ManagerRows manager={manager} cluster={cluster} application={application} />
        </li>
      ))}
      {others.map((group) => (
        <li key={`${group.region}/${group.name}`}>
          {isKind(group.name, 'job') ? (
            <JobRow group={group} application={application} />
          ) : (
            <GroupRow group={group} cluster={cluster} application={application} isAlone={isAlone} />
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

interface RowProps {
  readonly application: string
  readonly cluster: Cluster
}

/** A manager, its revisions in use, and a link to the others. */
function ManagerRows({ manager, cluster, application }: RowProps & { readonly manager: Manager }) {
  const place = managerPlace(manager)
  const revisions = revisionsOf(cluster.groups, place)
  const inUse = revisions.map(({ group }) => group).filter(isInUse)
  // The cluster is asked only while something moves.
  const isMoving = inUse.length > 1 || !inUse.every(isAllUp)
  const view = useManifest(isMoving ? place : undefined).reading.value.body
  const object: ActedObject = {
    ...{ application, place, revisions },
    provider: revisions[0]?.group.cloudProvider ?? String(manager['cloudProvider'] ?? ''),
    replicas: inUse[0]?.capacity?.desired ?? undefined,
    isPaused: view && isPaused(view),
  }
  const shown = revisions.filter(({ group, isCurrent }) => isCurrent || isInUse(group))
  const older = revisions.length - shown.length
  return (
    <>
      <ObjectLine object={object} status={view && pillsOf(view)[0]}>
        {view !== undefined && <Name text={reasonsOf(view)[0] ?? ''} max={160} />}
      </ObjectLine>
      <ul class="rows inner-rows">
        {shown.map(({ group }) => (
          <li key={group.name}>
            <GroupRow group={group} cluster={cluster} application={application} isAlone={false} />
          </li>
        ))}
        {older > 0 && (
          <li class="run-row older-row">
            <a href={to.manifest(application, place, { tab: 'history' })}>{plural(older, 'older revision')}</a>
          </li>
        )}
      </ul>
    </>
  )
}

/** Whether all pods that are wanted are up, and no others are there. */
function isAllUp(group: ServerGroup): boolean {
  const { total, up } = countsOf(group)
  return up === total && total === (group.capacity?.desired ?? total)
}

interface ObjectLineProps {
  readonly object: ActedObject
  readonly status: Status | undefined
  /** What else there is to say. */
  readonly children: ComponentChildren
}

function ObjectLine({ object, status, children }: ObjectLineProps) {
  const { application, place } = object
  return (
    <div class="run-row group-row manager-row">
      <Icon name="graph" />
      <a class="row-link row-title cut" href={to.manifest(application, place)} aria-label={place.name}>
        <Name text={bareName(place.name)} max={50} />
      </a>
      <span class="muted hide-phone">{kindOf(place.name)}</span>
      <span class="muted hide-narrow">{place.location}</span>
      {status !== undefined && <StatusText status={status} />}
      <span class="grow">
        <PendingChip object={keyOfObject(place)} /> {children}
      </span>
      <Menu label={`Actions of ${place.name}`} items={useManifestActions(object)} />
    </div>
  )
}

function GroupRow({
  group,
  cluster,
  application,
  isAlone,
}: RowProps & { readonly group: ServerGroup; readonly isAlone: boolean }) {
  const place = placeOfGroup(group)
  const [owner] = group.serverGroupManagers ?? []
  const revision = owner === undefined || isAlone ? undefined : revisionOf(group)
  const title = revision === undefined ? undefined : `Revision ${revision}`
  const object: ActedObject = {
    ...unreadObject(group, application),
    owner: owner && toFullName('deployment', String(owner['name'])),
    traffic: { isEnabled: isEnabled(group), balancers: loadBalancersOf(group) },
  }
  const down = instancesOf(group).find(({ healthState }) => healthState !== 'Up')
  return (
    <GroupLine
      group={group}
      title={title ?? <Name text={isAlone ? group.name : versionIn(group.name)} max={40} />}
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
function JobRow({ group, application }: { group: ServerGroup; application: string }) {
  const { body } = useLive(
    '/applications/{applicationName}/jobs',
    { path: { applicationName: application }, query: {} },
    { refresh: 'steady', events: applicationEvents(application, 'infrastructure') },
  ).reading.value
  const object = unreadObject(group, application)
  const job = body?.find((one) => one.account === object.place.account && toFullName('job', one.name ?? '') === group.name)
  return (
    <ObjectLine object={object} status={job && instanceStatus(job.jobState)}>
      <Time at={group.createdTime} />
    </ObjectLine>
  )
}

/** Without what only its manifest says. */
function unreadObject(group: ServerGroup, application: string): ActedObject {
  const provider = group.cloudProvider ?? group.type ?? ''
  return { application, provider, place: placeOfGroup(group), replicas: group.capacity?.desired ?? undefined }
}
