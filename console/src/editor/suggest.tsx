/** Suggestions below a text field: choices for its whole value, and names behind `${` in an expression. */
import { createContext, type VNode } from 'preact'
import { useContext, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { announcement } from '../components/announcement.ts'
import { Name } from '../components/name.tsx'
import { plural } from '../words.ts'
import { type Choice, loadFunctions } from './choices.ts'
import type { Draft } from './draft.ts'
import { type ExpressionFunction, matchingSuggestions, wordInExpression } from './expression-help.ts'
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
  /** The part of the text that is replaced. */
  readonly from: number
  readonly to: number
  readonly items: readonly Choice[]
  /** Whether they are choices for the whole text. */
  readonly isWhole: boolean
}

interface SuggestionProps {
  readonly choices: readonly Choice[]
  readonly onText: (text: string) => void
  /** Takes a choice instead of its text. */
  readonly onChoice?: (value: string) => void
}

interface Suggestions {
  /** For the field. */
  readonly attributes: object
  /** Call it with the field after each change of its text. */
  readonly onTyped: (field: TextElement) => void
  readonly list: VNode | null
}

export function useSuggestions({ choices, onText, onChoice = onText }: SuggestionProps): Suggestions {
  const place = useContext(FieldContext)
  const draft = place?.expression === true ? place.draft : undefined
  const id = useId()
  const [offer, setOffer] = useState<Offer | undefined>(undefined)
  const [chosen, setChosen] = useState(-1)
  const field = useRef<TextElement | null>(null)
  const caret = useCaret(field)
  const functions = useRef<readonly ExpressionFunction[]>([])

  const look = (element: TextElement, isAll = false) => {
    field.current = element
    const found = (draft && namesAt(element, draft, functions.current)) ?? choicesFor(element.value, choices, isAll)
    setChosen(found.isWhole ? -1 : 0)
    setOffer(found.items.length === 0 ? undefined : found)
    if (found.items.length > 0) announcement.value = plural(found.items.length, 'suggestion')
  }
  const onTyped = (element: TextElement) => {
    look(element)
    if (draft === undefined || functions.current.length > 0 || !element.value.includes('${')) return
    void loadFunctions().then((loaded) => {
      functions.current = loaded
      if (document.activeElement === element) look(element)
    })
  }
  const take = ({ value }: Choice) => {
    const element = field.current
    if (offer === undefined || element === null) return
    setOffer(undefined)
    if (offer.isWhole) onChoice(value)
    else {
      caret.current = offer.from + value.length
      onText(element.value.slice(0, offer.from) + value + element.value.slice(offer.to))
    }
    element.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const isHandled = offer === undefined ? event.key === 'ArrowDown' && choices.length > 0 : step(event.key, offer)
    if (!isHandled) return
    if (offer === undefined) look(event.currentTarget as TextElement, true)
    event.preventDefault()
    event.stopPropagation()
  }
  const step = (key: string, { items }: Offer): boolean => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[key]
    const item = items[chosen]
    if (by !== undefined) setChosen(chosen < 0 && by < 0 ? items.length - 1 : (chosen + by + items.length) % items.length)
    else if (key === 'Escape') setOffer(undefined)
    else if ((key === 'Enter' || key === 'Tab') && item !== undefined) take(item)
    else return false
    return true
  }
  if (draft === undefined && choices.length === 0) return { attributes: {}, onTyped: () => {}, list: null }
  const isOpen = offer !== undefined
  const attributes = {
    ...(choices.length > 0 && { role: 'combobox', 'aria-expanded': isOpen }),
    'aria-autocomplete': 'list',
    ...(isOpen && { 'aria-controls': id, 'aria-activedescendant': chosen < 0 ? undefined : `${id}-${chosen}` }),
    onClick: (event: MouseEvent) => choices.length > 0 && look(event.currentTarget as TextElement, true),
    onKeyDown,
    onBlur: () => setOffer(undefined),
  }
  return { attributes, onTyped, list: isOpen ? <Offered id={id} items={offer.items} chosen={chosen} onTake={take} /> : null }
}

/** Names for the word at the caret; undefined outside of expressions. */
function namesAt(element: TextElement, draft: Draft, functions: readonly ExpressionFunction[]): Offer | undefined {
  const to = element.selectionStart ?? element.value.length
  const from = wordInExpression(element.value.slice(0, to))
  if (from === undefined) return undefined
  const found = matchingSuggestions(draft.definition.peek(), functions, element.value.slice(from, to)).slice(0, maxNames)
  const items = found.map(({ value, detail, help }) => ({ value: String(value), note: detail || help }))
  return { from, to, items, isWhole: false }
}

function choicesFor(text: string, choices: readonly Choice[], isAll: boolean): Offer {
  const parts = text.toLowerCase().split(/\s+/)
  const matches = ({ value, label, note }: Choice) => {
    const searched = `${value} ${label ?? ''} ${note ?? ''}`.toLowerCase()
    return parts.every((part) => searched.includes(part))
  }
  const items = isAll ? choices : choices.filter(matches)
  return { from: 0, to: text.length, items: items.slice(0, maxChoices), isWhole: true }
}

/** Puts the caret behind what was taken, once the field shows it. */
function useCaret(field: { readonly current: TextElement | null }) {
  const caret = useRef<number | undefined>(undefined)
  useLayoutEffect(() => {
    if (caret.current === undefined) return
    field.current?.setSelectionRange(caret.current, caret.current)
    caret.current = undefined
  })
  return caret
}

interface OfferedProps {
  readonly id: string
  readonly items: readonly Choice[]
  readonly chosen: number
  readonly onTake: (item: Choice) => void
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
          ref={(element) => {
            if (index === chosen) element?.scrollIntoView({ block: 'nearest' })
          }}
          // The field keeps the focus.
          onPointerDown={(event) => {
            event.preventDefault()
            onTake(item)
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
