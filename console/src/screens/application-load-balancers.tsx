/** The load balancers of an application: who receives traffic, who does not, and why. */
import { adminWords } from '../admin-words.ts'
import { useLive } from '../api/live.ts'
import { ApplicationHead } from '../components/application-head.tsx'
import { FilterField } from '../components/filter-field.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import type { ScreenProps } from '../screen.ts'
import { BalancerPanel } from './balancer-panel.tsx'

export function ApplicationLoadBalancers({ params, query: { q = '' } }: ScreenProps) {
  const application = params['application'] ?? ''
  const live = useLive('/applications/{application}/loadBalancers', { path: { application } }, { refresh: 'steady' })
  return (
    <>
      <ApplicationHead application={application} tab={adminWords.loadBalancers} />
      <Loaded live={live} rows={6} empty={<EmptyState icon="balance" text={adminWords.loadBalancersEmpty} />}>
        {(balancers) => {
          const shown = balancers.filter(({ name }) => (name ?? '').toLowerCase().includes(q.toLowerCase()))
          return (
            <>
              <div class="filters">
                <FilterField value={q} />
              </div>
              {shown.length === 0 && (
                <EmptyState icon="search" text={adminWords.noMatch(adminWords.loadBalancers.toLowerCase(), q)} />
              )}
              <div class="stack">
                {shown.map((balancer) => (
                  <BalancerPanel key={`${balancer.account} ${balancer.region} ${balancer.name}`} balancer={balancer} />
                ))}
              </div>
            </>
          )
        }}
      </Loaded>
    </>
  )
}
