/** Help of the text view from the descriptions of stage types: completion, problems. */
import {
  autocompletion,
  type Completion,
  type CompletionContext,
  completionKeymap,
} from '@codemirror/autocomplete'
import { type Diagnostic, lintGutter } from '@codemirror/lint'
import type { Extension } from '@codemirror/state'
import { keymap } from '@codemirror/view'
import { loadFunctions } from './choices.ts'
import {
  expressionSuggestions,
  type Suggestion,
  suggestionsAt,
  wordInExpression,
} from './completions.ts'
import {
  findRanges,
  placeAt,
  readText,
  type TextFormat,
  type TextPlace,
} from './definition-text.ts'
import type { Draft } from './draft.ts'
import type { Problem } from './problems.ts'

export function helpExtensions(draft: Draft, format: TextFormat): Extension[] {
  return [
    autocompletion({ override: [(context) => complete(context, draft, format)], icons: false }),
    lintGutter(),
    keymap.of(completionKeymap),
  ]
}

async function complete(context: CompletionContext, draft: Draft, format: TextFormat) {
  const { text: line, from: start } = context.state.doc.lineAt(context.pos)
  const word = wordInExpression(line.slice(0, context.pos - start))
  if (word !== undefined) {
    const suggestions = expressionSuggestions(draft.definition.peek(), await loadFunctions())
    const options = suggestions.map(({ value, detail, help }) => ({
      label: String(value),
      detail,
      info: help,
    }))
    return { from: start + word, options, validFor: /^#?[\w.]*$/ }
  }
  const types = draft.types.peek()
  const place = placeAt(context.state.doc.toString(), context.pos)
  if (
    types === undefined ||
    place === undefined ||
    (!context.explicit && !place.isQuoted && place.from === context.pos)
  )
    return null
  const suggestions = suggestionsAt(types, draft.definition.peek(), place)
  const hasColon = context.state.sliceDoc(context.pos, context.pos + 2).includes(':')
  const options = suggestions.map((suggestion) => toCompletion(suggestion, place, format, hasColon))
  return options.length === 0 ? null : { from: place.from, options, validFor: /^[\w.$:/@-]*$/ }
}

/** @param hasColon Whether the key that is typed has one already. */
function toCompletion(
  suggestion: Suggestion,
  { role, isQuoted }: TextPlace,
  format: TextFormat,
  hasColon: boolean,
): Completion {
  const { value, detail, help, isRequired } = suggestion
  const text = String(value)
  const isKey = role === 'key' && typeof value === 'string' && !isQuoted && !hasColon
  const isPlain = format === 'yaml' && (isKey || /^[A-Za-z_][\w./-]*$/.test(text))
  // The quote that closes the text is there already.
  const written = isQuoted || typeof value === 'boolean' || isPlain ? text : JSON.stringify(text)
  return {
    label: text,
    detail,
    info: help,
    boost: isRequired === true ? 1 : 0,
    apply: isKey ? `${written}: ` : written,
  }
}

/** What is wrong, where it stands in the text: that it cannot be read, or problems of the definition. */
export function toDiagnostics(text: string, problems: readonly Problem[]): Diagnostic[] {
  const { problem } = readText(text)
  if (problem !== undefined) return [{ ...problem, severity: 'error' }]
  const rangeOf = problems.length === 0 ? () => undefined : findRanges(text)
  return problems.flatMap(({ path, message, severity }) => {
    const range = rangeOf(path)
    return range === undefined
      ? []
      : [{ ...range, severity: severity === 'note' ? 'info' : severity, message }]
  })
}
