/** Help of the text view from the descriptions of stage types: completion, problems. */
import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  completionKeymap,
} from '@codemirror/autocomplete'
import { type Diagnostic, lintGutter } from '@codemirror/lint'
import type { Extension } from '@codemirror/state'
import { keymap } from '@codemirror/view'
import { loadFunctions } from './choices.ts'
import { findRanges, placeAt, readText, type TextFormat, type TextPlace } from './definition-text.ts'
import type { Draft } from './draft.ts'
import { expressionSuggestions, wordInExpression } from './expression-help.ts'
import { type Suggestion, suggestionsAt } from './field-help.ts'
import type { Problem } from './problems.ts'

export function helpExtensions(draft: Draft, format: TextFormat): Extension[] {
  return [
    autocompletion({ override: [(context) => complete(context, draft, format)], icons: false }),
    lintGutter(),
    keymap.of(completionKeymap),
  ]
}

async function complete(context: CompletionContext, draft: Draft, format: TextFormat): Promise<CompletionResult | null> {
  const { text: line, from: start } = context.state.doc.lineAt(context.pos)
  const word = wordInExpression(line.slice(0, context.pos - start))
  if (word !== undefined) {
    const suggestions = expressionSuggestions(draft.definition.peek(), await loadFunctions())
    const options = suggestions.map(({ value, detail, help }) => ({ label: String(value), detail, info: help }))
    return { from: start + word, options, validFor: /^#?[\w.]*$/ }
  }
  const types = draft.types.peek()
  const place = placeAt(context.state.doc.toString(), context.pos)
  if (types === undefined || place === undefined || (!context.explicit && !place.isQuoted && place.from === context.pos))
    return null
  const suggestions = suggestionsAt(types, draft.definition.peek(), place)
  const options = suggestions.map((suggestion) => toCompletion(suggestion, place, format))
  return options.length === 0 ? null : { from: place.from, options, validFor: /^[\w.$:/@-]*$/ }
}

function toCompletion({ value, detail, help, isRequired }: Suggestion, place: TextPlace, format: TextFormat): Completion {
  return {
    label: String(value),
    detail,
    info: help,
    boost: isRequired === true ? 1 : 0,
    apply: (view, _completion, from, to) => {
      const after = view.state.doc.sliceString(to, to + 2)
      const insert = textOf(value, place, format, after)
      // What is typed next stands behind a quote that was there already.
      const skipped = place.isQuoted && after.startsWith('"') && !insert.includes('"') ? 1 : 0
      const selection = { anchor: from + insert.length + skipped }
      view.dispatch({ changes: { from, to, insert }, selection, userEvent: 'input.complete' })
    },
  }
}

/** @param after The two characters behind the cursor. */
function textOf(value: string | boolean, { role, isQuoted }: TextPlace, format: TextFormat, after: string): string {
  const text = String(value)
  const colon = role === 'key' && typeof value === 'string' && !after.includes(':') ? ': ' : ''
  if (isQuoted) return after.startsWith('"') ? text : `${text}"${colon}`
  if (typeof value === 'boolean') return text
  if (format === 'json') return `${JSON.stringify(text)}${colon}`
  return colon === '' && !/^[A-Za-z_][\w./-]*$/.test(text) ? JSON.stringify(text) : text + colon
}

/** What is wrong, where it stands in the text: that it cannot be read, or problems of the definition. */
export function toDiagnostics(text: string, problems: readonly Problem[]): Diagnostic[] {
  const { problem } = readText(text)
  if (problem !== undefined) return [{ ...problem, severity: 'error' }]
  const rangeOf = problems.length === 0 ? () => undefined : findRanges(text)
  return problems.flatMap(({ path, message, isWarning }) => {
    const range = rangeOf(path)
    return range === undefined ? [] : [{ ...range, severity: isWarning ? 'warning' : 'error', message }]
  })
}
