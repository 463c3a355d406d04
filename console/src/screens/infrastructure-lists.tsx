/** Networks and accounts of everything that the reader may see. */

import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import type { Schemas } from '../api/client.ts'
import { useLive } from '../api/live.ts'
import type { Column } from '../components/data-table.tsx'
import { Name } from '../components/name.tsx'
import { Permissions } from '../components/roles.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusText } from '../components/status-mark.tsx'
import type { ScreenProps } from '../screen.ts'
import { providerOf, regionsOf, useAccounts } from './infrastructure-head.tsx'
import { InfrastructureFrame, List } from './place-list.tsx'

/** The address without a section leads to the first. */
export function Infrastructure() {
  const { route: navigate } = useLocation()
  useEffect(() => navigate(to.infrastructure('load-balancers'), true), [])
  return null
}

export function Networks({ query }: ScreenProps) {
  const live = useLive('/networks', {}, { refresh: 'slow' })
  return (
    <InfrastructureFrame tab="Networks" section="networks">
      <Loaded live={live}>
        {(byProvider) => (
          <List<Schemas['Network']>
            label="Networks"
            empty="No network is known."
            query={query}
            rows={Object.values(byProvider).flat()}
            placeOfRow={({ cloudProvider, account, region }) => ({ provider: cloudProvider, account, region })}
            textOfRow={({ name, id, account, region }) => [name, id, account, region].join(' ')}
            keyOf={({ cloudProvider, account, region, id, name }) => [cloudProvider, account, region, id ?? name].join('\n')}
            columns={[
              {
                key: 'name',
                head: 'Name',
                grow: true,
                cell: ({ name, id, deprecated }) => (
                  <>
                    <Name text={name ?? id ?? ''} max={70} /> {deprecated === true && <span class="chip">deprecated</span>}
                  </>
                ),
              },
              { key: 'account', head: 'Account', cell: ({ account }) => <Name text={account ?? '–'} max={40} /> },
              { key: 'region', head: 'Region', cell: ({ region }) => <Name text={region ?? '–'} max={30} /> },
              { key: 'provider', head: 'Provider', hideBelow: 'phone', cell: ({ cloudProvider }) => cloudProvider },
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
    <InfrastructureFrame tab="Accounts" section="accounts">
      <Loaded live={live} empty={<EmptyState icon="lock" text="You may read no account. Ask an administrator." />}>
        {(accounts) => (
          <List
            label="Accounts"
            empty="You may read no account. Ask an administrator."
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
    head: 'Name',
    cell: ({ name, ...account }) => (
      <>
        <Name text={name} max={50} />{' '}
        {account['unreachable'] && <StatusText status={{ kind: 'warning', word: 'does not answer' }} />}
      </>
    ),
  },
  { key: 'provider', head: 'Provider', cell: (account) => <span class="one-line">{providerOf(account)}</span> },
  {
    key: 'regions',
    head: 'Regions',
    hideBelow: 'narrow',
    cell: (account) => <Name text={regionsOf(account).join(', ')} max={80} />,
  },
  {
    key: 'permissions',
    head: 'Permissions',
    grow: true,
    hideBelow: 'phone',
    cell: ({ permissions }) => <Permissions permissions={permissions} />,
  },
  {
    key: 'write',
    head: 'You may change',
    cell: ({ authorized }) => (
      <StatusText status={authorized ? { kind: 'succeeded', word: 'yes' } : { kind: 'disabled', word: 'no' }} />
    ),
  },
]
