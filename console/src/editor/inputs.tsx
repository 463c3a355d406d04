/** Inputs for the kinds of values that definitions hold. Each takes a value and reports the next one; undefined removes it. */

import type { ComponentChildren } from 'preact'
import { useContext, useId, useState } from 'preact/hooks'
import { Button, IconButton } from '../components/button.tsx'
import { Icon } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { parseExactly, toExact } from '../model/exact-json.ts'
import { objectOf, textOf } from '../model/read.ts'
import type { Choice } from './choices.ts'
import { isSameValue, type Path } from './json-path.ts'
import { FieldContext, useSuggestions } from './suggest.tsx'

/** Ids that tie an input to label, help and error. */
export interface Tied {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': boolean
  readonly 'aria-required'?: boolean | undefined
  readonly inputMode?: 'decimal'
}

export interface InputProps {
  readonly tied: Tied
  readonly value: unknown
  readonly onChange: (value: unknown) => void
}

const maxRows = 16

interface TextInputProps extends InputProps {
  /** Offered for the whole text; one with a label shows that instead of its value. */
  readonly choices?: readonly Choice[]
  readonly isLong?: boolean | undefined
  readonly isCode?: boolean | undefined
  readonly isNarrow?: boolean | undefined
  readonly placeholder?: string | undefined
}

export function TextInput(props: TextInputProps) {
  const { tied, value, onChange, choices = [], isLong, isCode, isNarrow, placeholder } = props
  const given = textOf(value) ?? ''
  const text = choices.find((choice) => choice.value === given)?.label ?? given
  const change = (typed: string) => onChange(choices.find(({ label }) => label === typed)?.value ?? (typed || undefined))
  const { attributes, onTyped, list } = useSuggestions({ choices, onText: change, onChoice: onChange })
  const isArea = isLong === true || text.includes('\n') || text.length > 80
  // Another element would lose the focus: it changes when the field is left.
  const [isShownAsArea, setShownAsArea] = useState(isArea)
  const field = {
    ...tied,
    ...attributes,
    class: `${isCode ? 'code' : ''} ${isNarrow ? 'narrow' : ''}`,
    value: text,
    placeholder,
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement | HTMLTextAreaElement }) => {
      change(currentTarget.value)
      onTyped(currentTarget)
    },
    onBlurCapture: () => setShownAsArea(isArea),
  }
  const rows = Math.min(maxRows, Math.max(isLong ? 3 : 2, text.split('\n').length))
  return (
    <div class="completed">
      {isShownAsArea || text.includes('\n') ? (
        <textarea {...field} rows={rows} spellcheck={isLong === true && !isCode} />
      ) : (
        <input {...field} autoComplete="off" spellcheck={false} />
      )}
      {choices.length > 0 && <Icon name="down" />}
      {list}
    </div>
  )
}

/** One of the choices; a value that is none of them stays visible. */
export function SelectInput({ tied, value, onChange, choices }: InputProps & { choices: readonly Choice[] }) {
  const text = textOf(value) ?? ''
  const isOther = text !== '' && !choices.some((choice) => choice.value === text)
  return (
    <select {...tied} value={text} onChange={(event) => onChange(event.currentTarget.value || undefined)}>
      {!choices.some((choice) => choice.value === '') && <option value="">Not set</option>}
      {isOther && <option value={text}>{text}</option>}
      {choices.map((choice) => (
        <option key={choice.value} value={choice.value}>
          {choice.value === '' ? 'None' : [choice.label ?? choice.value, choice.note].filter(Boolean).join(', ')}
        </option>
      ))}
    </select>
  )
}

/** Text that is no number stays as it is, for the check to find; it may be an expression. */
export function NumberInput({ tied, value, onChange }: InputProps) {
  const [text, setText] = useState<string | undefined>(undefined)
  const shown = text !== undefined && isSameValue(toNumber(text), value) ? text : value
  const change = (typed: unknown) => {
    setText(textOf(typed) ?? '')
    onChange(toNumber(textOf(typed) ?? ''))
  }
  return <TextInput tied={{ ...tied, inputMode: 'decimal' }} value={shown} onChange={change} isNarrow />
}

function toNumber(text: string): number | bigint | string | undefined {
  const trimmed = text.trim()
  if (trimmed === '') return undefined
  const number = Number(trimmed)
  return Number.isFinite(number) && /^[+-]?[\d.]/.test(trimmed) ? toExact(trimmed, number) : text
}

const minuteMs = 60_000

/** Milliseconds since the epoch, entered in the reader's zone. */
export function MomentInput({ tied, value, onChange }: InputProps) {
  const ms = Number(textOf(value) ?? Number.NaN)
  const moment = Number.isFinite(ms) && ms > 0 ? new Date(ms - new Date(ms).getTimezoneOffset() * minuteMs) : undefined
  return (
    <input
      {...tied}
      type="datetime-local"
      class="narrow"
      value={moment === undefined || Number.isNaN(moment.getTime()) ? '' : moment.toISOString().slice(0, 16)}
      onInput={(event) => {
        const given = new Date(event.currentTarget.value).getTime()
        onChange(Number.isNaN(given) ? undefined : given)
      }}
    />
  )
}

/** Text that is no JSON stays in the field until it is, or until another value comes. */
export function JsonInput({ tied, value, onChange, rows = 4, at }: InputProps & { rows?: number; at?: Path }) {
  const { kept, keep } = useKeptText(at)
  const text = kept?.text ?? (value === undefined ? '' : JSON.stringify(value, null, 2))
  const [typed, setTyped] = useState(text)
  // The user's own spaces stay while the value is the same.
  const shown = kept === undefined && isSameValue(parseJson(typed).value, value) ? typed : text
  return (
    <textarea
      {...tied}
      class="code"
      aria-invalid={kept !== undefined || tied['aria-invalid']}
      rows={Math.min(maxRows, Math.max(rows, shown.split('\n').length))}
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
function useKeptText(at?: Path) {
  const place = useContext(FieldContext)
  const path = at ?? place?.path ?? []
  const kept = place?.draft.heldAt(path)
  const keep = (text: string | undefined, why: string) =>
    text === undefined ? place?.draft.release(path) : place?.draft.hold(path, text, why)
  return { kept, keep }
}

function parseJson(text: string): { readonly value?: unknown; readonly error?: string } {
  if (text.trim() === '') return { value: undefined }
  try {
    return { value: parseExactly(text) }
  } catch (cause) {
    return { error: (cause as Error).message }
  }
}

/** A list of texts: one chip each, and a field for the next. */
export function TextsInput({ tied, value, onChange, choices }: InputProps & { choices: readonly Choice[] }) {
  const [next, setNext] = useState('')
  const texts = Array.isArray(value) ? value.map((item) => textOf(item) ?? '') : []
  const rest = choices.filter((choice) => !texts.includes(choice.value))
  const labelOf = (text: string) => choices.find((choice) => choice.value === text)?.label ?? text
  const add = (text: string) => {
    const given = text.trim()
    setNext('')
    if (given !== '' && !texts.includes(given)) onChange([...texts, given])
  }
  const remove = (index: number) => {
    const left = texts.toSpliced(index, 1)
    onChange(left.length === 0 ? undefined : left)
  }
  const { attributes, onTyped, list } = useSuggestions({ choices: rest, onText: setNext, onChoice: add })
  const { onKeyDown } = attributes as { onKeyDown?: (event: KeyboardEvent) => void }
  return (
    <div class="completed">
      {texts.length > 0 && <Chips texts={texts} labelOf={labelOf} onRemove={remove} />}
      <input
        {...tied}
        {...attributes}
        value={next}
        placeholder={rest.length > 0 ? 'Choose, or type and press Enter' : 'Type and press Enter'}
        autoComplete="off"
        spellcheck={false}
        onInput={(event) => {
          setNext(event.currentTarget.value)
          onTyped(event.currentTarget)
        }}
        onKeyDown={(event) => {
          onKeyDown?.(event)
          if (event.defaultPrevented) return
          if (event.key === 'Enter' || (event.key === ',' && !next.includes('${'))) {
            event.preventDefault()
            add(next)
          } else if (event.key === 'Backspace' && next === '' && texts.length > 0) remove(texts.length - 1)
        }}
        onBlurCapture={() => add(next)}
      />
      {rest.length > 0 && <Icon name="down" />}
      {list}
    </div>
  )
}

interface ChipsProps {
  readonly texts: readonly string[]
  readonly labelOf: (text: string) => string
  readonly onRemove: (index: number) => void
}

function Chips({ texts, labelOf, onRemove }: ChipsProps) {
  return (
    <ul class="removable-chips">
      {texts.map((text, index) => (
        <li key={text} class="chip">
          <Name text={labelOf(text)} max={40} />
          <IconButton icon="close" label={`Remove ${labelOf(text)}`} small onClick={() => onRemove(index)} />
        </li>
      ))}
    </ul>
  )
}

/** Names of the author's choice; a value that is no text is edited as JSON. */
export function MapInput({ tied, value, onChange, label }: InputProps & { label: string }) {
  const entries = Object.entries(objectOf(value))
  // The key itself is edited: only its place tells a row from others.
  const rows = entries.map(([key, item], index) => ({ key, item, index }))
  const set = (next: readonly (readonly [string, unknown])[]) =>
    onChange(next.length === 0 ? undefined : Object.fromEntries(next))
  const replace = (index: number, entry: readonly [string, unknown]) => set(entries.with(index, entry as [string, unknown]))
  const free = () => {
    const taken = new Set(entries.map(([key]) => key))
    for (let number = entries.length + 1; ; number++) if (!taken.has(`key${number}`)) return `key${number}`
  }
  return (
    <div class="map-input">
      {rows.map(({ key, item, index }) => (
        <div key={index} class="map-row">
          <KeyInput
            label={`${label}, name ${index + 1}`}
            value={key}
            isTaken={(text) => entries.some(([other], at) => at !== index && other === text)}
            onChange={(text) => replace(index, [text, item])}
          />
          <MapValue name={key} value={item} onChange={(next) => replace(index, [key, next ?? ''])} />
          <IconButton icon="close" label={`Remove ${key}`} onClick={() => set(entries.toSpliced(index, 1))} />
        </div>
      ))}
      <AddButton id={tied.id} label="Add an entry" onClick={() => set([...entries, [free(), '']])} />
    </div>
  )
}

function KeyInput(props: { label: string; value: string; isTaken: (text: string) => boolean; onChange: (text: string) => void }) {
  const { label, value, isTaken, onChange } = props
  const { keep } = useKeptText()
  const [text, setText] = useState<string | undefined>(undefined)
  return (
    <input
      aria-label={label}
      aria-invalid={text !== undefined}
      value={text ?? value}
      autoComplete="off"
      spellcheck={false}
      onInput={(event) => {
        const next = event.currentTarget.value
        const isFree = next !== '' && !isTaken(next)
        setText(isFree ? undefined : next)
        keep(isFree ? undefined : next, next === '' ? 'An entry has no name.' : `There are two entries ${next}.`)
        if (isFree) onChange(next)
      }}
    />
  )
}

function MapValue({ name, value, onChange }: { name: string; value: unknown; onChange: (value: unknown) => void }) {
  const place = useContext(FieldContext)
  const tied = { id: useId(), 'aria-describedby': undefined, 'aria-invalid': false, 'aria-label': `Value of ${name}` }
  return typeof value === 'object' && value !== null ? (
    <JsonInput tied={tied} value={value} onChange={onChange} rows={2} at={[...(place?.path ?? []), name]} />
  ) : (
    <TextInput tied={tied} value={typeof value === 'boolean' ? String(value) : value} onChange={onChange} />
  )
}

export function AddButton({ id, label, onClick }: { id?: string; label: ComponentChildren; onClick: () => void }) {
  return (
    <Button small icon="plus" id={id} onClick={onClick}>
      {label}
    </Button>
  )
}
