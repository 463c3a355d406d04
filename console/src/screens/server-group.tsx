/** One server group: its instances, details and events. */

import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { applicationCrumbs } from '../components/application-head.tsx'
import { ActionButton } from '../components/button.tsx'
import { type Column, DataTable } from '../components/data-table.tsx'
import { useQueryChange } from '../components/filter-field.tsx'
import { HealthMarks } from '../components/health-marks.tsx'
import { KeyValue } from '../components/key-value.tsx'
import { Menu } from '../components/menu.tsx'
import { Name, NameLink } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { PendingChip } from '../components/pending-chip.tsx'
import { RawRecord } from '../components/program-tabs.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusBadge, StatusText } from '../components/status-mark.tsx'
import { Tabs } from '../components/tabs.tsx'
import { Time } from '../components/time.tsx'
import { Lazy } from '../editor/lazy.tsx'
import { useLetters } from '../letter-keys.ts'
import { objectOf, textOf } from '../model/read.ts'
import {
  accountOf,
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
  versionOf,
} from '../model/server-groups.ts'
import type { ScreenProps } from '../screen.ts'

import {
  groupKey,
  type ServerGroupContext,
  useInstanceActions,
  useServerGroup,
  useServerGroupActions,
} from './server-group-actions.tsx'
import { ServerGroupEvents } from './server-group-events.tsx'

const loadCharts = async () => (await import('../components/group-charts.tsx')).GroupCharts

const tabs = [
  { id: 'instances', label: 'Instances' },
  { id: 'details', label: 'Details' },
  { id: 'events', label: 'Events' },
  { id: 'raw', label: 'Raw record' },
] as const

export function ServerGroupScreen({ params, query }: ScreenProps) {
  const [application = '', account = '', region = '', name = ''] = ['application', 'account', 'region', 'name'].map(
    (key) => params[key],
  )
  const { live, context } = useServerGroup(application, { account, region, name })
  return (
    <Loaded
      live={live}
      title={name}
      rows={8}
      empty={<EmptyState text={`There is no server group ${name}. It may have been destroyed.`} />}
    >
      {(group) => <Group group={group} context={context} tab={query['tab']} />}
    </Loaded>
  )
}

function Group({ group, context, tab }: { group: ServerGroup; context: ServerGroupContext; tab: string | undefined }) {
  const change = useQueryChange()
  const { application } = context
  useSiblingLetters(group, context)
  const selected = tabs.find(({ id }) => id === tab)?.id ?? 'instances'
  return (
    <>
      <Head group={group} context={context} />
      <Tabs
        label={group.name}
        tabs={tabs}
        selected={selected}
        onSelect={(id) => change({ tab: id === 'instances' ? undefined : id })}
      >
        {selected === 'instances' && <Instances group={group} context={context} />}
        {selected === 'details' && <Details group={group} />}
        {selected === 'events' && <ServerGroupEvents application={application} group={group} />}
        {selected === 'raw' && <RawRecord value={group} name={group.name} />}
      </Tabs>
    </>
  )
}

/** To the versions before and after it. */
function useSiblingLetters(group: ServerGroup, { application, groups }: ServerGroupContext): void {
  const { route: navigate } = useLocation()
  const cluster = [group, ...siblingsOf(group, groups)].toSorted((a, b) => a.name.localeCompare(b.name))
  const toSibling = (step: 1 | -1) => {
    const next = cluster[cluster.findIndex(({ name }) => name === group.name) + step]
    if (next !== undefined) navigate(to.serverGroup(application, groupPlace(next)))
  }
  useLetters({ '[': () => toSibling(-1), ']': () => toSibling(1) })
}

function Head({ group, context }: { group: ServerGroup; context: ServerGroupContext }) {
  const { application } = context
  const account = accountOf(group)
  const cluster = clusterOf(group)
  const actions = useServerGroupActions(group, context).slice(1)
  return (
    <PageHead
      tab={group.name}
      title={<Name text={group.name} />}
      crumbs={[
        ...applicationCrumbs(application),
        { label: <Name text={cluster} max={60} />, href: to.cluster(application, { account, cluster }) },
      ]}
      state={
        <span class="row">
          <HealthMarks group={group} />
          {!isEnabled(group) && <StatusBadge status={{ kind: 'disabled', word: 'disabled' }} />}
          <PendingChip object={groupKey(group)} />
        </span>
      }
      actions={
        <>
          {actions
            .filter(({ destructive }) => destructive !== true)
            .map((action) => (
              <span key={action.label} class="hide-narrow">
                <ActionButton action={action} />
              </span>
            ))}
          <Menu label={`Actions of ${group.name}`} items={actions} class="button">
            Actions
          </Menu>
        </>
      }
    >
      <p class="muted">
        {`${account} / ${group.region}, `}
        {versionOf(group) !== undefined && <code>{versionOf(group)}</code>}
        {', '}
        created <Time at={group.createdTime} />
      </p>
    </PageHead>
  )
}

function Instances({ group, context }: { group: ServerGroup; context: ServerGroupContext }) {
  const { account, region } = groupPlace(group)
  const toInstance = (id: string) => to.instance(context.application, { account, region, id })
  const instances = instancesOf(group)
  return (
    <div class="stack">
      <div class="panel is-flush">
        {instances.length === 0 ? (
          <EmptyState text="This server group has no instances." />
        ) : (
          <DataTable label="Instances" columns={columnsOf(toInstance, group, context)} rows={instances} keyOf={instanceId} />
        )}
      </div>
      <Lazy load={loadCharts} props={{ groups: [group] }} />
    </div>
  )
}

function columnsOf(
  toInstance: (id: string) => string,
  group: ServerGroup,
  context: ServerGroupContext,
): readonly Column<Instance>[] {
  return [
    { key: 'state', head: 'State', cell: (instance) => <StatusText status={statusOfInstance(instance)} /> },
    {
      key: 'name',
      head: 'Instance',
      cell: (instance) => <NameLink href={toInstance(instanceId(instance))} text={instanceId(instance)} max={40} />,
    },
    {
      key: 'why',
      head: 'Why',
      grow: true,
      cell: (instance) => <Name text={healthReason(instance) ?? ''} max={200} />,
      hideBelow: 'phone',
    },
    { key: 'zone', head: 'Zone', cell: ({ zone }) => zone ?? '', hideBelow: 'narrow' },
    { key: 'since', head: 'Since', cell: ({ launchTime }) => <Time at={launchTime} />, hideBelow: 'phone' },
    {
      key: 'actions',
      head: 'Actions',
      isBare: true,
      align: 'end',
      cell: (instance) => <InstanceMenu group={group} context={context} instance={instance} />,
    },
  ]
}

interface InstanceMenuProps {
  readonly group: ServerGroup
  readonly context: ServerGroupContext
  readonly instance: Instance
}

function InstanceMenu({ group, context, instance }: InstanceMenuProps) {
  return <Menu label={`Actions of ${instanceId(instance)}`} items={useInstanceActions(group, context, instance)} />
}

function Details({ group }: { group: ServerGroup }) {
  const { capacity } = group
  const image = objectOf(group.image)
  return (
    <Panel title="Details">
      <KeyValue
        facts={[
          ['Cluster', group.cluster],
          ['Account', accountOf(group)],
          ['Region', group.region],
          ['Provider', group.cloudProvider],
          ['Desired instances', capacity?.desired],
          ['Minimum – maximum', capacity && `${capacity.min ?? '–'} – ${capacity.max ?? '–'}`],
          ['Load balancers', loadBalancersOf(group).join(', ')],
          ['Instance type', group.instanceType],
          ['Image', versionOf(group)],
          ['Digest', textOf(image['digest']) && <code>{textOf(image['digest'])}</code>],
          ['created', <Time key="created" at={group.createdTime} />],
        ]}
      />
    </Panel>
  )
}
