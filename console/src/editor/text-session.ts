/** Text of a draft while it is edited: what can be read becomes the draft, what cannot stays as it is. */
import type { Json } from '../model/read.ts'
import { formatDefinition, parseDefinition, type TextFormat, type TextProblem } from './definition-text.ts'
import type { Draft } from './draft.ts'
import { isSameValue } from './json-path.ts'
import { words } from './text-words.ts'

/** Typing without a longer rest is one step of undo. */
const restMs = 1500

export class TextSession {
  readonly format: TextFormat
  /** The text to begin with. */
  readonly text: string
  readonly #draft: Draft
  /** What the text says, as the draft has it. */
  #said: Json
  #step = 0
  #editedAtMs = Number.NEGATIVE_INFINITY

  constructor(draft: Draft, format: TextFormat) {
    const kept = draft.unreadable.peek()
    this.#draft = draft
    this.#said = draft.definition.peek()
    this.format = kept?.format ?? format
    this.text = kept?.text ?? formatDefinition(this.#said, this.format)
  }

  /** Undefined when the text can be read. */
  problemOf(text: string): TextProblem | undefined {
    const parsed = parseDefinition(text, this.format)
    return parsed.kind === 'unreadable' ? parsed.problem : undefined
  }

  edit(text: string, nowMs: number): void {
    const draft = this.#draft
    if (draft.readOnly.peek() !== undefined) return
    const parsed = parseDefinition(text, this.format)
    if (parsed.kind === 'unreadable') {
      const line = text.slice(0, parsed.problem.from).split('\n').length
      draft.unreadable.value = { text, format: this.format, message: words.line(line, parsed.problem.message) }
      return
    }
    if (nowMs - this.#editedAtMs > restMs) this.#step++
    this.#editedAtMs = nowMs
    // First, so that whoever sees the new definition knows that it came from here.
    if (!isSameValue(parsed.definition, draft.definition.peek())) this.#said = parsed.definition
    draft.unreadable.value = undefined
    draft.replace(parsed.definition, words.editText, `text ${this.#step}`)
  }

  /** The new text after a change that did not come from it, such as an undo in another view. */
  outsideText(): string | undefined {
    const definition = this.#draft.definition.value
    if (definition === this.#said) return undefined
    this.#said = definition
    this.#draft.unreadable.value = undefined
    return formatDefinition(definition, this.format)
  }
}
