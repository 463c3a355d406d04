/** Networks and accounts of everything that the reader may see. */
import { useEffect } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { useLive } from '../api/live.ts'
import { Name } from '../components/name.tsx'
import { Permissions } from '../components/roles.tsx'
import { EmptyState, Loaded } from '../components/states.tsx'
import { StatusText } from '../components/status-mark.tsx'
import type { ScreenProps } from '../screen.ts'
import { InfrastructureHead, providerOf, regionsOf, useAccounts } from './infrastructure-head.tsx'
import { List } from './place-list.tsx'

/** The address without a section leads to the first. */
export function Infrastructure() {
  const { route: navigate } = useLocation()
  useEffect(() => navigate(to.infrastructure('load-balancers'), true), [])
  return null
}

export function Networks(screen: ScreenProps) {
  const live = useLive('/networks', {}, { refresh: 'slow' })
  return (
    <>
      <InfrastructureHead tab="Networks" />
      <Loaded live={live}>
        {(byProvider) => (
          <List
            {...{ label: 'Networks', empty: 'No network is known.', screen, rows: Object.values(byProvider).flat() }}
            placeOf={({ cloudProvider, account, region, name, id }) => ({ provider: cloudProvider, account, region, name, id })}
            columns={[
              {
                head: 'Name',
                grow: true,
                cell: ({ name, id, deprecated }) => (
                  <>
                    <Name text={name ?? id ?? ''} max={70} /> {deprecated === true && <span class="chip">deprecated</span>}
                  </>
                ),
              },
              { head: 'Account', cell: ({ account }) => account ?? '–' },
              { head: 'Region', cell: ({ region }) => region ?? '–' },
              { head: 'Provider', hideBelow: 'phone', cell: ({ cloudProvider }) => cloudProvider },
            ]}
          />
        )}
      </Loaded>
    </>
  )
}

export function Accounts(screen: ScreenProps) {
  const live = useAccounts()
  const empty = 'You may read no account. Ask an administrator.'
  return (
    <>
      <InfrastructureHead tab="Accounts" />
      <Loaded live={live} empty={<EmptyState icon="lock" text={empty} />}>
        {(accounts) => (
          <List
            {...{ label: 'Accounts', empty, screen, rows: accounts }}
            placeOf={(account) => ({ provider: providerOf(account), name: account.name, environment: account.environment })}
            columns={[
              {
                head: 'Name',
                cell: ({ name, ...account }) => (
                  <>
                    <Name text={name} max={50} />{' '}
                    {account['unreachable'] && <StatusText status={{ kind: 'warning', word: 'does not answer' }} />}
                  </>
                ),
              },
              { head: 'Provider', cell: (account) => <span class="one-line">{providerOf(account)}</span> },
              { head: 'Regions', hideBelow: 'narrow', cell: (account) => regionsOf(account).join(', ') },
              {
                head: 'Permissions',
                grow: true,
                hideBelow: 'phone',
                cell: ({ permissions }) => <Permissions permissions={permissions} />,
              },
              {
                head: 'You may change',
                cell: ({ authorized }) => (
                  <StatusText status={authorized ? { kind: 'succeeded', word: 'yes' } : { kind: 'disabled', word: 'no' }} />
                ),
              },
            ]}
          />
        )}
      </Loaded>
    </>
  )
}
