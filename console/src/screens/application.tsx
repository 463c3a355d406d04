/** The overview of an application: what serves now and what changes. */
import { useMemo } from 'preact/hooks'
import { to } from '../address.ts'
import { pendingTasks } from '../api/actions.ts'
import { useAttributes } from '../api/attributes.ts'
import { useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { ApplicationHead } from '../components/application-head.tsx'
import { FilterField, FilterSelect, NoMatch } from '../components/filter-field.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusMark } from '../components/status-mark.tsx'
import {
  accountOf,
  type ClusterName,
  type GroupFilter,
  type Grouping,
  matches,
  matchesCluster,
  type ServerGroup,
  stackOf,
  toClusterNames,
  toClusters,
} from '../model/server-groups.ts'
import type { ScreenProps } from '../screen.ts'
import { plural, words } from '../words.ts'
import { ClusterList, ClustersInView, type LoadBalancer } from './clusters.tsx'

/** Above so many, the server groups of a cluster are read when it comes into view. */
const maxWhole = 250

export function ApplicationOverview({ params, query }: ScreenProps) {
  const application = params['application'] ?? ''
  const events = applicationEvents(application, 'infrastructure')
  const attributes = useAttributes(application)
  const active = useLive(
    '/applications/{application}/pipelines',
    { path: { application }, query: { statuses: 'RUNNING', expand: false, limit: 10 } },
    { refresh: 'live', events: applicationEvents(application, 'executions') },
  )
  const isChanging =
    (active.reading.value.body?.length ?? 0) > 0 || pendingTasks.value.some((pending) => pending.application === application)
  const balancers = useLive('/applications/{application}/loadBalancers', { path: { application } }, { refresh: 'steady', events })
  const names = useLive(
    '/applications/{application}/clusters',
    { path: { application } },
    { refresh: isChanging ? 'steady' : 'slow', events },
  )
  const { body, error: namesError } = names.reading.value
  const clusters = useMemo(() => toClusterNames(body ?? {}), [body])
  const isLarge = clusters.length > maxWhole
  const isKnown = body !== undefined || namesError !== undefined
  const groups = useLive(
    '/applications/{applicationName}/serverGroups',
    isKnown && !isLarge ? { path: { applicationName: application } } : undefined,
    { refresh: isChanging ? 'live' : 'steady', isBusy: () => isChanging, events },
  )
  const found = groups.reading.value.body ?? []
  const { error } = attributes.reading.value
  const shared = { application, balancers: balancers.reading.value.body ?? [], query }
  return (
    <>
      <ApplicationHead
        application={application}
        tab={words.overview}
        state={isLarge ? <span class="count">{plural(clusters.length, 'cluster')}</span> : <Summary groups={found} />}
      />
      {error?.status === 404 && attributes.reading.value.body === undefined ? (
        <EmptyState icon="search" text={words.noSuchApplication(application)}>
          <a class="button" href={to.applications()}>
            {words.applications}
          </a>
        </EmptyState>
      ) : isLarge ? (
        <LargeOverview {...shared} clusters={clusters} isChanging={isChanging} />
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
          {(all) => <Overview {...shared} groups={all} />}
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

interface OverviewProps {
  readonly application: string
  readonly balancers: readonly LoadBalancer[]
  readonly query: Readonly<Record<string, string>>
}

const filterNames = ['q', 'account', 'region', 'stack', 'health', 'disabled']
const groupings = ['cluster', 'region', 'image'] as const satisfies readonly Grouping[]

function Overview({ application, groups, balancers, query }: OverviewProps & { readonly groups: readonly ServerGroup[] }) {
  const filter: GroupFilter = query
  const by = groupings.find((each) => each === query['group']) ?? 'cluster'
  const clusters = useMemo(
    () =>
      toClusters(
        groups.filter((group) => matches(group, filter)),
        by,
      ),
    [groups, JSON.stringify(query)],
  )
  const context = useMemo(() => ({ application, groups }), [application, groups])
  const { q, account, region, stack, health, disabled } = filter
  return (
    <>
      <div class="filters">
        <FilterField value={q} />
        <FilterSelect {...choiceOf('account', account, groups.map(accountOf))} />
        <FilterSelect
          {...choiceOf(
            'region',
            region,
            groups.map((group) => group.region),
          )}
        />
        <FilterSelect {...choiceOf('stack', stack, groups.map(stackOf))} />
        <FilterSelect
          name="health"
          label={words.healthFilter}
          value={health}
          any={words.anyHealth}
          options={words.healthChoices}
        />
        <FilterSelect
          name="disabled"
          label={words.traffic}
          value={disabled}
          any={words.anyTraffic}
          options={words.trafficChoices}
        />
        <FilterSelect
          name="group"
          label={words.groupBy}
          value={by === 'cluster' ? undefined : by}
          any={words.groupings.cluster}
          options={groupings.slice(1).map((each) => [each, words.groupings[each]])}
        />
      </div>
      {clusters.length === 0 ? (
        <NoGroup filter={filter} text={words.noGroupMatches} />
      ) : (
        <ClusterList clusters={clusters} balancers={balancers} context={context} filter={JSON.stringify(query)} by={by} />
      )}
    </>
  )
}

type LargeOverviewProps = OverviewProps & { readonly clusters: readonly ClusterName[]; readonly isChanging: boolean }

function LargeOverview({ clusters, query, ...list }: LargeOverviewProps) {
  const filter: GroupFilter = { ...(query['q'] && { q: query['q'] }), ...(query['account'] && { account: query['account'] }) }
  const shown = useMemo(() => clusters.filter((cluster) => matchesCluster(cluster, filter)), [clusters, JSON.stringify(filter)])
  const accounts = clusters.map(({ account }) => account)
  return (
    <>
      <div class="filters">
        <FilterField value={filter.q} label={words.filterClusters} />
        <FilterSelect {...choiceOf('account', filter.account, accounts)} />
        <span class="muted">
          {shown.length === clusters.length ? words.readInView : words.cut(shown.length, clusters.length)}
        </span>
      </div>
      {shown.length === 0 ? (
        <NoGroup filter={filter} text={words.noClusterMatches} />
      ) : (
        <ClustersInView {...list} clusters={shown} filter={JSON.stringify(filter)} />
      )}
    </>
  )
}

function choiceOf(name: 'account' | 'region' | 'stack', value: string | undefined, all: readonly string[]) {
  const values = [...new Set(all)].filter((each) => each !== '').toSorted((a, b) => a.localeCompare(b))
  return {
    name,
    label: words[name],
    value,
    any: words.anyOf[name],
    options: values.map((each) => [each, each] as const),
  }
}

function NoGroup({ filter, text }: { readonly filter: GroupFilter; readonly text: (filter: string) => string }) {
  const { q, account, region, stack, health, disabled } = filter
  const wordOf = (choices: readonly (readonly [string, string])[], value: string | undefined) =>
    choices.find(([choice]) => choice === value)?.[1]
  const parts = [q, account, region, stack, wordOf(words.healthChoices, health), wordOf(words.trafficChoices, disabled)]
  return <NoMatch text={text(parts.filter(Boolean).join(', '))} filters={filterNames} />
}
