/**
 * JSON paths (RFC 9535, and Jayway's habits) for payload constraints, responses of webhooks and expressions.
 *
 * @see docs/contracts/events.md#json-paths
 */
import { isRawNumber } from '@fairlead/base/json/json.ts'
import { isObject } from '@fairlead/base/json/values.ts'
import { createRegexMeter, matchesWhole, occursIn } from '@fairlead/base/regex/bounded-regex.ts'
import { RegexError } from '@fairlead/base/regex/regex-syntax.ts'
import { type JSONPathQuery, type JSONValue, jsonpath } from 'json-p3'
import { LRUCache } from 'lru-cache'
import { filterFunctions, pathFunctions } from './path-functions.ts'
import { PathArgument, PathError, type PathText, toStandardPath } from './path-text.ts'

const longestPath = 2000
/** Levels that `..` goes down. */
const deepest = 200
/** More values than this are no result. */
const mostValues = 10_000

interface Compiled extends PathText {
  readonly steps: JSONPathQuery
  readonly isDefinite: boolean
}

/** Texts that are no path, too, with why. */
const compiled = new LRUCache<string, Compiled | PathError>({ max: 500 })

interface Work {
  spend(steps: number): void
  matches(pattern: string, text: string, isWhole: boolean): boolean
}

/** Evaluations do not interleave, so that compiled paths share it. */
let work: Work

/**
 * The value at a path. Paths that may lead to several values give a list of them.
 *
 * @param spend Told how many values were looked at; may throw to end it.
 * @returns undefined when the path leads nowhere, or is none.
 */
export function valueAt(document: unknown, path: string, spend: (steps: number) => void): unknown {
  const found = compile(path)
  if (found instanceof PathError) return undefined
  const args = found.call?.args.map((each) =>
    each instanceof PathArgument ? valueAt(document, each.path, spend) : each,
  )
  const regexMeter = createRegexMeter()
  work = {
    spend,
    matches(pattern, text, isWhole) {
      const before = regexMeter.spent
      try {
        return (isWhole ? matchesWhole : occursIn)(pattern, text, regexMeter)
      } catch (error) {
        if (error instanceof RegexError && error.kind === 'malformed') return false
        throw error
      } finally {
        spend(regexMeter.spent - before)
      }
    },
  }
  const values = queried(found, document)
  if (values.length > mostValues) spend(Number.POSITIVE_INFINITY)
  const value = found.isDefinite ? values[0] : values.length === 0 ? undefined : values
  const { call } = found
  return call === undefined || args === undefined || value === undefined
    ? value
    : pathFunctions[call.name]?.(value, args)
}

function queried({ steps }: Compiled, document: unknown): unknown[] {
  try {
    return steps.query(document as JSONValue).values()
  } catch (error) {
    const isTooMuch =
      error instanceof RangeError || error instanceof jsonpath.JSONPathRecursionLimitError
    if (isTooMuch) work.spend(Number.POSITIVE_INFINITY)
    throw error
  }
}

/** What keeps a text from being a path, as the end of a sentence; undefined: it is one. */
export function findPathProblem(path: string): string | undefined {
  const found = compile(path)
  return found instanceof PathError ? found.message : undefined
}

function compile(path: string): Compiled | PathError {
  const known = compiled.get(path)
  if (known !== undefined) return known
  const found = compileNew(path)
  if (path.length <= longestPath) compiled.set(path, found)
  return found
}

function compileNew(path: string): Compiled | PathError {
  try {
    if (path.length > longestPath) throw new PathError(`has more than ${longestPath} characters`)
    const text = toStandardPath(path)
    if (text.call !== undefined && !Object.hasOwn(pathFunctions, text.call.name))
      throw new PathError(`calls "${text.call.name}()", which is no function of paths`)
    for (const each of text.call?.args ?? []) {
      const wrong = each instanceof PathArgument ? compile(each.path) : undefined
      if (wrong instanceof PathError) throw wrong
    }
    const steps = environment.compile(text.query)
    meterSteps(steps)
    return { ...text, steps, isDefinite: steps.singularQuery() }
  } catch (error) {
    return error instanceof PathError
      ? error
      : new PathError(`is no JSON path: ${(error as Error).message}`)
  }
}

class BoundedEnvironment extends jsonpath.JSONPathEnvironment {
  override entries(object: Record<string, JSONValue>): [string, JSONValue][] {
    return isRawNumber(object) ? [] : Object.entries(object)
  }

  protected override setupFilterFunctions(): void {
    super.setupFilterFunctions()
    const matching = (pattern: unknown, text: unknown, isWhole: boolean) =>
      typeof pattern === 'string' &&
      typeof text === 'string' &&
      work.matches(pattern, text, isWhole)
    const all = {
      ...filterFunctions,
      match: (text: unknown, pattern: unknown) => matching(pattern, text, true),
      search: (text: unknown, pattern: unknown) => matching(pattern, text, false),
      matches_pattern: (text: unknown, pattern: unknown) => matching(pattern, text, true),
    }
    const { ValueType, LogicalType } = jsonpath.FunctionExpressionType
    for (const [name, call] of Object.entries(all))
      this.functionRegister.set(name, {
        argTypes: [ValueType, ValueType],
        returnType: LogicalType,
        call: (left, right) => {
          work.spend(lengthOf(left) + lengthOf(right))
          return call(left, right)
        },
      })
    for (const [name, call] of Object.entries(pathFunctions))
      if (!this.functionRegister.has(name))
        this.functionRegister.set(name, {
          argTypes: name === 'index' ? [ValueType, ValueType] : [ValueType],
          returnType: ValueType,
          call: (value, ...args) => {
            work.spend(lengthOf(value))
            return call(value, args) ?? jsonpath.Nothing
          },
        })
  }
}

const environment = new BoundedEnvironment({ maxRecursionDepth: deepest })

/** Every step of a path asks a selector, once for each value that it reaches: there they are counted. */
function meterSteps(query: JSONPathQuery): void {
  const { selectors } = jsonpath
  for (const segment of query.segments)
    for (const selector of segment.selectors) {
      const resolve = selector.resolve.bind(selector)
      const isFilter = selector instanceof selectors.FilterSelector
      if (isFilter) meterFilter(selector.expression)
      const looksInside = !(
        selector instanceof selectors.NameSelector || selector instanceof selectors.IndexSelector
      )
      const isDescent = segment.toString().startsWith('..')
      selector.resolve = (node) => {
        work.spend(1 + (looksInside ? lengthOf(node.value) : 0))
        const found = resolve(node)
        if (found.length > 0 || !isFilter || isDescent || Array.isArray(node.value)) return found
        // Jayway asks an object itself, where RFC 9535 asks its members.
        const { value: currentValue, root: rootValue } = node
        const isMatch = selector.expression.evaluate({ environment, currentValue, rootValue })
        return isObject(currentValue) && isMatch ? [node] : found
      }
    }
}

function meterFilter(expression: jsonpath.expressions.FilterExpression): void {
  const { FilterQuery, FunctionExtension, InfixExpression, LogicalExpression, PrefixExpression } =
    jsonpath.expressions
  if (expression instanceof FilterQuery) meterSteps(expression.path)
  else if (expression instanceof FunctionExtension) expression.args.forEach(meterFilter)
  else if (expression instanceof LogicalExpression) meterFilter(expression.expression)
  else if (expression instanceof PrefixExpression) meterFilter(expression.right)
  else if (expression instanceof InfixExpression) {
    const sides = [expression.left, expression.right]
    sides.forEach(meterFilter)
    // Only two values of the document may be large, both of them.
    if (!expression.logical && sides.every((side) => side instanceof FilterQuery))
      for (const side of sides) weighResult(side as jsonpath.expressions.FilterQuery)
  }
}

function weighResult(query: jsonpath.expressions.FilterQuery): void {
  const evaluate = query.evaluate.bind(query)
  query.evaluate = (context) => {
    const found = evaluate(context)
    if (found instanceof jsonpath.JSONPathNodeList) weigh(found.nodes[0]?.value)
    return found
  }
}

function weigh(value: unknown): void {
  work.spend(1)
  if (Array.isArray(value)) value.forEach(weigh)
  else if (isObject(value)) Object.values(value).forEach(weigh)
}

function lengthOf(value: unknown): number {
  if (Array.isArray(value)) return value.length
  return isObject(value) ? Object.keys(value).length : 1
}
