/** Where an object of infrastructure is: the fields of its form, and the application that owns it. */
import { adminWords } from '../admin-words.ts'
import { ChoiceField } from '../components/form-fields.tsx'
import { words } from '../words.ts'
import { providerOf, regionsOf, useAccounts } from './infrastructure-head.tsx'

interface LocalPlace {
  readonly account: string
  readonly regions: readonly string[]
}

/** Accounts of the provider `local` that the reader may write to. */
export function useLocalPlaces(): readonly LocalPlace[] {
  const accounts = useAccounts().reading.value.body ?? []
  return accounts
    .filter((account) => providerOf(account) === 'local' && account.authorized)
    .map((account) => ({ account: account.name, regions: regionsOf(account) }))
}

interface PlaceFieldsProps {
  readonly places: readonly LocalPlace[]
  readonly values: { readonly account: string; readonly region: string }
  readonly onChange: (change: { readonly account?: string; readonly region?: string }) => void
}

export function PlaceFields({ places, values: { account, region }, onChange }: PlaceFieldsProps) {
  const regions = places.find((place) => place.account === account)?.regions ?? []
  return (
    <>
      <ChoiceField
        label={words.account}
        value={account}
        choices={places.map((place) => place.account)}
        help={places.length === 0 ? adminWords.noLocalAccount : undefined}
        onChange={(chosen) =>
          onChange({ account: chosen, region: places.find((place) => place.account === chosen)?.regions[0] ?? '' })
        }
      />
      <ChoiceField label={words.region} value={region} choices={regions} onChange={(chosen) => onChange({ region: chosen })} />
    </>
  )
}
