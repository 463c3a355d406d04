/** The load balancers of an application: who receives traffic, who does not, and why. */

import { to } from '../address.ts'
import { adminWords } from '../admin-words.ts'
import { useCloudProviders } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { changeOperation, useRight } from '../api/rights.ts'
import { applicationEvents } from '../api/streams.ts'
import { ApplicationHead } from '../components/application-head.tsx'
import { Button } from '../components/button.tsx'
import { openDialog } from '../components/dialog.tsx'
import { FilterField, FilterSelect } from '../components/filter-field.tsx'
import { Filtered } from '../components/filtered-list.tsx'
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
        {(balancers) =>
          name === undefined ? (
            <AllBalancers balancers={balancers} q={q} provider={provider} />
          ) : (
            <OneBalancer
              application={application}
              name={name}
              balancer={balancers.find((one) => isSamePlace(placeOf(one), { provider, account, region, name }))}
            />
          )
        }
      </Loaded>
    </>
  )
}

interface AllBalancersProps {
  readonly balancers: readonly Balancer[]
  readonly q: string
  readonly provider: string | undefined
}

function AllBalancers({ balancers, q, provider }: AllBalancersProps) {
  const shown = balancers.filter((balancer) => {
    const place = placeOf(balancer)
    return place.name.toLowerCase().includes(q.toLowerCase()) && (provider === undefined || place.provider === provider)
  })
  const providers = [...new Set(balancers.map((balancer) => placeOf(balancer).provider))].toSorted()
  const described = [q, provider].filter(Boolean).join(', ')
  const fields = (
    <>
      <FilterField value={q} />
      <FilterSelect
        name="provider"
        label={words.provider}
        value={provider}
        any={words.anyOf.provider}
        options={providers.map((each) => [each, each])}
      />
    </>
  )
  return (
    <Filtered
      fields={fields}
      noMatch={shown.length > 0 ? undefined : adminWords.noMatch(adminWords.loadBalancers.toLowerCase(), described)}
      filters={filterNames}
    >
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
    </Filtered>
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
  const { reason } = useRight({ operation: changeOperation, application })
  const providers = useCloudProviders()
  const isOffered = providers.length === 0 || providers.some(({ forms }) => forms.includes('loadBalancer'))
  const create = () => openDialog(<EditBalancer application={application} balancer={undefined} />)
  return (
    <Button icon="plus" denied={reason ?? (isOffered ? undefined : adminWords.noBalancerForm)} onClick={create}>
      {adminWords.createBalancer}
    </Button>
  )
}
