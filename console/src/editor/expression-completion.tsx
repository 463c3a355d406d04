/** Completion of expressions in the text fields of forms, as the text view has it: a list opens behind `${`. */
import { createContext, type VNode } from 'preact'
import { useContext, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { announcement } from '../components/announcement.ts'
import { Name } from '../components/name.tsx'
import type { Draft } from './draft.ts'
import { loadFunctions } from './expression-functions.ts'
import { type ExpressionFunction, matchingSuggestions, wordInExpression } from './expression-help.ts'
import type { Suggestion } from './field-help.ts'
import { textWords } from './text-words.ts'

/** The draft whose parameters and variables are offered; without one nothing is. */
export const CompletionSource = createContext<Draft | undefined>(undefined)

type TextElement = HTMLInputElement | HTMLTextAreaElement

const maxOffered = 8

interface Offer {
  /** Where the word begins that is replaced, and where it ends. */
  readonly from: number
  readonly to: number
  readonly suggestions: readonly Suggestion[]
}

interface Completion {
  /** For the field. */
  readonly attributes: {
    readonly 'aria-autocomplete'?: 'list'
    readonly 'aria-controls'?: string
    readonly 'aria-activedescendant'?: string
    readonly onKeyDown?: (event: KeyboardEvent) => void
    readonly onBlur?: () => void
  }
  /** Call it with the field after each change of its text. */
  readonly onTyped: (field: TextElement) => void
  readonly list: VNode | null
}

export function useExpressionCompletion(onText: (text: string) => void): Completion {
  const draft = useContext(CompletionSource)
  const id = useId()
  const [offer, setOffer] = useState<Offer | undefined>(undefined)
  const [chosen, setChosen] = useState(0)
  const field = useRef<TextElement | null>(null)
  const caret = useRef<number | undefined>(undefined)
  const functions = useRef<readonly ExpressionFunction[]>([])
  useLayoutEffect(() => {
    if (caret.current === undefined) return
    field.current?.setSelectionRange(caret.current, caret.current)
    caret.current = undefined
  })
  if (draft === undefined) return { attributes: {}, onTyped: () => {}, list: null }

  const look = (element: TextElement) => {
    const to = element.selectionStart ?? element.value.length
    const from = wordInExpression(element.value.slice(0, to))
    const found =
      from === undefined ? [] : matchingSuggestions(draft.definition.peek(), functions.current, element.value.slice(from, to))
    setChosen(0)
    setOffer(found.length === 0 || from === undefined ? undefined : { from, to, suggestions: found.slice(0, maxOffered) })
    if (found.length > 0) announcement.value = textWords.completions(found.length)
  }
  const onTyped = (element: TextElement) => {
    field.current = element
    look(element)
    if (functions.current.length > 0 || !element.value.includes('${')) return
    void loadFunctions().then((loaded) => {
      functions.current = loaded
      if (document.activeElement === element) look(element)
    })
  }
  const take = ({ value }: Suggestion) => {
    const element = field.current
    if (offer === undefined || element === null) return
    caret.current = offer.from + String(value).length
    onText(element.value.slice(0, offer.from) + String(value) + element.value.slice(offer.to))
    setOffer(undefined)
    element.focus()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (offer === undefined) return
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const suggestion = offer.suggestions[chosen]
    if (step !== undefined) setChosen((chosen + step + offer.suggestions.length) % offer.suggestions.length)
    else if (event.key === 'Escape') setOffer(undefined)
    else if ((event.key === 'Enter' || event.key === 'Tab') && suggestion !== undefined) take(suggestion)
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  const isOpen = offer !== undefined
  return {
    attributes: {
      'aria-autocomplete': 'list',
      ...(isOpen && { 'aria-controls': id, 'aria-activedescendant': `${id}-${chosen}` }),
      onKeyDown,
      onBlur: () => setOffer(undefined),
    },
    onTyped,
    list: isOpen ? <Offered id={id} suggestions={offer.suggestions} chosen={chosen} onTake={take} /> : null,
  }
}

interface OfferedProps {
  readonly id: string
  readonly suggestions: readonly Suggestion[]
  readonly chosen: number
  readonly onTake: (suggestion: Suggestion) => void
}

function Offered({ id, suggestions, chosen, onTake }: OfferedProps) {
  return (
    <div class="completions" id={id} role="listbox" aria-label={textWords.completionsLabel}>
      {suggestions.map((suggestion, index) => (
        <div
          key={String(suggestion.value)}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === chosen}
          title={suggestion.help}
          // The field keeps the focus.
          onPointerDown={(event) => {
            event.preventDefault()
            onTake(suggestion)
          }}
        >
          <code>
            <Name text={String(suggestion.value)} max={50} />
          </code>
          <span class="muted cut">
            <Name text={suggestion.detail || suggestion.help} max={60} />
          </span>
        </div>
      ))}
    </div>
  )
}
