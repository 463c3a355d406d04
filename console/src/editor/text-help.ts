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
import { objectOf } from '../model/read.ts'
import { loadFunctions, readChoices } from './choices.ts'
import { findRanges, placeAt, readText, type TextFormat, type TextPlace } from './definition-text.ts'
import type { Draft } from './draft.ts'
import { expressionSuggestions, wordInExpression } from './expression-help.ts'
import { type Suggestion, suggestionsAt, valueFieldAt } from './field-help.ts'
import { valueAt } from './json-path.ts'
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
  const place = placeAt(context.state.doc.toString(), context.pos)
  if (place === undefined || (!context.explicit && !place.isQuoted && place.from === context.pos)) return null
  const options = (await suggest(draft, place)).map((suggestion) => toCompletion(suggestion, place, format))
  return options.length === 0 ? null : { from: place.from, options, validFor: /^[\w.$:/@-]*$/ }
}

/** What the descriptions know, then what the API knows for the field: accounts, applications, pipelines, images. */
async function suggest(draft: Draft, place: TextPlace): Promise<readonly Suggestion[]> {
  const types = draft.types.peek()
  if (types === undefined) return []
  const definition = draft.definition.peek()
  const known = suggestionsAt(types, definition, place)
  const field = valueFieldAt(types, definition, place)
  if (field?.choicesFrom === undefined || field.choicesFrom === 'stages') return known
  // The object with the field, also where the place is an item of its list.
  const holder = place.path.slice(
    0,
    place.path.findLastIndex((step) => typeof step === 'string'),
  )
  const found = await readChoices(field.choicesFrom, {
    application: draft.application,
    definition,
    holder: objectOf(valueAt(definition, holder)),
  })
  const others = found.filter(({ value }) => !known.some((suggestion) => suggestion.value === value))
  return [...known, ...others.map(({ value, label = '' }) => ({ value, detail: label, help: field.help }))]
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
  const parsed = readText(text)
  if ('problem' in parsed) return [{ ...parsed.problem, severity: 'error' }]
  if (problems.length === 0) return []
  const rangeOf = findRanges(text)
  return problems.flatMap(({ path, message, isWarning }) => {
    const range = rangeOf(path)
    return range === undefined ? [] : [{ ...range, severity: isWarning ? 'warning' : 'error', message }]
  })
}
