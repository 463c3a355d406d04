/** Load balancers, networks and accounts of everything that the reader may see. */

import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { adminWords } from '../admin-words.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import { Button } from '../components/button.tsx'
import type { Column } from '../components/data-table.tsx'
import { openDialog } from '../components/dialog.tsx'
import { Name } from '../components/name.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusText } from '../components/status-mark.tsx'
import { type Json, objectOf, objectsOf, textOf } from '../model/read.ts'
import type { ScreenProps } from '../screen.ts'
import { words } from '../words.ts'
import { EditBalancer } from './balancer-dialog.tsx'
import { BalancerPanel } from './balancer-panel.tsx'
import { Permissions } from './explain.tsx'
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

/** The address without a section leads to the first. */
export function Infrastructure() {
  const { route: navigate } = useLocation()
  useEffect(() => navigate(to.infrastructure('load-balancers'), true), [])
  return null
}

export function LoadBalancers({ query }: ScreenProps) {
  const accounts = useAccounts()
  const chosen = chosenOf(query)
  return (
    <InfrastructureFrame
      tab={adminWords.loadBalancers}
      actions={
        <Button icon="plus" onClick={() => openDialog(<EditBalancer application={undefined} balancer={undefined} />)}>
          {adminWords.createBalancer}
        </Button>
      }
      chosen={chosen && <ChosenBalancer key={placeKey(chosen)} place={chosen} />}
    >
      <Loaded live={accounts} empty={<EmptyState icon="balance" text={adminWords.loadBalancersEmpty} />}>
        {(found) => {
          const providers = providersOf(found)
          const wanted = chosen === undefined ? query['provider'] : undefined
          return (
            <>
              <PlaceFilters query={query} places={found.flatMap(placesOfAccount)} />
              {providers
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

function placesOfAccount(account: Schemas['Account']) {
  return regionsOf(account).map((region) => ({ provider: providerOf(account), account: account.name, region }))
}

function BalancersOf({ provider, query }: { provider: string; query: ScreenProps['query'] }) {
  const live = useLive('/loadBalancers', { query: { provider } }, { refresh: 'steady' })
  return (
    <Loaded live={live} empty={<EmptyState icon="balance" text={adminWords.loadBalancersEmpty} />}>
      {(items) => (
        <List
          label={adminWords.loadBalancers}
          empty={adminWords.loadBalancersEmpty}
          query={query}
          rows={items.flatMap((item) => placesOf(objectOf(item), provider))}
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

function placesOf(item: Json, provider: string): Place[] {
  const name = textOf(item['name']) ?? ''
  return objectsOf(item['accounts']).flatMap((account) =>
    objectsOf(account['regions']).map((region) => ({
      provider,
      account: textOf(account['name']) ?? '',
      region: textOf(region['name']) ?? '',
      name,
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
    <Loaded live={live} empty={<EmptyState icon="balance" text={adminWords.gone(adminWords.loadBalancer, name)} />}>
      {([balancer]) => (balancer === undefined ? null : <BalancerPanel balancer={balancer} />)}
    </Loaded>
  )
}

export function Networks({ query }: ScreenProps) {
  const live = useLive('/networks', {}, { refresh: 'slow' })
  return (
    <InfrastructureFrame tab={adminWords.networks}>
      <Loaded live={live}>
        {(byProvider) => (
          <List<Schemas['Network']>
            label={adminWords.networks}
            empty={adminWords.networksEmpty}
            query={query}
            rows={Object.values(byProvider).flat()}
            placeOfRow={({ cloudProvider, account, region }) => ({ provider: cloudProvider, account, region })}
            textOfRow={({ name, id, account, region }) => [name, id, account, region].join(' ')}
            keyOf={({ cloudProvider, account, region, id, name }) => [cloudProvider, account, region, id ?? name].join('\n')}
            columns={[
              {
                key: 'name',
                head: words.name,
                grow: true,
                cell: ({ name, id, deprecated }) => (
                  <>
                    <Name text={name ?? id ?? ''} max={70} />{' '}
                    {deprecated === true && <span class="chip">{adminWords.deprecated}</span>}
                  </>
                ),
              },
              { key: 'account', head: words.account, cell: ({ account }) => <Name text={account ?? '–'} max={40} /> },
              { key: 'region', head: words.region, cell: ({ region }) => <Name text={region ?? '–'} max={30} /> },
              { key: 'provider', head: words.provider, hideBelow: 'phone', cell: ({ cloudProvider }) => cloudProvider },
            ]}
          />
        )}
      </Loaded>
    </InfrastructureFrame>
  )
}

export function Accounts({ query }: ScreenProps) {
  const live = useAccounts()
  return (
    <InfrastructureFrame tab={adminWords.accounts}>
      <Loaded live={live} empty={<EmptyState icon="lock" text={adminWords.accountsEmpty} />}>
        {(accounts) => (
          <List
            label={adminWords.accounts}
            empty={adminWords.accountsEmpty}
            query={query}
            rows={accounts}
            placeOfRow={(account) => ({ provider: providerOf(account) })}
            textOfRow={({ name, type, environment }) => [name, type, environment].join(' ')}
            keyOf={({ name }) => name}
            columns={accountColumns}
          />
        )}
      </Loaded>
    </InfrastructureFrame>
  )
}

const accountColumns: readonly Column<Schemas['Account']>[] = [
  {
    key: 'name',
    head: words.name,
    cell: ({ name, ...account }) => (
      <>
        <Name text={name} max={50} />{' '}
        {account['unreachable'] && <StatusText status={{ kind: 'warning', word: adminWords.unreachable }} />}
      </>
    ),
  },
  { key: 'provider', head: words.provider, cell: (account) => <span class="one-line">{providerOf(account)}</span> },
  {
    key: 'regions',
    head: adminWords.regions,
    hideBelow: 'narrow',
    cell: (account) => <Name text={regionsOf(account).join(', ')} max={80} />,
  },
  {
    key: 'permissions',
    head: adminWords.permissions,
    grow: true,
    hideBelow: 'phone',
    cell: ({ permissions }) => <Permissions permissions={permissions} />,
  },
  {
    key: 'write',
    head: adminWords.mayWrite,
    cell: ({ authorized }) => (
      <StatusText status={authorized ? { kind: 'succeeded', word: words.yes } : { kind: 'disabled', word: words.no }} />
    ),
  },
]
