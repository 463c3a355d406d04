/** The load balancers of an application: who receives traffic, who does not, and why. */
import { to } from '../address.ts'
import { adminWords } from '../admin-words.ts'
import { useLive } from '../api/live.ts'
import { changeOperation, useRight } from '../api/rights.ts'
import { applicationEvents } from '../api/streams.ts'
import { ApplicationHead } from '../components/application-head.tsx'
import { openDialog } from '../components/dialog.tsx'
import { FilterField, FilterSelect, NoMatch } from '../components/filter-field.tsx'
import { Icon } from '../components/icon.tsx'
import { RightButton } from '../components/right-button.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { VirtualList } from '../components/virtual-list.tsx'
import { placeOf } from '../model/infrastructure.ts'
import type { ScreenProps } from '../screen.ts'
import { words } from '../words.ts'
import { EditBalancer } from './balancer-dialog.tsx'
import { type Balancer, BalancerPanel } from './balancer-panel.tsx'
import { placeKey } from './place-list.tsx'

const filterNames = ['q', 'provider']
/** With one server group. */
const panelHeight = 300

/** All of them, or the one that the address names. */
export function ApplicationLoadBalancers({ params, query: { q = '', provider } }: ScreenProps) {
  const { application = '', account, region, name } = params as Readonly<Record<string, string | undefined>>
  const events = applicationEvents(application, 'infrastructure')
  const live = useLive('/applications/{application}/loadBalancers', { path: { application } }, { refresh: 'steady', events })
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
          if (name !== undefined) {
            const chosen = balancers.find((balancer) => isSamePlace(placeOf(balancer), { provider, account, region, name }))
            return <OneBalancer application={application} name={name} balancer={chosen} />
          }
          const shown = balancers.filter((balancer) => {
            const place = placeOf(balancer)
            return place.name.toLowerCase().includes(q.toLowerCase()) && (provider === undefined || place.provider === provider)
          })
          const providers = [...new Set(balancers.map((balancer) => placeOf(balancer).provider))].toSorted()
          return (
            <>
              <div class="filters">
                <FilterField value={q} />
                <FilterSelect
                  name="provider"
                  label={words.provider}
                  value={provider}
                  any={words.anyOf.provider}
                  options={providers.map((each) => [each, each])}
                />
              </div>
              {shown.length === 0 ? (
                <NoMatch
                  text={adminWords.noMatch(adminWords.loadBalancers.toLowerCase(), [q, provider].filter(Boolean).join(', '))}
                  filters={filterNames}
                />
              ) : (
                <VirtualList
                  class="stack cards"
                  label={words.loadBalancers}
                  items={shown}
                  keyOf={(balancer) => placeKey(placeOf(balancer))}
                  rowHeight={panelHeight}
                  drawAll={20}
                  overscan={3}
                  row={(balancer) => <BalancerPanel balancer={balancer} />}
                />
              )}
            </>
          )
        }}
      </Loaded>
    </>
  )
}

interface OneBalancerProps {
  readonly application: string
  readonly name: string
  readonly balancer: Balancer | undefined
}

function OneBalancer({ application, name, balancer }: OneBalancerProps) {
  return (
    <div class="stack">
      {balancer === undefined ? (
        <EmptyState icon="balance" text={adminWords.gone(adminWords.loadBalancer, name)} />
      ) : (
        <BalancerPanel balancer={balancer} />
      )}
      <p>
        <a href={to.loadBalancers(application)}>{adminWords.allLoadBalancers(application)}</a>
      </p>
    </div>
  )
}

/** @param wanted What is undefined there may be anything. */
function isSamePlace(place: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string | undefined>>): boolean {
  return Object.entries(wanted).every(([key, value]) => value === undefined || place[key] === value)
}

function CreateBalancer({ application }: { application: string }) {
  const right = useRight({ operation: changeOperation, application })
  return (
    <RightButton right={right} onClick={() => openDialog(<EditBalancer application={application} balancer={undefined} />)}>
      <Icon name="plus" /> {adminWords.createBalancer}
    </RightButton>
  )
}
