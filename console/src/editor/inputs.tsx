/** Inputs for the kinds of values that definitions hold. Each takes a value and reports the next one; undefined removes it. */

import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { Button, IconButton } from '../components/button.tsx'
import { Check } from '../components/check.tsx'
import { Name } from '../components/name.tsx'
import { parseExactly, toExact } from '../model/exact-json.ts'
import { objectOf, textOf } from '../model/read.ts'
import type { Choice } from './choices.ts'
import { useExpressionCompletion } from './expression-completion.tsx'
import { isSameValue } from './json-path.ts'
import { editorWords } from './words.ts'

/** Ids that tie an input to label, help and error. */
export interface Tied {
  readonly id: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': boolean
  readonly 'aria-required'?: boolean | undefined
}

interface InputProps {
  readonly tied: Tied
  readonly value: unknown
  readonly onChange: (value: unknown) => void
}

const maxRows = 16

export function TextInput({ tied, value, onChange, isLong, isCode }: InputProps & { isLong?: boolean; isCode?: boolean }) {
  const text = textOf(value) ?? ''
  const { attributes, onTyped, list } = useExpressionCompletion((next) => onChange(next || undefined))
  const isArea = isLong === true || text.includes('\n') || text.length > 80
  // Another element would lose the focus: it changes when the field is left.
  const [isShownAsArea, setShownAsArea] = useState(isArea)
  const field = {
    ...tied,
    ...attributes,
    class: isCode ? 'code' : '',
    value: text,
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement | HTMLTextAreaElement }) => {
      onChange(currentTarget.value || undefined)
      onTyped(currentTarget)
    },
    onBlur: () => {
      attributes.onBlur?.()
      setShownAsArea(isArea)
    },
  }
  const rows = Math.min(maxRows, Math.max(isLong ? 3 : 2, text.split('\n').length))
  return (
    <div class="completed">
      {isShownAsArea || text.includes('\n') ? (
        <textarea {...field} rows={rows} spellcheck={isLong === true && !isCode} />
      ) : (
        <input {...field} autoComplete="off" spellcheck={false} />
      )}
      {list}
    </div>
  )
}

/** A text with suggestions. */
export function SuggestInput({ tied, value, onChange, choices }: InputProps & { choices: readonly Choice[] }) {
  const list = useId()
  return (
    <>
      <input
        {...tied}
        list={choices.length === 0 ? undefined : list}
        value={textOf(value) ?? ''}
        onInput={(event) => onChange(event.currentTarget.value || undefined)}
        autoComplete="off"
        spellcheck={false}
      />
      <Suggestions id={list} choices={choices} />
    </>
  )
}

function Suggestions({ id, choices }: { id: string; choices: readonly Choice[] }) {
  return (
    <datalist id={id}>
      {choices.map(({ value, label, note }) => (
        <option key={value} value={value} label={label ?? note} />
      ))}
    </datalist>
  )
}

/** One of the choices; a value that is none of them stays visible. */
export function SelectInput({ tied, value, onChange, choices }: InputProps & { choices: readonly Choice[] }) {
  const text = textOf(value) ?? ''
  const isOther = text !== '' && !choices.some((choice) => choice.value === text)
  return (
    <select {...tied} value={text} onChange={(event) => onChange(event.currentTarget.value || undefined)}>
      {!choices.some((choice) => choice.value === '') && <option value="">{editorWords.notSet}</option>}
      {isOther && <option value={text}>{text}</option>}
      {choices.map((choice) => (
        <option key={choice.value} value={choice.value}>
          {choice.value === '' ? editorWords.none : [choice.label ?? choice.value, choice.note].filter(Boolean).join(', ')}
        </option>
      ))}
    </select>
  )
}

/** Text that is no number stays as it is, for the check to find. */
export function NumberInput({ tied, value, onChange }: InputProps) {
  const [text, setText] = useState<string | undefined>(undefined)
  const shown = text !== undefined && isSameValue(toNumber(text), value) ? text : (textOf(value) ?? '')
  return (
    <input
      {...tied}
      class="narrow"
      inputMode="decimal"
      autoComplete="off"
      value={shown}
      onInput={(event) => {
        setText(event.currentTarget.value)
        onChange(toNumber(event.currentTarget.value))
      }}
    />
  )
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
export function JsonInput({ tied, value, onChange, rows = 4 }: InputProps & { rows?: number }) {
  const [typed, setTyped] = useState<{ readonly text: string; readonly of: unknown } | undefined>(undefined)
  const isOurs = typed !== undefined && isSameValue(typed.of, value)
  const text = isOurs ? typed.text : value === undefined ? '' : JSON.stringify(value, null, 2)
  const error = isOurs ? parseJson(typed.text).error : undefined
  const errorId = `${tied.id}-json`
  return (
    <>
      <textarea
        {...tied}
        class="code"
        aria-describedby={[tied['aria-describedby'], error !== undefined && errorId].filter(Boolean).join(' ') || undefined}
        aria-invalid={error !== undefined || tied['aria-invalid']}
        rows={Math.min(maxRows, Math.max(rows, text.split('\n').length))}
        spellcheck={false}
        value={text}
        onInput={(event) => {
          const next = event.currentTarget.value
          const parsed = parseJson(next)
          setTyped({ text: next, of: parsed.error === undefined ? parsed.value : value })
          if (parsed.error === undefined) onChange(parsed.value)
        }}
      />
      {error !== undefined && (
        <p id={errorId} class="error">
          {editorWords.notJson(error)}
        </p>
      )}
    </>
  )
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
  const list = useId()
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
  return (
    <div class="texts-input">
      {texts.length > 0 && <Chips texts={texts} labelOf={labelOf} onRemove={remove} />}
      <div class="row tight-row">
        <input
          {...tied}
          list={rest.length === 0 ? undefined : list}
          value={next}
          placeholder={editorWords.addAndEnter}
          autoComplete="off"
          spellcheck={false}
          onInput={(event) => {
            const text = event.currentTarget.value
            // A choice from the list is complete at once.
            if (
              rest.some((choice) => choice.value === text) &&
              !(event instanceof InputEvent && event.inputType === 'insertText')
            )
              add(text)
            else setNext(text)
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter' || (event.key === ',' && !next.includes('${'))) {
              event.preventDefault()
              add(next)
            } else if (event.key === 'Backspace' && next === '' && texts.length > 0) remove(texts.length - 1)
          }}
          onBlur={() => add(next)}
        />
      </div>
      <Suggestions id={list} choices={rest} />
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
          <IconButton icon="close" label={editorWords.removeItem(labelOf(text))} small onClick={() => onRemove(index)} />
        </li>
      ))}
    </ul>
  )
}

/** Some of few texts. Others that the list has stay. */
export function ChecksInput({
  value,
  onChange,
  choices,
  label,
}: Omit<InputProps, 'tied'> & { choices: readonly Choice[]; label: string }) {
  const texts = Array.isArray(value) ? value.map((item) => textOf(item) ?? '') : []
  const all = [
    ...choices,
    ...texts.filter((text) => !choices.some((choice) => choice.value === text)).map((text) => ({ value: text })),
  ]
  const toggle = (text: string, on: boolean) => {
    const left = on ? [...texts, text] : texts.filter((each) => each !== text)
    onChange(left.length === 0 ? undefined : left)
  }
  return (
    <fieldset class="row checks" aria-label={label}>
      {all.map((choice: Choice) => (
        <Check key={choice.value} checked={texts.includes(choice.value)} onChange={(on) => toggle(choice.value, on)}>
          <Name text={choice.label ?? choice.value} max={60} />
        </Check>
      ))}
    </fieldset>
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
            label={editorWords.keyOf(label, index + 1)}
            value={key}
            isTaken={(text) => entries.some(([other], at) => at !== index && other === text)}
            onChange={(text) => replace(index, [text, item])}
          />
          <MapValue label={editorWords.valueOf(key)} value={item} onChange={(next) => replace(index, [key, next ?? ''])} />
          <IconButton icon="close" label={editorWords.removeItem(key)} onClick={() => set(entries.toSpliced(index, 1))} />
        </div>
      ))}
      <AddButton id={tied.id} label={editorWords.addEntry} onClick={() => set([...entries, [free(), '']])} />
    </div>
  )
}

function KeyInput(props: { label: string; value: string; isTaken: (text: string) => boolean; onChange: (text: string) => void }) {
  const { label, value, isTaken, onChange } = props
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
        if (isFree) onChange(next)
      }}
      onBlur={() => setText(undefined)}
    />
  )
}

function MapValue({ label, value, onChange }: { label: string; value: unknown; onChange: (value: unknown) => void }) {
  const id = useId()
  const tied: Tied = { id, 'aria-describedby': undefined, 'aria-invalid': false }
  const named = { ...tied, 'aria-label': label }
  return typeof value === 'object' && value !== null ? (
    <div>
      <JsonInput tied={named} value={value} onChange={onChange} rows={2} />
    </div>
  ) : (
    <TextInput tied={named} value={typeof value === 'boolean' ? String(value) : value} onChange={onChange} />
  )
}

export function AddButton({ id, label, onClick }: { id?: string; label: ComponentChildren; onClick: () => void }) {
  return (
    <Button small icon="plus" id={id} onClick={onClick}>
      {label}
    </Button>
  )
}
