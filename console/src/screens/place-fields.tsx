/** Fields of forms of infrastructure that say where an object is. */
import { adminWords } from '../admin-words.ts'
import { ChoiceField } from '../components/form-fields.tsx'
import { objectsOf, textOf, textsOf } from '../model/read.ts'
import { words } from '../words.ts'
import { useAccounts } from './infrastructure-head.tsx'

interface LocalPlace {
  readonly account: string
  readonly regions: readonly string[]
}

/** Accounts of the provider `local` that the reader may write to. */
export function useLocalPlaces(): readonly LocalPlace[] {
  const accounts = useAccounts().reading.value.body ?? []
  return accounts
    .filter(({ cloudProvider, type, authorized }) => (cloudProvider ?? type) === 'local' && authorized)
    .map(({ name, regions }) => ({
      account: name,
      regions: [...textsOf(regions), ...objectsOf(regions).flatMap((region) => textOf(region['name']) ?? [])],
    }))
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
