/**
 * Evaluator of the expression language. It sees JSON values by their own members, the functions and methods of its tables, and
 * nothing of the host; a meter counts all its work.
 */
import { matchesWhole } from '@fairlead/base/regex/bounded-regex.ts'
import { Meter } from '@fairlead/base/regex/meter.ts'
import { type ArithmeticOperator, calculate, checkLength, negate } from './arithmetic.ts'
import { createJavaObject, findJavaClass, readConstant } from './java/classes.ts'
import { type CallContext, JavaClassReference } from './java/java-class.ts'
import { ExpressionError } from './lexer.ts'
import { callMethod, readGetter } from './methods.ts'
import type { BinaryOperator, ExpressionNode } from './syntax.ts'
import {
  areEqual,
  compare,
  countedKeysOf,
  decapital,
  describe,
  isBean,
  isList,
  isMap,
  isNull,
  memberOf,
  numberValueOf,
  toBoolean,
  weigh,
} from './values.ts'

/** What an expression can refer to. */
export interface Scope {
  /** `undefined` for an unknown name. */
  lookUp(name: string): unknown
  has(name: string): boolean
  /** Everything by name, for `#root`. */
  all(): Record<string, unknown>
  readonly functions: ReadonlyMap<string, (args: unknown[], meter: Meter) => unknown>
  /** Unknown names are errors rather than null. */
  readonly strict: boolean
}

/** Enough for any honest pipeline; some hundred milliseconds. */
const mostSteps = 500_000

/** For expressions that are evaluated together: many of them may not take longer than a single one. */
export function createExpressionMeter(): Meter {
  return new Meter(mostSteps, () => new ExpressionError('The expressions take too many steps.'))
}

/** @throws {ExpressionError} */
export function evaluateNode(node: ExpressionNode, scope: Scope, context: CallContext): unknown {
  return new Evaluation(scope, context).evaluate(node)
}

class Evaluation {
  readonly #scope: Scope
  readonly #context: CallContext
  readonly #meter: Meter
  /** Inside a selection or projection. */
  #element: { readonly value: unknown } | undefined

  constructor(scope: Scope, context: CallContext) {
    this.#scope = scope
    this.#context = context
    this.#meter = context.meter
  }

  evaluate(node: ExpressionNode): unknown {
    this.#meter.spend()
    switch (node.kind) {
      case 'literal':
        return node.value
      case 'name':
        return this.#name(node.name)
      case 'variable':
        return this.#variable(node.name)
      case 'function':
        return this.#function(node.name, node.args)
      case 'member':
      case 'index':
      case 'method':
      case 'select':
      case 'project':
        return this.#postfix(node)
      case 'list':
        return node.items.map((item) => this.evaluate(item))
      case 'map':
        return Object.fromEntries(
          node.entries.map(({ key, value }) => [keyText(this.evaluate(key)), this.evaluate(value)]),
        )
      case 'unary':
        return this.#unary(node.operator, this.#weighed(this.evaluate(node.operand)))
      case 'binary':
        return this.#binary(node)
      case 'choice':
        return this.evaluate(
          toBoolean(this.evaluate(node.condition)) ? node.whenTrue : node.whenFalse,
        )
      case 'elvis': {
        const value = this.evaluate(node.value)
        return isNull(value) || value === '' ? this.evaluate(node.otherwise) : value
      }
      case 'type':
        return new JavaClassReference(findJavaClass(node.name))
      case 'new':
        return this.#weighed(createJavaObject(node.name, this.#arguments(node.args), this.#context))
    }
  }

  #arguments(args: readonly ExpressionNode[]): unknown[] {
    return args.map((arg) => this.#weighed(this.evaluate(arg)))
  }

  /** What is handed to a function or method, or comes from one. */
  #weighed<T>(value: T): T {
    weigh(value, this.#meter)
    if (typeof value === 'string') checkLength(value.length)
    return value
  }

  #name(name: string): unknown {
    if (this.#element !== undefined) return this.#ownMember(this.#element.value, name)
    if (this.#scope.has(name)) return this.#scope.lookUp(name)
    if (this.#scope.strict) throw new ExpressionError(`Unknown name "${name}".`)
    return null
  }

  #variable(name: string): unknown {
    if (name === 'this')
      return this.#element === undefined ? this.#scope.all() : this.#element.value
    return name === 'root' ? this.#scope.all() : null
  }

  #function(name: string, args: readonly ExpressionNode[]): unknown {
    const call = this.#scope.functions.get(name)
    if (call === undefined) throw new ExpressionError(`There is no function "#${name}".`)
    return this.#weighed(call(this.#arguments(args), this.#meter))
  }

  /** Walks a chain such as `a.b[0].c()` from its innermost part outwards, without a stack frame for each link. */
  #postfix(outermost: Link): unknown {
    const chain: Link[] = []
    let inner: ExpressionNode | undefined = outermost
    while (inner !== undefined && isLink(inner)) {
      this.#meter.spend()
      chain.push(inner)
      inner = inner.target
    }
    // A bare method is one of the element inside a selection.
    let value = inner === undefined ? this.#element?.value : this.evaluate(inner)
    for (let link = chain.pop(); link !== undefined; link = chain.pop())
      value = link.safe && isNull(value) ? null : this.#link(link, value)
    return value
  }

  #link(link: Link, value: unknown): unknown {
    switch (link.kind) {
      case 'member':
        if (isNull(value))
          throw new ExpressionError(`"${link.name}" cannot be read: the value before it is null.`)
        return this.#member(value, link.name)
      case 'index':
        return this.#index(value, link.index)
      case 'method':
        return this.#method(link, value)
      case 'select':
        return this.#select(value, link.which, link.test)
      case 'project':
        return this.#project(value, link.each)
    }
  }

  #method(link: Extract<ExpressionNode, { kind: 'method' }>, value: unknown): unknown {
    if (link.target === undefined && this.#element === undefined)
      throw new ExpressionError(`There is no method "${link.name}".`)
    if (isNull(value))
      throw new ExpressionError(`"${link.name}()" cannot be called: the value before it is null.`)
    return this.#weighed(
      callMethod(this.#weighed(value), link.name, this.#arguments(link.args), this.#context),
    )
  }

  #member(value: unknown, name: string): unknown {
    if (isMap(value)) {
      const own = isBean(value) && !Object.hasOwn(value, name) ? decapital(name) : name
      return memberOf(value, own) ?? null
    }
    if (value instanceof JavaClassReference) return readConstant(value, name)
    const read = readGetter(value, name, this.#context)
    if (read !== undefined) return read
    throw new ExpressionError(`${describe(value)} has no property "${name}".`)
  }

  #ownMember(value: unknown, name: string): unknown {
    if (isMap(value) && Object.hasOwn(value, name)) return value[name]
    if (this.#scope.strict || !isMap(value))
      throw new ExpressionError(`Unknown name "${name}" in ${describe(value)}.`)
    return null
  }

  #index(value: unknown, index: ExpressionNode): unknown {
    if (isNull(value)) throw new ExpressionError('An index was applied to null.')
    if (isMap(value))
      return this.#member(value, index.kind === 'name' ? index.name : keyText(this.evaluate(index)))
    const position = numberValueOf(this.#weighed(this.evaluate(index)))
    if (position === undefined) throw new ExpressionError('An index must be a number.')
    const at = Number(position.value)
    const length = isList(value) || typeof value === 'string' ? value.length : undefined
    if (length === undefined) throw new ExpressionError(`${describe(value)} has no elements.`)
    if (!Number.isInteger(at) || at < 0 || at >= length)
      throw new ExpressionError(`The index ${at} is out of range.`)
    return (value as unknown[] | string)[at]
  }

  #select(value: unknown, which: 'all' | 'first' | 'last', test: ExpressionNode): unknown {
    const chosen = elementsOf(value, this.#meter).filter((element) =>
      this.#within(element, () => toBoolean(this.evaluate(test))),
    )
    const taken =
      which === 'all' ? chosen : which === 'first' ? chosen.slice(0, 1) : chosen.slice(-1)
    if (!isMap(value)) return which === 'all' ? taken : (taken[0] ?? null)
    return Object.fromEntries(
      taken.map((entry) => [(entry as MapEntry).key, (entry as MapEntry).value]),
    )
  }

  #project(value: unknown, each: ExpressionNode): unknown[] {
    return elementsOf(value, this.#meter).map((element) =>
      this.#within(element, () => this.evaluate(each)),
    )
  }

  #within<T>(value: unknown, work: () => T): T {
    const outer = this.#element
    this.#element = { value }
    try {
      return work()
    } finally {
      this.#element = outer
    }
  }

  #unary(operator: '-' | '+' | '!', value: unknown): unknown {
    if (operator === '!') return !toBoolean(value)
    if (operator === '-') return negate(value)
    if (numberValueOf(value) === undefined)
      throw new ExpressionError(`"+" does not work on ${describe(value)}.`)
    return value
  }

  /** A long row such as `1 + 1 + 1 …` is a deep tree on its left side; it is walked without a stack frame for each. */
  #binary(outermost: Extract<ExpressionNode, { kind: 'binary' }>): unknown {
    const row: Extract<ExpressionNode, { kind: 'binary' }>[] = []
    let inner: ExpressionNode = outermost
    while (inner.kind === 'binary') {
      this.#meter.spend()
      row.push(inner)
      inner = inner.left
    }
    let value = this.evaluate(inner)
    for (let node = row.pop(); node !== undefined; node = row.pop())
      value = this.#operate(node.operator, value, node.right)
    return value
  }

  #operate(operator: BinaryOperator, left: unknown, rightNode: ExpressionNode): unknown {
    if (operator === 'and') return toBoolean(left) && toBoolean(this.evaluate(rightNode))
    if (operator === 'or') return toBoolean(left) || toBoolean(this.evaluate(rightNode))
    if (operator === 'instanceof')
      throw new ExpressionError('"instanceof" is not allowed in expressions.')
    const right = this.evaluate(rightNode)
    if (Object.hasOwn(tests, operator))
      return tests[operator as keyof typeof tests](left, right, this.#meter)
    return this.#weighed(calculate(operator as ArithmeticOperator, left, right, this.#meter))
  }
}

const tests = {
  '==': areEqual,
  '!=': (left, right, meter) => !areEqual(left, right, meter),
  '<': (left, right, meter) => compare(left, right, meter) < 0,
  '<=': (left, right, meter) => compare(left, right, meter) <= 0,
  '>': (left, right, meter) => compare(left, right, meter) > 0,
  '>=': (left, right, meter) => compare(left, right, meter) >= 0,
  between: isBetween,
  matches: isMatch,
} as const satisfies Partial<
  Record<BinaryOperator, (left: unknown, right: unknown, meter: Meter) => boolean>
>

type Link = Extract<ExpressionNode, { kind: 'member' | 'index' | 'method' | 'select' | 'project' }>

function isLink(node: ExpressionNode): node is Link {
  return ['member', 'index', 'method', 'select', 'project'].includes(node.kind)
}

interface MapEntry {
  key: string
  value: unknown
}

/** @throws {ExpressionError} */
function elementsOf(value: unknown, meter: Meter): unknown[] {
  if (isMap(value))
    return countedKeysOf(value, meter).map((key): MapEntry => ({ key, value: value[key] }))
  if (isList(value)) {
    meter.spend(value.length)
    return value
  }
  throw new ExpressionError(`${describe(value)} has no elements to choose from.`)
}

function keyText(key: unknown): string {
  if (key === '__proto__') throw new ExpressionError('"__proto__" cannot be a key.')
  if (typeof key === 'string') return key
  if (isNull(key) || isList(key) || isMap(key))
    throw new ExpressionError(`${describe(key)} cannot be a key.`)
  return String(key)
}

function isBetween(value: unknown, range: unknown, meter: Meter): boolean {
  if (!isList(range) || range.length !== 2)
    throw new ExpressionError('"between" needs a list of two values.')
  return compare(value, range[0], meter) >= 0 && compare(value, range[1], meter) <= 0
}

function isMatch(value: unknown, pattern: unknown, meter: Meter): boolean {
  if (typeof value !== 'string' || typeof pattern !== 'string')
    throw new ExpressionError('"matches" works on texts only.')
  return matchesWhole(pattern, value, meter)
}
