/** The state of an object: facts by its kind, conditions, containers or pods, what it sends traffic to, and its events. */

import { fieldAt, objectsOf, scalarOf } from '@fairlead/base/json/values.ts'
import { to } from '../address.ts'
import { objectKey } from '../api/actions.ts'
import { DataTable } from '../components/data-table.tsx'
import { GroupCharts } from '../components/group-charts.tsx'
import { useBalancers } from '../components/open-link.tsx'
import { EmptyState, Panel } from '../components/screen.tsx'
import {
  Icon,
  KeyValue,
  Name,
  NameLink,
  PlainText,
  StatusMark,
  StatusText,
  Time,
} from '../components/text.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { instanceStatus } from '../model/execution.ts'
import { type Instance, instanceId, instancesOf, statusOfInstance } from '../model/server-groups.ts'
import { noNamespace } from './actions.tsx'
import {
  bareName,
  conditionsOf,
  containerSpecsOf,
  containersOf,
  fieldOf,
  isKind,
  type ObjectPlace,
  reasonsOf,
  type StateRow,
} from './object.ts'
import { type ShownObject, useManifest, workloads } from './use-object.ts'
import { isInUse } from './workload.ts'

export function StatusTab({ object }: { object: ShownObject }) {
  const { application, place, view, groups, areGroupsRead } = object
  const { name } = place
  const toLogs = (container: string) => to.manifest(application, place, { tab: 'logs', container })
  return (
    <div class="stack">
      {isKind(name, 'pod') && (
        <States title="Containers" head="Container" rows={containersOf(view)} toRow={toLogs} />
      )}
      {isKind(name, ...workloads) && areGroupsRead && <PodRows object={object} />}
      <GroupCharts
        groups={groups
          .filter(isInUse)
          .sort((one, other) => (one.createdTime ?? 0) - (other.createdTime ?? 0))}
      />
      {isKind(name, 'service', 'ingress') && <Serves object={object} />}
      <Panel title="Details">
        <KeyValue facts={factsOf(object)} />
      </Panel>
      <States title="Conditions" head="Condition" rows={conditionsOf(view)} />
    </div>
  )
}

export function Events({ rows }: { rows: readonly StateRow[] }) {
  if (rows.length > 0) return <States title="Events" head="Source" rows={rows} />
  return (
    <EmptyState
      icon="list"
      text="The cluster keeps no event of it. Events are kept for about an hour."
    />
  )
}

interface StatesProps {
  readonly title: string
  /** Title of the column of names. */
  readonly head: string
  readonly rows: readonly StateRow[]
  /** Where a name leads. */
  readonly toRow?: (name: string) => string
}

function States({ title, head, rows, toRow }: StatesProps) {
  if (rows.length === 0) return null
  return (
    <Panel title={title} flush>
      <DataTable
        label={title}
        rows={[...rows.entries()]}
        keyOf={([at]) => String(at)}
        columns={[
          { head: 'State', cell: ([, { status }]) => <StatusText status={status} /> },
          {
            head,
            cell: ([, { name }]) =>
              toRow === undefined ? name : <NameLink href={toRow(name)} text={name} max={40} />,
          },
          { head: 'Why', grow: true, cell: ([, { text }]) => <PlainText text={text} /> },
          { head: 'Since', hideBelow: 'phone', cell: ([, { sinceMs }]) => <Time at={sinceMs} /> },
        ]}
      />
    </Panel>
  )
}

function factsOf({ view, application, place, replicas, owner }: ShownObject) {
  const text = (path: string) => scalarOf(fieldOf(view, path))
  const reached = objectsOf(fieldOf(view, 'status.loadBalancer.ingress')).map(({ hostname, ip }) =>
    scalarOf(hostname ?? ip),
  )
  const ports = objectsOf(fieldOf(view, 'spec.ports')).map(({ name, port, protocol }) =>
    [name, port, protocol].filter(Boolean).join(' '),
  )
  const images = new Set(containerSpecsOf(view).map(({ image }) => scalarOf(image)))
  const cluster = view.moniker?.cluster
  return [
    ['Kind', [text('kind'), text('apiVersion')].filter(Boolean).join(', ')],
    ['Account', place.account],
    ['Namespace', place.location || noNamespace],
    [
      'Cluster',
      cluster && (
        <NameLink
          href={to.cluster(application, { account: place.account, cluster })}
          text={cluster}
        />
      ),
    ],
    [
      'Owned by',
      owner && (
        <NameLink
          href={to.manifest(application, { ...place, name: owner })}
          text={owner}
          max={60}
        />
      ),
    ],
    ['Replicas', replicas],
    ['Images', [...images].join(', ')],
    ['Type', text('spec.type')],
    ['Cluster IP', text('spec.clusterIP')],
    ['Node', text('spec.nodeName')],
    ['Schedule', text('spec.schedule')],
    ['Completions', text('spec.completions')],
    ['Reached at', reached.join(', ')],
    ['Ports', ports.join('; ')],
  ] as const
}

/** Pods that are not up whose manifests are read for the reason. */
const maxExplained = 8

/** Failing pods first, with the reason. */
function PodRows({ object: { application, place, groups } }: { object: ShownObject }) {
  const pods = groups.flatMap(instancesOf)
  const isUp = (pod: Instance) => statusOfInstance(pod).kind === 'succeeded'
  const down = pods.filter((pod) => !isUp(pod))
  const explained = down.slice(0, maxExplained)
  const row = (pod: Instance) => {
    const { kind, word } = statusOfInstance(pod)
    const podPlace = { ...place, name: instanceId(pod) }
    return (
      <div class="run-row pod-row">
        <StatusMark kind={kind} label={word} />
        <NameLink
          class="row-link"
          href={to.manifest(application, podPlace)}
          text={bareName(podPlace.name)}
          max={50}
        />
        <span class="grow muted pod-reason">
          {explained.includes(pod) && <PodReason place={podPlace} pod={pod} />}
        </span>
        <LogsLink application={application} place={podPlace} />
      </div>
    )
  }
  const items = [...down, ...pods.filter(isUp)]
  const list = (
    <VirtualList
      label={`Pods, ${place.name}`}
      items={items}
      keyOf={instanceId}
      rowHeight={45}
      row={row}
    />
  )
  return (
    <Panel title="Pods" count={pods.length} flush={pods.length > 0}>
      {pods.length === 0 ? <p class="muted">It has no pods.</p> : list}
    </Panel>
  )
}

export function LogsLink({ application, place }: { application: string; place: ObjectPlace }) {
  const href = to.manifest(application, place, { tab: 'logs' })
  return (
    <a class="button small" href={href} aria-label={`Logs of ${bareName(place.name)}`}>
      <Icon name="terminal" /> Logs
    </a>
  )
}

/** In one sentence, from its manifest; until that is read, the word of its state. */
export function PodReason({ place, pod }: { place: ObjectPlace; pod: Instance }) {
  const { body } = useManifest(place)
  const [reason = instanceStatus(pod.healthState).word] = body === undefined ? [] : reasonsOf(body)
  return <Name text={reason} max={240} />
}

/** Workloads behind a load balancer, with their pods. */
function Serves({ object: { application, place } }: { object: ShownObject }) {
  const { body } = useBalancers(application)
  const key = objectKey(place.account, place.location, place.name)
  const balancer = body?.find(
    ({ account, region, name }) => objectKey(account, region, name) === key,
  )
  if (balancer === undefined) return null
  // Old replica sets have the labels, but no pods.
  const groups = objectsOf(balancer.serverGroups).filter(
    ({ instances }) => objectsOf(instances).length > 0,
  )
  return (
    <Panel title="Sends traffic to" count={groups.length}>
      {groups.length === 0 && (
        <p class="muted">No workload is selected, so it sends traffic to none.</p>
      )}
      <ul class="bullets">
        {groups.map(({ name, instances, isDisabled }) => {
          const pods = objectsOf(instances)
          const up = pods.filter((pod) => fieldAt(pod, 'health', 'state') === 'Up').length
          return (
            <li key={name}>
              <NameLink
                href={to.manifest(application, { ...place, name: String(name) })}
                text={String(name)}
                max={60}
              />{' '}
              <span class="muted">
                {isDisabled === true ? 'disabled' : `${up} of ${pods.length} up`}
              </span>
            </li>
          )
        })}
      </ul>
    </Panel>
  )
}
