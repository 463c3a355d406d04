/** Clusters with their server groups, as the overview and the screen of one cluster show them. */
import { to } from '../address.ts'
import { pendingTasks } from '../api/actions.ts'
import type { Schemas } from '../api/client.ts'
import { hasManifests, useCloudProviders } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { applicationCrumbs } from '../components/application-head.tsx'
import { Icon } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { OpenLinks, useBalancers } from '../components/open-link.tsx'
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
  siblingsOf,
  toClusters,
  versionIn,
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

type LoadBalancer = Schemas['LoadBalancer']

/** @param clusters `account:cluster`, comma-separated; undefined reads all of the application */
export function useGroups(application: string, isChanging: boolean, clusters?: string, isWanted = true) {
  return useLive(
    '/applications/{applicationName}/serverGroups',
    isWanted ? { path: { applicationName: application }, ...(clusters !== undefined && { query: { clusters } }) } : undefined,
    {
      refresh: isChanging ? 'live' : 'steady',
      isBusy: () => isChanging,
      events: applicationEvents(application, 'infrastructure'),
    },
  )
}

/** What all lists of clusters have in common. */
const ofClusters = {
  class: 'stack cards',
  label: 'Clusters',
  keyOf: ({ account, name }: { readonly account: string; readonly name: string }) => `${account}/${name}`,
  overscan: 3,
} as const

interface CardProps {
  readonly balancers: readonly LoadBalancer[]
  readonly context: ServerGroupContext
  /** What the list is of. */
  readonly filter: string
  readonly by: Grouping
}

export function ClusterList({ clusters, ...card }: CardProps & { readonly clusters: readonly Cluster[] }) {
  return (
    <VirtualList
      {...ofClusters}
      heldOf={card.filter}
      items={clusters}
      rowHeight={({ groups }) => clusterHead + groups.length * rowHeight}
      drawAll={20}
      row={(cluster) => <ClusterCard cluster={cluster} {...card} />}
    />
  )
}

interface InViewProps extends Pick<CardProps, 'balancers' | 'filter'> {
  readonly application: string
  readonly isChanging: boolean
}

/** For so many clusters that only those near the view are read. */
export function ClustersInView({ clusters, ...card }: InViewProps & { readonly clusters: readonly ClusterName[] }) {
  return (
    <VirtualList
      {...ofClusters}
      heldOf={card.filter}
      items={clusters}
      rowHeight={clusterHead + usualGroups * rowHeight}
      drawAll={0}
      row={(cluster) => <ClusterInView cluster={cluster} {...card} />}
    />
  )
}

function ClusterInView({ cluster, application, isChanging, ...card }: InViewProps & { readonly cluster: ClusterName }) {
  const { account, name, batch } = cluster
  const live = useGroups(application, isChanging, batch)
  const groups = live.reading.value.body?.filter((group) => accountOf(group) === account && clusterOf(group) === name) ?? []
  const [read] = toClusters(groups)
  if (read !== undefined) return <ClusterCard cluster={read} by="cluster" context={{ application, groups }} {...card} />
  const none = <EmptyState text={`${name} has no server group now.`} />
  return (
    <section class="panel is-flush cluster" aria-label={name}>
      <ClusterHead application={application} account={account} name={name} />
      <Loaded live={live} rows={usualGroups} empty={none}>
        {() => none}
      </Loaded>
    </section>
  )
}

const loadPicture = async () => (await import('../components/deployment-picture.tsx')).DeploymentPicture
const loadManifestRows = async () => (await import('../manifests/cluster-rows.tsx')).ClusterRows

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

interface ClusterCardProps extends CardProps {
  readonly cluster: Cluster
  /** Alone on its screen: its picture is always shown. */
  readonly isWhole?: boolean
}

function ClusterCard({ cluster, balancers, context, filter, by, isWhole = false }: ClusterCardProps) {
  const { account, name, groups } = cluster
  const { application } = context
  const names = new Set(groups.flatMap(loadBalancersOf))
  const fronts = balancers.filter((balancer) => balancer.account === account && names.has(balancer.name ?? ''))
  const isOfManifests = hasManifests(useCloudProviders(), groups[0]?.cloudProvider ?? groups[0]?.type)
  const isAlone = by !== 'cluster'
  const moving = [...Map.groupBy(groups, ({ region }) => region)].filter(
    ([, some]) => !isAlone && (isWhole || isMoving(some, thisMinute.value)),
  )
  return (
    <section class="panel is-flush cluster" aria-label={name}>
      <ClusterHead {...{ application, account, name, fronts, isLink: !isAlone }} />
      {moving.map(([region, some]) => (
        <Lazy key={region} load={loadPicture} props={{ application, groups: some }} />
      ))}
      {isOfManifests ? (
        <Lazy load={loadManifestRows} props={{ cluster, application, isAlone }} />
      ) : (
        <VirtualList
          label={`Server groups of ${name}`}
          heldOf={filter}
          items={groups}
          keyOf={(group) => `${group.region}/${group.name}`}
          rowHeight={rowHeight}
          row={(group) => <GroupRow group={group} context={context} isAlone={isAlone} />}
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
  return (
    <header class="panel-head">
      <h2>
        <Icon name="box" />
        <a class="cluster-link" href={isLink ? to.cluster(application, { account, cluster: name }) : undefined}>
          <Name text={name === '' ? 'unknown' : name} max={60} />
        </a>
        <span class="muted regular">{account}</span>
      </h2>
      <span class="row fronts">
        {fronts.map((front) => (
          <a key={`${front.region} ${front.name}`} class="chip" href={to.place('load-balancers', application, placeOf(front))}>
            <Icon name="balance" />
            <Name text={front.name ?? ''} max={30} />
            {objectsOf(front['listeners']).map(({ externalPort, externalProtocol }) => (
              <span key={String(externalPort)} class="muted">
                {`${textOf(externalProtocol) ?? ''} :${textOf(externalPort) ?? ''}`}
              </span>
            ))}
          </a>
        ))}
        <OpenLinks balancers={fronts} />
      </span>
    </header>
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
  return (
    <GroupLine
      group={group}
      title={isAlone ? <Name text={group.name} max={40} /> : versionIn(group.name)}
      label={group.name}
      isLong={isAlone}
      href={to.serverGroup(application, place)}
      hrefOf={(instance) => to.instance(application, { ...place, id: instanceId(instance) })}
      pendingKey={groupKey(group)}
      actions={useServerGroupActions(group, context)}
      serving={[group, ...siblingsOf(group, context.groups)]}
    />
  )
}

/** One cluster: its server groups, wherever they run. */
export function ClusterScreen({ params }: ScreenProps) {
  const { application = '', account = '', cluster: name = '' } = params
  const isChanging = pendingTasks.value.some((pending) => pending.application === application)
  const live = useGroups(application, isChanging, `${account}:${name}`)
  const balancers = useBalancers(application).reading.value.body ?? []
  const none = (
    <EmptyState text={`${name} has no server group now.`}>
      <a class="button" href={to.application(application)}>{`Overview of ${application}`}</a>
    </EmptyState>
  )
  return (
    <>
      <PageHead tab={name} title={<Name text={name} />} crumbs={applicationCrumbs(application)}>
        <p class="muted">{`Cluster, ${account}`}</p>
      </PageHead>
      <Loaded live={live} rows={4} empty={none}>
        {(groups) =>
          toClusters(groups).map((cluster) => (
            <ClusterCard
              key={`${cluster.account}/${cluster.name}`}
              {...{ cluster, balancers, context: { application, groups } }}
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
