/** A text field that offers values for its whole text, and names behind `${` in an expression. */
import { createContext, type Ref } from 'preact'
import { useContext, useId, useRef, useState } from 'preact/hooks'
import { announcement } from '../components/announcement.ts'
import { Icon } from '../components/icon.tsx'
import { Name } from '../components/name.tsx'
import { plural } from '../words.ts'
import { type Choice, loadFunctions } from './choices.ts'
import type { Draft } from './draft.ts'
import { matchingSuggestions, wordInExpression } from './expression-help.ts'
import type { Path } from './json-path.ts'

interface FieldPlace {
  readonly draft: Draft
  /** From the definition. */
  readonly path: Path
  /** Whether expressions are evaluated there: names are offered then. */
  readonly expression: boolean
}

/** Where the field is that an input belongs to. */
export const FieldContext = createContext<FieldPlace | undefined>(undefined)

type TextElement = HTMLInputElement | HTMLTextAreaElement

const maxNames = 8
const maxChoices = 100

interface Offer {
  /** The part of the text that is replaced; the whole text unless given. */
  readonly part?: readonly [from: number, to: number]
  readonly items: readonly Choice[]
  /** -1 while none is chosen. */
  readonly chosen: number
}

/** @param field With the text that is typed. */
function useOffer(field: { readonly current: TextElement | null }, props: SuggestingTextProps) {
  const { choices, onText, onTake } = props
  const place = useContext(FieldContext)
  const [offer, setOffer] = useState<Offer | undefined>(undefined)
  const look = async (text: string) => {
    const element = field.current as TextElement
    const names = place?.expression === true ? await namesAt(element, place.draft) : undefined
    if (document.activeElement !== element) return
    const found = names ?? { items: matchingChoices(text, choices), chosen: -1 }
    setOffer(found.items.length === 0 ? undefined : found)
    if (found.items.length > 0) announcement.value = plural(found.items.length, 'suggestion')
  }
  const take = (value: string) => {
    const element = field.current as TextElement
    setOffer(undefined)
    if (offer?.part === undefined) onTake(value)
    else {
      element.setRangeText(value, ...offer.part, 'end')
      onText(element.value)
    }
    element.focus()
  }
  /** Whether the key was one for the list. */
  const press = (key: string): boolean => {
    if (offer === undefined) {
      const opens = key === 'ArrowDown' && choices.length > 0
      if (opens) void look('')
      return opens
    }
    const { items, chosen } = offer
    const by = { ArrowDown: 1, ArrowUp: -1 }[key]
    const item = items[chosen]
    if (by !== undefined) setOffer({ ...offer, chosen: (Math.max(chosen, by === 1 ? -1 : 0) + by + items.length) % items.length })
    else if (key === 'Escape') setOffer(undefined)
    else if ((key === 'Enter' || key === 'Tab') && item !== undefined) take(item.value)
    else return false
    return true
  }
  return { offer, look, take, press, close: () => setOffer(undefined) }
}

interface SuggestingTextProps {
  readonly text: string
  readonly choices: readonly Choice[]
  readonly onText: (text: string) => void
  readonly onTake: (value: string) => void
  /** Makes it a text of several lines. */
  readonly rows?: number | undefined
  /** Keys that choose nothing. */
  readonly onKey?: (event: KeyboardEvent) => void
  readonly attributes: object
}

export function SuggestingText(props: SuggestingTextProps) {
  const { text, choices, onText, rows, onKey, attributes } = props
  const field = useRef<TextElement>(null)
  const { offer, look, take, press, close } = useOffer(field, props)
  const id = useId()
  const onKeyDown = (event: KeyboardEvent) => {
    if (!press(event.key)) return onKey?.(event)
    event.preventDefault()
    event.stopPropagation()
  }
  const shared = {
    ...attributes,
    ...(choices.length > 0 && { role: 'combobox', 'aria-expanded': offer !== undefined }),
    ...(offer && { 'aria-controls': id, 'aria-activedescendant': offer.chosen < 0 ? undefined : `${id}-${offer.chosen}` }),
    'aria-autocomplete': 'list' as const,
    value: text,
    onInput: ({ currentTarget: { value } }: { currentTarget: TextElement }) => {
      onText(value)
      void look(value)
    },
    onClick: () => choices.length > 0 && void look(''),
    onKeyDown,
    onBlur: close,
  }
  return (
    <div class="completed">
      {rows === undefined ? (
        <input autoComplete="off" spellcheck={false} {...(shared as object)} ref={field as Ref<HTMLInputElement>} />
      ) : (
        <textarea rows={rows} {...(shared as object)} ref={field as Ref<HTMLTextAreaElement>} />
      )}
      {choices.length > 0 && <Icon name="down" />}
      {offer && <Offered id={id} {...offer} onTake={take} />}
    </div>
  )
}

/** Names for the word at the caret; undefined outside of expressions. */
async function namesAt(element: TextElement, draft: Draft): Promise<Offer | undefined> {
  const to = element.selectionStart ?? element.value.length
  const from = wordInExpression(element.value.slice(0, to))
  if (from === undefined) return undefined
  const found = matchingSuggestions(draft.definition.peek(), await loadFunctions(), element.value.slice(from, to))
  const items = found.slice(0, maxNames).map(({ value, detail, help }) => ({ value: String(value), note: detail || help }))
  return { part: [from, to], items, chosen: 0 }
}

function matchingChoices(text: string, choices: readonly Choice[]): readonly Choice[] {
  const parts = text.toLowerCase().split(/\s+/)
  const matches = ({ value, label = '', note = '' }: Choice) => {
    const searched = `${value} ${label} ${note}`.toLowerCase()
    return parts.every((part) => searched.includes(part))
  }
  return choices.filter(matches).slice(0, maxChoices)
}

interface OfferedProps extends Offer {
  readonly id: string
  readonly onTake: (value: string) => void
}

function Offered({ id, items, chosen, onTake }: OfferedProps) {
  return (
    <div class="completions" id={id} role="listbox" aria-label="Suggestions">
      {items.map((item, index) => (
        <div
          key={item.value}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === chosen}
          ref={(element) => void (index === chosen && element?.scrollIntoView({ block: 'nearest' }))}
          // The field keeps the focus.
          onPointerDown={(event) => {
            event.preventDefault()
            onTake(item.value)
          }}
        >
          <span class="grow">
            <Name text={item.label ?? item.value} max={60} />
          </span>
          {item.note !== undefined && (
            <span class="muted cut">
              <Name text={item.note} max={60} />
            </span>
          )}
        </div>
      ))}
    </div>
  )
}
