/** Load balancers of an application, or of everything that the reader may see, with the chosen one beside. */
import { to } from '../address.ts'
import { useCloudProviders } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { changeOperation, useRight } from '../api/rights.ts'
import { applicationEvents } from '../api/streams.ts'
import { ApplicationHead } from '../components/application-head.tsx'
import { Beside } from '../components/beside.tsx'
import { Button } from '../components/button.tsx'
import type { Column } from '../components/data-table.tsx'
import { openDialog } from '../components/dialog.tsx'
import { NameLink } from '../components/name.tsx'
import { OpenLinks } from '../components/open-link.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusText } from '../components/status-mark.tsx'
import { placeOf } from '../model/infrastructure.ts'
import { objectOf, objectsOf, textOf } from '../model/read.ts'
import type { ScreenProps } from '../screen.ts'
import { EditBalancer } from './balancer-dialog.tsx'
import { type Balancer, BalancerPanel, listenerText, serviceOf } from './balancer-panel.tsx'
import { providerOf, providersOf, regionsOf, useAccounts } from './infrastructure-head.tsx'
import {
  chosenOf,
  InfrastructureFrame,
  List,
  type Place,
  PlaceFilters,
  placeColumns,
  placeKey,
  placeText,
} from './place-list.tsx'

const noBalancer = 'No load balancer. Without one, instances are reached by their own ports.'
const empty = <EmptyState icon="balance" text={noBalancer} />

export function ApplicationLoadBalancers({ params, query }: ScreenProps) {
  const { application = '', account, region, name } = params as Readonly<Record<string, string | undefined>>
  const events = applicationEvents(application, 'infrastructure')
  const live = useLive('/applications/{application}/loadBalancers', { path: { application } }, { refresh: 'steady', events })
  const wanted = { provider: query['provider'], account, region, name }
  const chosen = live.reading.value.body?.find((balancer) => isSamePlace(placeOf(balancer), wanted))
  const create = <CreateBalancer application={application} />
  return (
    <>
      <ApplicationHead application={application} tab="Load balancers" actions={create} />
      <Beside
        label={name ?? ''}
        back={{ href: to.places('load-balancers', application), label: `All load balancers of ${application}` }}
        side={
          name !== undefined && (
            <Loaded live={live} empty={empty}>
              {() =>
                chosen === undefined ? (
                  <EmptyState icon="balance" text={`There is no load balancer ${name}. It may have been deleted.`} />
                ) : (
                  <BalancerPanel balancer={chosen} />
                )
              }
            </Loaded>
          )
        }
      >
        <Loaded live={live} rows={6} empty={<EmptyState icon="balance" text={noBalancer} children={create} />}>
          {(balancers) => (
            <List
              label="Load balancers"
              empty={noBalancer}
              query={name === undefined ? query : { ...query, name }}
              rows={balancers}
              textOfRow={(balancer) => placeText(placeOf(balancer))}
              placeOfRow={name === undefined ? placeOf : () => ({})}
              keyOf={(balancer) => placeKey(placeOf(balancer))}
              columns={columnsOf(application).slice(0, name === undefined ? undefined : 2)}
            />
          )}
        </Loaded>
      </Beside>
    </>
  )
}

function columnsOf(application: string): readonly Column<Balancer>[] {
  return [
    { key: 'state', head: 'State', cell: (balancer) => <StatusText status={serviceOf(balancer)} /> },
    {
      key: 'name',
      head: 'Name',
      grow: true,
      cell: (balancer) => (
        <NameLink href={to.place('load-balancers', application, placeOf(balancer))} text={placeOf(balancer).name} max={50} />
      ),
    },
    {
      key: 'listeners',
      head: 'Listeners',
      hideBelow: 'narrow',
      cell: (balancer) => objectsOf(balancer['listeners']).map(listenerText).join('; '),
    },
    { key: 'region', head: 'Account, region', hideBelow: 'narrow', cell: ({ account, region }) => `${account}, ${region}` },
    { key: 'open', head: 'Open', isBare: true, align: 'end', hideBelow: 'phone', cell: (one) => <OpenLinks balancers={[one]} /> },
  ]
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
    <Button
      icon="plus"
      denied={reason ?? (isOffered ? undefined : 'No account here takes load balancers from a form. Deploy a manifest instead.')}
      onClick={create}
    >
      Create load balancer
    </Button>
  )
}

export function LoadBalancers({ query }: ScreenProps) {
  const accounts = useAccounts()
  const chosen = chosenOf(query)
  return (
    <InfrastructureFrame
      tab="Load balancers"
      section="load-balancers"
      actions={
        <Button icon="plus" onClick={() => openDialog(<EditBalancer application={undefined} balancer={undefined} />)}>
          Create load balancer
        </Button>
      }
      chosen={chosen && <ChosenBalancer key={placeKey(chosen)} place={chosen} />}
    >
      <Loaded live={accounts} empty={empty}>
        {(found) => {
          const wanted = chosen === undefined ? query['provider'] : undefined
          const places = found.flatMap((account) =>
            regionsOf(account).map((region) => ({ provider: providerOf(account), account: account.name, region })),
          )
          return (
            <>
              <PlaceFilters query={query} places={places} />
              {providersOf(found)
                .filter((provider) => wanted === undefined || provider === wanted)
                .map((provider) => (
                  <BalancersOf key={provider} provider={provider} query={query} />
                ))}
            </>
          )
        }}
      </Loaded>
    </InfrastructureFrame>
  )
}

function BalancersOf({ provider, query }: { provider: string; query: ScreenProps['query'] }) {
  const live = useLive('/loadBalancers', { query: { provider } }, { refresh: 'steady' })
  return (
    <Loaded live={live} empty={empty}>
      {(items) => (
        <List
          label="Load balancers"
          empty={noBalancer}
          query={query}
          rows={items.flatMap((item) => placesOf(item, provider))}
          textOfRow={placeText}
          placeOfRow={(place) => place}
          isBare
          keyOf={placeKey}
          columns={placeColumns((place) => to.infrastructure('load-balancers', { ...place }))}
        />
      )}
    </Loaded>
  )
}

function placesOf(item: unknown, provider: string): Place[] {
  const { name, accounts } = objectOf(item)
  return objectsOf(accounts).flatMap((account) =>
    objectsOf(account['regions']).map((region) => ({
      provider,
      account: textOf(account['name']) ?? '',
      region: textOf(region['name']) ?? '',
      name: textOf(name) ?? '',
    })),
  )
}

function ChosenBalancer({ place: { provider, account, region, name } }: { place: Place }) {
  const live = useLive(
    '/loadBalancers/{account}/{region}/{name}',
    { path: { account, region, name }, query: { provider } },
    { refresh: 'steady' },
  )
  return (
    <Loaded
      live={live}
      empty={<EmptyState icon="balance" text={`There is no load balancer ${name}. It may have been deleted.`} />}
    >
      {([balancer]) => (balancer === undefined ? null : <BalancerPanel balancer={balancer} />)}
    </Loaded>
  )
}
