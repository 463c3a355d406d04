/** Clusters with their server groups, as the overview and the screen of one cluster show them. */
import type { ComponentChildren } from 'preact'
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

interface CardProps {
  /** With all server groups that are read. */
  readonly context: ServerGroupContext
  readonly balancers: readonly Schemas['LoadBalancer'][]
  readonly isChanging: boolean
  /** What the list is of. */
  readonly filter: string
  readonly by: Grouping
}

/** @param clusters Those of an application that has very many are read as they come into view. */
export function ClusterList({ clusters, ...card }: CardProps & { readonly clusters: readonly (Cluster | ClusterName)[] }) {
  return (
    <VirtualList
      {...{ class: 'stack cards', label: 'Clusters', heldOf: card.filter, overscan: 3, items: clusters }}
      keyOf={({ account, name }) => `${account}/${name}`}
      rowHeight={(cluster) => clusterHead + ('groups' in cluster ? cluster.groups.length : usualGroups) * rowHeight}
      drawAll={clusters.every((cluster) => 'groups' in cluster) ? 20 : 0}
      row={(cluster) =>
        'groups' in cluster ? <ClusterCard cluster={cluster} {...card} /> : <ClusterInView cluster={cluster} {...card} />
      }
    />
  )
}

function ClusterInView({ cluster: { account, name, batch }, ...card }: CardProps & { readonly cluster: ClusterName }) {
  const { application } = card.context
  const live = useGroups(application, card.isChanging, batch)
  const groups = live.reading.value.body?.filter((group) => accountOf(group) === account && clusterOf(group) === name) ?? []
  const [cluster] = toClusters(groups)
  if (cluster !== undefined) return <ClusterCard {...card} cluster={cluster} context={{ application, groups }} />
  const none = <EmptyState text={`${name} has no server group now.`} />
  return (
    <ClusterPanel {...{ application, account, name }}>
      <Loaded live={live} rows={usualGroups} empty={none}>
        {() => none}
      </Loaded>
    </ClusterPanel>
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

/** @param isWhole Alone on its screen: its picture is always shown. */
function ClusterCard(props: Omit<CardProps, 'isChanging'> & { readonly cluster: Cluster; readonly isWhole?: boolean }) {
  const { cluster, balancers, context, filter, by, isWhole = false } = props
  const { account, name, groups } = cluster
  const { application } = context
  const names = new Set(groups.flatMap(loadBalancersOf))
  const fronts = balancers.filter((balancer) => balancer.account === account && names.has(balancer.name ?? ''))
  const isOfManifests = hasManifests(useCloudProviders(), groups[0]?.cloudProvider ?? groups[0]?.type)
  const isAlone = by !== 'cluster'
  const regions = isAlone ? [] : [...Map.groupBy(groups, ({ region }) => region)]
  return (
    <ClusterPanel {...{ application, account, name, fronts, isLink: !isAlone }}>
      {regions
        .filter(([, some]) => isWhole || isMoving(some, thisMinute.value))
        .map(([region, some]) => (
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
    </ClusterPanel>
  )
}

interface ClusterPanelProps {
  readonly application: string
  readonly account: string
  readonly name: string
  readonly fronts?: readonly Schemas['LoadBalancer'][]
  readonly isLink?: boolean
  readonly children: ComponentChildren
}

function ClusterPanel({ application, account, name, fronts = [], isLink = true, children }: ClusterPanelProps) {
  return (
    <section class="panel is-flush cluster" aria-label={name}>
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
      {children}
    </section>
  )
}

interface GroupRowProps {
  readonly group: ServerGroup
  readonly context: ServerGroupContext
  /** Among groups of other clusters: with its whole name. */
  readonly isAlone: boolean
}

function GroupRow({ group, context, isAlone }: GroupRowProps) {
  const place = groupPlace(group)
  return (
    <GroupLine
      {...{ group, label: group.name, isLong: isAlone, pendingKey: groupKey(group) }}
      title={isAlone ? <Name text={group.name} max={40} /> : versionIn(group.name)}
      href={to.serverGroup(context.application, place)}
      hrefOf={(instance) => to.instance(context.application, { ...place, id: instanceId(instance) })}
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
