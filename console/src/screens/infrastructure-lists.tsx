/** Networks and accounts of everything that the reader may see. */
import { useEffect } from 'preact/hooks'
import { type ScreenProps, to, useNavigate } from '../address.ts'
import { providerOf, regionsOf, useAccounts } from '../api/cloud-providers.ts'
import { useLive } from '../api/live.ts'
import { Permissions } from '../components/permissions-field.tsx'
import { Name, StatusText } from '../components/text.tsx'
import type { Status } from '../model/execution.ts'
import { InfrastructureHead, List } from './place-list.tsx'

/** The address without a section leads to the first. */
export function Infrastructure() {
  const navigate = useNavigate()
  useEffect(() => navigate(to.infrastructure('load-balancers'), true), [])
  return null
}

export function Networks(screen: ScreenProps) {
  return (
    <>
      <InfrastructureHead tab="Networks" />
      <List
        screen={screen}
        label="Networks"
        empty="No network is known."
        live={useLive('/networks', {}, 'slow')}
        rowsOf={(byProvider) => Object.values(byProvider).flat()}
        placeOf={({ cloudProvider, account, region, name, id }) => ({
          provider: cloudProvider,
          account,
          region,
          name,
          id,
        })}
        columns={[
          {
            head: 'Name',
            grow: true,
            cell: ({ name, id, deprecated }) => (
              <>
                <Name text={name ?? id ?? ''} max={70} />{' '}
                {deprecated === true && <span class="chip">deprecated</span>}
              </>
            ),
          },
          { head: 'Account', cell: ({ account }) => account ?? '–' },
          { head: 'Region', cell: ({ region }) => region ?? '–' },
          { head: 'Provider', hideBelow: 'phone', cell: ({ cloudProvider }) => cloudProvider },
        ]}
      />
    </>
  )
}

export function Accounts(screen: ScreenProps) {
  return (
    <>
      <InfrastructureHead tab="Accounts" />
      <List
        screen={screen}
        label="Accounts"
        icon="lock"
        empty="You may read no account. Ask an administrator."
        live={useAccounts()}
        rowsOf={(accounts) => accounts}
        placeOf={(account) => ({
          provider: providerOf(account),
          name: account.name,
          environment: account.environment,
        })}
        columns={[
          {
            head: 'Name',
            cell: ({ name, ...account }) => (
              <>
                <Name text={name} max={50} />{' '}
                {account['unreachable'] && (
                  <StatusText status={{ kind: 'warning', word: 'does not answer' }} />
                )}
              </>
            ),
          },
          {
            head: 'Provider',
            cell: (account) => <span class="one-line">{providerOf(account)}</span>,
          },
          {
            head: 'Regions',
            hideBelow: 'narrow',
            cell: (account) => regionsOf(account).join(', '),
          },
          {
            head: 'Permissions',
            grow: true,
            hideBelow: 'phone',
            cell: ({ permissions }) => <Permissions permissions={permissions} />,
          },
          {
            head: 'You may change',
            cell: ({ authorized }) => <StatusText status={authorized ? yes : no} />,
          },
        ]}
      />
    </>
  )
}

const yes: Status = { kind: 'succeeded', word: 'yes' }
const no: Status = { kind: 'disabled', word: 'no' }
