/** A parameter of a pipeline, as the field that fits its definition. */
import type { ComponentProps, VNode } from 'preact'
import { useId } from 'preact/hooks'
import type { Schemas } from '../api/client.ts'
import { Check } from '../components/check.tsx'
import { Field } from '../components/field.tsx'
import { Suggestions } from '../components/form-fields.tsx'
import { Name } from '../components/name.tsx'
import { objectsOf, textOf } from '../model/read.ts'

type Parameter = Schemas['Parameter']

/** More of them are a list. */
const maxRadios = 5

interface ParameterFieldProps {
  readonly parameter: Parameter
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
  const help =
    [description, isSecret && 'The value is stored with the run, and readers of the application can see it.']
      .filter(Boolean)
      .join(' ') || undefined
  const shown = <Name text={label || name} />
  if (options.length > 0 && options.length <= maxRadios) {
    return <Radios {...props} label={shown} help={help} options={options} />
  }
  if (options.length === 0 && (usual === true || usual === false || usual === 'true' || usual === 'false')) {
    return (
      <div class="field">
        <Check checked={value === 'true'} onChange={(isOn) => onChange(String(isOn))}>
          <strong>{shown}</strong> <span class="muted">{value === 'true' ? 'yes' : 'no'}</span>
        </Check>
        {help !== undefined && <p class="help">{help}</p>}
      </div>
    )
  }
  return (
    <Field label={shown} help={help} error={error} required={required === true}>
      {(tied) => <ParameterInput {...props} tied={tied} options={options} isSecret={isSecret} />}
    </Field>
  )
}

interface ParameterInputProps extends ParameterFieldProps {
  readonly tied: Parameters<ComponentProps<typeof Field>['children']>[0]
  readonly options: readonly string[]
  readonly isSecret: boolean
}

function ParameterInput({ parameter, value, onChange, tied, options, suggestions, isSecret }: ParameterInputProps) {
  const list = useId()
  const set = (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value)
  if (options.length > 0) {
    return (
      <select {...tied} value={value} onChange={set}>
        <option value="" />
        {options.map((option) => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    )
  }
  if (parameter['constraint'] === 'date') return <input {...tied} type="date" value={value} onInput={set} />
  if (isSecret) return <input {...tied} type="password" autoComplete="off" value={value} onInput={set} />
  if (suggestions.length === 0 || [value, ...suggestions].some((text) => text.includes('\n'))) {
    return <textarea {...tied} rows={Math.min(8, value.split('\n').length)} spellcheck={false} value={value} onInput={set} />
  }
  return (
    <>
      <input {...tied} list={list} autoComplete="off" spellcheck={false} value={value} onInput={set} />
      <Suggestions id={list} values={suggestions} />
    </>
  )
}

interface RadiosProps extends ParameterFieldProps {
  readonly label: VNode
  readonly help: string | undefined
  readonly options: readonly string[]
}

function Radios({ parameter: { name, required }, value, error, onChange, label, help, options }: RadiosProps) {
  return (
    <fieldset class="field">
      <legend>
        {label}
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
