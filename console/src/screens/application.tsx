/** The overview of an application: what serves now and what changes. */
import { to } from '../address.ts'
import { pendingTasks } from '../api/actions.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { ApplicationHead } from '../components/application-head.tsx'
import { FilterField, useQueryChange } from '../components/filter-field.tsx'
import { HealthMarks } from '../components/health-marks.tsx'
import { Icon } from '../components/icon.tsx'
import { Menu } from '../components/menu.tsx'
import { Name } from '../components/name.tsx'
import { PendingChip } from '../components/pending-chip.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import { Time } from '../components/time.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { objectsOf, textOf } from '../model/read.ts'
import {
  accountOf,
  type Cluster,
  instanceId,
  isEnabled,
  loadBalancersOf,
  type ServerGroup,
  shortName,
  toClusters,
  versionOf,
} from '../model/server-groups.ts'
import type { ScreenProps } from '../screen.ts'
import { plural, words } from '../words.ts'
import { groupKey, type ServerGroupContext, useServerGroupActions } from './server-group-actions.tsx'

const rowHeight = 45
/** With the distance to the next one. */
const clusterHead = 62

type LoadBalancer = Schemas['LoadBalancer']

export function ApplicationOverview({ params, query: { q = '' } }: ScreenProps) {
  const application = params['application'] ?? ''
  const attributes = useLive(
    '/applications/{application}',
    { path: { application }, query: { expand: false } },
    { refresh: 'slow' },
  )
  const active = useLive(
    '/applications/{application}/pipelines',
    { path: { application }, query: { statuses: 'RUNNING', expand: false, limit: 10 } },
    { refresh: 'live' },
  )
  const isChanging =
    (active.reading.value.body?.length ?? 0) > 0 || pendingTasks.value.some((pending) => pending.application === application)
  const groups = useLive(
    '/applications/{applicationName}/serverGroups',
    { path: { applicationName: application } },
    { refresh: isChanging ? 'live' : 'steady', isBusy: () => isChanging },
  )
  const balancers = useLive('/applications/{application}/loadBalancers', { path: { application } }, { refresh: 'steady' })
  const context: ServerGroupContext = {
    application,
    groups: groups.reading.value.body ?? [],
  }
  const { error } = attributes.reading.value
  return (
    <>
      <ApplicationHead application={application} tab={words.overview} state={<Summary groups={context.groups} />} />
      {error?.status === 404 && attributes.reading.value.body === undefined ? (
        <EmptyState icon="search" text={words.noSuchApplication(application)}>
          <a class="button" href={to.applications()}>
            {words.applications}
          </a>
        </EmptyState>
      ) : (
        <Loaded
          live={groups}
          rows={6}
          empty={
            <EmptyState icon="box" text={words.clustersEmpty}>
              <a class="button" href={to.pipelines(application)}>
                {words.openPipelines}
              </a>
            </EmptyState>
          }
        >
          {(found) => <Clusters groups={found} balancers={balancers.reading.value.body ?? []} context={context} filter={q} />}
        </Loaded>
      )}
    </>
  )
}

function Summary({ groups }: { groups: readonly ServerGroup[] }) {
  const clusters = toClusters(groups)
  const up = clusters.reduce((sum, cluster) => sum + cluster.up, 0)
  const down = clusters.reduce((sum, cluster) => sum + cluster.down, 0)
  if (groups.length === 0) return null
  return (
    <span class="row summary">
      <span class="status-badge is-succeeded">
        <StatusMark kind="succeeded" /> {words.up(up)}
      </span>
      {down > 0 && (
        <span class="status-badge is-failed">
          <StatusMark kind="failed" /> {words.down(down)}
        </span>
      )}
      <span class="muted">{`${plural(groups.length, 'server group')}, ${plural(clusters.length, 'cluster')}`}</span>
    </span>
  )
}

interface ClustersProps {
  readonly groups: readonly ServerGroup[]
  readonly balancers: readonly LoadBalancer[]
  readonly context: ServerGroupContext
  readonly filter: string
}

function Clusters({ groups, balancers, context, filter }: ClustersProps) {
  const change = useQueryChange()
  const wanted = filter.toLowerCase()
  const matching = groups.filter((group) =>
    [group.name, accountOf(group), group.region, versionOf(group) ?? ''].some((text) => text.toLowerCase().includes(wanted)),
  )
  const clusters = toClusters(matching)
  return (
    <>
      <div class="filters">
        <FilterField value={filter} />
      </div>
      {clusters.length === 0 && (
        <EmptyState icon="search" text={words.noGroupMatches(filter)}>
          <button type="button" class="button" onClick={() => change({ q: undefined })}>
            {words.clearFilters}
          </button>
        </EmptyState>
      )}
      <VirtualList
        class="stack clusters"
        heldOf={filter}
        items={clusters}
        keyOf={({ account, name }) => `${account}/${name}`}
        rowHeight={({ groups: members }) => clusterHead + members.length * rowHeight}
        drawAll={20}
        overscan={3}
        row={(cluster) => <ClusterCard cluster={cluster} balancers={balancers} context={context} filter={filter} />}
      />
    </>
  )
}

function ClusterCard({ cluster, balancers, context, filter }: Omit<ClustersProps, 'groups'> & { readonly cluster: Cluster }) {
  const names = new Set(cluster.groups.flatMap(loadBalancersOf))
  const fronts = balancers.filter(({ name, account }) => name && names.has(name) && account === cluster.account)
  return (
    <section class="panel is-flush cluster" aria-label={cluster.name}>
      <header class="panel-head">
        <h2>
          <Icon name="box" />
          <Name text={cluster.name} max={60} />
          <span class="muted regular">{cluster.account}</span>
        </h2>
        <span class="row fronts">
          {fronts.map((front) => (
            <Front key={front.name} balancer={front} />
          ))}
        </span>
      </header>
      <VirtualList
        heldOf={filter}
        items={cluster.groups}
        keyOf={(group) => `${group.region}/${group.name}`}
        rowHeight={rowHeight}
        row={(group) => <GroupRow group={group} serving={cluster.groups} context={context} />}
      />
    </section>
  )
}

/** A load balancer with the ports where it is reached. */
function Front({ balancer }: { balancer: LoadBalancer }) {
  const listeners = objectsOf(balancer['listeners'])
  return (
    <span class="chip">
      <Icon name="balance" />
      <Name text={balancer.name ?? ''} max={30} />
      {listeners.map((listener) => (
        <span key={String(listener['externalPort'])} class="muted">
          {`${textOf(listener['externalProtocol']) ?? ''} :${textOf(listener['externalPort']) ?? ''}`}
        </span>
      ))}
    </span>
  )
}

function GroupRow({
  group,
  serving,
  context,
}: {
  group: ServerGroup
  serving: readonly ServerGroup[]
  context: ServerGroupContext
}) {
  const { application } = context
  const place = { account: accountOf(group), region: group.region, name: group.name }
  const actions = useServerGroupActions(group, context)
  const enabled = isEnabled(group)
  const version = versionOf(group)
  return (
    <div class={`run-row group-row ${enabled ? '' : 'is-off'}`}>
      <a class="row-link row-title short-name" href={to.serverGroup(application, place)} aria-label={group.name}>
        {shortName(group)}
      </a>
      <span class="version cut">{version === undefined ? <span class="muted">–</span> : <code>{version}</code>}</span>
      <span class="muted hide-narrow aside">{group.region}</span>
      <HealthMarks
        group={group}
        hrefOf={(instance) =>
          to.instance(application, { account: place.account, region: place.region, id: instanceId(instance) })
        }
      />
      <span class="grow">
        <PendingChip object={groupKey(group)} />
      </span>
      <Traffic group={group} serving={serving} />
      <span class="muted hide-phone aside">
        <Time at={group.createdTime} />
      </span>
      <Menu label={words.actionsOf(group.name)} items={actions} />
    </div>
  )
}

/** Whether requests reach the group: the ribbon of the one that serves, a word for the others. */
function Traffic({ group, serving }: { group: ServerGroup; serving: readonly ServerGroup[] }) {
  if (!isEnabled(group)) {
    return (
      <span class="traffic is-disabled">
        <StatusMark kind="disabled" size={12} /> {words.disabled}
      </span>
    )
  }
  if (loadBalancersOf(group).length === 0) return <span class="traffic muted">{words.enabledNoBalancer}</span>
  const rivals = serving.filter((other) => other.region === group.region && isEnabled(other) && loadBalancersOf(other).length > 0)
  return <span class="traffic is-serving">{rivals.length === 1 ? words.allTraffic : words.sharesTraffic}</span>
}
