/** Clusters with their server groups, as the overview and the screen of one cluster show them. */
import { useMemo } from 'preact/hooks'
import { to } from '../address.ts'
import { pendingTasks } from '../api/actions.ts'
import type { Schemas } from '../api/client.ts'
import { hasManifests, useCloudProviders } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { applicationCrumbs } from '../components/application-head.tsx'
import { Icon } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { OpenLinks } from '../components/open-link.tsx'
import { PageHead } from '../components/page-head.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { Lazy } from '../editor/lazy.tsx'
import { placeOf } from '../model/infrastructure.ts'
import { objectsOf, textOf } from '../model/read.ts'
import {
  accountOf,
  type Cluster,
  type ClusterName,
  clusterOf,
  type Grouping,
  groupPlace,
  instanceId,
  instancesOf,
  loadBalancersOf,
  type ServerGroup,
  shortName,
  siblingsOf,
  toClusters,
} from '../model/server-groups.ts'
import { thisMinute } from '../model/time.ts'
import type { ScreenProps } from '../screen.ts'

import { GroupLine } from './group-line.tsx'
import { groupKey, type ServerGroupContext, useServerGroupActions } from './server-group-actions.tsx'

const rowHeight = 45
/** With the distance to the next one. */
const clusterHead = 62
/** Server groups of a cluster before they are read. */
const usualGroups = 2

export type LoadBalancer = Schemas['LoadBalancer']

interface ClusterListProps {
  readonly clusters: readonly Cluster[]
  readonly balancers: readonly LoadBalancer[]
  readonly context: ServerGroupContext
  /** What the list is of. */
  readonly filter: string
  readonly by: Grouping
}

export function ClusterList({ clusters, filter, ...card }: ClusterListProps) {
  return (
    <VirtualList
      {...ofClusters}
      heldOf={filter}
      items={clusters}
      rowHeight={({ groups }) => clusterHead + groups.length * rowHeight}
      drawAll={20}
      row={(cluster) => <ClusterCard cluster={cluster} filter={filter} {...card} />}
    />
  )
}

/** What all lists of clusters have in common. */
const ofClusters = {
  class: 'stack cards',
  label: 'Clusters',
  keyOf: ({ account, name }: { readonly account: string; readonly name: string }) => `${account}/${name}`,
  overscan: 3,
} as const

interface ClustersInViewProps extends Pick<ClusterListProps, 'balancers' | 'filter'> {
  readonly clusters: readonly ClusterName[]
  readonly application: string
  readonly isChanging: boolean
}

/** For so many clusters that only those near the view are read. */
export function ClustersInView({ clusters, filter, ...card }: ClustersInViewProps) {
  return (
    <VirtualList
      {...ofClusters}
      heldOf={filter}
      items={clusters}
      rowHeight={clusterHead + usualGroups * rowHeight}
      drawAll={0}
      row={(cluster) => <ClusterInView cluster={cluster} filter={filter} {...card} />}
    />
  )
}

type ClusterInViewProps = Omit<ClustersInViewProps, 'clusters'> & { readonly cluster: ClusterName }

function ClusterInView({ cluster, application, isChanging, ...card }: ClusterInViewProps) {
  const { account, name, batch } = cluster
  const live = useLive(
    '/applications/{applicationName}/serverGroups',
    { path: { applicationName: application }, query: { clusters: batch } },
    {
      refresh: isChanging ? 'live' : 'steady',
      isBusy: () => isChanging,
      events: applicationEvents(application, 'infrastructure'),
    },
  )
  const { body } = live.reading.value
  const groups = useMemo(
    () => body?.filter((group) => accountOf(group) === account && clusterOf(group) === name) ?? [],
    [body, account, name],
  )
  const context = useMemo(() => ({ application, groups }), [application, groups])
  const [read] = useMemo(() => toClusters(groups), [groups])
  if (read !== undefined) return <ClusterCard cluster={read} by="cluster" context={context} {...card} />
  return (
    <section class="panel is-flush cluster" aria-label={name}>
      <ClusterHead application={application} account={account} name={name} />
      <Loaded live={live} rows={usualGroups} empty={<EmptyState text={`${name} has no server group now.`} />}>
        {() => <EmptyState text={`${name} has no server group now.`} />}
      </Loaded>
    </section>
  )
}

const loadPicture = async () => (await import('../components/deployment-picture.tsx')).DeploymentPicture

/** How long a change stays in the picture. */
const recentMs = 300_000

/** Server groups of a region where instances start or drain, or a server group is new. */
function isMoving(groups: readonly ServerGroup[], nowMs: number): boolean {
  return groups.some(
    (group) =>
      nowMs - (group.createdTime ?? 0) < recentMs ||
      instancesOf(group).some(({ healthState }) => healthState === 'Starting' || healthState === 'Draining'),
  )
}

const loadManifestRows = async () => (await import('../manifests/cluster-rows.tsx')).ClusterRows

type ClusterCardProps = Omit<ClusterListProps, 'clusters'> & {
  readonly cluster: Cluster
  /** Alone on its screen: its picture is always shown. */
  readonly isWhole?: boolean
}

export function ClusterCard({ cluster, balancers, context, filter, by, isWhole = false }: ClusterCardProps) {
  const names = new Set(cluster.groups.flatMap(loadBalancersOf))
  const fronts = balancers.filter(({ name, account }) => name && names.has(name) && account === cluster.account)
  const isOfManifests = hasManifests(useCloudProviders(), cluster.groups[0]?.cloudProvider ?? cluster.groups[0]?.type)
  return (
    <section class="panel is-flush cluster" aria-label={cluster.name}>
      <ClusterHead
        application={context.application}
        account={cluster.account}
        name={cluster.name}
        fronts={fronts}
        isLink={by === 'cluster'}
      />
      {by === 'cluster' &&
        [...Map.groupBy(cluster.groups, ({ region }) => region)]
          .filter(([, groups]) => isWhole || isMoving(groups, thisMinute.value))
          .map(([region, groups]) => (
            <Lazy key={region} load={loadPicture} props={{ application: context.application, groups }} />
          ))}
      {isOfManifests ? (
        <Lazy load={loadManifestRows} props={{ cluster, context, isAlone: by !== 'cluster' }} />
      ) : (
        <VirtualList
          label={`Server groups of ${cluster.name}`}
          heldOf={filter}
          items={cluster.groups}
          keyOf={(group) => `${group.region}/${group.name}`}
          rowHeight={rowHeight}
          row={(group) => <GroupRow group={group} context={context} isAlone={by !== 'cluster'} />}
        />
      )}
    </section>
  )
}

interface ClusterHeadProps {
  readonly application: string
  readonly account: string
  readonly name: string
  readonly fronts?: readonly LoadBalancer[]
  readonly isLink?: boolean
}

function ClusterHead({ application, account, name, fronts = [], isLink = true }: ClusterHeadProps) {
  const title = <Name text={name === '' ? 'unknown' : name} max={60} />
  return (
    <header class="panel-head">
      <h2>
        <Icon name="box" />
        {isLink ? (
          <a class="cluster-link" href={to.cluster(application, { account, cluster: name })}>
            {title}
          </a>
        ) : (
          title
        )}
        <span class="muted regular">{account}</span>
      </h2>
      <span class="row fronts">
        {fronts.map((front) => (
          <Front key={`${front.region} ${front.name}`} application={application} balancer={front} />
        ))}
        <OpenLinks balancers={fronts} />
      </span>
    </header>
  )
}

/** A load balancer with the ports where it is reached. */
function Front({ application, balancer }: { application: string; balancer: LoadBalancer }) {
  const listeners = objectsOf(balancer['listeners'])
  return (
    <a class="chip" href={to.place('load-balancers', application, placeOf(balancer))}>
      <Icon name="balance" />
      <Name text={balancer.name ?? ''} max={30} />
      {listeners.map((listener) => (
        <span key={String(listener['externalPort'])} class="muted">
          {`${textOf(listener['externalProtocol']) ?? ''} :${textOf(listener['externalPort']) ?? ''}`}
        </span>
      ))}
    </a>
  )
}

interface GroupRowProps {
  readonly group: ServerGroup
  readonly context: ServerGroupContext
  /** Among groups of other clusters: with its whole name. */
  readonly isAlone: boolean
}

function GroupRow({ group, context, isAlone }: GroupRowProps) {
  const { application } = context
  const place = groupPlace(group)
  const serving = useMemo(() => [group, ...siblingsOf(group, context.groups)], [group, context.groups])
  return (
    <GroupLine
      group={group}
      title={isAlone ? <Name text={group.name} max={40} /> : shortName(group)}
      label={group.name}
      isLong={isAlone}
      href={to.serverGroup(application, place)}
      hrefOf={(instance) => to.instance(application, { ...place, id: instanceId(instance) })}
      pendingKey={groupKey(group)}
      actions={useServerGroupActions(group, context)}
      serving={serving}
    />
  )
}

/** One cluster: its server groups, wherever they run. */
export function ClusterScreen({ params }: ScreenProps) {
  const [application = '', account = '', name = ''] = ['application', 'account', 'cluster'].map((key) => params[key])
  const isChanging = pendingTasks.value.some((pending) => pending.application === application)
  const events = applicationEvents(application, 'infrastructure')
  const groups = useLive(
    '/applications/{applicationName}/serverGroups',
    { path: { applicationName: application }, query: { clusters: `${account}:${name}` } },
    { refresh: isChanging ? 'live' : 'steady', isBusy: () => isChanging, events },
  )
  const balancers = useLive('/applications/{application}/loadBalancers', { path: { application } }, { refresh: 'steady', events })
  const found = groups.reading.value.body
  const context = useMemo(() => ({ application, groups: found ?? [] }), [application, found])
  const shared = { balancers: balancers.reading.value.body ?? [], context }
  return (
    <>
      <PageHead tab={name} title={<Name text={name} />} crumbs={applicationCrumbs(application)}>
        <p class="muted">{`Cluster, ${account}`}</p>
      </PageHead>
      <Loaded
        live={groups}
        rows={4}
        empty={
          <EmptyState text={`${name} has no server group now.`}>
            <a class="button" href={to.application(application)}>
              {`Overview of ${application}`}
            </a>
          </EmptyState>
        }
      >
        {(all) =>
          toClusters(all).map((cluster) => (
            <ClusterCard
              key={`${cluster.account}/${cluster.name}`}
              cluster={cluster}
              {...shared}
              filter=""
              by="cluster"
              isWhole
            />
          ))
        }
      </Loaded>
    </>
  )
}
