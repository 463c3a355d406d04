/** Inputs for the kinds of values that definitions hold. Each takes a value and reports the next one; undefined removes it. */

import { objectOf, scalarOf } from '@fairlead/base/json/values.ts'
import { isExpression } from '@fairlead/model/stage-types/check-stage.ts'
import type { AriaAttributes, FunctionComponent } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { apiPath } from '../address.ts'
import { useLive } from '../api/live.ts'
import { CopyButton, IconButton } from '../components/button.tsx'
import { Options, RecordRows } from '../components/form-fields.tsx'
import { useSettled } from '../components/kept.tsx'
import { Lazy } from '../components/screen.tsx'
import { Name } from '../components/text.tsx'
import { parseExactly, toExact } from '../model/exact-json.ts'
import { freeName } from '../model/names.ts'
import { formatTimes, isTime, readersZone } from '../model/time.ts'
import type { Choice } from './choices.ts'
import { isSameValue } from './json-path.ts'
import { loadCodeEditor, loadText } from './lazy.tsx'
import type { FieldDescription } from './stages.ts'
import { SuggestingText, useKeptText } from './suggest.tsx'

export interface InputProps {
  /** Ids that tie it to label, help and error. */
  readonly tied: AriaAttributes & { readonly id?: string }
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly label?: string
  /** Offered; one with a label shows that instead of its value. */
  readonly choices?: readonly Choice[]
  readonly placeholder?: string
  readonly isCode?: boolean
}

const maxRows = 16
const longText = 80
const minuteMs = 60_000
const cronPauseMs = 400

export function TextInput(
  props: InputProps & { readonly isLong?: boolean; readonly isNumber?: boolean },
) {
  const {
    tied,
    value,
    onChange,
    choices = [],
    placeholder,
    isCode = false,
    isLong = false,
    isNumber,
  } = props
  const given = scalarOf(value) ?? (typeof value === 'boolean' ? String(value) : '')
  const text = choices.find((choice) => choice.value === given)?.label ?? given
  // Another element would lose the focus.
  const [beganLong] = useState(isLong || text.length > longText)
  return (
    <SuggestingText
      text={text}
      choices={choices}
      onText={(typed) =>
        onChange(choices.find(({ label }) => label === typed)?.value ?? (typed || undefined))
      }
      onTake={onChange}
      rows={beganLong || text.includes('\n') ? rowsOf(text, isLong ? 3 : 2) : undefined}
      attributes={{
        ...tied,
        placeholder,
        class: `${isCode ? 'code' : ''} ${isNumber ? 'narrow' : ''}`,
        inputMode: isNumber ? 'decimal' : undefined,
        spellcheck: isLong && !isCode,
      }}
    />
  )
}

/** One of the choices; a value that is none of them stays visible. */
export function SelectInput({ tied, value: given, onChange, choices = [] }: InputProps) {
  const text = scalarOf(given) ?? ''
  const offered = choices.map(
    ({ value, label = value || 'None', note }) =>
      [value, [label, note].filter(Boolean).join(', ')] as const,
  )
  const unset = choices.some(({ value }) => value === '') ? [] : [['', 'Not set'] as const]
  return (
    <select
      {...tied}
      value={text}
      onChange={(event) => onChange(event.currentTarget.value || undefined)}
    >
      <Options choices={[...unset, ...offered]} value={text} />
    </select>
  )
}

/** Text that is no number stays as it is, for the check to find; it may be an expression. */
export function NumberInput({ value, onChange, ...input }: InputProps) {
  const [text, setText] = useState('')
  const change = (typed: unknown) => {
    setText(scalarOf(typed) ?? '')
    onChange(toNumber(scalarOf(typed) ?? ''))
  }
  return (
    <TextInput
      {...input}
      value={isSameValue(toNumber(text), value) ? text : value}
      onChange={change}
      isNumber
    />
  )
}

function toNumber(text: string) {
  const trimmed = text.trim()
  if (trimmed === '') return undefined
  const number = Number(trimmed)
  return Number.isFinite(number) && /^[+-]?[\d.]/.test(trimmed) ? toExact(trimmed, number) : text
}

/** Milliseconds since the epoch, entered in the reader's zone. */
function MomentInput({ tied, value, onChange }: InputProps) {
  const ms = Number(scalarOf(value) ?? Number.NaN)
  const shown = isTime(ms)
    ? new Date(ms - new Date(ms).getTimezoneOffset() * minuteMs).toISOString().slice(0, 16)
    : ''
  const change = ({ currentTarget: { value: typed } }: { currentTarget: HTMLInputElement }) =>
    onChange(typed === '' ? undefined : new Date(typed).getTime())
  return <input {...tied} type="datetime-local" class="narrow" value={shown} onInput={change} />
}

/** Text that is no JSON stays in the field until it is, or until another value comes. */
export function JsonInput({ tied, value, onChange }: InputProps) {
  const { kept, keep } = useKeptText()
  const text = kept?.text ?? (value === undefined ? '' : JSON.stringify(value, null, 2))
  const [typed, setTyped] = useState(text)
  // The user's own spaces stay while the value is the same.
  const shown = kept === undefined && isSameValue(parseJson(typed).value, value) ? typed : text
  const change = (next: string) => {
    const { value: parsed, error } = parseJson(next)
    setTyped(next)
    if (error === undefined) onChange(parsed)
    keep(error === undefined ? undefined : next, `This is not JSON yet: ${error}`)
  }
  return (
    <textarea
      {...tied}
      class="code"
      aria-invalid={kept !== undefined || tied['aria-invalid']}
      rows={rowsOf(shown, 3)}
      spellcheck={false}
      value={shown}
      onInput={(event) => change(event.currentTarget.value)}
    />
  )
}

const rowsOf = (text: string, least: number) =>
  Math.min(maxRows, Math.max(least, text.split('\n').length))

function parseJson(text: string): { readonly value?: unknown; readonly error?: string } {
  try {
    return { value: text.trim() === '' ? undefined : parseExactly(text) }
  } catch (cause) {
    return { error: (cause as Error).message }
  }
}

/** A list of texts: one chip each, and a field for the next. */
export function TextsInput({ tied, value, onChange, choices = [] }: InputProps) {
  const [next, setNext] = useState('')
  const texts = Array.isArray(value) ? value.map((item) => scalarOf(item) ?? '') : []
  const rest = choices.filter((choice) => !texts.includes(choice.value))
  const labelOf = (text: string) => choices.find((choice) => choice.value === text)?.label ?? text
  const add = (typed: string) => {
    const text = typed.trim()
    setNext('')
    if (text !== '' && !texts.includes(text)) onChange([...texts, text])
  }
  const remove = (index: number) =>
    onChange(texts.length === 1 ? undefined : texts.toSpliced(index, 1))
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter' || (event.key === ',' && !next.includes('${'))) {
      event.preventDefault()
      add(next)
    } else if (event.key === 'Backspace' && next === '' && texts.length > 0)
      remove(texts.length - 1)
  }
  return (
    <>
      {texts.length > 0 && (
        <ul class="removable-chips">
          {texts.map((text, index) => (
            <li key={text} class="chip">
              <Name text={labelOf(text)} max={40} />
              <IconButton
                icon="close"
                label={`Remove ${labelOf(text)}`}
                small
                onClick={() => remove(index)}
              />
            </li>
          ))}
        </ul>
      )}
      <SuggestingText
        text={next}
        choices={rest}
        onText={setNext}
        onTake={add}
        onKey={onKey}
        attributes={{
          ...tied,
          placeholder: `${rest.length > 0 ? 'Choose, or type' : 'Type'} and press Enter`,
          onBlurCapture: () => add(next),
        }}
      />
    </>
  )
}

/** Names of the author's choice, each with a text. Rows in which a name is missing or twice are kept as text. */
function MapInput({ tied, value, onChange, label = '' }: InputProps) {
  const { kept, keep } = useKeptText()
  const entries = Object.entries(objectOf(value)).map(([name, item]) => ({ name, item }))
  const rows = kept === undefined ? entries : (parseExactly(kept.text) as typeof entries)
  const names = rows.map(({ name }) => name)
  const change = (next: readonly (typeof rows)[number][]) => {
    const twice = next.find(({ name }, at) => next.findIndex((other) => other.name === name) < at)
    const why = next.some(({ name }) => name === '')
      ? 'An entry has no name.'
      : twice && `There are two entries ${twice.name}.`
    keep(why && JSON.stringify(next), why ?? '')
    const map = Object.fromEntries(next.map(({ name, item }) => [name, item ?? '']))
    if (why === undefined) onChange(next.length === 0 ? undefined : map)
  }
  return (
    <div
      class="plain-records"
      id={tied.id}
      role="group"
      aria-label={label}
      aria-describedby={tied['aria-describedby']}
    >
      <RecordRows
        noun="entry"
        records={rows}
        added={{ name: freeName('key', (name) => names.includes(name), ''), item: '' }}
        onChange={change}
      >
        {({ name, item }, set) => (
          <>
            <input
              aria-label={`${label}, name`}
              aria-invalid={name === '' || names.indexOf(name) !== names.lastIndexOf(name)}
              value={name}
              autoComplete="off"
              spellcheck={false}
              onInput={(event) => set({ name: event.currentTarget.value })}
            />
            <TextInput
              tied={{ 'aria-label': `Value of ${name}` }}
              value={item}
              onChange={(next) => set({ item: next })}
            />
          </>
        )}
      </RecordRows>
    </div>
  )
}

/** Objects of a cluster, edited as YAML of one or several documents. */
function ManifestsInput({ isOne = false, ...input }: InputProps & { readonly isOne?: boolean }) {
  return (
    <div
      id={input.tied.id}
      role="group"
      aria-label={input.label}
      aria-describedby={input.tied['aria-describedby']}
    >
      <Lazy load={loadManifestsEditor} props={{ ...input, isOne }} />
    </div>
  )
}

async function loadManifestsEditor() {
  const [yaml, Editor] = await Promise.all([loadText(), loadCodeEditor()])
  /** Text that cannot be read stays in the field and keeps the draft from being saved; the value is as it was. */
  return function ManifestsEditor({
    label = '',
    isOne,
    value,
    onChange,
  }: InputProps & { isOne: boolean }) {
    const { kept, keep } = useKeptText()
    const begin = (version: number) => {
      const documents = value === undefined ? [] : [value].flat()
      return { value, text: kept?.text ?? yaml.writeDocuments(documents), version }
    }
    const shown = useRef(begin(0))
    // An undo changes the value from outside; the text then begins anew.
    if (!isSameValue(shown.current.value, value)) shown.current = begin(shown.current.version + 1)
    const read = (text: string) => {
      const parsed = yaml.readDocuments(text)
      if ('problem' in parsed) return keep(text, parsed.problem)
      keep(undefined, '')
      const [first, ...more] = parsed.documents
      const isSingle =
        more.length === 0 && (isOne || (value !== undefined && !Array.isArray(value)))
      const next = first === undefined || isSingle ? first : parsed.documents
      shown.current = { ...shown.current, value: next }
      onChange(next)
    }
    return (
      <Editor key={shown.current.version} text={shown.current.text} label={label} onChange={read} />
    )
  }
}

/** Shows what the service that fires it thinks of an expression, after a pause in typing. */
function CronInput(props: InputProps) {
  const text = scalarOf(props.value) ?? ''
  const asked = useSettled(text, cronPauseMs)
  const query =
    asked.trim() === '' || isExpression(asked) ? undefined : { query: { expression: asked } }
  const { body } = useLive('/cron/validate', query, 'open')
  const {
    valid,
    message,
    description = '',
    nextTimes = [],
    timeZone,
  } = (asked === text && body) || {}
  return (
    <>
      <TextInput {...props} isCode />
      {valid === false && <p class="verdict error">{message}</p>}
      {valid === true && (
        <p class="verdict muted">
          {description}
          <br />
          Next, in your zone: {formatTimes(nextTimes)}.
          {timeZone !== undefined &&
            timeZone !== readersZone &&
            ` In ${timeZone}: ${formatTimes(nextTimes, timeZone)}.`}
        </p>
      )}
    </>
  )
}

function WebhookInput(props: InputProps) {
  const address = `${location.origin}${apiPath}/webhooks/webhook/${encodeURIComponent(scalarOf(props.value) ?? '')}`
  return (
    <>
      <TextInput {...props} />
      {props.value !== undefined && (
        <p class="verdict muted row tight">
          <code class="cut">{address}</code> <CopyButton text={address} label="Copy the address" />
        </p>
      )}
    </>
  )
}

const kinds: Readonly<Record<string, FunctionComponent<InputProps>>> = {
  text: TextInput,
  'long-text': (props) => <TextInput {...props} isLong />,
  number: NumberInput,
  moment: MomentInput,
  choice: SelectInput,
  texts: TextsInput,
  map: MapInput,
  manifest: (props) => <ManifestsInput {...props} isOne />,
  manifests: ManifestsInput,
  cron: CronInput,
  'webhook-source': WebhookInput,
}

export function inputOf(kind: string): FunctionComponent<InputProps> {
  return kinds[kind] ?? JsonInput
}

/** Kinds whose input takes no expression: another one does. */
export const switchedKinds = ['moment', 'choice', 'texts', 'map', 'flag', 'object', 'objects']

const isObject = (value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isPlain = (value: unknown) => ['string', 'number', 'bigint'].includes(typeof value)

const shapes: Readonly<Record<string, (value: unknown) => boolean>> = {
  flag: (value) => ['true', 'false'].includes(String(value)),
  texts: (value) => Array.isArray(value) && value.every(isPlain),
  map: (value) =>
    isObject(value) && Object.values(objectOf(value)).every((item) => typeof item !== 'object'),
  object: isObject,
  objects: (value) => Array.isArray(value) && value.every(isObject),
  json: () => true,
}

/** A value of another shape than the description says is edited as JSON. */
export function kindOf({ name, kind, fields }: FieldDescription, value: unknown): string {
  // Objects of a cluster have no fields that a form could know.
  if (fields === undefined && ['manifest', 'manifests', 'patchBody'].includes(name))
    return name === 'manifest' ? name : 'manifests'
  if (fields === undefined && kind === 'object') return 'json'
  if (
    value === undefined ||
    value === null ||
    isExpression(value) ||
    (shapes[kind] ?? isPlain)(value)
  )
    return kind
  return kind === 'texts' && isPlain(value) ? 'text' : 'json'
}
