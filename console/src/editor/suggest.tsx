/** A text field that offers values for its whole text, and names behind `${` in an expression. */
import { createContext, createElement } from 'preact'
import { useContext, useId, useRef, useState } from 'preact/hooks'
import { announcement } from '../components/notices.tsx'
import { Icon, Name } from '../components/text.tsx'
import { plural } from '../words.ts'
import { type Choice, loadFunctions } from './choices.ts'
import { matchingSuggestions, wordInExpression } from './completions.ts'
import type { Draft } from './draft.ts'
import { isSamePath, type Path } from './json-path.ts'

interface FieldPlace {
  readonly draft: Draft
  /** From the definition. */
  readonly path: Path
  /** Whether expressions are evaluated there: names are offered then. */
  readonly expression: boolean
}

/** Where the field is that an input belongs to. */
export const FieldContext = createContext<FieldPlace | undefined>(undefined)

/** Text of the field that is no value: the draft keeps it, and does not save. */
export function useKeptText() {
  const place = useContext(FieldContext)
  const path = place?.path ?? []
  const keep = (text: string | undefined, why: string) => place?.draft.hold(path, text, why)
  return { kept: place?.draft.held.value.find((each) => isSamePath(each.path, path)), keep }
}

const maxNames = 8
const maxChoices = 100

interface Offer {
  /** What is replaced; the whole text unless given. */
  readonly part?: readonly [from: number, to: number]
  readonly items: readonly Choice[]
  /** -1 while none is chosen. */
  readonly chosen: number
}

interface SuggestingTextProps {
  readonly text: string
  readonly choices: readonly Choice[]
  readonly onText: (text: string) => void
  readonly onTake: (value: string) => void
  /** Makes it a text of several lines. */
  readonly rows?: number
  /** Keys that choose nothing. */
  readonly onKey?: (event: KeyboardEvent) => void
  readonly attributes: object
}

export function SuggestingText({
  text,
  choices,
  onText,
  onTake,
  rows,
  onKey,
  attributes,
}: SuggestingTextProps) {
  const place = useContext(FieldContext)
  const field = useRef<HTMLInputElement>(null)
  const [offer, setOffer] = useState<Offer>()
  const id = useId()
  const look = async (wanted: string) => {
    const names =
      place?.expression && field.current ? await namesAt(field.current, place.draft) : undefined
    const found = names ?? {
      items: choices.filter((choice) => matches(choice, wanted)).slice(0, maxChoices),
      chosen: -1,
    }
    const isOffered = found.items.length > 0 && document.activeElement === field.current
    setOffer(isOffered ? found : undefined)
    if (isOffered) announcement.value = plural(found.items.length, 'suggestion')
  }
  const take = (value: string) => {
    setOffer(undefined)
    if (offer?.part === undefined) onTake(value)
    else {
      field.current?.setRangeText(value, ...offer.part, 'end')
      onText(field.current?.value ?? '')
    }
    field.current?.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const { items = [], chosen = -1 } = offer ?? {}
    const item = items[chosen]
    if (offer === undefined && by === 1 && choices.length > 0) void look('')
    else if (offer !== undefined && by !== undefined)
      setOffer({
        ...offer,
        chosen: (Math.max(chosen, by === 1 ? -1 : 0) + by + items.length) % items.length,
      })
    else if (offer !== undefined && event.key === 'Escape') setOffer(undefined)
    else if (item !== undefined && ['Enter', 'Tab'].includes(event.key)) take(item.value)
    else return onKey?.(event)
    event.preventDefault()
    event.stopPropagation()
  }
  const shared = {
    ref: field,
    rows,
    value: text,
    autoComplete: 'off',
    spellcheck: false,
    ...attributes,
    ...(choices.length > 0 && { role: 'combobox', 'aria-expanded': offer !== undefined }),
    ...(offer && {
      'aria-controls': id,
      'aria-activedescendant': offer.chosen < 0 ? undefined : `${id}-${offer.chosen}`,
    }),
    'aria-autocomplete': 'list',
    onInput: ({ currentTarget: { value } }: { currentTarget: HTMLInputElement }) => {
      onText(value)
      void look(value)
    },
    onClick: () => choices.length > 0 && void look(''),
    onKeyDown,
    onBlur: () => setOffer(undefined),
  }
  return (
    <div class="completed">
      {createElement(rows === undefined ? 'input' : 'textarea', shared)}
      {choices.length > 0 && <Icon name="down" />}
      {offer && (
        <div class="completions" id={id} role="listbox" aria-label="Suggestions">
          {offer.items.map((item, index) => (
            <div
              key={item.value}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === offer.chosen}
              ref={(element) =>
                void (index === offer.chosen && element?.scrollIntoView({ block: 'nearest' }))
              }
              // The field keeps the focus.
              onPointerDown={(event) => {
                event.preventDefault()
                take(item.value)
              }}
            >
              <Name class="grow" text={item.label ?? item.value} max={60} />
              {item.note && <Name class="muted cut" text={item.note} max={60} />}
            </div>
          ))}
        </div>
      )}
    </div>
  )
}

/** Names for the word at the caret; undefined outside of expressions. */
async function namesAt(element: HTMLInputElement, draft: Draft): Promise<Offer | undefined> {
  const to = element.selectionStart ?? element.value.length
  const from = wordInExpression(element.value.slice(0, to))
  if (from === undefined) return undefined
  const found = matchingSuggestions(
    draft.definition.peek(),
    await loadFunctions(),
    element.value.slice(from, to),
  )
  const items = found
    .slice(0, maxNames)
    .map(({ value, detail, help }) => ({ value: String(value), note: detail || help }))
  return { part: [from, to], items, chosen: 0 }
}

function matches({ value, label = '', note = '' }: Choice, text: string) {
  const searched = `${value} ${label} ${note}`.toLowerCase()
  const parts = text.toLowerCase().split(/\s+/)
  return parts.every((part) => searched.includes(part))
}
