/**
 * Pratt parser of the Spring expression language, with one table of operators.
 *
 * @see docs/contracts/orchestration.md#expression-language
 */
import { ExpressionError, type Token, tokenise } from './lexer.ts'
import { type BinaryOperator, bindingPowers, type ExpressionNode } from './syntax.ts'
import { parseNumber } from './values.ts'

/** How deep brackets and prefix signs may nest. */
const deepestNesting = 200

/** Other spellings of operators; words in any case. */
const spellings: Readonly<Record<string, BinaryOperator>> = {
  '||': 'or',
  '&&': 'and',
  eq: '==',
  ne: '!=',
  lt: '<',
  le: '<=',
  gt: '>',
  ge: '>=',
  div: '/',
  mod: '%',
}

const choicePower = 1

const constants: Readonly<Record<string, unknown>> = { true: true, false: false, null: null }

/** @throws {ExpressionError} */
export function parseExpression(source: string): ExpressionNode {
  return new Parser(tokenise(source)).parse()
}

class Parser {
  readonly #tokens: Token[]
  #position = 0
  #depth = 0

  constructor(tokens: Token[]) {
    this.#tokens = tokens
  }

  parse(): ExpressionNode {
    const node = this.#expression(0)
    const rest = this.#peek()
    if (rest.kind !== 'end') throw this.#unexpected(rest)
    return node
  }

  #expression(minimum: number): ExpressionNode {
    this.#enter()
    let left = this.#unary()
    for (;;) {
      if (minimum <= choicePower && this.#isSign('?')) left = this.#choice(left)
      else if (minimum <= choicePower && this.#takeSign('?:')) {
        left = { kind: 'elvis', value: left, otherwise: this.#expression(choicePower) }
      } else {
        const operator = this.#binaryOperator()
        if (operator === undefined || bindingPowers[operator] < minimum) break
        this.#next()
        left = {
          kind: 'binary',
          operator,
          left,
          right: this.#expression(bindingPowers[operator] + 1),
        }
      }
    }
    this.#depth--
    return left
  }

  #enter(): void {
    if (++this.#depth > deepestNesting)
      throw new ExpressionError(`The expression nests deeper than ${deepestNesting} levels.`)
  }

  #choice(condition: ExpressionNode): ExpressionNode {
    this.#next()
    const whenTrue = this.#expression(0)
    this.#expect(':')
    return { kind: 'choice', condition, whenTrue, whenFalse: this.#expression(choicePower) }
  }

  #binaryOperator(): BinaryOperator | undefined {
    const token = this.#peek()
    if (token.kind !== 'sign' && token.kind !== 'name') return undefined
    const text = token.text.toLowerCase()
    if (Object.hasOwn(spellings, text)) return spellings[text]
    return Object.hasOwn(bindingPowers, text) ? (text as BinaryOperator) : undefined
  }

  #unary(): ExpressionNode {
    const token = this.#peek()
    const operator =
      token.kind === 'sign'
        ? token.text
        : token.kind === 'name' && token.text.toLowerCase() === 'not'
          ? '!'
          : ''
    if (operator !== '-' && operator !== '+' && operator !== '!')
      return this.#postfix(this.#primary())
    this.#next()
    this.#enter()
    const operand = this.#unary()
    this.#depth--
    return { kind: 'unary', operator, operand }
  }

  #postfix(start: ExpressionNode): ExpressionNode {
    let node = start
    for (;;) {
      const token = this.#peek()
      if (token.kind !== 'sign') return node
      if (token.text === '.' || token.text === '?.') {
        this.#next()
        node = this.#afterDot(node, token.text === '?.')
      } else if (token.text === '[') {
        node = this.#index(node, false)
      } else if (['?[', '![', '^[', '$['].includes(token.text)) {
        node = this.#collection(node, false)
      } else return node
    }
  }

  #afterDot(target: ExpressionNode, safe: boolean): ExpressionNode {
    const token = this.#peek()
    if (token.kind === 'sign' && token.text === '[') return this.#index(target, safe)
    if (token.kind === 'sign') return this.#collection(target, safe)
    const name = this.#name()
    if (!this.#isSign('(')) return { kind: 'member', target, name, safe }
    return { kind: 'method', target, name, args: this.#arguments(), safe }
  }

  #index(target: ExpressionNode, safe: boolean): ExpressionNode {
    this.#expect('[')
    const index = this.#expression(0)
    this.#expect(']')
    return { kind: 'index', target, index, safe }
  }

  #collection(target: ExpressionNode, safe: boolean): ExpressionNode {
    const token = this.#next()
    const sign = token.kind === 'sign' ? token.text : ''
    if (!['?[', '![', '^[', '$['].includes(sign)) throw this.#unexpected(token)
    const inner = this.#expression(0)
    this.#expect(']')
    if (sign === '![') return { kind: 'project', target, each: inner, safe }
    return {
      kind: 'select',
      target,
      which: sign === '?[' ? 'all' : sign === '^[' ? 'first' : 'last',
      test: inner,
      safe,
    }
  }

  #primary(): ExpressionNode {
    const token = this.#next()
    if (token.kind === 'number') return { kind: 'literal', value: parseNumber(token.text) }
    if (token.kind === 'text') return { kind: 'literal', value: token.value }
    if (token.kind === 'name') return this.#word(token.text)
    if (token.kind === 'end') throw new ExpressionError('The expression ends too early.')
    if (token.text === '(') {
      const inner = this.#expression(0)
      this.#expect(')')
      return inner
    }
    if (token.text === '{') return this.#braces()
    if (token.text === '#') return this.#hash()
    if (token.text === '[') {
      this.#position--
      return this.#index({ kind: 'variable', name: 'this' }, false)
    }
    throw this.#unexpected(token)
  }

  #word(word: string): ExpressionNode {
    const constant = word.toLowerCase()
    if (Object.hasOwn(constants, constant)) return { kind: 'literal', value: constants[constant] }
    if (word === 'T' && this.#isSign('(')) {
      this.#next()
      const name = this.#qualifiedName()
      this.#expect(')')
      return { kind: 'type', name }
    }
    if (constant === 'new' && this.#peek().kind === 'name') {
      const name = this.#qualifiedName()
      return { kind: 'new', name, args: this.#arguments() }
    }
    if (this.#isSign('('))
      return { kind: 'method', target: undefined, name: word, args: this.#arguments(), safe: false }
    return { kind: 'name', name: word }
  }

  #hash(): ExpressionNode {
    const name = this.#name()
    return this.#isSign('(')
      ? { kind: 'function', name, args: this.#arguments() }
      : { kind: 'variable', name }
  }

  /** A list `{1, 2}`, or a map `{a: 1, 'b': 2}`; `{:}` is the empty map. */
  #braces(): ExpressionNode {
    if (this.#takeSign('}')) return { kind: 'list', items: [] }
    if (this.#takeSign(':')) {
      this.#expect('}')
      return { kind: 'map', entries: [] }
    }
    const first = this.#expression(0)
    return this.#isSign(':') ? this.#mapFrom(first) : this.#listFrom(first)
  }

  #listFrom(first: ExpressionNode): ExpressionNode {
    const items = [first]
    while (this.#takeSign(',')) items.push(this.#expression(0))
    this.#expect('}')
    return { kind: 'list', items }
  }

  #mapFrom(firstKey: ExpressionNode): ExpressionNode {
    const entries: { key: ExpressionNode; value: ExpressionNode }[] = []
    let key = firstKey
    for (;;) {
      this.#expect(':')
      // A bare word as key is the word itself.
      const literal: ExpressionNode =
        key.kind === 'name' ? { kind: 'literal', value: key.name } : key
      entries.push({ key: literal, value: this.#expression(0) })
      if (!this.#takeSign(',')) break
      key = this.#expression(0)
    }
    this.#expect('}')
    return { kind: 'map', entries }
  }

  #arguments(): ExpressionNode[] {
    this.#expect('(')
    const args: ExpressionNode[] = []
    if (this.#takeSign(')')) return args
    do args.push(this.#expression(0))
    while (this.#takeSign(','))
    this.#expect(')')
    return args
  }

  #qualifiedName(): string {
    let name = this.#name()
    while (this.#takeSign('.')) name += `.${this.#name()}`
    return name
  }

  #name(): string {
    const token = this.#next()
    if (token.kind !== 'name') throw this.#unexpected(token)
    return token.text
  }

  #peek(): Token {
    return this.#tokens[this.#position] as Token
  }

  #next(): Token {
    const token = this.#peek()
    if (token.kind !== 'end') this.#position++
    return token
  }

  #isSign(text: string): boolean {
    const token = this.#peek()
    return token.kind === 'sign' && token.text === text
  }

  #takeSign(text: string): boolean {
    const found = this.#isSign(text)
    if (found) this.#position++
    return found
  }

  #expect(text: string): void {
    if (!this.#takeSign(text)) throw this.#unexpected(this.#peek(), text)
  }

  #unexpected(token: Token, expected?: string): ExpressionError {
    const found =
      token.kind === 'end' ? 'the end' : token.kind === 'text' ? 'a text' : `"${token.text}"`
    const wish = expected === undefined ? '' : ` instead of "${expected}"`
    return new ExpressionError(`Unexpected ${found} at position ${token.at}${wish}.`)
  }
}
