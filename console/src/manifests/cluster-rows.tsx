/** A cluster of objects with manifests: its managers, each with what it runs, and its other server groups. */
import type { ComponentChildren } from 'preact'
import { to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { PendingChip } from '../components/actions.tsx'
import { Menu } from '../components/menu.tsx'
import { Icon, Name, StatusText, Time } from '../components/text.tsx'
import { instanceStatus } from '../model/execution.ts'
import {
  type Cluster,
  instanceId,
  isEnabled,
  loadBalancersOf,
  type ServerGroup,
  versionIn,
} from '../model/server-groups.ts'
import { GroupLine } from '../screens/group-line.tsx'
import { plural } from '../words.ts'
import { useManifestActions } from './actions.tsx'
import { bareName, isIn, isKind, pillsOf, placeIn, reasonsOf, toFullName } from './object.ts'
import { PodReason } from './status-tab.tsx'
import { type ActedObject, keyOfObject, useManifest } from './use-object.ts'
import {
  isInUse,
  isManagedBy,
  isMoving,
  placeOfGroup,
  revisionOf,
  revisionsOf,
} from './workload.ts'

interface ClusterRowsProps {
  readonly cluster: Cluster
  readonly application: string
  /** Among groups of other clusters: without managers, and with whole names. */
  readonly isAlone: boolean
}

export function ClusterRows({ cluster, application, isAlone }: ClusterRowsProps) {
  const { body } = useLive(
    '/applications/{application}/serverGroupManagers',
    { path: { application } },
    { events: 'infrastructure' },
  )
  const managers = isAlone ? [] : managersOf(cluster, body)
  const others = cluster.groups.filter(
    (group) => !managers.some((manager) => isManagedBy(group, placeIn(manager))),
  )
  return (
    <ul class="rows" aria-label={`Server groups of ${cluster.name}`}>
      {managers.map((manager) => (
        <li key={`${manager.region}/${manager.name}`}>
          <ManagerRows manager={manager} cluster={cluster} application={application} />
        </li>
      ))}
      {others.map((group) => {
        const Row = isKind(group.name, 'job') ? JobRow : GroupRow
        return (
          <li key={`${group.region}/${group.name}`}>
            <Row group={group} cluster={cluster} application={application} isAlone={isAlone} />
          </li>
        )
      })}
    </ul>
  )
}

type Manager = Schemas['ServerGroupManager']

/** With those that only server groups name: whichever is read first, a server group stays in its place. */
function managersOf(cluster: Cluster, listed: readonly Manager[] = []) {
  const named = cluster.groups.flatMap(({ region, serverGroupManagers, cloudProvider }) =>
    (serverGroupManagers ?? []).map(({ name }) => ({
      account: cluster.account,
      region,
      name: toFullName('deployment', String(name)),
      cloudProvider,
    })),
  )
  const all = [...named, ...listed.filter((manager) => isOf(manager, cluster))]
  return [...new Map(all.map((manager) => [keyOfObject(placeIn(manager)), manager])).values()]
}

/** What is not in any group yet has no cluster but its own name. */
function isOf(manager: Manager, { account, name, groups }: Cluster) {
  const place = placeIn(manager)
  const isNamed = (manager.moniker?.cluster ?? manager.name) === name
  return place.account === account && (isNamed || groups.some((group) => isManagedBy(group, place)))
}

type ManagerProps = Pick<ClusterRowsProps, 'cluster' | 'application'> & {
  readonly manager: Manager
}

/** A manager, its revisions in use, and a link to the others. */
function ManagerRows({ manager, cluster, application }: ManagerProps) {
  const place = placeIn(manager)
  const revisions = revisionsOf(cluster.groups, place)
  const inUse = revisions.map(({ group }) => group).filter(isInUse)
  // The cluster is asked only while something moves.
  const view = useManifest(inUse.length > 1 || inUse.some(isMoving) ? place : undefined).body
  const [[pill], [reason = '']] = view === undefined ? [[], []] : [pillsOf(view), reasonsOf(view)]
  const object: ActedObject = {
    application,
    place,
    revisions,
    provider: revisions[0]?.group.cloudProvider ?? String(manager['cloudProvider'] ?? ''),
    replicas: inUse[0]?.capacity?.desired ?? undefined,
    isPaused: view && isIn('paused', view),
  }
  const shown = revisions.filter(({ group, isCurrent }) => isCurrent || isInUse(group))
  const older = revisions.length - shown.length
  return (
    <>
      <ObjectLine object={object}>
        {pill && <StatusText status={pill} />} <Name text={reason} max={160} />
      </ObjectLine>
      <ul class="rows inner-rows">
        {shown.map(({ group }) => (
          <li key={group.name}>
            <GroupRow group={group} cluster={cluster} application={application} isAlone={false} />
          </li>
        ))}
        {older > 0 && (
          <li class="run-row older-row">
            <a href={to.manifest(application, place, { tab: 'history' })}>
              {plural(older, 'older revision')}
            </a>
          </li>
        )}
      </ul>
    </>
  )
}

/** @param children Its state, and what else there is to say */
function ObjectLine({ object, children }: { object: ActedObject; children: ComponentChildren }) {
  const { application, place } = object
  return (
    <div class="run-row group-row manager-row">
      <Icon name="graph" />
      <a
        class="row-link row-title cut"
        href={to.manifest(application, place)}
        aria-label={place.name}
      >
        <Name text={bareName(place.name)} max={50} />
      </a>
      <span class="muted hide-phone">{place.name.split(' ')[0]}</span>
      <span class="muted hide-narrow">{place.location}</span>
      <span class="grow">
        {children} <PendingChip object={keyOfObject(place)} />
      </span>
      <Menu label={`Actions of ${place.name}`} items={useManifestActions(object)} />
    </div>
  )
}

type GroupProps = ClusterRowsProps & { readonly group: ServerGroup }

function GroupRow({ group, cluster, application, isAlone }: GroupProps) {
  const place = placeOfGroup(group)
  const [owner] = group.serverGroupManagers ?? []
  const revision = owner === undefined || isAlone ? undefined : revisionOf(group)
  const title =
    revision === undefined ? (isAlone ? group.name : versionIn(group.name)) : `Revision ${revision}`
  const object: ActedObject = {
    ...unreadObject(group, application),
    owner: owner && toFullName('deployment', String(owner['name'])),
    traffic: { isEnabled: isEnabled(group), balancers: loadBalancersOf(group) },
  }
  const down = group.instances?.find(({ healthState }) => healthState !== 'Up')
  return (
    <GroupLine
      group={group}
      title={<Name text={title} max={40} />}
      label={title === group.name ? title : `${title}, ${group.name}`}
      href={to.manifest(application, place)}
      hrefOf={(instance) => to.manifest(application, { ...place, name: instanceId(instance) })}
      pendingKey={keyOfObject(place)}
      actions={useManifestActions(object)}
      serving={cluster.groups.filter((other) => other.region === group.region)}
      note={
        owner === undefined &&
        down !== undefined && <PodReason place={{ ...place, name: instanceId(down) }} pod={down} />
      }
    />
  )
}

/** A job is never up: it runs, then it has succeeded or failed. */
function JobRow({ group, application }: GroupProps) {
  const parameters = { path: { applicationName: application }, query: {} }
  const { body } = useLive('/applications/{applicationName}/jobs', parameters, {
    events: 'infrastructure',
  })
  const object = unreadObject(group, application)
  const job = body?.find(
    (one) =>
      one.account === object.place.account && toFullName('job', one.name ?? '') === group.name,
  )
  return (
    <ObjectLine object={object}>
      {job && <StatusText status={instanceStatus(job.jobState)} />}{' '}
      {group.createdTime != null && <Time at={group.createdTime} />}
    </ObjectLine>
  )
}

/** Without what only its manifest says. */
function unreadObject(group: ServerGroup, application: string): ActedObject {
  const provider = group.cloudProvider ?? group.type ?? ''
  return {
    application,
    provider,
    place: placeOfGroup(group),
    replicas: group.capacity?.desired ?? undefined,
  }
}
