/** Forms that are made of the descriptions of stage types. */

import { type JsonObject, objectOf, objectsOf, scalarOf } from '@fairlead/base/json/values.ts'
import type { Field } from '@fairlead/model/stage-types/description.ts'
import { fieldLabelOf } from '@fairlead/model/stage-types/labels.ts'
import type { ComponentChildren } from 'preact'
import { useChoices } from './choices.ts'
import { useEffect, useState } from './deck.ts'

interface FieldsProps {
  readonly application: string
  readonly fields: readonly Field[]
  /** The object with these fields. */
  readonly value: JsonObject
  /** Gets what is new; undefined removes a key. */
  readonly onChange: (changes: JsonObject) => void
}

/** So many fields are open at first; the others wait behind "More fields". */
const firstShown = 8

export function Fields({ fields, ...props }: FieldsProps) {
  // Decided once: a field does not move away when it gets its first value.
  const [first] = useState(() => firstFields(fields, props.value))
  const [isOpen, setOpen] = useState(false)
  const shown = isOpen ? fields : fields.filter(({ name }) => first.has(name))
  return (
    <div className="form-horizontal">
      {shown.map((field) => (
        <FieldView key={field.name} field={field} {...props} />
      ))}
      {!isOpen && first.size < fields.length && (
        <button type="button" className="btn btn-link" onClick={() => setOpen(true)}>
          More fields
        </button>
      )}
    </div>
  )
}

function firstFields(fields: readonly Field[], value: JsonObject) {
  const isNeeded = (field: Field) => field.required || value[keyOf(field, value)] !== undefined
  const needed = fields.filter(isNeeded)
  const others = fields
    .filter((field) => !isNeeded(field))
    .slice(0, Math.max(0, firstShown - needed.length))
  return new Set([...needed, ...others].map(({ name }) => name))
}

/** The first of its names that is set. */
function keyOf({ name, otherNames = [] }: Field, value: JsonObject) {
  return [name, ...otherNames].find((key) => value[key] !== undefined) ?? name
}

function FieldView({
  field,
  application,
  value,
  onChange,
}: Omit<FieldsProps, 'fields'> & { readonly field: Field }) {
  const key = keyOf(field, value)
  const label = `${fieldLabelOf(key)}${field.required ? ' *' : ''}`
  const choices = useChoices(field.choicesFrom, { application, holder: value })
  const set = (changed: unknown) => onChange({ [key]: changed })
  const [only, other] = choices
  const isPlain =
    field.required &&
    only !== undefined &&
    other === undefined &&
    (value[key] === undefined || value[key] === '')
  useEffect(() => {
    // Most installations have one account with one region.
    if (isPlain && (field.choicesFrom === 'accounts' || field.choicesFrom === 'regions')) {
      set(field.kind === 'texts' && value[key] === undefined ? [only] : only)
    }
  }, [isPlain])
  const input = {
    application,
    field,
    value: value[key],
    choices: field.choices ?? choices,
    onChange: set,
    label: fieldLabelOf(key),
  }
  return (
    <div className="form-group">
      <div className="col-md-3 sm-label-right">{label}</div>
      <div className="col-md-8">
        <Input {...input} />
        <div className="help-block small" style={{ marginBottom: 0 }}>
          {field.help}
          {field.default !== undefined && field.default !== '' && (
            <> Default: {JSON.stringify(field.default)}.</>
          )}
        </div>
      </div>
    </div>
  )
}

interface InputProps {
  readonly application: string
  readonly field: Field
  readonly label: string
  readonly value: unknown
  readonly choices: readonly string[]
  readonly onChange: (value: unknown) => void
}

function Input(props: InputProps) {
  const { field, value } = props
  if (field.kind === 'flag') return <FlagInput {...props} />
  if (field.kind === 'choice') return <ChoiceInput {...props} />
  if (field.kind === 'object' && field.fields !== undefined) return <ObjectInput {...props} />
  if (field.kind === 'objects' && field.fields !== undefined) return <ObjectsInput {...props} />
  // A list of one place is often written as a text.
  if (field.kind === 'texts' && typeof value !== 'string') return <TextsInput {...props} />
  if (field.kind === 'map') return <MapInput {...props} />
  if (field.kind === 'json' || field.kind === 'object' || field.kind === 'objects')
    return <JsonInput {...props} />
  return <TextInput {...props} />
}

/** Numbers may be expressions, too. */
function TextInput({ field, label, value, choices, onChange }: InputProps) {
  const text = value === undefined || value === null ? '' : String(value)
  const isNumber = field.kind === 'number' || field.kind === 'moment'
  const change = (typed: string) =>
    onChange(typed === '' ? undefined : isNumber && /^-?\d+$/.test(typed) ? Number(typed) : typed)
  if (field.kind === 'long-text') {
    const className = 'form-control input-sm'
    return (
      <textarea
        className={className}
        aria-label={label}
        value={text}
        onChange={(event) => change(event.currentTarget.value)}
      />
    )
  }
  return <SuggestInput label={label} value={text} choices={choices} onChange={change} />
}

interface SuggestProps {
  readonly label: string
  readonly value: string
  readonly choices: readonly string[]
  readonly onChange: (text: string) => void
}

let lastId = 0

function SuggestInput({ label, value, choices, onChange }: SuggestProps) {
  const [id] = useState(() => `fairlead-choices-${++lastId}`)
  return (
    <>
      <input
        type="text"
        className="form-control input-sm"
        aria-label={label}
        value={value}
        {...(choices.length > 0 && { list: id })}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      {choices.length > 0 && (
        <datalist id={id}>
          {choices.map((choice) => (
            <option key={choice} value={choice} />
          ))}
        </datalist>
      )}
    </>
  )
}

function FlagInput({ field, label, value, onChange }: InputProps) {
  const isOn = String(value ?? field.default ?? false) === 'true'
  return (
    <input
      type="checkbox"
      aria-label={label}
      checked={isOn}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
  )
}

function ChoiceInput({ field, label, value, choices, onChange }: InputProps) {
  const chosen = scalarOf(value ?? field.default) ?? ''
  return (
    <select
      className="form-control input-sm"
      aria-label={label}
      value={chosen}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      {[...new Set([...(field.default === undefined ? [''] : []), ...choices, chosen])].map(
        (choice) => (
          <option key={choice} value={choice}>
            {choice === '' ? 'none' : choice}
          </option>
        ),
      )}
    </select>
  )
}

/** Typing into the last, empty input adds an item. */
function TextsInput({ label, value, choices, onChange }: InputProps) {
  const items = (Array.isArray(value) ? value : []).map(String)
  const change = (at: number, text: string) => {
    const changed = [...items, ''].with(at, text).filter((item) => item !== '')
    onChange(changed)
  }
  return (
    <>
      {[...items, ''].map((item, at) => (
        <SuggestInput
          key={String(at)}
          label={label}
          value={item}
          choices={choices}
          onChange={(text) => change(at, text)}
        />
      ))}
    </>
  )
}

function MapInput({ label, value, onChange }: InputProps) {
  const entries = Object.entries(objectOf(value))
  const change = (at: number, entry: [string, unknown]) =>
    onChange(
      Object.fromEntries([...entries, ['', '']].with(at, entry).filter(([name]) => name !== '')),
    )
  return (
    <>
      {[...entries, ['', '']].map(([name = '', text], at) => (
        <div key={String(at)} className="flex-container-h" style={{ display: 'flex' }}>
          <SuggestInput
            label={`${label}: name`}
            value={String(name)}
            choices={[]}
            onChange={(typed) => change(at, [typed, text])}
          />
          <SuggestInput
            label={`${label}: value`}
            value={String(text ?? '')}
            choices={[]}
            onChange={(typed) => change(at, [String(name), typed])}
          />
        </div>
      ))}
    </>
  )
}

function ObjectInput({ application, field, value, onChange }: InputProps) {
  const holder = objectOf(value)
  return (
    <Box>
      <Fields
        application={application}
        fields={field.fields ?? []}
        value={holder}
        onChange={(changes) => onChange({ ...holder, ...changes })}
      />
    </Box>
  )
}

function ObjectsInput({ application, field, label, value, onChange }: InputProps) {
  const items = objectsOf(value)
  return (
    <>
      {items.map((item, at) => (
        <Box key={String(at)}>
          <Fields
            application={application}
            fields={field.fields ?? []}
            value={item}
            onChange={(changes) => onChange(items.with(at, { ...item, ...changes }))}
          />
          <button
            type="button"
            className="btn btn-link"
            onClick={() => onChange(items.toSpliced(at, 1))}
          >
            Remove
          </button>
        </Box>
      ))}
      <button
        type="button"
        className="btn btn-default btn-sm"
        onClick={() => onChange([...items, {}])}
      >
        Add to {label.toLowerCase()}
      </button>
    </>
  )
}

function Box({ children }: { readonly children: ComponentChildren }) {
  return (
    <div
      style={{ border: '1px solid #ccc', borderRadius: '3px', padding: '8px', marginBottom: '4px' }}
    >
      {children}
    </div>
  )
}

/** What does not begin like a document is a text. */
function JsonInput({ label, value, onChange }: InputProps) {
  const [typed, setTyped] = useState(() =>
    typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? ''),
  )
  const [error, setError] = useState<string>()
  const change = (text: string) => {
    setTyped(text)
    try {
      onChange(text === '' ? undefined : /^\s*[[{\d]/.test(text) ? JSON.parse(text) : text)
      setError(undefined)
    } catch (cause) {
      setError(`Not saved: ${(cause as Error).message}`)
    }
  }
  return (
    <>
      <textarea
        className="form-control input-sm code"
        rows={3}
        aria-label={label}
        value={typed}
        onChange={(event) => change(event.currentTarget.value)}
      />
      {error !== undefined && <div className="error-message">{error}</div>}
    </>
  )
}
