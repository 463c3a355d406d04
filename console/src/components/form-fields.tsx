/** Fields that forms are made of: each with its label, its help and its error. */

import { type JsonObject, scalarOf } from '@fairlead/base/json/values.ts'
import type { ComponentChildren, JSX } from 'preact'
import { useId } from 'preact/hooks'
import { capital } from '../words.ts'
import { Button, IconButton } from './button.tsx'

interface FieldSettings {
  readonly label: ComponentChildren
  readonly help?: ComponentChildren
  readonly error?: string
  readonly required?: boolean
}

interface FieldProps extends FieldSettings {
  /** Receives the ids that tie it to label, help and error. */
  readonly children: (tied: {
    id: string
    'aria-describedby': string | undefined
    'aria-invalid': boolean
    'aria-required': boolean | undefined
  }) => ComponentChildren
}

export function Field({ label, help, error, required, children }: FieldProps) {
  const id = useId()
  const notes = Object.entries({ help, error }).filter(([, text]) => text !== undefined)
  return (
    <div class="field">
      <label for={id}>
        {label}
        {required && <span aria-hidden="true"> *</span>}
      </label>
      {children({
        id,
        'aria-describedby': notes.map(([kind]) => `${id}-${kind}`).join(' ') || undefined,
        'aria-invalid': error !== undefined,
        'aria-required': required || undefined,
      })}
      {notes.map(([kind, text]) => (
        <p key={kind} id={`${id}-${kind}`} class={kind}>
          {text}
        </p>
      ))}
    </div>
  )
}

interface TextFieldProps extends FieldSettings {
  readonly value: string
  readonly suggestions?: readonly string[]
  /** Further attributes of the input, such as its type. */
  readonly input?: Omit<JSX.IntrinsicElements['input'], 'value' | 'onInput' | 'icon' | 'label'>
  readonly onChange: (value: string) => void
}

export function TextField({ value, suggestions, input, onChange, ...settings }: TextFieldProps) {
  const list = useId()
  return (
    <Field {...settings}>
      {(tied) => (
        <>
          <input
            {...tied}
            value={value}
            required={settings.required}
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

/** Attributes of an input for a number. */
export const decimal = { inputMode: 'decimal' } as const

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

/** @param value Offered as well where it is none of the choices. */
export function Options({ choices, value }: { choices: readonly Choice[]; value: string }) {
  const rows = choices.map((choice) =>
    typeof choice === 'string' ? ([choice, choice, ''] as const) : choice,
  )
  const offered = rows.some(([choice]) => choice === value)
    ? rows
    : [...rows, [value, value, ''] as const]
  return Object.entries(Object.groupBy(offered, ([, , group = '']) => group)).map(
    ([group, members = []]) => {
      const options = members.map(([choice, text]) => (
        <option key={choice} value={choice}>
          {text}
        </option>
      ))
      if (group === '') return options
      return (
        <optgroup key={group} label={group}>
          {options}
        </optgroup>
      )
    },
  )
}

interface ChoiceFieldProps extends FieldSettings {
  readonly value: string
  readonly choices: readonly Choice[]
  readonly onChange: (value: string) => void
}

export function ChoiceField({ value, choices, onChange, ...settings }: ChoiceFieldProps) {
  return (
    <Field {...settings}>
      {(tied) => (
        <select {...tied} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          <Options choices={choices} value={value} />
        </select>
      )}
    </Field>
  )
}

interface CheckProps {
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
  /** What it means. */
  readonly children: ComponentChildren
  /** Id of its help. */
  readonly describedBy?: string
}

export function Check({ checked, onChange, children, describedBy }: CheckProps) {
  const change = ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) =>
    onChange(currentTarget.checked)
  return (
    <label class="check">
      <input type="checkbox" checked={checked} aria-describedby={describedBy} onChange={change} />{' '}
      {children}
    </label>
  )
}

interface CheckListProps {
  readonly label: string
  /** Replaces the label in view. */
  readonly head?: ComponentChildren
  readonly choices: readonly { readonly id: string; readonly label: ComponentChildren }[]
  readonly chosen: readonly string[]
  readonly onChange: (chosen: readonly string[]) => void
}

/** Any number of choices, in the order in which they were made. */
export function CheckList({ label, head = label, choices, chosen, onChange }: CheckListProps) {
  const change = (id: string, isOn: boolean) =>
    onChange(isOn ? [...chosen, id] : chosen.filter((one) => one !== id))
  return (
    <fieldset class="check-list" aria-label={label}>
      {head !== '' && <strong>{head}</strong>}
      {choices.map(({ id, label: name }) => (
        <Check key={id} checked={chosen.includes(id)} onChange={(isOn) => change(id, isOn)}>
          {name}
        </Check>
      ))}
    </fieldset>
  )
}

interface FieldOfTable
  extends Pick<TextFieldProps, 'error' | 'required' | 'suggestions' | 'input'> {
  readonly label: string
  readonly help?: string | ((value: string) => string | undefined)
  readonly choices?: readonly Choice[]
}

/** Fields by the names of their values. A value that is true or false is a checkbox. */
export type FieldTable = Readonly<Record<string, FieldOfTable>>

interface FieldsProps {
  readonly fields: FieldTable
  readonly values: JsonObject
  readonly onChange: (name: string, value: string | boolean) => void
}

export function Fields({ fields, values, onChange }: FieldsProps) {
  return Object.entries(fields).map(([name, { choices, help, ...field }]) => {
    const value = values[name]
    const change = (changed: string | boolean) => onChange(name, changed)
    if (typeof value === 'boolean') {
      return (
        <p key={name} class="field">
          <Check checked={value} onChange={change}>
            {field.label}
          </Check>
        </p>
      )
    }
    const text = scalarOf(value) ?? ''
    const shown = {
      ...field,
      value: text,
      help: typeof help === 'function' ? help(text) : help,
      onChange: change,
    }
    return choices === undefined ? (
      <TextField key={name} {...shown} />
    ) : (
      <ChoiceField key={name} {...shown} choices={choices} />
    )
  })
}

interface RecordRowsProps<Item> {
  readonly records: readonly Item[]
  readonly onChange: (records: readonly Item[]) => void
  /** What each of them is, such as "rule". */
  readonly noun: string
  readonly added: Item
  readonly children: (record: Item, set: (change: Partial<Item>) => void) => ComponentChildren
}

/** A list of records in a form: the fields of each, a button that removes it, and one that adds another. */
export function RecordRows<Item extends object>(props: RecordRowsProps<Item>) {
  const { records, onChange, noun, added, children } = props
  return (
    <>
      {records.map((record, at) => (
        <fieldset key={at} class="record" aria-label={`${capital(noun)} ${at + 1}`}>
          <div class="question">
            {children(record, (change) =>
              onChange(records.map((one, index) => (index === at ? { ...one, ...change } : one))),
            )}
          </div>
          <IconButton
            icon="trash"
            label={`Remove ${noun} ${at + 1}`}
            title={`Remove ${noun}`}
            onClick={(event) => {
              focusBeside(event.currentTarget)
              onChange(records.filter((_, index) => index !== at))
            }}
          />
        </fieldset>
      ))}
      <p>
        <Button
          small
          icon="plus"
          onClick={() => onChange([...records, added])}
        >{`Add ${noun}`}</Button>
      </p>
    </>
  )
}

/** The focus goes to the control after one that leaves, such as the button that adds a record. */
function focusBeside(leaving: HTMLElement) {
  const all = [
    ...document.querySelectorAll<HTMLElement>('button, input, select, textarea, a[href]'),
  ]
  const after = all.slice(all.indexOf(leaving) + 1)
  requestAnimationFrame(() => {
    if (!leaving.isConnected)
      after.find((element) => element.isConnected && element.tabIndex >= 0)?.focus()
  })
}
