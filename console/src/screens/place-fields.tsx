/** Fields that forms of infrastructure share: where it is, texts, numbers and choices. */
import { adminWords } from '../admin-words.ts'
import { Field } from '../components/field.tsx'
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

interface TextFieldProps {
  readonly label: string
  readonly value: string
  readonly help?: string
  readonly required?: boolean
  readonly numeric?: boolean
  readonly onChange: (value: string) => void
}

export function TextField({ label, value, help, required = false, numeric = false, onChange }: TextFieldProps) {
  return (
    <Field label={label} help={help} required={required}>
      {(tied) => (
        <input
          {...tied}
          value={value}
          inputMode={numeric ? 'decimal' : 'text'}
          onInput={(event) => onChange(event.currentTarget.value)}
          autoComplete="off"
          spellcheck={false}
        />
      )}
    </Field>
  )
}

interface ChoiceFieldProps {
  readonly label: string
  readonly value: string
  readonly choices: readonly string[]
  readonly help?: string | undefined
  readonly onChange: (value: string) => void
}

export function ChoiceField({ label, value, choices, help, onChange }: ChoiceFieldProps) {
  return (
    <Field label={label} help={help}>
      {(tied) => (
        <select {...tied} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {[...new Set([...choices, value])].map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}
