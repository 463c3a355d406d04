/** Fields that forms are made of: a text, a choice, a yes or no. */

import type { ComponentChildren, JSX } from 'preact'
import { useId } from 'preact/hooks'
import { type Json, textOf } from '../model/read.ts'
import { Check, type CheckProps } from './check.tsx'
import { Field } from './field.tsx'

interface TextFieldProps {
  readonly label: string
  readonly value: string
  readonly help?: string | undefined
  readonly error?: string | undefined
  readonly required?: boolean
  readonly numeric?: boolean
  readonly suggestions?: readonly string[]
  /** Further attributes of the input, such as its type. */
  readonly input?: Omit<JSX.IntrinsicElements['input'], 'value' | 'onInput' | 'icon' | 'label'>
  readonly onChange: (value: string) => void
}

export function TextField(props: TextFieldProps) {
  const { label, value, help, error, required = false, numeric = false, suggestions, input, onChange } = props
  const list = useId()
  return (
    <Field label={label} help={help} error={error} required={required}>
      {(tied) => (
        <>
          <input
            {...tied}
            value={value}
            required={required}
            inputMode={numeric ? 'decimal' : undefined}
            onInput={(event) => onChange(event.currentTarget.value)}
            autoComplete="off"
            spellcheck={false}
            list={suggestions && list}
            {...(input as object)}
          />
          {suggestions !== undefined && <Suggestions id={list} values={suggestions} />}
        </>
      )}
    </Field>
  )
}

/** The list that an input offers. */
export function Suggestions({ id, values }: { id: string; values: readonly string[] }) {
  return (
    <datalist id={id}>
      {values.map((value) => (
        <option key={value} value={value} />
      ))}
    </datalist>
  )
}

/** A value, or a value with its words, perhaps in a group. */
export type Choice = string | readonly [value: string, text: string, group?: string]

interface ChoiceFieldProps {
  readonly label: string
  readonly value: string
  /** The value is offered as well. */
  readonly choices: readonly Choice[]
  readonly help?: string | undefined
  readonly required?: boolean
  readonly onChange: (value: string) => void
}

export function ChoiceField({ label, value, choices, help, required = false, onChange }: ChoiceFieldProps) {
  const pairs = choices.map((choice) => (typeof choice === 'string' ? ([choice, choice, ''] as const) : choice))
  const offered = pairs.some(([choice]) => choice === value) ? pairs : [...pairs, [value, value, ''] as const]
  const groups = Object.entries(Object.groupBy(offered, ([, , group = '']) => group))
  return (
    <Field label={label} help={help} required={required}>
      {(tied) => (
        <select {...tied} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {groups.map(([group, options = []]) => {
            const drawn = options.map(([choice, text]) => (
              <option key={choice} value={choice}>
                {text}
              </option>
            ))
            if (group === '') return drawn
            return (
              <optgroup key={group} label={group}>
                {drawn}
              </optgroup>
            )
          })}
        </select>
      )}
    </Field>
  )
}

export function CheckField({ label, ...check }: Omit<CheckProps, 'children'> & { readonly label: string }) {
  return (
    <p class="field">
      <Check {...check}>{label}</Check>
    </p>
  )
}

interface CheckListProps {
  readonly label: string
  /** Instead of the label in view. */
  readonly head?: ComponentChildren
  readonly choices: readonly { readonly id: string; readonly label: ComponentChildren }[]
  readonly chosen: readonly string[]
  readonly onChange: (chosen: readonly string[]) => void
}

/** Any number of choices, in the order in which they were made. */
export function CheckList({ label, head = label, choices, chosen, onChange }: CheckListProps) {
  return (
    <fieldset class="check-list" aria-label={label}>
      {head !== '' && <strong>{head}</strong>}
      {choices.map(({ id, label: name }) => (
        <Check
          key={id}
          checked={chosen.includes(id)}
          onChange={(isOn) => onChange(isOn ? [...chosen, id] : chosen.filter((one) => one !== id))}
        >
          {name}
        </Check>
      ))}
    </fieldset>
  )
}

/** Fields by the names of their values. A value that is true or false is a checkbox. */
export type FieldTable = Readonly<
  Record<
    string,
    Pick<TextFieldProps, 'label' | 'help' | 'error' | 'required' | 'input' | 'suggestions'> & {
      readonly choices?: readonly Choice[]
    }
  >
>

interface FieldsProps {
  readonly fields: FieldTable
  readonly values: Json
  readonly onChange: (name: string, value: string | boolean) => void
}

export function Fields({ fields, values, onChange }: FieldsProps) {
  return (
    <>
      {Object.entries(fields).map(([name, { choices, ...field }]) => {
        const value = values[name]
        const change = (changed: string | boolean) => onChange(name, changed)
        if (typeof value === 'boolean') return <CheckField key={name} label={field.label} checked={value} onChange={change} />
        const tied = { ...field, value: textOf(value) ?? '', onChange: change }
        return choices === undefined ? <TextField key={name} {...tied} /> : <ChoiceField key={name} {...tied} choices={choices} />
      })}
    </>
  )
}
