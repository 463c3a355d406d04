/** Accounts whose cluster does not answer: what is shown is old, and how old. */
import { Banner } from '../components/banner.tsx'
import { Name } from '../components/name.tsx'
import { Time } from '../components/time.tsx'
import { numberOf } from '../model/read.ts'
import { timeOf } from './object.ts'
import { useManifestAccounts } from './use-object.ts'

/** @param accounts Those that the page shows something of */
export function AccountsAway({ accounts }: { accounts: readonly string[] }) {
  const away = useManifestAccounts()?.filter(({ name, unreachable }) => unreachable !== undefined && accounts.includes(name))
  return (
    <>
      {away?.map(({ name, unreachable }) => (
        <Banner key={name} tone="warning">
          The cluster of the account {name} does not answer, since{' '}
          <Time at={numberOf(unreachable?.since) ?? timeOf(unreachable?.since)} />. The page shows its last known state.{' '}
          {unreachable?.reason !== undefined && <Name text={unreachable.reason} max={300} />}
        </Banner>
      ))}
    </>
  )
}
