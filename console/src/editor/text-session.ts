/** Text of a draft while it is edited: what can be read becomes the draft, what cannot stays as it is. */
import { batch } from '@preact/signals'
import { hasComments, readText, type TextFormat, writeText } from './definition-text.ts'
import type { Draft } from './draft.ts'

export type TextSession = ReturnType<typeof openTextSession>

export function openTextSession(draft: Draft, format: TextFormat) {
  // What the text says, as the draft has it.
  let definition = draft.definition.peek()
  let unreadable = draft.unreadable.peek()
  const toText = () => unreadable?.text ?? writeText(definition, format)
  draft.endStep()
  draft.hasComments.value = hasComments(toText())
  return {
    /** The text to begin with. */
    text: toText(),
    /** All that is typed until another view changes something is one step of undo. */
    edit(text: string): void {
      if (draft.readOnly.peek() !== undefined) return
      const { definition: typed, problem } = readText(text)
      // In one go, so that whoever sees the new definition knows that it came from here.
      batch(() => {
        draft.hasComments.value = hasComments(text)
        draft.unreadable.value = problem && { text, format, message: `Line ${problem.line}: ${problem.message}` }
        if (typed !== undefined) draft.change('Edit the text', () => typed, 'text')
        definition = draft.definition.peek()
        unreadable = draft.unreadable.peek()
      })
    },
    /** The new text after a change that did not come from it, such as an undo, or the end of broken text. */
    outsideText(): string | undefined {
      if (draft.definition.value === definition && draft.unreadable.value === unreadable) return undefined
      // A broken text is given up for another definition.
      if (draft.definition.value !== definition) draft.unreadable.value = undefined
      definition = draft.definition.value
      unreadable = draft.unreadable.value
      return toText()
    },
  }
}
