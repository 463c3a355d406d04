/** Load balancers of an application, or of everything that the reader may see, with the chosen one beside. */
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { NameLink } from '../components/name.tsx'
import { OpenLinks, useBalancers } from '../components/open-link.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusText } from '../components/status-mark.tsx'
import { type Place, placeOf } from '../model/infrastructure.ts'
import { objectOf, objectsOf, textOf } from '../model/read.ts'
import type { ScreenProps } from '../screen.ts'
import { BalancerPanel, listenersText, serviceOf } from './balancer-panel.tsx'
import { providerOf, providersOf, regionsOf, useAccounts } from './infrastructure-head.tsx'
import { CreatePlace } from './place-forms.tsx'
import { List, PlaceFilters, PlaceScreen, placeColumns } from './place-list.tsx'

const section = 'load-balancers'
const label = 'Load balancers'
const none = 'No load balancer. Without one, instances are reached by their own ports.'

const gone = (name: string) => <EmptyState icon="balance" text={`There is no load balancer ${name}. It may have been deleted.`} />

export function ApplicationLoadBalancers(screen: ScreenProps) {
  const { application = '' } = screen.params
  const live = useBalancers(application)
  const actions = <CreatePlace form="loadBalancer" application={application} />
  return (
    <PlaceScreen
      {...{ ...screen, section, label, actions }}
      panel={({ provider, account, region, name }) => (
        <Loaded live={live} empty={gone(name)}>
          {(balancers) => {
            const chosen = balancers.find((one) => {
              const place = placeOf(one)
              const isThere = place.account === account && place.region === region && place.name === name
              return isThere && (provider === undefined || place.provider === provider)
            })
            return chosen === undefined ? gone(name) : <BalancerPanel balancer={chosen} />
          }}
        </Loaded>
      )}
    >
      <List
        {...{ live, label, icon: 'balance', empty: none, create: actions, screen, placeOf }}
        rowsOf={(balancers) => balancers}
        columns={[
          { head: 'State', cell: (balancer) => <StatusText status={serviceOf(balancer)} /> },
          {
            ...{ head: 'Name', grow: true },
            cell: (balancer) => {
              const place = placeOf(balancer)
              return <NameLink href={to.place(section, application, place)} text={place.name} max={50} />
            },
          },
          { head: 'Listeners', hideBelow: 'narrow', cell: listenersText },
          { head: 'Account, region', hideBelow: 'narrow', cell: ({ account, region }) => `${account}, ${region}` },
          { head: 'Open', isBare: true, align: 'end', hideBelow: 'phone', cell: (one) => <OpenLinks balancers={[one]} /> },
        ]}
      />
    </PlaceScreen>
  )
}

export function LoadBalancers(screen: ScreenProps) {
  const accounts = useAccounts()
  const wanted = screen.query['name'] === undefined ? screen.query['provider'] : undefined
  return (
    <PlaceScreen
      {...{ ...screen, section, label, actions: <CreatePlace form="loadBalancer" application={undefined} /> }}
      panel={({ provider = '', ...place }) => <ChosenBalancer {...{ provider, ...place }} />}
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
  return (
    <List
      {...{ label, icon: 'balance', empty: none, screen, isBare: true }}
      live={useLive('/loadBalancers', { query: { provider } }, { refresh: 'steady' })}
      rowsOf={(balancers) => balancers.flatMap((balancer) => placesOf(balancer, provider))}
      placeOf={(place) => place}
      columns={placeColumns((place) => to.infrastructure(section, place))}
    />
  )
}

function placesOf(balancer: unknown, provider: string): readonly Place[] {
  const { name, accounts } = objectOf(balancer)
  return objectsOf(accounts).flatMap(({ name: account, regions }) =>
    objectsOf(regions).map(({ name: region }) => {
      return { provider, account: textOf(account) ?? '', region: textOf(region) ?? '', name: textOf(name) ?? '' }
    }),
  )
}

function ChosenBalancer({ provider, ...path }: Place) {
  const live = useLive('/loadBalancers/{account}/{region}/{name}', { path, query: { provider } }, { refresh: 'steady' })
  return (
    <Loaded live={live} empty={gone(path.name)}>
      {([balancer]) => balancer && <BalancerPanel balancer={balancer} />}
    </Loaded>
  )
}
