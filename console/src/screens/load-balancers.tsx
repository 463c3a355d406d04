/** Load balancers of an application, or of everything that the reader may see, with the chosen one beside. */
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { NameLink } from '../components/name.tsx'
import { OpenLinks, useBalancers } from '../components/open-link.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusText } from '../components/status-mark.tsx'
import { placeOf } from '../model/infrastructure.ts'
import { objectOf, objectsOf, textOf } from '../model/read.ts'
import type { ScreenProps } from '../screen.ts'
import { EditBalancer } from './balancer-dialog.tsx'
import { type Balancer, BalancerPanel, listenerText, serviceOf } from './balancer-panel.tsx'
import { providerOf, providersOf, regionsOf, useAccounts } from './infrastructure-head.tsx'
import { CreatePlace } from './place-dialog.tsx'
import { List, type Place, PlaceFilters, PlaceScreen, placeColumns } from './place-list.tsx'

const label = 'Load balancers'
const none = 'No load balancer. Without one, instances are reached by their own ports.'

const gone = (name: string) => <EmptyState icon="balance" text={`There is no load balancer ${name}. It may have been deleted.`} />

function createButton(application?: string) {
  return <CreatePlace form="loadBalancer" application={application} dialog={<EditBalancer application={application} />} />
}

export function ApplicationLoadBalancers(screen: ScreenProps) {
  const { application = '' } = screen.params
  const live = useBalancers(application)
  const create = createButton(application)
  const find = (wanted: Partial<Place>) =>
    live.reading.value.body?.find((balancer) => {
      const place = placeOf(balancer)
      return Object.entries(wanted).every(([key, value]) => value === undefined || place[key as keyof Place] === value)
    })
  return (
    <PlaceScreen
      {...{ ...screen, section: 'load-balancers', label, actions: create }}
      panel={({ provider, ...place }) => {
        const balancer = find({ ...place, ...(provider !== undefined && { provider }) })
        return (
          <Loaded live={live} empty={gone(place.name)}>
            {() => (balancer === undefined ? gone(place.name) : <BalancerPanel balancer={balancer} />)}
          </Loaded>
        )
      }}
    >
      <Loaded live={live} rows={6} empty={<EmptyState icon="balance" text={none} children={create} />}>
        {(balancers) => (
          <List
            {...{ label, empty: none, screen, placeOf, rows: balancers }}
            columns={[
              { head: 'State', cell: (balancer) => <StatusText status={serviceOf(balancer)} /> },
              { head: 'Name', grow: true, cell: (balancer) => <BalancerLink application={application} balancer={balancer} /> },
              {
                head: 'Listeners',
                hideBelow: 'narrow',
                cell: (balancer) => objectsOf(balancer['listeners']).map(listenerText).join('; '),
              },
              { head: 'Account, region', hideBelow: 'narrow', cell: ({ account, region }) => `${account}, ${region}` },
              { head: 'Open', isBare: true, align: 'end', hideBelow: 'phone', cell: (one) => <OpenLinks balancers={[one]} /> },
            ]}
          />
        )}
      </Loaded>
    </PlaceScreen>
  )
}

function BalancerLink({ application, balancer }: { application: string; balancer: Balancer }) {
  const place = placeOf(balancer)
  return <NameLink href={to.place('load-balancers', application, place)} text={place.name} max={50} />
}

export function LoadBalancers(screen: ScreenProps) {
  const accounts = useAccounts()
  const isChosen = screen.query['name'] !== undefined
  const wanted = isChosen ? undefined : screen.query['provider']
  return (
    <PlaceScreen
      {...{ ...screen, section: 'load-balancers', label, actions: createButton() }}
      panel={(place) => <ChosenBalancer key={Object.values(place).join()} {...place} />}
    >
      <Loaded live={accounts} empty={<EmptyState icon="balance" text={none} />}>
        {(found) => (
          <>
            <PlaceFilters
              screen={screen}
              places={found.flatMap((account) =>
                regionsOf(account).map((region) => ({ provider: providerOf(account), account: account.name, region })),
              )}
            />
            {providersOf(found)
              .filter((provider) => wanted === undefined || provider === wanted)
              .map((provider) => (
                <BalancersOf key={provider} provider={provider} screen={screen} />
              ))}
          </>
        )}
      </Loaded>
    </PlaceScreen>
  )
}

function BalancersOf({ provider, screen }: { provider: string; screen: ScreenProps }) {
  const live = useLive('/loadBalancers', { query: { provider } }, { refresh: 'steady' })
  return (
    <Loaded live={live} empty={<EmptyState icon="balance" text={none} />}>
      {(balancers) => (
        <List
          {...{ label, empty: none, screen }}
          rows={balancers.flatMap((balancer) => placesOf(balancer, provider))}
          placeOf={(place) => place}
          columns={placeColumns((place) => to.infrastructure('load-balancers', place))}
          isBare
        />
      )}
    </Loaded>
  )
}

function placesOf(balancer: unknown, provider: string): readonly Place[] {
  const { name, accounts } = objectOf(balancer)
  return objectsOf(accounts).flatMap((account) =>
    objectsOf(account['regions']).map((region) => ({
      ...{ provider, account: textOf(account['name']) ?? '', region: textOf(region['name']) ?? '' },
      name: textOf(name) ?? '',
    })),
  )
}

function ChosenBalancer({ provider = '', account, region, name }: Omit<Place, 'provider'> & { provider: string | undefined }) {
  const path = { account, region, name }
  const live = useLive('/loadBalancers/{account}/{region}/{name}', { path, query: { provider } }, { refresh: 'steady' })
  return (
    <Loaded live={live} empty={gone(name)}>
      {([balancer]) => balancer && <BalancerPanel balancer={balancer} />}
    </Loaded>
  )
}
