/** The overview of an application, what serves now and what changes, and the screen of one cluster. */

import { objectsOf, scalarOf } from '@fairlead/base/json/values.ts'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { type ScreenProps, to } from '../address.ts'
import { pendingTasks } from '../api/actions.ts'
import type { Schemas } from '../api/client.ts'
import { useCloudProviders, useHasManifests } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { useAttributes, useServerGroups } from '../api/pipelines.ts'
import { BesideScreens } from '../components/beside.tsx'
import { choiceOf, type Filter, Filters, filterWords } from '../components/filter-field.tsx'
import { OpenLinks, useBalancers } from '../components/open-link.tsx'
import {
  ApplicationHead,
  applicationCrumbs,
  EmptyState,
  Lazy,
  Loaded,
  PageHead,
} from '../components/screen.tsx'
import { Icon, Name } from '../components/text.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { placeOf } from '../model/infrastructure.ts'
import { foresee, foreseen } from '../model/recent.ts'
import {
  accountOf,
  type Cluster,
  type ClusterName,
  clusterOf,
  filterValues,
  type Grouping,
  groupPlace,
  instanceId,
  instancesOf,
  loadBalancersOf,
  matches,
  matchesCluster,
  type ServerGroup,
  sharersOf,
  toClusterNames,
  toClusters,
  versionIn,
} from '../model/server-groups.ts'
import { thisMinute } from '../model/time.ts'
import { plural, showing } from '../words.ts'
import { GroupLine } from './group-line.tsx'
import { ReleaseFlow } from './release-flow.tsx'
import {
  groupKey,
  type ServerGroupContext,
  useServerGroupActions,
} from './server-group-actions.tsx'

const loadNotices = async () => (await import('../manifests/notices.tsx')).Notices
/** Figures and canaries, which are looked at less often. */
const loadDetails = async () => (await import('./delivery.tsx')).DeliveryDetails
const loadDeployButton = async () => (await import('../manifests/deploy.tsx')).DeployButton

/** Above so many, the server groups of a cluster are read when it comes into view. */
const maxWhole = 250

export function ApplicationOverview({ params, query }: ScreenProps) {
  const { application = '' } = params
  const attributes = useAttributes(application)
  const { clusters, groups, isLarge, isChanging } = useOverview(application)
  const balancers = useBalancers(application).body ?? []
  const isWithManifests = useCloudProviders().some((provider) => provider.hasManifests === true)
  const known = groups.body ?? []
  const accounts = [
    ...new Set([...known.map(accountOf), ...clusters.map(({ account }) => account)]),
  ]
  const isGone = attributes.error?.status === 404 && attributes.body === undefined
  const nothing = (
    <EmptyState
      icon="box"
      text="Nothing is deployed. A pipeline with a deploy stage creates the first server group."
    >
      <a class="button" href={to.pipelines(application)}>
        Open pipelines
      </a>
    </EmptyState>
  )
  const listOf = (all: readonly ServerGroup[]) => {
    const { note, ...list } = isLarge ? largeList(clusters, query) : wholeList(all, query)
    const { show: _show, tab: _tab, line: _line, ...filter } = query
    const card = {
      balancers,
      isChanging,
      context: { application, groups: all },
      filter: JSON.stringify(filter),
    }
    return (
      <Filters
        filters={list.filters}
        note={note && <span class="muted">{note}</span>}
        noMatch={list.clusters.length === 0 ? list.noMatch : undefined}
      >
        <ClusterList {...card} by={list.by} clusters={list.clusters} />
      </Filters>
    )
  }
  return (
    <>
      <ApplicationHead
        application={application}
        tab="Overview"
        state={isLarge && <span class="count">{plural(clusters.length, 'cluster')}</span>}
        {...(isWithManifests &&
          !isGone && {
            actions: <Lazy load={loadDeployButton} props={{ application }} />,
          })}
      />
      {isWithManifests && <Lazy load={loadNotices} props={{ application, accounts }} />}
      {!isGone && (
        <>
          <BesideScreens application={application} query={query}>
            <ReleaseFlow application={application} groups={known} isChanging={isChanging} />
            {isLarge ? (
              listOf([])
            ) : (
              <Loaded live={groups} rows={6} empty={nothing}>
                {listOf}
              </Loaded>
            )}
          </BesideScreens>
          {attributes.error?.status !== 403 && <Lazy load={loadDetails} props={{ application }} />}
        </>
      )}
    </>
  )
}

/** The server groups of an application that has few clusters, at once where it had few when it was open last. */
function useOverview(application: string) {
  const path = { application }
  const active = useLive(
    '/applications/{application}/pipelines',
    { path, query: { statuses: 'RUNNING', expand: false, limit: 10 } },
    { refresh: 'live', events: 'executions' },
  )
  const isChanging =
    (active.body?.length ?? 0) > 0 ||
    pendingTasks.value.some((pending) => pending.application === application)
  const { body, error } = useLive(
    '/applications/{application}/clusters',
    { path },
    { refresh: isChanging ? 'steady' : 'slow', events: 'infrastructure' },
  )
  const clusters = toClusterNames(body ?? {})
  const isLarge = clusters.length > maxWhole
  const wereFew = foreseen(`clusters.${application}`).length > 0
  useEffect(() => {
    if (body !== undefined && isLarge === wereFew)
      foresee(`clusters.${application}`, isLarge ? [] : ['few'])
  }, [application, body])
  const isKnown = wereFew || body !== undefined || error !== undefined
  return {
    clusters,
    groups: useServerGroups(
      isKnown && !isLarge ? application : undefined,
      undefined,
      paceOf(isChanging),
    ),
    isLarge,
    isChanging,
  }
}

const groupings = ['region', 'image'] as const

const ofStates: readonly Filter[] = [
  {
    name: 'health',
    label: 'Health',
    any: 'Any health',
    choices: Object.entries({ up: 'All instances up', down: 'Not all instances up' }),
  },
  {
    name: 'disabled',
    label: 'Traffic',
    any: 'Enabled and disabled',
    choices: Object.entries({ false: 'Enabled', true: 'Disabled' }),
  },
]

/** Server groups that the filter leaves, put together. */
function wholeList(groups: readonly ServerGroup[], query: ScreenProps['query']) {
  const by = groupings.find((each) => each === query['group'])
  const ofPlaces = (['account', 'region', 'stack'] as const).map((name) =>
    choiceOf(name, groups.map(filterValues[name])),
  )
  const filters = [{ name: 'q', label: 'Filter' }, ...ofPlaces, ...ofStates]
  const choices = groupings.map((each) => [each, `By ${each}`] as const)
  const shown = groups.filter((group) => matches(group, query))
  return {
    filters: [
      ...filters,
      { name: 'group', label: 'Group by', any: 'By cluster', value: by, choices },
    ],
    noMatch: `No server group matches “${filterWords(filters, query)}”.`,
    note: undefined,
    by: by ?? ('cluster' as const),
    clusters: toClusters(shown, by),
  }
}

/** Filter of many clusters: it knows names and accounts only. */
function largeList(all: ReturnType<typeof toClusterNames>, query: ScreenProps['query']) {
  const clusters = all.filter((cluster) => matchesCluster(cluster, query))
  const filters = [
    { name: 'q', label: 'Filter by cluster or account' },
    choiceOf('account', all.map(accountOf)),
  ]
  const isAll = clusters.length === all.length
  return {
    filters,
    by: 'cluster' as const,
    clusters,
    noMatch: `No cluster matches “${filterWords(filters, query)}”. Of so many clusters, the filter knows names and accounts only.`,
    note: isAll
      ? 'Server groups are read as their cluster comes into view.'
      : showing(clusters.length, all.length),
  }
}

const rowHeight = 45
/** Height with the distance to the next one. */
const clusterHead = 62
/** Server groups of a cluster before they are read. */
const usualGroups = 2

const paceOf = (isChanging: boolean) =>
  ({ refresh: isChanging ? 'live' : 'steady', isBusy: () => isChanging }) as const

interface CardProps {
  /** Context with all server groups that are read. */
  readonly context: ServerGroupContext
  readonly balancers: readonly Schemas['LoadBalancer'][]
  readonly isChanging: boolean
  /** What the list is of. */
  readonly filter: string
  readonly by: Grouping
}

/** @param clusters Those of an application that has very many are read as they come into view. */
function ClusterList({
  clusters,
  ...card
}: CardProps & { readonly clusters: readonly (Cluster | ClusterName)[] }) {
  return (
    <VirtualList
      class="stack cards"
      label="Clusters"
      heldOf={card.filter}
      overscan={3}
      portion={1}
      items={clusters}
      keyOf={({ account, name }) => `${account}/${name}`}
      rowHeight={(cluster) =>
        clusterHead + ('groups' in cluster ? cluster.groups.length : usualGroups) * rowHeight
      }
      drawAll={clusters.every((cluster) => 'groups' in cluster) ? 20 : 0}
      row={(cluster) =>
        'groups' in cluster ? (
          <ClusterCard cluster={cluster} {...card} />
        ) : (
          <ClusterInView cluster={cluster} {...card} />
        )
      }
    />
  )
}

function ClusterInView({
  cluster: { account, name, batch },
  ...card
}: CardProps & { readonly cluster: ClusterName }) {
  const { application } = card.context
  const live = useServerGroups(application, batch, paceOf(card.isChanging))
  const groups =
    live.body?.filter((group) => accountOf(group) === account && clusterOf(group) === name) ?? []
  const [cluster] = toClusters(groups)
  if (cluster !== undefined)
    return <ClusterCard {...card} cluster={cluster} context={{ application, groups }} />
  const none = <EmptyState text={`${name} has no server group now.`} />
  return (
    <ClusterPanel application={application} account={account} name={name}>
      <Loaded live={live} rows={usualGroups} empty={none}>
        {() => none}
      </Loaded>
    </ClusterPanel>
  )
}

const loadPicture = async () =>
  (await import('../components/deployment-picture.tsx')).DeploymentPicture
const loadManifestRows = async () => (await import('../manifests/cluster-rows.tsx')).ClusterRows

/** How long a change stays in the picture. */
const recentMs = 300_000

/** Server groups of a region where instances start or drain, or a server group is new. */
function isMoving(groups: readonly ServerGroup[], nowMs: number) {
  return groups.some(
    (group) =>
      nowMs - (group.createdTime ?? 0) < recentMs ||
      instancesOf(group).some(
        ({ healthState }) => healthState === 'Starting' || healthState === 'Draining',
      ),
  )
}

/** @param isWhole Alone on its screen: its picture is always shown. */
function ClusterCard(
  props: Omit<CardProps, 'isChanging'> & { readonly cluster: Cluster; readonly isWhole?: boolean },
) {
  const { cluster, balancers, context, filter, by, isWhole = false } = props
  const { account, name, groups } = cluster
  const { application } = context
  const names = new Set(groups.flatMap(loadBalancersOf))
  const fronts = balancers.filter(
    (balancer) => balancer.account === account && names.has(balancer.name ?? ''),
  )
  const isOfManifests = useHasManifests(groups[0]?.cloudProvider ?? groups[0]?.type)
  const isAlone = by !== 'cluster'
  const regions = isAlone ? [] : [...Map.groupBy(groups, ({ region }) => region)]
  return (
    <ClusterPanel
      application={application}
      account={account}
      name={name}
      fronts={fronts}
      isLink={!isAlone}
    >
      {regions.map(([region, some]) => (
        <Picture key={region} context={context} groups={some} isAlways={isWhole} />
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
          portion={4}
          row={(group) => <GroupRow group={group} context={context} isAlone={isAlone} />}
        />
      )}
    </ClusterPanel>
  )
}

/** Of a region, while something moves in it. (Each minute it is asked anew, and the rows below are not drawn again.) */
function Picture({
  context: { application, groups: all },
  groups,
  isAlways,
}: {
  context: ServerGroupContext
  groups: readonly ServerGroup[]
  isAlways: boolean
}) {
  const isShown = isAlways || isMoving(groups, thisMinute.value)
  return isShown ? <Lazy load={loadPicture} props={{ application, groups, all }} /> : null
}

interface ClusterPanelProps extends Omit<Cluster, 'groups'> {
  readonly application: string
  readonly fronts?: CardProps['balancers']
  readonly isLink?: boolean
  readonly children: ComponentChildren
}

function ClusterPanel({
  application,
  account,
  name,
  fronts = [],
  isLink = true,
  children,
}: ClusterPanelProps) {
  return (
    <section class="panel is-flush cluster" aria-label={`${name}, ${account}`}>
      <header class="panel-head">
        <h2>
          <Icon name="box" />
          <a
            class="cluster-link"
            href={isLink ? to.cluster(application, { account, cluster: name }) : undefined}
          >
            <Name text={name === '' ? 'unknown' : name} max={60} />
          </a>
          <span class="muted regular">{account}</span>
        </h2>
        <span class="row fronts">
          {fronts.map((front) => (
            <a
              key={`${front.region} ${front.name}`}
              class="chip"
              href={to.place('load-balancers', application, placeOf(front))}
            >
              <Icon name="balance" />
              <Name text={front.name ?? ''} max={30} />
              {objectsOf(front['listeners']).map(({ externalPort, externalProtocol }) => (
                <span key={String(externalPort)} class="muted">
                  {`${scalarOf(externalProtocol) ?? ''} :${scalarOf(externalPort) ?? ''}`}
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

/** @param isAlone Among groups of other clusters: with its whole name. */
function GroupRow({
  group,
  context,
  isAlone,
}: {
  group: ServerGroup
  context: ServerGroupContext
  isAlone: boolean
}) {
  const place = groupPlace(group)
  return (
    <GroupLine
      group={group}
      label={group.name}
      pendingKey={groupKey(group)}
      title={isAlone ? <Name text={group.name} max={40} /> : versionIn(group.name)}
      href={to.serverGroup(context.application, place)}
      hrefOf={(instance) =>
        to.instance(context.application, { ...place, id: instanceId(instance) })
      }
      actions={useServerGroupActions(group, context)}
      serving={sharersOf(group, context.groups)}
    />
  )
}

/** One cluster: its server groups, wherever they run. */
export function ClusterScreen({ params, query }: ScreenProps) {
  const { application = '', account = '', cluster: name = '' } = params
  const isChanging = pendingTasks.value.some((pending) => pending.application === application)
  const live = useServerGroups(application, `${account}:${name}`, paceOf(isChanging))
  const balancers = useBalancers(application).body ?? []
  const none = (
    <EmptyState text={`${name} has no server group now.`}>
      <a class="button" href={to.application(application)}>{`Overview of ${application}`}</a>
    </EmptyState>
  )
  return (
    <>
      <PageHead tab={name} crumbs={applicationCrumbs(application)}>
        <p class="muted">{`Cluster, ${account}`}</p>
      </PageHead>
      <BesideScreens application={application} query={query}>
        <Loaded live={live} empty={none}>
          {(groups) =>
            toClusters(groups).map((cluster) => (
              <ClusterCard
                key={`${cluster.account}/${cluster.name}`}
                cluster={cluster}
                balancers={balancers}
                context={{ application, groups }}
                filter=""
                by="cluster"
                isWhole
              />
            ))
          }
        </Loaded>
      </BesideScreens>
    </>
  )
}
