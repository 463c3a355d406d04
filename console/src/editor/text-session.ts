/** Text of a draft while it is edited: what can be read becomes the draft, what cannot stays as it is. */
import { readText, type TextFormat, writeText } from './definition-text.ts'
import type { Draft } from './draft.ts'
import { isSameValue } from './json-path.ts'

/** Typing without a longer rest is one step of undo. */
const restMs = 1500

export class TextSession {
  /** The text to begin with. */
  readonly text: string
  readonly #format: TextFormat
  readonly #draft: Draft
  /** What the text says, as the draft has it. */
  #said: Draft['definition']['value']
  #broken: Draft['unreadable']['value']
  #step = 0
  #editedAtMs = Number.NEGATIVE_INFINITY

  constructor(draft: Draft, format: TextFormat) {
    this.#format = format
    this.#draft = draft
    this.#said = draft.definition.peek()
    this.#broken = draft.unreadable.peek()
    this.text = this.#broken?.text ?? writeText(this.#said, format)
  }

  edit(text: string, nowMs: number): void {
    const draft = this.#draft
    if (draft.readOnly.peek() !== undefined) return
    const parsed = readText(text)
    if ('problem' in parsed) {
      const line = text.slice(0, parsed.problem.from).split('\n').length
      this.#broken = { text, format: this.#format, message: `Line ${line}: ${parsed.problem.message}` }
      draft.unreadable.value = this.#broken
      return
    }
    if (nowMs - this.#editedAtMs > restMs) this.#step++
    this.#editedAtMs = nowMs
    // First, so that whoever sees the new definition knows that it came from here.
    if (!isSameValue(parsed.definition, draft.definition.peek())) this.#said = parsed.definition
    this.#broken = undefined
    draft.unreadable.value = undefined
    draft.replace(parsed.definition, 'Edit the text', `text ${this.#step}`)
  }

  /** The new text after a change that did not come from it, such as an undo, an import, or the end of broken text. */
  outsideText(): string | undefined {
    const { definition, unreadable } = this.#draft
    if (definition.value === this.#said && unreadable.value === this.#broken) return undefined
    // A broken text is given up for another definition.
    if (definition.value !== this.#said) unreadable.value = undefined
    this.#said = definition.value
    this.#broken = unreadable.value
    return this.#broken?.text ?? writeText(this.#said, this.#format)
  }
}
