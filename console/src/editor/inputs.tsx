/** Inputs for the kinds of values that definitions hold. Each takes a value and reports the next one; undefined removes it. */
import { useContext, useState } from 'preact/hooks'
import { Button, IconButton } from '../components/button.tsx'
import { Name } from '../components/name.tsx'
import { parseExactly, toExact } from '../model/exact-json.ts'
import { freeName } from '../model/names.ts'
import { objectOf, textOf } from '../model/read.ts'
import { isTime } from '../model/time.ts'
import type { Choice } from './choices.ts'
import { isSameValue } from './json-path.ts'
import { FieldContext, SuggestingText } from './suggest.tsx'

export interface InputProps {
  /** Ids that tie it to label, help and error. */
  readonly tied: {
    readonly id?: string
    readonly 'aria-label'?: string
    readonly 'aria-describedby'?: string | undefined
    readonly 'aria-invalid'?: boolean
    readonly 'aria-required'?: boolean | undefined
  }
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly label?: string
  /** Offered; one with a label shows that instead of its value. */
  readonly choices?: readonly Choice[]
  readonly placeholder?: string | undefined
  readonly isCode?: boolean | undefined
}

const maxRows = 16
const longText = 80
const minuteMs = 60_000

export function TextInput(props: InputProps & { readonly isLong?: boolean; readonly isNumber?: boolean }) {
  const { tied, value, onChange, choices = [], placeholder, isCode = false, isLong = false, isNumber } = props
  const given = textOf(value) ?? (typeof value === 'boolean' ? String(value) : '')
  const text = choices.find((choice) => choice.value === given)?.label ?? given
  // Another element would lose the focus.
  const [beganLong] = useState(isLong || text.length > longText)
  return (
    <SuggestingText
      text={text}
      choices={choices}
      onText={(typed) => onChange(choices.find(({ label }) => label === typed)?.value ?? (typed || undefined))}
      onTake={onChange}
      rows={beganLong || text.includes('\n') ? Math.min(maxRows, Math.max(isLong ? 3 : 2, text.split('\n').length)) : undefined}
      attributes={{
        ...tied,
        class: `${isCode ? 'code' : ''} ${isNumber ? 'narrow' : ''}`,
        ...(isNumber && { inputMode: 'decimal' }),
        spellcheck: isLong && !isCode,
        placeholder,
      }}
    />
  )
}

/** One of the choices; a value that is none of them stays visible. */
export function SelectInput({ tied, value: given, onChange, choices = [] }: InputProps) {
  const text = textOf(given) ?? ''
  const others = [...new Set(['', text])].filter((other) => choices.every(({ value }) => value !== other))
  const options = [...others.map((value): Choice => ({ value, label: value || 'Not set' })), ...choices]
  return (
    <select {...tied} value={text} onChange={(event) => onChange(event.currentTarget.value || undefined)}>
      {options.map(({ value, label = value || 'None', note }) => (
        <option key={value} value={value}>
          {[label, note].filter(Boolean).join(', ')}
        </option>
      ))}
    </select>
  )
}

/** Text that is no number stays as it is, for the check to find; it may be an expression. */
export function NumberInput(props: InputProps) {
  const [text, setText] = useState<string | undefined>(undefined)
  const shown = text !== undefined && isSameValue(toNumber(text), props.value) ? text : props.value
  const change = (typed: unknown) => {
    setText(textOf(typed) ?? '')
    props.onChange(toNumber(textOf(typed) ?? ''))
  }
  return <TextInput {...props} value={shown} onChange={change} isNumber />
}

function toNumber(text: string): number | bigint | string | undefined {
  const trimmed = text.trim()
  if (trimmed === '') return undefined
  const number = Number(trimmed)
  return Number.isFinite(number) && /^[+-]?[\d.]/.test(trimmed) ? toExact(trimmed, number) : text
}

/** Milliseconds since the epoch, entered in the reader's zone. */
export function MomentInput({ tied, value, onChange }: InputProps) {
  const ms = Number(textOf(value) ?? Number.NaN)
  const shown = isTime(ms) ? new Date(ms - new Date(ms).getTimezoneOffset() * minuteMs).toISOString().slice(0, 16) : ''
  const change = (typed: string) => onChange(typed === '' ? undefined : new Date(typed).getTime())
  return (
    <input {...tied} type="datetime-local" class="narrow" value={shown} onInput={(event) => change(event.currentTarget.value)} />
  )
}

/** Text that is no JSON stays in the field until it is, or until another value comes. */
export function JsonInput({ tied, value, onChange }: InputProps) {
  const { kept, keep } = useKeptText()
  const text = kept?.text ?? (value === undefined ? '' : JSON.stringify(value, null, 2))
  const [typed, setTyped] = useState(text)
  // The user's own spaces stay while the value is the same.
  const shown = kept === undefined && isSameValue(parseJson(typed).value, value) ? typed : text
  return (
    <textarea
      {...tied}
      class="code"
      aria-invalid={kept !== undefined || tied['aria-invalid']}
      rows={Math.min(maxRows, Math.max(3, shown.split('\n').length))}
      spellcheck={false}
      value={shown}
      onInput={(event) => {
        const next = event.currentTarget.value
        const parsed = parseJson(next)
        setTyped(next)
        if (parsed.error === undefined) onChange(parsed.value)
        keep(parsed.error === undefined ? undefined : next, `This is not JSON yet: ${parsed.error}`)
      }}
    />
  )
}

/** Text of the field that is no value: the draft keeps it, and does not save. */
export function useKeptText() {
  const place = useContext(FieldContext)
  const path = place?.path ?? []
  const keep = (text: string | undefined, why: string) =>
    text === undefined ? place?.draft.release(path) : place?.draft.hold(path, text, why)
  return { kept: place?.draft.heldAt(path), keep }
}

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
  const texts = Array.isArray(value) ? value.map((item) => textOf(item) ?? '') : []
  const rest = choices.filter((choice) => !texts.includes(choice.value))
  const labelOf = (text: string) => choices.find((choice) => choice.value === text)?.label ?? text
  const add = (text: string) => {
    setNext('')
    if (text.trim() !== '' && !texts.includes(text.trim())) onChange([...texts, text.trim()])
  }
  const remove = (index: number) => onChange(texts.length === 1 ? undefined : texts.toSpliced(index, 1))
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter' || (event.key === ',' && !next.includes('${'))) {
      event.preventDefault()
      add(next)
    } else if (event.key === 'Backspace' && next === '' && texts.length > 0) remove(texts.length - 1)
  }
  return (
    <>
      {texts.length > 0 && (
        <ul class="removable-chips">
          {texts.map((text, index) => (
            <li key={text} class="chip">
              <Name text={labelOf(text)} max={40} />
              <IconButton icon="close" label={`Remove ${labelOf(text)}`} small onClick={() => remove(index)} />
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
          placeholder: rest.length > 0 ? 'Choose, or type and press Enter' : 'Type and press Enter',
          onBlurCapture: () => add(next),
        }}
      />
    </>
  )
}

/** Names of the author's choice, each with a text. */
export function MapInput({ tied, value, onChange, label }: InputProps) {
  const { keep } = useKeptText()
  // A name that is empty or taken while it is typed.
  const [half, setHalf] = useState<{ readonly at: number; readonly name: string } | undefined>(undefined)
  const entries = Object.entries(objectOf(value))
  const set = (next: readonly (readonly [string, unknown])[]) =>
    onChange(next.length === 0 ? undefined : Object.fromEntries(next))
  const isTaken = (name: string, at = -1) => entries.some(([other], index) => index !== at && other === name)
  const rename = (at: number, name: string, item: unknown) => {
    const isFree = name !== '' && !isTaken(name, at)
    setHalf(isFree ? undefined : { at, name })
    keep(isFree ? undefined : name, name === '' ? 'An entry has no name.' : `There are two entries ${name}.`)
    if (isFree) set(entries.with(at, [name, item]))
  }
  return (
    <div class="map-input">
      {entries.map(([name, item], at) => (
        // The name itself is edited: only its place tells a row from others.
        <div key={at} class="map-row">
          <input
            aria-label={`${label}, name ${at + 1}`}
            aria-invalid={half?.at === at}
            value={half?.at === at ? half.name : name}
            autoComplete="off"
            spellcheck={false}
            onInput={(event) => rename(at, event.currentTarget.value, item)}
          />
          <TextInput
            tied={{ 'aria-label': `Value of ${name}` }}
            value={item}
            onChange={(next) => set(entries.with(at, [name, next ?? '']))}
          />
          <IconButton icon="close" label={`Remove ${name}`} onClick={() => set(entries.toSpliced(at, 1))} />
        </div>
      ))}
      <Button small icon="plus" id={tied.id} onClick={() => set([...entries, [freeName('key', isTaken, ''), '']])}>
        Add an entry
      </Button>
    </div>
  )
}
