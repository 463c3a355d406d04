/** One server group: its instances, details and events. */

import { objectOf, scalarOf } from '@fairlead/base/json/values.ts'
import { type ScreenProps, to, useNavigate } from '../address.ts'
import { useLive } from '../api/live.ts'
import { PendingChip } from '../components/actions.tsx'
import { BesideScreens } from '../components/beside.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { HealthMarks } from '../components/health-marks.tsx'
import { Menu } from '../components/menu.tsx'
import { RecordPanel } from '../components/record-panel.tsx'
import {
  applicationCrumbs,
  EmptyState,
  HeadActions,
  Lazy,
  Loaded,
  PageHead,
  Panel,
} from '../components/screen.tsx'
import { AddressTabs } from '../components/tabs.tsx'
import { Name, NameLink, StatusBadge, StatusText, Time } from '../components/text.tsx'
import { useLetters } from '../letter-keys.ts'
import {
  clusterOf,
  groupPlace,
  healthReason,
  type Instance,
  instanceId,
  instancesOf,
  isEnabled,
  loadBalancersOf,
  type ServerGroup,
  siblingsOf,
  statusOfInstance,
  toEvents,
  versionOf,
} from '../model/server-groups.ts'
import {
  groupKey,
  type ServerGroupContext,
  useInstanceActions,
  useServerGroup,
  useServerGroupActions,
} from './server-group-actions.tsx'

const loadCharts = async () => (await import('../components/group-charts.tsx')).GroupCharts

export function ServerGroupScreen({ params, query }: ScreenProps) {
  const { application = '', account = '', region = '', name = '' } = params
  const { live, context } = useServerGroup(application, { account, region, name })
  const gone = `There is no server group ${name}. It may have been destroyed.`
  return (
    <Loaded live={live} title={name} rows={8} empty={gone}>
      {(group) => <Group group={group} context={context} query={query} />}
    </Loaded>
  )
}

interface GroupProps {
  readonly group: ServerGroup
  readonly context: ServerGroupContext
}

function Group({ group, context, query }: GroupProps & Pick<ScreenProps, 'query'>) {
  const { application } = context
  const { account, region, name } = groupPlace(group)
  const cluster = clusterOf(group)
  const ofCluster = {
    label: <Name text={cluster} max={60} />,
    href: to.cluster(application, { account, cluster }),
  }
  const [, ...actions] = useServerGroupActions(group, context)
  useSiblingLetters(group, context)
  const tabs = [
    {
      id: 'instances',
      label: 'Instances',
      body: () => <Instances group={group} context={context} />,
    },
    { id: 'details', label: 'Details', body: () => <Details group={group} /> },
    {
      id: 'events',
      label: 'Events',
      body: () => <Events application={application} group={group} />,
    },
  ]
  const buttons = actions.filter(({ destructive }) => destructive !== true)
  return (
    <>
      <PageHead
        tab={name}
        crumbs={[...applicationCrumbs(application), ofCluster]}
        state={
          <span class="row">
            <HealthMarks group={group} />
            {!isEnabled(group) && <StatusBadge status={{ kind: 'disabled', word: 'disabled' }} />}
            <PendingChip object={groupKey(group)} />
          </span>
        }
        actions={<HeadActions name={name} actions={actions} shown={buttons} />}
      >
        <p class="muted">
          {account} / {region}, <code>{versionOf(group)}</code>, created{' '}
          <Time at={group.createdTime} />
        </p>
      </PageHead>
      <BesideScreens application={application} query={query}>
        <AddressTabs label={name} tabs={tabs} />
      </BesideScreens>
    </>
  )
}

/** Keys that lead to the versions before and after it. */
function useSiblingLetters(group: ServerGroup, { application, groups }: ServerGroupContext) {
  const navigate = useNavigate()
  const cluster = [group, ...siblingsOf(group, groups)].toSorted((a, b) =>
    a.name.localeCompare(b.name),
  )
  const toSibling = (step: 1 | -1) => {
    const next = cluster[cluster.indexOf(group) + step]
    if (next !== undefined) navigate(to.serverGroup(application, groupPlace(next)))
  }
  useLetters({ '[': () => toSibling(-1), ']': () => toSibling(1) })
}

function Instances({ group, context }: GroupProps) {
  const toInstance = (id: string) => to.instance(context.application, { ...groupPlace(group), id })
  const instances = instancesOf(group)
  return (
    <div class="stack">
      <div class="panel is-flush">
        {instances.length === 0 ? (
          <EmptyState text="This server group has no instances." />
        ) : (
          <DataTable
            label="Instances"
            rows={instances}
            keyOf={instanceId}
            columns={[
              {
                head: 'State',
                cell: (instance) => <StatusText status={statusOfInstance(instance)} />,
              },
              {
                head: 'Instance',
                cell: (instance) => (
                  <NameLink
                    href={toInstance(instanceId(instance))}
                    text={instanceId(instance)}
                    max={40}
                  />
                ),
              },
              {
                head: 'Why',
                grow: true,
                hideBelow: 'phone',
                cell: (instance) => <Name text={healthReason(instance) ?? ''} max={200} />,
              },
              { head: 'Zone', cell: ({ zone }) => zone, hideBelow: 'narrow' },
              {
                head: 'Since',
                cell: ({ launchTime }) => <Time at={launchTime} />,
                hideBelow: 'phone',
              },
              {
                head: 'Actions',
                isBare: true,
                align: 'end',
                cell: (instance) => (
                  <InstanceMenu group={group} context={context} instance={instance} />
                ),
              },
            ]}
          />
        )}
      </div>
      <Lazy load={loadCharts} props={{ groups: [group] }} />
    </div>
  )
}

function InstanceMenu({ group, context, instance }: GroupProps & { readonly instance: Instance }) {
  return (
    <Menu
      label={`Actions of ${instanceId(instance)}`}
      items={useInstanceActions(group, context, instance)}
    />
  )
}

function Details({ group }: { group: ServerGroup }) {
  const { capacity, name } = group
  const { account, region } = groupPlace(group)
  const digest = scalarOf(objectOf(group.image)['digest'])
  return (
    <RecordPanel
      name={name}
      title="Details"
      record={group}
      facts={[
        ['Cluster', group.cluster],
        ['Account', account],
        ['Region', region],
        ['Provider', group.cloudProvider],
        ['Desired instances', capacity?.desired],
        ['Minimum – maximum', capacity && `${capacity.min ?? '–'} – ${capacity.max ?? '–'}`],
        ['Load balancers', loadBalancersOf(group).join(', ')],
        ['Instance type', group.instanceType],
        ['Image', versionOf(group)],
        ['Digest', digest && <code key="digest">{digest}</code>],
        ['Created', <Time key="created" at={group.createdTime} />],
      ]}
    />
  )
}

/** Events of its provider and its instances, and how it was scaled. */
function Events({ application, group }: { application: string; group: ServerGroup }) {
  const { account, region, name: serverGroupName } = groupPlace(group)
  const query = { region, provider: group.cloudProvider ?? group.type ?? '' }
  const events = useLive(
    '/applications/{application}/serverGroups/{account}/{serverGroupName}/events',
    { path: { application, account, serverGroupName }, query },
    'open',
  )
  const activities = useLive(
    '/applications/{application}/clusters/{account}/{clusterName}/serverGroups/{serverGroupName}/scalingActivities',
    { path: { application, account, clusterName: clusterOf(group), serverGroupName }, query },
    'open',
  )
  const hrefOf = (id: string) => to.instance(application, { ...groupPlace(group), id })
  const all = (found: unknown) => (
    <EventTable label="Events" rows={toEvents(found, instancesOf(group))} hrefOf={hrefOf} />
  )
  const none = 'Its provider reports no events.'
  return (
    <div class="stack">
      <Panel title="Events" flush>
        <Loaded
          live={events}
          icon="list"
          empty={toEvents([], instancesOf(group)).length === 0 ? none : all([])}
        >
          {all}
        </Loaded>
      </Panel>
      <Panel title="Scaling activities" flush>
        <Loaded live={activities} icon="resize" empty="It has not been scaled.">
          {(found) => <EventTable label="Scaling activities" rows={toEvents(found)} />}
        </Loaded>
      </Panel>
    </div>
  )
}

type EventRow = ReturnType<typeof toEvents>[number]

interface EventTableProps {
  readonly label: string
  readonly rows: readonly EventRow[]
  /** Address of the instances that they happened to. */
  readonly hrefOf?: (id: string) => string
}

export function EventTable({ label, rows, hrefOf }: EventTableProps) {
  const ofInstances: Column<EventRow> = {
    head: 'Instance',
    hideBelow: 'phone',
    cell: ({ instance: id }) =>
      id !== undefined && <NameLink href={hrefOf?.(id)} text={id} max={40} />,
  }
  const ofStates: Column<EventRow> = {
    head: 'State',
    hideBelow: 'phone',
    cell: ({ state }) => state,
  }
  return (
    <DataTable
      label={label}
      rows={rows}
      keyOf={(row) => String(rows.indexOf(row))}
      columns={[
        { head: 'Time', cell: ({ atMs }) => <Time at={atMs} /> },
        {
          head: 'Event',
          grow: true,
          cell: ({ text, cause }) => (
            <>
              <Name text={text} max={300} />
              {cause !== undefined && (
                <p class="muted">
                  <Name text={cause} max={300} />
                </p>
              )}
            </>
          ),
        },
        ...(rows.some(({ instance }) => instance !== undefined) ? [ofInstances] : []),
        ...(rows.some(({ state }) => state !== undefined) ? [ofStates] : []),
      ]}
    />
  )
}
