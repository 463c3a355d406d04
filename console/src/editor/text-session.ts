/** Text of a draft while it is edited: what can be read becomes the draft, what cannot stays as it is. */
import type { Json } from '../model/read.ts'
import type { Draft } from './draft.ts'
import { isSameValue } from './json-path.ts'
import { type TextFormat, type TextProblem, yamlText } from './yaml-text.ts'

/** Typing without a longer rest is one step of undo. */
const restMs = 1500

export class TextSession {
  /** The text to begin with. */
  readonly text: string
  readonly #format: TextFormat
  readonly #draft: Draft
  /** What the text says, as the draft has it. */
  #said: Json
  #broken: Draft['unreadable']['value']
  #step = 0
  #editedAtMs = Number.NEGATIVE_INFINITY

  constructor(draft: Draft, format: TextFormat) {
    this.#format = format
    this.#draft = draft
    this.#said = draft.definition.peek()
    this.#broken = draft.unreadable.peek()
    this.text = this.#broken?.text ?? yamlText.write(this.#said, format)
  }

  /** Undefined when the text can be read. */
  problemOf(text: string): TextProblem | undefined {
    const parsed = yamlText.read(text)
    return parsed.kind === 'unreadable' ? parsed.problem : undefined
  }

  edit(text: string, nowMs: number): void {
    const draft = this.#draft
    if (draft.readOnly.peek() !== undefined) return
    const parsed = yamlText.read(text)
    if (parsed.kind === 'unreadable') {
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
    const definition = this.#draft.definition.value
    const broken = this.#draft.unreadable.value
    if (definition !== this.#said) {
      this.#said = definition
      this.#broken = undefined
      this.#draft.unreadable.value = undefined
      return yamlText.write(definition, this.#format)
    }
    if (broken === this.#broken) return undefined
    this.#broken = broken
    return broken?.text ?? yamlText.write(definition, this.#format)
  }
}
