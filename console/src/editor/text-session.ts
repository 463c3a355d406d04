/** Text of a draft while it is edited: what can be read becomes the draft, what cannot stays as it is. */
import type { Json } from '../model/read.ts'
import type { TextLanguage, TextProblem } from './definition-text.ts'
import type { Draft } from './draft.ts'
import { isSameValue } from './json-path.ts'
import { textWords } from './text-words.ts'

/** Typing without a longer rest is one step of undo. */
const restMs = 1500

export class TextSession {
  /** The text to begin with. */
  readonly text: string
  readonly #language: TextLanguage
  readonly #draft: Draft
  /** What the text says, as the draft has it. */
  #said: Json
  #step = 0
  #editedAtMs = Number.NEGATIVE_INFINITY

  constructor(draft: Draft, language: TextLanguage) {
    const kept = draft.unreadable.peek()
    this.#language = language
    this.#draft = draft
    this.#said = draft.definition.peek()
    this.text = kept?.format === language.format ? kept.text : language.write(this.#said)
  }

  /** Undefined when the text can be read. */
  problemOf(text: string): TextProblem | undefined {
    const parsed = this.#language.read(text)
    return parsed.kind === 'unreadable' ? parsed.problem : undefined
  }

  edit(text: string, nowMs: number): void {
    const draft = this.#draft
    if (draft.readOnly.peek() !== undefined) return
    const parsed = this.#language.read(text)
    if (parsed.kind === 'unreadable') {
      const line = text.slice(0, parsed.problem.from).split('\n').length
      draft.unreadable.value = { text, format: this.#language.format, message: textWords.line(line, parsed.problem.message) }
      return
    }
    if (nowMs - this.#editedAtMs > restMs) this.#step++
    this.#editedAtMs = nowMs
    // First, so that whoever sees the new definition knows that it came from here.
    if (!isSameValue(parsed.definition, draft.definition.peek())) this.#said = parsed.definition
    draft.unreadable.value = undefined
    draft.replace(parsed.definition, textWords.editText, `text ${this.#step}`)
  }

  /** The new text after a change that did not come from it, such as an undo in another view. */
  outsideText(): string | undefined {
    const definition = this.#draft.definition.value
    if (definition === this.#said) return undefined
    this.#said = definition
    this.#draft.unreadable.value = undefined
    return this.#language.write(definition)
  }
}
