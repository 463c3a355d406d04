/** A parameter of a pipeline, as the field that fits its definition. */
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import type { Schemas } from '../api/client.ts'
import { Check } from '../components/check.tsx'
import { Field } from '../components/field.tsx'
import { Suggestions } from '../components/form-fields.tsx'
import { Name } from '../components/name.tsx'
import { objectsOf, textOf } from '../model/read.ts'

/** More of them are a list. */
const maxRadios = 5

interface ParameterFieldProps {
  readonly parameter: Schemas['Parameter']
  readonly value: string
  readonly error: string | undefined
  /** Where it has no options. */
  readonly suggestions: readonly string[]
  readonly onChange: (value: string) => void
}

export function ParameterField(props: ParameterFieldProps) {
  const { parameter, value, error, onChange } = props
  const { name, label, description, required, default: usual } = parameter
  const options =
    parameter['hasOptions'] === true ? objectsOf(parameter.options).flatMap(({ value: option }) => textOf(option) ?? []) : []
  const isSecret = /password|secret|token/i.test(name)
  const secret = isSecret && 'The value is stored with the run, and readers of the application can see it.'
  const help = [description, secret].filter(Boolean).join(' ') || undefined
  const shown = <Name text={label || name} />
  if (options.length === 0 && /^(true|false)$/.test(String(usual))) {
    return (
      <div class="field">
        <Check checked={value === 'true'} onChange={(isOn) => onChange(String(isOn))}>
          <strong>{shown}</strong> <span class="muted">{value === 'true' ? 'yes' : 'no'}</span>
        </Check>
        {help !== undefined && <p class="help">{help}</p>}
      </div>
    )
  }
  if (options.length === 0 || options.length > maxRadios) {
    return (
      <Field label={shown} help={help} error={error} required={required === true}>
        {(tied) => <Input {...props} tied={tied} options={options} isSecret={isSecret} />}
      </Field>
    )
  }
  return (
    <fieldset class="field">
      <legend>
        {shown}
        {required && <span aria-hidden="true"> *</span>}
      </legend>
      <div class="row">
        {options.map((option) => (
          <label key={option} class="check">
            <input type="radio" name={name} value={option} checked={value === option} onChange={() => onChange(option)} />{' '}
            <Name text={option} />
          </label>
        ))}
      </div>
      {help !== undefined && <p class="help">{help}</p>}
      {error !== undefined && <p class="error">{error}</p>}
    </fieldset>
  )
}

interface InputProps extends ParameterFieldProps {
  readonly tied: object
  readonly options: readonly string[]
  readonly isSecret: boolean
}

function Input({ parameter, value, onChange, tied, options, suggestions, isSecret }: InputProps) {
  const list = useId()
  const isLong = suggestions.length === 0 || [value, ...suggestions].some((text) => text.includes('\n'))
  const long = useRef<HTMLTextAreaElement>(null)
  const short = useRef<HTMLInputElement>(null)
  // Suggestions that arrive exchange the field, and the focus stays with it.
  const hadFocus = [long.current, short.current].some((element) => element !== null && element === document.activeElement)
  useLayoutEffect(() => {
    if (hadFocus) (long.current ?? short.current)?.focus()
  }, [isLong])
  const field = { ...tied, value, onInput: (event: Event) => onChange((event.target as HTMLInputElement).value) }
  if (options.length > 0) {
    return (
      <select {...field}>
        {['', ...options].map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    )
  }
  if (parameter['constraint'] === 'date') return <input {...field} type="date" />
  if (isSecret) return <input {...field} type="password" autoComplete="off" />
  if (isLong) {
    return <textarea {...field} ref={long} rows={Math.min(8, value.split('\n').length)} spellcheck={false} />
  }
  return (
    <>
      <input {...field} ref={short} list={list} autoComplete="off" spellcheck={false} />
      <Suggestions id={list} values={suggestions} />
    </>
  )
}
