/** The overview of an application: what serves now and what changes. */
import { useEffect } from 'preact/hooks'
import { to } from '../address.ts'
import { pendingTasks } from '../api/actions.ts'
import { useAttributes } from '../api/attributes.ts'
import { useCloudProviders } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { ApplicationHead } from '../components/application-head.tsx'
import { type Filter, Filters, filterWords } from '../components/filter-field.tsx'
import { useBalancers } from '../components/open-link.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusBadge } from '../components/status-mark.tsx'
import { Lazy } from '../editor/lazy.tsx'
import { foresee, foreseen } from '../model/recent.ts'
import {
  accountOf,
  instancesOf,
  isEnabled,
  matches,
  matchesCluster,
  type ServerGroup,
  stackOf,
  statusOfInstance,
  toClusterNames,
  toClusters,
} from '../model/server-groups.ts'
import type { ScreenProps } from '../screen.ts'
import { capital, plural, showing } from '../words.ts'
import { ClusterList, useGroups } from './clusters.tsx'

const loadNotices = async () => (await import('../manifests/notices.tsx')).OverviewNotices
const loadDeployButton = async () => (await import('../manifests/deploy.tsx')).DeployButton

/** Above so many, the server groups of a cluster are read when it comes into view. */
const maxWhole = 250

export function ApplicationOverview({ params, query }: ScreenProps) {
  const { application = '' } = params
  const { reading } = useAttributes(application)
  const { clusters, groups, isLarge, isChanging } = useOverview(application)
  const balancers = useBalancers(application).reading.value.body ?? []
  const hasManifests = useCloudProviders().some((provider) => provider.hasManifests === true)
  const known = groups.reading.value.body ?? []
  const accounts = [...new Set([...known.map(accountOf), ...clusters.map(({ account }) => account)])]
  const isGone = reading.value.error?.status === 404 && reading.value.body === undefined
  const nothing = (
    <EmptyState icon="box" text="Nothing is deployed. A pipeline with a deploy stage creates the first server group.">
      <a class="button" href={to.pipelines(application)}>
        Open pipelines
      </a>
    </EmptyState>
  )
  const listOf = (all: readonly ServerGroup[]) => {
    const { note, ...list } = isLarge ? largeList(clusters, query) : wholeList(all, query)
    const card = { balancers, isChanging, context: { application, groups: all }, filter: JSON.stringify(query) }
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
        state={isLarge ? <span class="count">{plural(clusters.length, 'cluster')}</span> : <Summary groups={known} />}
        {...(hasManifests && { actions: <Lazy load={loadDeployButton} props={{ application }} /> })}
      />
      {hasManifests && <Lazy load={loadNotices} props={{ application, accounts }} />}
      {isGone ? (
        <EmptyState icon="search" text={`There is no application ${application}, or you may not read it.`}>
          <a class="button" href={to.applications()}>
            Applications
          </a>
        </EmptyState>
      ) : isLarge ? (
        listOf([])
      ) : (
        <Loaded live={groups} rows={6} empty={nothing}>
          {listOf}
        </Loaded>
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
    { refresh: 'live', events: applicationEvents(application, 'executions') },
  )
  const isChanging =
    (active.reading.value.body?.length ?? 0) > 0 || pendingTasks.value.some((pending) => pending.application === application)
  const { body, error } = useLive(
    '/applications/{application}/clusters',
    { path },
    { refresh: isChanging ? 'steady' : 'slow', events: applicationEvents(application, 'infrastructure') },
  ).reading.value
  const clusters = toClusterNames(body ?? {})
  const isLarge = clusters.length > maxWhole
  const wereFew = foreseen(`clusters.${application}`).length > 0
  useEffect(() => {
    if (body !== undefined && isLarge === wereFew) foresee(`clusters.${application}`, isLarge ? [] : ['few'])
  }, [application, body])
  const isKnown = wereFew || body !== undefined || error !== undefined
  return { clusters, groups: useGroups(application, isChanging, undefined, isKnown && !isLarge), isLarge, isChanging }
}

/** Of what shall serve: how much is up, and what is not. */
function Summary({ groups }: { groups: readonly ServerGroup[] }) {
  if (groups.length === 0) return null
  const counted = Map.groupBy(groups.filter(isEnabled).flatMap(instancesOf).map(statusOfInstance), ({ word }) => word)
  const up = counted.get('up')?.length ?? 0
  counted.delete('up')
  return (
    <span class="row summary">
      <StatusBadge status={{ kind: up > 0 ? 'succeeded' : 'warning', word: `${up} up` }} />
      {[...counted].map(([word, [first, ...more]]) => (
        <StatusBadge key={word} status={{ kind: first?.kind ?? 'unknown', word: `${more.length + 1} ${word}` }} />
      ))}
      <span class="muted">{`${plural(groups.length, 'server group')}, ${plural(toClusters(groups).length, 'cluster')}`}</span>
    </span>
  )
}

const groupings = ['region', 'image'] as const

const health: Filter = {
  ...{ name: 'health', label: 'Health', any: 'Any health' },
  choices: [
    ['up', 'All instances up'],
    ['down', 'Not all instances up'],
  ],
}
const traffic: Filter = {
  ...{ name: 'disabled', label: 'Traffic', any: 'Enabled and disabled' },
  choices: [
    ['false', 'Enabled'],
    ['true', 'Disabled'],
  ],
}

type Query = ScreenProps['query']

/** Server groups that the filter leaves, put together. */
function wholeList(groups: readonly ServerGroup[], query: Query) {
  const by = groupings.find((each) => each === query['group'])
  const regions = groups.map(({ region }) => region)
  const ofPlaces = [
    choiceOf('account', groups.map(accountOf)),
    choiceOf('region', regions),
    choiceOf('stack', groups.map(stackOf)),
  ]
  const filters = [{ name: 'q', label: 'Filter' }, ...ofPlaces, health, traffic]
  const choices = groupings.map((each) => [each, `By ${each}`] as const)
  return {
    filters: [...filters, { name: 'group', label: 'Group by', any: 'By cluster', value: by, choices }],
    noMatch: `No server group matches “${filterWords(filters, query)}”.`,
    by: by ?? 'cluster',
    clusters: toClusters(
      groups.filter((group) => matches(group, query)),
      by,
    ),
    note: undefined,
  } as const
}

/** Of so many clusters, the filter knows names and accounts only. */
function largeList(all: ReturnType<typeof toClusterNames>, query: Query) {
  const clusters = all.filter((cluster) => matchesCluster(cluster, query))
  const filters = [{ name: 'q', label: 'Filter by cluster or account' }, choiceOf('account', all.map(accountOf))]
  const isAll = clusters.length === all.length
  return {
    ...{ filters, clusters },
    by: 'cluster',
    noMatch: `No cluster matches “${filterWords(filters, query)}”. Of so many clusters, the filter knows names and accounts only.`,
    note: isAll ? 'Server groups are read as their cluster comes into view.' : showing(clusters.length, all.length),
  } as const
}

function choiceOf(name: 'account' | 'region' | 'stack', all: readonly string[]): Filter {
  const choices = [...new Set(all)].filter((each) => each !== '').toSorted((a, b) => a.localeCompare(b))
  return { name, label: capital(name), any: `All ${name}s`, choices }
}
