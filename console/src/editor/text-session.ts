/** Text of a draft while it is edited: what can be read becomes the draft, what cannot stays as it is. */
import { batch } from '@preact/signals'
import { readText, type TextFormat, writeText } from './definition-text.ts'
import type { Draft } from './draft.ts'

export class TextSession {
  /** The text to begin with. */
  readonly text: string
  readonly #format: TextFormat
  readonly #draft: Draft
  /** What the text says, as the draft has it. */
  #definition: Draft['definition']['value']
  #unreadable: Draft['unreadable']['value']

  constructor(draft: Draft, format: TextFormat) {
    this.#format = format
    this.#draft = draft
    this.#definition = draft.definition.peek()
    this.#unreadable = draft.unreadable.peek()
    this.text = this.#unreadable?.text ?? writeText(this.#definition, format)
    draft.endStep()
  }

  /** All that is typed until another view changes something is one step of undo. */
  edit(text: string): void {
    const draft = this.#draft
    if (draft.readOnly.peek() !== undefined) return
    const { definition, problem } = readText(text)
    // In one go, so that whoever sees the new definition knows that it came from here.
    batch(() => {
      const message = `Line ${problem?.line}: ${problem?.message}`
      draft.unreadable.value = problem && { text, format: this.#format, message }
      if (definition !== undefined) draft.change('Edit the text', () => definition, 'text')
      this.#definition = draft.definition.peek()
      this.#unreadable = draft.unreadable.peek()
    })
  }

  /** The new text after a change that did not come from it, such as an undo, an import, or the end of broken text. */
  outsideText(): string | undefined {
    const { definition, unreadable } = this.#draft
    if (definition.value === this.#definition && unreadable.value === this.#unreadable) return undefined
    // A broken text is given up for another definition.
    if (definition.value !== this.#definition) unreadable.value = undefined
    this.#definition = definition.value
    this.#unreadable = unreadable.value
    return this.#unreadable?.text ?? writeText(this.#definition, this.#format)
  }
}
