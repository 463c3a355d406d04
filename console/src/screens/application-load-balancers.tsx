/** The load balancers of an application: who receives traffic, who does not, and why. */
import { adminWords } from '../admin-words.ts'
import { useLive } from '../api/live.ts'
import { changeOperation, useRight } from '../api/rights.ts'
import { ApplicationHead } from '../components/application-head.tsx'
import { openDialog } from '../components/dialog.tsx'
import { FilterField, NoMatch } from '../components/filter-field.tsx'
import { Icon } from '../components/icon.tsx'
import { RightButton } from '../components/right-button.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import type { ScreenProps } from '../screen.ts'
import { EditBalancer } from './balancer-dialog.tsx'
import { BalancerPanel } from './balancer-panel.tsx'

export function ApplicationLoadBalancers({ params, query: { q = '' } }: ScreenProps) {
  const application = params['application'] ?? ''
  const live = useLive('/applications/{application}/loadBalancers', { path: { application } }, { refresh: 'steady' })
  const create = <CreateBalancer application={application} />
  return (
    <>
      <ApplicationHead application={application} tab={adminWords.loadBalancers} actions={create} />
      <Loaded
        live={live}
        rows={6}
        empty={
          <EmptyState icon="balance" text={adminWords.loadBalancersEmpty}>
            {create}
          </EmptyState>
        }
      >
        {(balancers) => {
          const shown = balancers.filter(({ name }) => (name ?? '').toLowerCase().includes(q.toLowerCase()))
          return (
            <>
              <div class="filters">
                <FilterField value={q} />
              </div>
              {shown.length === 0 && <NoMatch text={adminWords.noMatch(adminWords.loadBalancers.toLowerCase(), q)} />}
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

function CreateBalancer({ application }: { application: string }) {
  const right = useRight({ operation: changeOperation, application })
  return (
    <RightButton right={right} onClick={() => openDialog(<EditBalancer application={application} balancer={undefined} />)}>
      <Icon name="plus" /> {adminWords.createBalancer}
    </RightButton>
  )
}
