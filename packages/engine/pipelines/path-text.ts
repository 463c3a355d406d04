/** JSON paths with the habits of Jayway's library for Java, written as RFC 9535 writes them. */

/** A function at the end of a path: `$.labels.length()`. */
interface PathCall {
  readonly name: string
  readonly args: readonly unknown[]
}

/** A path whose value is an argument: `$.concat("https://ci.example", $.href)`. */
export class PathArgument {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }
}

export interface PathText {
  /** Query in the form of RFC 9535. */
  readonly query: string
  readonly call?: PathCall
}

export class PathError extends Error {}

/** Operators of Jayway's filters, as functions that stand in their place. */
const operators: Readonly<Record<string, string>> = {
  '=~': 'matches_pattern',
  in: 'is_in',
  nin: '!is_in',
  subsetof: 'is_subset',
  anyof: 'has_any',
  noneof: '!has_any',
  contains: 'has_part',
  size: 'has_size',
  empty: 'is_empty',
}

const plainName = /^[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*$/
const operatorPattern = /\s*(=~|(?:in|nin|subsetof|anyof|noneof|contains|size|empty)\b)\s*/iy
const quoted = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/y
const numberOrWord = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|(?:true|false|null)\b/y
const regex = /\/((?:[^/\\]|\\.)*)\/([a-zA-Z]*)/y

/**
 * `$.` may be left out, names may have hyphens, and filters know Jayway's operators.
 *
 * @throws {PathError}
 */
export function toStandardPath(path: string): PathText {
  const given = path.trim()
  const scanner = new PathScanner(given.startsWith('$') ? given : `$.${given}`)
  const found = scanner.readPath(/(\.\.?)([^\s.[\](*]+)(\()?/y)
  scanner.expectEnd()
  return found
}

class PathScanner {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  expectEnd(): void {
    if (this.#at < this.#text.length) throw this.#unexpected()
  }

  /** From `$` or `@` on, up to its last segment. */
  readPath(names: RegExp): PathText {
    let query = this.#text[this.#at++] as string
    for (;;) {
      const bracket = this.#take(/(\.{0,2})\s*\[/y)
      if (bracket !== undefined) {
        query += `${bracket[1] === '..' ? '..' : ''}[${this.#readSelectors()}`
        continue
      }
      const every = this.#take(/\.\.?\*/y)
      if (every !== undefined) {
        query += every[0]
        continue
      }
      const named = this.#take(names)
      if (named === undefined) return { query }
      const [, dots, name = '', opening] = named
      if (opening !== undefined) return { query, call: { name, args: this.#readArguments() } }
      if (plainName.test(name)) query += `${dots}${name}`
      else query += `${dots === '..' ? '..' : ''}[${JSON.stringify(name)}]`
    }
  }

  /** The content of brackets, and the one that closes them. */
  #readSelectors(): string {
    let out = ''
    for (;;) {
      const character = this.#peek()
      if (character === ']') {
        this.#at++
        return `${out}]`
      }
      const text = this.#take(quoted)?.[0] ?? this.#take(/[\s\d:,*-]+/y)?.[0]
      if (text !== undefined) out += text
      else if (character === '?') {
        this.#at++
        out += `?${this.#readFilter()}`
      } else throw this.#unexpected()
    }
  }

  #readFilter(): string {
    let out = ''
    let depth = 0
    for (;;) {
      const character = this.#peek()
      if (depth === 0 && (character === ']' || character === ',')) return out
      const operand = this.#readOperand()
      if (operand !== undefined) {
        out += this.#withOperator(operand)
        continue
      }
      const text = this.#take(/[A-Za-z_][\w]*\s*(?=\()|[\s(),!<>=&|]/y)?.[0]
      if (text === undefined) throw this.#unexpected()
      if (text === '(') depth++
      if (text === ')') depth--
      out += text
    }
  }

  #withOperator(left: string): string {
    const operator = this.#take(operatorPattern)?.[1]?.toLowerCase()
    if (operator === undefined) return left
    const pattern = operator === '=~' ? this.#take(regex) : undefined
    const right =
      pattern === undefined
        ? this.#readOperand()
        : JSON.stringify(`${pattern[2] === '' ? '' : `(?${pattern[2]})`}${pattern[1]}`)
    if (right === undefined) throw this.#unexpected()
    return `${operators[operator]}(${left}, ${right})`
  }

  #readOperand(): string | undefined {
    const character = this.#peek()
    if (character === '@' || character === '$') {
      const { query, call } = this.readPath(/(\.\.?)([^\s.[\]()<>=~!&|,*?]+)(\()?/y)
      if (call === undefined) return query
      return `${call.name}(${[query, ...call.args.map((arg) => JSON.stringify(arg))].join(', ')})`
    }
    if (character === '[') return JSON.stringify(JSON.stringify(this.#readList()))
    return this.#take(quoted)?.[0] ?? this.#take(numberOrWord)?.[0]
  }

  #readList(): unknown[] {
    this.#at++
    return this.#readValues(']')
  }

  #readArguments(): unknown[] {
    return this.#readValues(')', () => {
      const [path] = this.#take(/\$[^,()]*/y) ?? []
      return path && new PathArgument(path.trim())
    })
  }

  /** @param readOther A value that is no literal */
  #readValues(end: string, readOther: () => unknown = () => undefined): unknown[] {
    const values: unknown[] = []
    for (;;) {
      this.#take(/[\s,]+/y)
      if (this.#peek() === end) {
        this.#at++
        return values
      }
      const text = this.#take(quoted)?.[0] ?? this.#take(numberOrWord)?.[0]
      const other = text === undefined ? readOther() : undefined
      if (text === undefined && other === undefined) throw this.#unexpected()
      if (text === undefined) values.push(other)
      else
        values.push(
          /^['"]/.test(text) ? text.slice(1, -1).replace(/\\(.)/g, '$1') : JSON.parse(text),
        )
    }
  }

  #peek(): string {
    const character = this.#text[this.#at]
    if (character === undefined) throw new PathError('ends too early')
    return character
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text) ?? undefined
    if (found !== undefined) this.#at = pattern.lastIndex
    return found
  }

  #unexpected(): PathError {
    return new PathError(`has "${this.#text.slice(this.#at, this.#at + 12)}" where it cannot stand`)
  }
}
