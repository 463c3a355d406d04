/** The state of an object: facts by its kind, conditions, containers or pods, and what it sends traffic to. */
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { type Column, DataTable } from '../components/data-table.tsx'
import { KeyValue } from '../components/key-value.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { Panel } from '../components/panel.tsx'
import { PlainText } from '../components/plain-text.tsx'
import { StatusText } from '../components/status-mark.tsx'
import { Time } from '../components/time.tsx'
import { numberOf, objectOf, objectsOf, textOf } from '../model/read.ts'
import { instancesOf, type ServerGroup } from '../model/server-groups.ts'

import type { ActedObject } from './actions.tsx'
import { isKind, kindOf } from './names.ts'
import { type Condition, conditionsOf, imagesOf, type ManifestView, manifestOf, ownersOf, specOf } from './object.ts'
import { PodRows } from './pod-rows.tsx'
import { type ContainerView, containersOf } from './pods.ts'
import { manifestWords } from './words.ts'

interface StatusTabProps {
  readonly view: ManifestView
  readonly object: ActedObject
  readonly groups: readonly ServerGroup[]
}

export function StatusTab({ view, object, groups }: StatusTabProps) {
  const { application, place } = object
  const isPod = isKind(place.name, 'pod')
  const isBalancer = isKind(place.name, 'service', 'ingress')
  const hasPods = isKind(place.name, 'deployment', 'replicaSet', 'statefulSet', 'daemonSet', 'job', 'cronJob')
  const conditions = conditionsOf(view)
  return (
    <div class="stack">
      {isPod && <Containers view={view} object={object} />}
      {hasPods && (
        <PodRows application={application} place={place} pods={groups.flatMap(instancesOf)} owner={object.place.name} />
      )}
      {isBalancer && <Serves object={object} />}
      <Panel title="Details">
        <Facts view={view} object={object} />
      </Panel>
      {conditions.length > 0 && <Conditions conditions={conditions} />}
    </div>
  )
}

function Facts({ view, object: { application, place, replicas } }: { view: ManifestView; object: ActedObject }) {
  const [spec, status] = [specOf(view), objectOf(manifestOf(view)['status'])]
  const owners = ownersOf(view)
  const reached = objectsOf(objectOf(status['loadBalancer'])['ingress']).flatMap(
    ({ hostname, ip }) => textOf(hostname ?? ip) ?? [],
  )
  const ports = objectsOf(spec['ports']).map(({ name, port, protocol }) => [name, port, protocol].filter(Boolean).join(' '))
  const kind = textOf(manifestOf(view)['kind']) ?? kindOf(place.name)
  const images = imagesOf(view)
  return (
    <KeyValue
      facts={[
        [manifestWords.kind, [kind, textOf(manifestOf(view)['apiVersion'])].filter(Boolean).join(', ')],
        ['Account', place.account],
        [manifestWords.namespace, place.location === '' ? manifestWords.noNamespace : place.location],
        ['Cluster', view.moniker?.cluster],
        [
          'Owned by',
          owners.length > 0 &&
            owners.map((owner) => (
              <NameLink key={owner} href={to.manifest(application, { ...place, name: owner })} text={owner} max={60} />
            )),
        ],
        [manifestWords.replicas, replicas],
        [manifestWords.images, images.length > 0 && <Codes key="images" texts={images} />],
        ['Type', isKind(place.name, 'service') && (textOf(spec['type']) ?? 'ClusterIP')],
        ['Cluster IP', textOf(spec['clusterIP'])],
        ['Reached at', reached.join(', ')],
        ['Ports', ports.join('; ')],
        ['Node', textOf(spec['nodeName'])],
        ['Schedule', isKind(place.name, 'cronJob') && textOf(spec['schedule'])],
        [
          'Completions',
          isKind(place.name, 'job') &&
            manifestWords.rolloutText(numberOf(status['succeeded']) ?? 0, numberOf(spec['completions']) ?? 1),
        ],
      ]}
    />
  )
}

function Codes({ texts }: { texts: readonly string[] }) {
  return (
    <>
      {texts.map((text) => (
        <div key={text}>
          <code class="field-path">
            <Name text={text} max={120} />
          </code>
        </div>
      ))}
    </>
  )
}

function Conditions({ conditions }: { conditions: readonly Condition[] }) {
  return (
    <Panel title="Conditions" flush>
      <DataTable
        label="Conditions"
        rows={conditions}
        keyOf={({ type }) => type}
        columns={[
          { head: 'Condition', cell: ({ type }) => <Name text={type} max={40} /> },
          { head: 'State', cell: ({ status }) => <StatusText status={status} /> },
          {
            head: manifestWords.message,
            grow: true,
            cell: ({ reason, message }) => (
              <>
                {reason !== undefined && <strong>{reason}</strong>} <PlainText text={message ?? ''} />
              </>
            ),
          },
          { head: 'Since', hideBelow: 'phone', cell: ({ sinceMs }) => <Time at={sinceMs} /> },
        ]}
      />
    </Panel>
  )
}

function Containers({ view, object: { application, place } }: { view: ManifestView; object: ActedObject }) {
  return (
    <Panel title="Containers" flush>
      <DataTable
        label="Containers"
        rows={containersOf(view)}
        keyOf={({ name }) => name}
        columns={containerColumns((container) => to.manifest(application, place, { tab: 'logs', container }))}
      />
    </Panel>
  )
}

function containerColumns(toLogs: (container: string) => string): readonly Column<ContainerView>[] {
  return [
    { head: 'State', cell: ({ status }) => <StatusText status={status} /> },
    {
      head: manifestWords.container,
      cell: ({ name, isInit }) => (
        <>
          <NameLink href={toLogs(name)} text={name} max={40} /> {isInit && <span class="muted">init</span>}
        </>
      ),
    },
    {
      head: 'Why',
      grow: true,
      cell: ({ reason, image }) =>
        reason === undefined ? (
          <code class="field-path muted">
            <Name text={image ?? ''} max={100} />
          </code>
        ) : (
          <PlainText text={reason} />
        ),
    },
    { head: 'Restarts', align: 'end', hideBelow: 'phone', cell: ({ restarts }) => restarts },
    { head: 'Since', hideBelow: 'phone', cell: ({ sinceMs }) => <Time at={sinceMs} /> },
  ]
}

/** Workloads behind a load balancer, with their pods. */
function Serves({ object: { application, place } }: { object: ActedObject }) {
  const events = applicationEvents(application, 'infrastructure')
  const { body } = useLive('/applications/{application}/loadBalancers', { path: { application } }, { refresh: 'steady', events })
    .reading.value
  const balancer = body?.find(
    ({ account, region, name }) => account === place.account && region === place.location && name === place.name,
  )
  // Old replica sets have the labels, but no pods.
  const groups = objectsOf(balancer?.serverGroups).filter(({ instances }) => objectsOf(instances).length > 0)
  if (balancer === undefined) return null
  return (
    <Panel title="Sends traffic to" count={groups.length}>
      {groups.length === 0 ? (
        <p class="quiet">No workload is selected, so it sends traffic to none.</p>
      ) : (
        <ul class="bullets">
          {groups.map((group) => {
            const name = textOf(group['name']) ?? ''
            const pods = objectsOf(group['instances'])
            const up = pods.filter(({ health }) => objectOf(health)['state'] === 'Up').length
            return (
              <li key={name}>
                <NameLink href={to.manifest(application, { ...place, name })} text={name} max={60} />{' '}
                <span class="muted">{group['isDisabled'] === true ? 'disabled' : `${up} of ${pods.length} up`}</span>
              </li>
            )
          })}
        </ul>
      )}
    </Panel>
  )
}
