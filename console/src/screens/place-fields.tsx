/** Where an object of infrastructure is: the fields of its form, and the application that owns it. */
import { hasForm, useCloudProviders } from '../api/cloud-providers.ts'
import { ChoiceField } from '../components/form-fields.tsx'

import { providerOf, regionsOf, useAccounts } from './infrastructure-head.tsx'

interface EditablePlace {
  readonly account: string
  readonly provider: string
  readonly regions: readonly string[]
}

/** Accounts that the reader may write to, of providers whose resources of this kind have a form. */
export function usePlaces(form: string): readonly EditablePlace[] {
  const accounts = useAccounts().reading.value.body ?? []
  const providers = useCloudProviders()
  return accounts
    .filter((account) => account.authorized && hasForm(providers, providerOf(account), form))
    .map((account) => ({ account: account.name, provider: providerOf(account), regions: regionsOf(account) }))
}

/** That of the resource, else that of the account. */
export function providerAt(places: readonly EditablePlace[], account: string, known: string | null | undefined): string {
  return known ?? places.find((place) => place.account === account)?.provider ?? ''
}

interface PlaceFieldsProps {
  readonly places: readonly EditablePlace[]
  readonly values: { readonly account: string; readonly region: string }
  readonly onChange: (change: { readonly account?: string; readonly region?: string }) => void
}

export function PlaceFields({ places, values: { account, region }, onChange }: PlaceFieldsProps) {
  const regions = places.find((place) => place.account === account)?.regions ?? []
  return (
    <>
      <ChoiceField
        label="Account"
        value={account}
        choices={places.map((place) => place.account)}
        help={places.length === 0 ? 'No account with such a form that you may change.' : undefined}
        onChange={(chosen) =>
          onChange({ account: chosen, region: places.find((place) => place.account === chosen)?.regions[0] ?? '' })
        }
      />
      <ChoiceField label="Region" value={region} choices={regions} onChange={(chosen) => onChange({ region: chosen })} />
    </>
  )
}
