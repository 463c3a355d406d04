/** One cluster: its server groups, wherever they run. */

import { useMemo } from 'preact/hooks'
import { to } from '../address.ts'
import { pendingTasks } from '../api/actions.ts'
import { useLive } from '../api/live.ts'
import { applicationEvents } from '../api/streams.ts'
import { applicationCrumbs } from '../components/application-head.tsx'
import { Name } from '../components/name.tsx'
import { PageHead } from '../components/page-head.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { toClusters } from '../model/server-groups.ts'
import type { ScreenProps } from '../screen.ts'
import { words } from '../words.ts'
import { ClusterCard } from './clusters.tsx'

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
        <p class="muted">{`${words.cluster}, ${account}`}</p>
      </PageHead>
      <Loaded
        live={groups}
        rows={4}
        empty={
          <EmptyState text={words.clusterEmpty(name)}>
            <a class="button" href={to.application(application)}>
              {words.overviewOf(application)}
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
