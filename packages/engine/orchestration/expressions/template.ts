/**
 * Evaluation of the texts of a JSON value, which may have `${ expression }` parts. An expression that fails leaves its text as
 * it was and an entry in the summary.
 *
 * @see docs/contracts/orchestration.md#expression-language, #failed-expressions
 */
import type { Meter } from '@fairlead/base/regex/meter.ts'
import { createExpressionMeter, evaluateNode, type Scope } from './evaluator.ts'
import { ExpressionError } from './lexer.ts'
import { parseExpression } from './parser.ts'
import { isList, isMap, isNull, toExpressionText, toJsonValue, Unevaluated } from './values.ts'

interface SummaryEntry {
  description: string
  exceptionType?: string
  /** Milliseconds since the epoch. */
  timestamp: number
  level: 'ERROR' | 'INFO'
}

/** By the text of the expression without its `${}`. */
export type ExpressionSummary = Record<string, SummaryEntry[]>

interface EvaluationOptions {
  scope: Scope
  now: number
  /** Keys of the outermost object that are left alone. */
  skip?: readonly string[]
  /** Counts what the expressions take; one of its own when absent. */
  meter?: Meter
}

interface EvaluationResult<T> {
  value: T
  /** What failed. */
  summary: ExpressionSummary
  /** Expressions that were evaluated without a complaint. */
  succeeded: ReadonlySet<string>
}

const longestExpression = 10_000
/** Characters and members that a value may have after evaluation. */
const largestValue = 1_000_000
/** What results may add to a value that is larger than that by itself. */
const smallestRoom = 64_000
/** What a summary holds for one expression, and of how many expressions. */
const mostEntries = 10
const mostNames = 200
/** Members that count as one step. */
const membersPerStep = 8
/** Characters of expressions that count as one step: they have to be read. */
const sourcePerStep = 4
/** How deep a result may nest: a value that is put into another again and again could not be stored in the end. */
const deepestResult = 200
const opening = '${'

/** Evaluates every text within a JSON value, the keys of objects too. */
export function evaluateTree<T>(value: T, options: EvaluationOptions): EvaluationResult<T> {
  const evaluation = new TreeEvaluation(
    options,
    Math.max(largestValue - sizeOf(value, largestValue), smallestRoom),
  )
  return {
    value: evaluation.walk(value, []) as T,
    summary: evaluation.summary,
    succeeded: evaluation.succeeded,
  }
}

class TreeEvaluation {
  readonly summary: ExpressionSummary = Object.create(null) as ExpressionSummary
  readonly succeeded = new Set<string>()
  readonly #options: EvaluationOptions
  readonly #meter: Meter
  #room: number

  constructor(options: EvaluationOptions, room: number) {
    this.#options = options
    this.#meter = options.meter ?? createExpressionMeter()
    this.#room = room
  }

  /** @param path Keys that lead to the value, for messages. */
  walk(value: unknown, path: readonly string[]): unknown {
    if (typeof value === 'string') return value.includes(opening) ? this.#text(value, path) : value
    if (isList(value)) return value.map((item) => this.walk(item, path))
    if (!isMap(value)) return value
    const isOutermost = path.length === 0
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => {
        if (isOutermost && this.#options.skip?.includes(key)) return [key, member]
        return [this.#key(key, path), this.walk(member, [...path, key])]
      }),
    )
  }

  #key(key: string, path: readonly string[]): string {
    if (!key.includes(opening)) return key
    const evaluated = this.#text(key, [...path, key])
    const name = typeof evaluated === 'string' ? evaluated : this.#keyText(evaluated)
    return name === undefined || name === '__proto__' ? key : name
  }

  #keyText(value: unknown): string | undefined {
    try {
      return toExpressionText(value, this.#meter)
    } catch {
      return undefined
    }
  }

  #text(text: string, path: readonly string[]): unknown {
    const name = expressionName(text)
    try {
      const { value, nullParts } = evaluateText(
        text,
        (source) => this.#evaluate(source),
        this.#meter,
      )
      if (nullParts.length === 0) this.succeeded.add(name)
      else this.#note(name, path, `${nullParts.join(', ')} is null`, 'INFO')
      return value
    } catch (error) {
      const known = error instanceof Error ? error : new Error(String(error))
      // The stack of the thread is the last guard against nesting that no other limit has caught.
      const message = known instanceof RangeError ? 'The expression is too complex.' : known.message
      this.#note(name, path, message, 'ERROR', known.name)
      return text
    }
  }

  /** @throws {ExpressionError} also when the results grow too large, as one that contains itself does from run to run. */
  #evaluate(source: string): unknown {
    this.#meter.spend(source.length / sourcePerStep)
    const value = evaluateNode(parseExpression(source), this.#options.scope, {
      now: this.#options.now,
      meter: this.#meter,
    })
    const size = sizeOf(value, this.#room, deepestResult)
    this.#room -= size
    this.#meter.spend(size / membersPerStep)
    if (this.#room < 0) throw new ExpressionError('The results of the expressions are too large.')
    return value
  }

  #note(
    name: string,
    path: readonly string[],
    message: string,
    level: 'ERROR' | 'INFO',
    exceptionType?: string,
  ): void {
    const where = path.length === 0 ? '' : ` [${path.join('.')}]`
    const description = `Failed to evaluate${where} ${name}: ${message}`
    const entries = this.summary[name] ?? []
    const isFull =
      entries.length >= mostEntries ||
      (entries.length === 0 && Object.keys(this.summary).length >= mostNames)
    if (isFull || entries.some((entry) => entry.description === description)) return
    this.summary[name] = [
      ...entries,
      { description, exceptionType, timestamp: this.#options.now, level },
    ]
  }
}

/** @throws {ExpressionError} when any part cannot be evaluated. */
function evaluateText(
  text: string,
  evaluate: (source: string) => unknown,
  meter: Meter,
): { value: unknown; nullParts: string[] } {
  const parts = templateParts(text)
  const only = parts.length === 1 ? parts[0] : undefined
  if (only !== undefined && only.kind === 'expression') {
    const value = evaluate(only.text)
    return isNull(value)
      ? { value: text, nullParts: [only.text] }
      : { value: toJsonValue(value, meter), nullParts: [] }
  }
  const nullParts: string[] = []
  const texts = parts.map((part) => {
    if (part.kind === 'literal') return part.text
    const value = evaluate(part.text)
    if (!isNull(value)) return partText(value, meter)
    nullParts.push(part.text)
    return `${opening}${part.text}}`
  })
  return { value: texts.join(''), nullParts }
}

/**
 * Characters and members of a value, counted to a little beyond `enough`.
 *
 * @throws {ExpressionError} when it nests deeper than `deepest` levels
 */
function sizeOf(value: unknown, enough: number, deepest = Infinity): number {
  let size = 0
  let level = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepest)
      throw new ExpressionError(`The result nests deeper than ${deepest} levels.`)
    const below: unknown[] = []
    for (const next of level) {
      size += typeof next === 'string' ? next.length + 1 : 1
      // Members are counted before they are looked at: a list may hold another one, large itself, a hundred thousand times.
      if (size + below.length > enough) return size + below.length
      const inner = next instanceof Unevaluated ? next.value : next
      if (isList(inner)) for (const item of inner) below.push(item)
      else if (isMap(inner)) {
        for (const key of Object.keys(inner)) {
          size += key.length
          below.push(inner[key])
        }
      } else if (inner !== next) below.push(inner)
    }
    level = below
  }
  return size
}

function partText(value: unknown, meter: Meter): string {
  if (isList(value)) return value.map((item) => toExpressionText(item, meter)).join(',')
  if (isMap(value)) throw new ExpressionError('A text cannot contain an object; use #toJson.')
  return toExpressionText(value, meter)
}

interface TemplatePart {
  kind: 'literal' | 'expression'
  text: string
}

/** @throws {ExpressionError} when a part does not end, or is too long. */
function templateParts(text: string): TemplatePart[] {
  const parts: TemplatePart[] = []
  let at = 0
  for (let start = text.indexOf(opening); start !== -1; start = text.indexOf(opening, at)) {
    if (start > at) parts.push({ kind: 'literal', text: text.slice(at, start) })
    const end = closingBrace(text, start + opening.length)
    const expression = text.slice(start + opening.length, end)
    if (expression.length > longestExpression) {
      throw new ExpressionError(`The expression has more than ${longestExpression} characters.`)
    }
    parts.push({ kind: 'expression', text: expression })
    at = end + 1
  }
  if (at < text.length) parts.push({ kind: 'literal', text: text.slice(at) })
  return parts
}

/** The expressions of a text, without their `${}`. @throws {ExpressionError} when one does not end, or is too long. */
export function expressionsIn(text: string): string[] {
  return templateParts(text).flatMap((part) => (part.kind === 'expression' ? [part.text] : []))
}

/** The brace that ends the expression, brackets and quotes inside it matched. */
function closingBrace(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const character = text[at] as string
    if (character === "'" || character === '"') {
      at = text.indexOf(character, at + 1)
      if (at === -1) break
    } else if ('{[('.includes(character)) depth++
    else if (character === '}' && depth === 0) return at
    else if ('}])'.includes(character)) depth--
  }
  throw new ExpressionError('The expression has no closing brace.')
}

/** The text as the summary names it: without the marks of its expressions. */
function expressionName(text: string): string {
  try {
    return templateParts(text)
      .map((part) => part.text)
      .join('')
  } catch {
    return text.replaceAll(opening, '').replace(/\}$/, '')
  }
}
