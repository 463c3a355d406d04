/** Help of the text view from the descriptions of stage types: completion, help under the pointer, problems. */
import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  completionKeymap,
} from '@codemirror/autocomplete'
import { type Diagnostic, lintGutter } from '@codemirror/lint'
import type { Extension } from '@codemirror/state'
import { type EditorView, hoverTooltip, keymap } from '@codemirror/view'
import { objectOf } from '../model/read.ts'
import { loadFunctions, readChoices } from './choices.ts'
import type { StageTypes } from './descriptions.ts'
import type { Draft } from './draft.ts'
import { expressionSuggestions, wordInExpression } from './expression-help.ts'
import { describeAt, type Suggestion, suggestionsAt, valueFieldAt } from './field-help.ts'
import { type Path, valueAt } from './json-path.ts'
import { placeAt, type TextPlace } from './text-place.ts'
import { type TextFormat, type TextProblem, yamlText } from './yaml-text.ts'

export function helpExtensions(draft: Draft, format: TextFormat): Extension[] {
  return [
    autocompletion({ override: [(context) => complete(context, draft, format)], icons: false }),
    hoverTooltip((view, position) => hover(view, position, draft)),
    lintGutter(),
    keymap.of(completionKeymap),
  ]
}

async function complete(context: CompletionContext, draft: Draft, format: TextFormat): Promise<CompletionResult | null> {
  const { text: line, from: start } = context.state.doc.lineAt(context.pos)
  const word = wordInExpression(line.slice(0, context.pos - start))
  if (word !== undefined) return completeExpression(start + word, draft)
  const types = draft.types.peek()
  const place = placeAt(context.state.doc.toString(), context.pos)
  if (types === undefined || place === undefined) return null
  if (!context.explicit && !place.isQuoted && place.from === context.pos) return null
  const definition = draft.definition.peek()
  const known = suggestionsAt(types, definition, place)
  const options = [...known, ...(await readValues(draft, types, place, known))].map((suggestion) =>
    toCompletion(suggestion, place, format),
  )
  return options.length === 0 ? null : { from: place.from, options, validFor: /^[\w.$:/@-]*$/ }
}

/** What the API knows for the field: accounts, applications, pipelines, images. */
async function readValues(
  draft: Draft,
  types: StageTypes,
  place: TextPlace,
  known: readonly Suggestion[],
): Promise<readonly Suggestion[]> {
  const definition = draft.definition.peek()
  const field = valueFieldAt(types, definition, place)
  if (field?.choicesFrom === undefined || field.choicesFrom === 'stages') return []
  const holder = objectOf(valueAt(definition, holderOf(place.path)))
  const found = await readChoices(field.choicesFrom, { application: draft.application, definition, holder })
  return found
    .filter(({ value }) => !known.some((suggestion) => suggestion.value === value))
    .map(({ value, label = '' }) => ({ value, detail: label, help: field.help }))
}

/** The object with the field, also where the place is an item of its list. */
function holderOf(path: Path): Path {
  return path.slice(
    0,
    path.findLastIndex((step) => typeof step === 'string'),
  )
}

async function completeExpression(from: number, draft: Draft): Promise<CompletionResult> {
  const suggestions = expressionSuggestions(draft.definition.peek(), await loadFunctions())
  const options = suggestions.map(({ value, detail, help }) => ({ label: String(value), detail, info: help }))
  return { from, options, validFor: /^#?[\w.]*$/ }
}

function toCompletion(suggestion: Suggestion, place: TextPlace, format: TextFormat): Completion {
  const { value, detail, help, isRequired } = suggestion
  return {
    label: String(value),
    detail,
    info: help,
    ...(isRequired === true && { boost: 1 }),
    apply: (view, _completion, from, to) => {
      const after = view.state.doc.sliceString(to, to + 2)
      const insert = textOf(value, place, format, after)
      // What is typed next stands behind a quote that was there already.
      const skipped = place.isQuoted && after.startsWith('"') && !insert.includes('"') ? 1 : 0
      view.dispatch({
        changes: { from, to, insert },
        selection: { anchor: from + insert.length + skipped },
        userEvent: 'input.complete',
      })
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

function hover(view: EditorView, position: number, draft: Draft) {
  const types = draft.types.peek()
  const text = view.state.doc.toString()
  const place = placeAt(text, position)
  if (types === undefined || place === undefined) return null
  const word = /^[\w.$-]+/.exec(text.slice(place.from))?.[0] ?? ''
  const path =
    place.role === 'key' && !(typeof place.path.at(-1) === 'number' && word === '') ? [...place.path, word] : place.path
  const lines = word === '' ? [] : describeAt(types, draft.definition.peek(), path)
  if (lines.length === 0) return null
  return {
    pos: place.from,
    end: place.from + word.length,
    create: () => {
      const dom = document.createElement('div')
      for (const [index, line] of lines.entries()) {
        const element = document.createElement(index === 0 ? 'strong' : 'div')
        element.textContent = line
        dom.append(element)
      }
      return { dom }
    },
  }
}

/** What is wrong, where it stands in the text. */
export function toDiagnostics(text: string, problem: TextProblem | undefined, draft: Draft): Diagnostic[] {
  if (problem !== undefined) {
    const to = Math.min(Math.max(problem.to, problem.from + 1), text.length)
    return [{ from: Math.min(problem.from, to), to, severity: 'error', message: problem.message }]
  }
  const problems = draft.problems.value
  if (problems.length === 0) return []
  const rangeOf = yamlText.findRanges(text)
  return problems.flatMap(({ path, message, severity }) => {
    const range = rangeOf(path)
    return range === undefined ? [] : [{ from: range.from, to: Math.min(range.to, text.length), severity, message }]
  })
}
