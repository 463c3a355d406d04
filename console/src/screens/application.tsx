/** The overview of an application: what serves now and what changes. */

import { useMemo } from 'preact/hooks'
import { to } from '../address.ts'
import { pendingTasks } from '../api/actions.ts'
import { useAttributes } from '../api/attributes.ts'
import { useCloudProviders } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { ApplicationHead } from '../components/application-head.tsx'
import { type Filter, Filters } from '../components/filter-field.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusBadge } from '../components/status-mark.tsx'
import { Lazy } from '../editor/lazy.tsx'
import {
  accountOf,
  type ClusterName,
  type GroupFilter,
  type Grouping,
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
import { ClusterList, ClustersInView, type LoadBalancer } from './clusters.tsx'

const loadNotices = async () => (await import('../manifests/notices.tsx')).OverviewNotices
const loadDeployButton = async () => (await import('../manifests/deploy.tsx')).DeployButton

/** Above so many, the server groups of a cluster are read when it comes into view. */
const maxWhole = 250

export function ApplicationOverview({ params, query }: ScreenProps) {
  const application = params['application'] ?? ''
  const { attributes, balancers, clusters, groups, isLarge, isChanging } = useOverview(application)
  const { body, error } = attributes.reading.value
  const shared = { application, balancers: balancers.reading.value.body ?? [], query }
  const toPipelines = (
    <EmptyState icon="box" text="Nothing is deployed. A pipeline with a deploy stage creates the first server group.">
      <a class="button" href={to.pipelines(application)}>
        Open pipelines
      </a>
    </EmptyState>
  )
  const hasManifests = useCloudProviders().some((provider) => provider.hasManifests === true)
  const accounts = [...new Set([...(groups.reading.value.body ?? []).map(accountOf), ...clusters.map(({ account }) => account)])]
  const count = <span class="count">{plural(clusters.length, 'cluster')}</span>
  return (
    <>
      <ApplicationHead
        application={application}
        tab="Overview"
        state={isLarge ? count : <Summary groups={groups.reading.value.body ?? []} />}
        {...(hasManifests && { actions: <Lazy load={loadDeployButton} props={{ application }} /> })}
      />
      {hasManifests && <Lazy load={loadNotices} props={{ application, accounts }} />}
      {error?.status === 404 && body === undefined ? (
        <EmptyState icon="search" text={`There is no application ${application}, or you may not read it.`}>
          <a class="button" href={to.applications()}>
            Applications
          </a>
        </EmptyState>
      ) : isLarge ? (
        <LargeOverview {...shared} clusters={clusters} isChanging={isChanging} />
      ) : (
        <Loaded live={groups} rows={6} empty={toPipelines}>
          {(all) => <Overview {...shared} groups={all} />}
        </Loaded>
      )}
    </>
  )
}

/** What the overview reads: the server groups only of an application that has few clusters, or some. */
function useOverview(application: string) {
  const events = applicationEvents(application, 'infrastructure')
  const path = { application }
  const attributes = useAttributes(application)
  const active = useLive(
    '/applications/{application}/pipelines',
    { path, query: { statuses: 'RUNNING', expand: false, limit: 10 } },
    { refresh: 'live', events: applicationEvents(application, 'executions') },
  )
  const isChanging =
    (active.reading.value.body?.length ?? 0) > 0 || pendingTasks.value.some((pending) => pending.application === application)
  const balancers = useLive('/applications/{application}/loadBalancers', { path }, { refresh: 'steady', events })
  const names = useLive('/applications/{application}/clusters', { path }, { refresh: isChanging ? 'steady' : 'slow', events })
  const { body, error } = names.reading.value
  const clusters = useMemo(() => toClusterNames(body ?? {}), [body])
  const isLarge = clusters.length > maxWhole
  const isKnown = body !== undefined || error !== undefined
  const groups = useLive(
    '/applications/{applicationName}/serverGroups',
    isKnown && !isLarge ? { path: { applicationName: application } } : undefined,
    { refresh: isChanging ? 'live' : 'steady', isBusy: () => isChanging, events },
  )
  return { attributes, balancers, clusters, groups, isLarge, isChanging }
}

/** Of what shall serve: how much is up, and what is not. */
function Summary({ groups }: { groups: readonly ServerGroup[] }) {
  if (groups.length === 0) return null
  const counted = Map.groupBy(groups.filter(isEnabled).flatMap(instancesOf).map(statusOfInstance), ({ word }) => word)
  const up = counted.get('up')?.length ?? 0
  const others = [...counted.values()].filter(([status]) => status?.word !== 'up')
  return (
    <span class="row summary">
      <StatusBadge status={{ kind: up > 0 ? 'succeeded' : 'warning', word: `${up} up` }} />
      {others.map((statuses) => {
        const [status] = statuses
        return (
          status && <StatusBadge key={status.word} status={{ kind: status.kind, word: `${statuses.length} ${status.word}` }} />
        )
      })}
      <span class="muted">{`${plural(groups.length, 'server group')}, ${plural(toClusters(groups).length, 'cluster')}`}</span>
    </span>
  )
}

interface OverviewProps {
  readonly application: string
  readonly balancers: readonly LoadBalancer[]
  readonly query: Readonly<Record<string, string>>
}

const healthChoices = [
  ['up', 'All instances up'],
  ['down', 'Not all instances up'],
] as const
const trafficChoices = [
  ['false', 'Enabled'],
  ['true', 'Disabled'],
] as const

const groupings = ['cluster', 'region', 'image'] as const satisfies readonly Grouping[]

function Overview({ application, groups, balancers, query }: OverviewProps & { readonly groups: readonly ServerGroup[] }) {
  const filter: GroupFilter = query
  const by = groupings.find((each) => each === query['group']) ?? 'cluster'
  const key = JSON.stringify(query)
  const clusters = useMemo(
    () =>
      toClusters(
        groups.filter((group) => matches(group, filter)),
        by,
      ),
    [groups, key],
  )
  const context = useMemo(() => ({ application, groups }), [application, groups])
  return (
    <Filters
      filters={[
        { name: 'q', label: 'Filter' },
        choiceOf('account', groups.map(accountOf)),
        choiceOf(
          'region',
          groups.map((group) => group.region),
        ),
        choiceOf('stack', groups.map(stackOf)),
        { name: 'health', label: 'Health', any: 'Any health', choices: healthChoices },
        { name: 'disabled', label: 'Traffic', any: 'Enabled and disabled', choices: trafficChoices },
        {
          name: 'group',
          label: 'Group by',
          any: 'By cluster',
          value: by === 'cluster' ? undefined : by,
          choices: groupings.slice(1).map((each) => [each, `By ${each}`]),
        },
      ]}
      noMatch={clusters.length === 0 ? `No server group matches “${describeFilter(filter)}”.` : undefined}
    >
      <ClusterList clusters={clusters} balancers={balancers} context={context} filter={key} by={by} />
    </Filters>
  )
}

type LargeOverviewProps = OverviewProps & { readonly clusters: readonly ClusterName[]; readonly isChanging: boolean }

function LargeOverview({ clusters, query, ...list }: LargeOverviewProps) {
  const filter: GroupFilter = { ...(query['q'] && { q: query['q'] }), ...(query['account'] && { account: query['account'] }) }
  const key = JSON.stringify(filter)
  const shown = useMemo(() => clusters.filter((cluster) => matchesCluster(cluster, filter)), [clusters, key])
  const accounts = clusters.map(({ account }) => account)
  const note =
    shown.length === clusters.length
      ? 'Server groups are read as their cluster comes into view.'
      : showing(shown.length, clusters.length)
  const noMatch =
    shown.length === 0
      ? `No cluster matches “${describeFilter(filter)}”. Of so many clusters, the filter knows names and accounts only.`
      : undefined
  return (
    <Filters
      filters={[{ name: 'q', label: 'Filter by cluster or account' }, choiceOf('account', accounts)]}
      note={<span class="muted">{note}</span>}
      noMatch={noMatch}
    >
      <ClustersInView {...list} clusters={shown} filter={key} />
    </Filters>
  )
}

function choiceOf(name: 'account' | 'region' | 'stack', all: readonly string[]): Filter {
  const choices = [...new Set(all)].filter((each) => each !== '').toSorted((a, b) => a.localeCompare(b))
  return { name, label: capital(name), any: `All ${name}s`, choices }
}

function describeFilter({ q, account, region, stack, health, disabled }: GroupFilter): string {
  const wordOf = (choices: readonly (readonly [string, string])[], value: string | undefined) =>
    choices.find(([choice]) => choice === value)?.[1]
  const parts = [q, account, region, stack, wordOf(healthChoices, health), wordOf(trafficChoices, disabled)]
  return parts.filter(Boolean).join(', ')
}
