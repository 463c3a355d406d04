/** Reads regular expressions in the notation of Java into a tree. Back-references and look-around are refused. */

export type RegexNode =
  /** `cost`: how many comparisons the test may take. */
  | { kind: 'characters'; test: (character: string) => boolean; cost: number }
  | { kind: 'start' | 'end' | 'word-boundary' | 'no-word-boundary' }
  | { kind: 'sequence'; parts: RegexNode[] }
  | { kind: 'choice'; options: RegexNode[] }
  | { kind: 'repeat'; inner: RegexNode; least: number; most: number; greedy: boolean }
  /** `number` counts from 1; groups that capture nothing have none. */
  | { kind: 'group'; inner: RegexNode; number: number | undefined }

/** A pattern that cannot be read, or would take too long. */
export class RegexError extends Error {
  override readonly name = 'RegexError'
}

export interface Regex {
  root: RegexNode
  groupCount: number
}

type CharacterTest = (character: string) => boolean

const mostRepeats = 1000
const deepestNesting = 100

const isDigit: CharacterTest = (character) => character >= '0' && character <= '9'
export const isWordCharacter: CharacterTest = (character) => /^\w$/.test(character)
const isSpace: CharacterTest = (character) => /^[ \t\n\v\f\r]$/.test(character)
const not =
  (test: CharacterTest): CharacterTest =>
  (character) =>
    !test(character)

const classEscapes: Readonly<Record<string, CharacterTest>> = {
  d: isDigit,
  D: not(isDigit),
  w: isWordCharacter,
  W: not(isWordCharacter),
  s: isSpace,
  S: not(isSpace),
}

const characterEscapes: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', f: '\f', e: '\x1b', a: '\x07' }

/** Names of Java for what Unicode calls otherwise. */
const javaProperties: Readonly<Record<string, string>> = {
  ...{ Alpha: 'Alphabetic', Lower: 'Lowercase', Upper: 'Uppercase', Digit: 'Nd', Punct: 'P', Space: 'White_Space' },
  ...{ IsAlphabetic: 'Alphabetic', IsLetter: 'L', IsDigit: 'Nd', ASCII: 'ASCII' },
}

/** @throws {RegexError} */
export function parseRegex(pattern: string): Regex {
  return new RegexParser(pattern).parse()
}

class RegexParser {
  readonly #source: string[]
  #at = 0
  #groupCount = 0
  #ignoresCase = false
  #depth = 0

  constructor(pattern: string) {
    this.#source = [...pattern]
  }

  parse(): Regex {
    const root = this.#choice()
    if (this.#at < this.#source.length) throw new RegexError(`Unmatched ")" in the regular expression.`)
    return { root, groupCount: this.#groupCount }
  }

  #choice(): RegexNode {
    if (++this.#depth > deepestNesting) throw new RegexError('The regular expression nests too deeply.')
    const options = [this.#sequence()]
    while (this.#take('|')) options.push(this.#sequence())
    this.#depth--
    return options.length === 1 ? (options[0] as RegexNode) : { kind: 'choice', options }
  }

  #sequence(): RegexNode {
    const parts: RegexNode[] = []
    for (let next = this.#peek(); next !== undefined && next !== '|' && next !== ')'; next = this.#peek()) {
      const part = this.#atom()
      if (part !== undefined) parts.push(this.#repeated(part))
    }
    return { kind: 'sequence', parts }
  }

  /** `undefined` for what matches nothing by itself, such as `(?i)`. */
  #atom(): RegexNode | undefined {
    const character = this.#next()
    switch (character) {
      case '(':
        return this.#group()
      case '[':
        return this.#bracket()
      case '.':
        return characters((each) => each !== '\n' && each !== '\r')
      case '^':
        return { kind: 'start' }
      case '$':
        return { kind: 'end' }
      case '\\':
        return this.#escape()
      case '*':
      case '+':
      case '?':
        throw new RegexError(`Nothing stands before "${character}" in the regular expression.`)
      default:
        return this.#literal(character)
    }
  }

  #literal(character: string): RegexNode {
    if (!this.#ignoresCase) return characters((each) => each === character)
    const lower = character.toLowerCase()
    return characters((each) => each.toLowerCase() === lower)
  }

  #group(): RegexNode | undefined {
    let captures = true
    if (this.#take('?')) {
      captures = !this.#take(':') && !this.#takeFlag() && this.#takeName()
      if (!captures && this.#take(')')) return undefined
    }
    const number = captures ? ++this.#groupCount : undefined
    const inner = this.#choice()
    this.#expect(')')
    return { kind: 'group', inner, number }
  }

  /** `(?i)` holds for the rest of the pattern, `(?i:…)` is taken likewise. */
  #takeFlag(): boolean {
    if (!this.#take('i')) return false
    this.#ignoresCase = true
    if (this.#peek() !== ')') this.#expect(':')
    return true
  }

  #takeName(): true {
    const isName = this.#take('<') && /^[A-Za-z]$/.test(this.#peek() ?? '')
    if (!isName) throw new RegexError('Look-around is not supported in regular expressions.')
    while (this.#next() !== '>') {}
    return true
  }

  #escape(): RegexNode | undefined {
    const character = this.#next()
    if (character === 'b') return { kind: 'word-boundary' }
    if (character === 'B') return { kind: 'no-word-boundary' }
    if (character === 'A') return { kind: 'start' }
    if (character === 'z' || character === 'Z') return { kind: 'end' }
    if (character === 'Q') return this.#quotation()
    if (/^[1-9k]$/.test(character)) throw new RegexError('Back-references are not supported in regular expressions.')
    const test = this.#classEscape(character)
    return test === undefined ? this.#literal(this.#escapedCharacter(character)) : characters(test)
  }

  /** `\Q…\E` stands for the characters themselves. */
  #quotation(): RegexNode {
    const parts: RegexNode[] = []
    while (this.#peek() !== undefined) {
      const character = this.#next()
      if (character === '\\' && this.#take('E')) break
      parts.push(this.#literal(character))
    }
    return { kind: 'sequence', parts }
  }

  #classEscape(character: string): CharacterTest | undefined {
    if (character === 'p' || character === 'P') {
      const test = this.#property()
      return character === 'p' ? test : not(test)
    }
    return Object.hasOwn(classEscapes, character) ? classEscapes[character] : undefined
  }

  #property(): CharacterTest {
    let name = this.#next()
    if (name === '{') {
      name = ''
      for (let next = this.#next(); next !== '}'; next = this.#next()) name += next
    }
    const known = Object.hasOwn(javaProperties, name) ? javaProperties[name] : name
    try {
      const pattern = new RegExp(`^\\p{${known}}$`, 'u')
      return (each) => pattern.test(each)
    } catch {
      throw new RegexError(`Unknown class of characters "${name}" in the regular expression.`)
    }
  }

  #escapedCharacter(character: string): string {
    if (Object.hasOwn(characterEscapes, character)) return characterEscapes[character] as string
    if (character === 'x') return this.#hexCharacter(2)
    if (character === 'u') return this.#hexCharacter(4)
    if (/^[A-Za-z0-9]$/.test(character)) throw new RegexError(`Unknown escape "\\${character}" in the regular expression.`)
    return character
  }

  #hexCharacter(digits: number): string {
    let text = ''
    for (let count = 0; count < digits; count++) text += this.#next()
    if (!/^[0-9a-fA-F]+$/.test(text)) throw new RegexError(`"${text}" is not a character code.`)
    return String.fromCodePoint(Number.parseInt(text, 16))
  }

  /** A class of characters; each of its own characters may mean a comparison. */
  #bracket(): RegexNode {
    const start = this.#at
    const test = this.#characterClass()
    return characters(test, this.#at - start)
  }

  #characterClass(): CharacterTest {
    const isNegated = this.#take('^')
    const tests: CharacterTest[] = []
    // A bracket in first place is a character.
    for (let isFirst = true; isFirst || this.#peek() !== ']'; isFirst = false) tests.push(this.#classMember())
    this.#next()
    const test: CharacterTest = (each) => tests.some((member) => member(each))
    return isNegated ? not(test) : test
  }

  #classMember(): CharacterTest {
    const first = this.#next()
    if (first === '[') return this.#characterClass()
    let from = first
    if (first === '\\') {
      const escaped = this.#next()
      const test = this.#classEscape(escaped)
      if (test !== undefined) return test
      from = this.#escapedCharacter(escaped)
    }
    if (this.#peek() !== '-' || this.#source[this.#at + 1] === ']') return this.#range(from, from)
    this.#next()
    const last = this.#next()
    return this.#range(from, last === '\\' ? this.#escapedCharacter(this.#next()) : last)
  }

  #range(from: string, to: string): CharacterTest {
    const [low, high] = [codeOf(from), codeOf(to)]
    if (low > high) throw new RegexError(`The range ${from}-${to} in the regular expression is empty.`)
    const inRange: CharacterTest = (each) => codeOf(each) >= low && codeOf(each) <= high
    if (!this.#ignoresCase) return inRange
    return (each) => inRange(each.toLowerCase()) || inRange(each.toUpperCase())
  }

  #repeated(atom: RegexNode): RegexNode {
    let node = atom
    for (let bounds = this.#bounds(); bounds !== undefined; bounds = this.#bounds()) {
      const greedy = !this.#take('?')
      // A possessive quantifier only forbids going back, which never happens here.
      if (greedy) this.#take('+')
      node = { kind: 'repeat', inner: node, ...bounds, greedy }
    }
    return node
  }

  #bounds(): { least: number; most: number } | undefined {
    if (this.#take('*')) return { least: 0, most: Infinity }
    if (this.#take('+')) return { least: 1, most: Infinity }
    if (this.#take('?')) return { least: 0, most: 1 }
    if (this.#peek() !== '{') return undefined
    this.#next()
    let text = ''
    for (let next = this.#next(); next !== '}'; next = this.#next()) text += next
    const match = /^(\d+)(,(\d*))?$/.exec(text)
    if (match === null) throw new RegexError(`"{${text}}" is not a number of repetitions.`)
    const least = Number(match[1])
    const most = match[2] === undefined ? least : match[3] === '' ? Infinity : Number(match[3])
    if (least > most || least > mostRepeats || (most !== Infinity && most > mostRepeats)) {
      throw new RegexError(`"{${text}}" is out of range.`)
    }
    return { least, most }
  }

  #peek(): string | undefined {
    return this.#source[this.#at]
  }

  #next(): string {
    const character = this.#source[this.#at]
    if (character === undefined) throw new RegexError('The regular expression ends too early.')
    this.#at++
    return character
  }

  #take(character: string): boolean {
    const isNext = this.#peek() === character
    if (isNext) this.#at++
    return isNext
  }

  #expect(character: string): void {
    if (!this.#take(character)) throw new RegexError(`"${character}" is missing in the regular expression.`)
  }
}

function characters(test: CharacterTest, cost = 1): RegexNode {
  return { kind: 'characters', test, cost }
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0
}
