/**
 * Parser of regular expressions in the notation of Java (java.util.regex). It rejects what needs a memory of the text:
 * back-references, possessive quantifiers and atomic groups.
 */
import {
  type CharacterTest,
  complement,
  isLineEnd,
  isUnicodeLineEnd,
  namedClass,
  oneOf,
  shorthandClass,
  withoutCase,
} from './character-classes.ts'

export type RegexNode =
  /** `cost`: how many comparisons the test may take. */
  | { kind: 'characters'; test: CharacterTest; cost: number }
  | { kind: RegexAnchor }
  | { kind: 'sequence'; parts: RegexNode[] }
  | { kind: 'choice'; options: RegexNode[] }
  | { kind: 'repeat'; inner: RegexNode; least: number; most: number; greedy: boolean }
  /** `number` counts from 1; groups that capture nothing have none. */
  | { kind: 'group'; inner: RegexNode; number: number | undefined }
  /** `longest`: characters that a look behind may take; undefined looks ahead. */
  | { kind: 'look'; inner: RegexNode; isNegated: boolean; longest: number | undefined }

/** `end` also holds before a line end that is the last of the text. */
export type RegexAnchor =
  | 'start'
  | 'end'
  | 'very-end'
  | 'line-start'
  | 'line-end'
  | 'word-boundary'
  | 'no-word-boundary'

/** A pattern that cannot be used, or a match that takes too long. */
export class RegexError extends Error {
  override readonly name = 'RegexError'
  readonly kind: 'malformed' | 'unsupported' | 'too-long'

  /** @param kind Java refuses what is malformed; it would take what is unsupported. */
  constructor(kind: RegexError['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}

const mostRepeats = 1000
const deepestNesting = 100
/** Comparisons that asking for a property of Unicode costs. */
const propertyCost = 8

/** Switches that hold up to the end of the group in which they stand. */
const flags = {
  i: 'ignoresCase',
  /** Letters beyond ASCII have case too. */
  u: 'unicodeCase',
  s: 'dotMatchesAll',
  m: 'multiline',
  /** Blanks and comments in the pattern mean nothing. */
  x: 'comments',
  d: 'unixLines',
  U: 'unicodeClasses',
} as const
type Flag = (typeof flags)[keyof typeof flags]

const positions: Readonly<Record<string, RegexAnchor>> = {
  b: 'word-boundary',
  B: 'no-word-boundary',
  A: 'start',
  Z: 'end',
  z: 'very-end',
}
const characterEscapes: Readonly<Record<string, string>> = {
  t: '\t',
  n: '\n',
  r: '\r',
  f: '\f',
  e: '\x1b',
  a: '\x07',
}

/** @throws {RegexError} */
export function parseRegex(pattern: string): RegexNode {
  return new RegexParser(pattern).parse()
}

class RegexParser {
  readonly #source: string[]
  #at = 0
  readonly #names = new Set<string>()
  #groupCount = 0
  #flags: ReadonlySet<Flag> = new Set()
  #depth = 0

  constructor(pattern: string) {
    this.#source = [...pattern]
  }

  parse(): RegexNode {
    const root = this.#choice()
    if (this.#at < this.#source.length) throw malformed('Unmatched ")" in the regular expression.')
    return root
  }

  /** Flags that are switched inside hold to its end and no further. */
  #choice(): RegexNode {
    if (++this.#depth > deepestNesting)
      throw new RegexError('unsupported', 'The regular expression nests too deeply.')
    const before = this.#flags
    const options = [this.#sequence()]
    while (this.#take('|')) options.push(this.#sequence())
    this.#flags = before
    this.#depth--
    return options.length === 1 ? (options[0] as RegexNode) : { kind: 'choice', options }
  }

  #sequence(): RegexNode {
    const parts: RegexNode[] = []
    for (;;) {
      this.#skipComments()
      const next = this.#peek()
      if (next === undefined || next === '|' || next === ')') return { kind: 'sequence', parts }
      const atoms = this.#atoms()
      const last = atoms.pop()
      parts.push(...atoms)
      if (last !== undefined) parts.push(this.#repeated(last))
    }
  }

  /** Mostly one; none for what matches nothing by itself, such as `(?i)`, several for a quotation. */
  #atoms(): RegexNode[] {
    const character = this.#next()
    switch (character) {
      case '(':
        return this.#group()
      case '[':
        return [this.#bracket()]
      case '.':
        return [characters(this.#dot())]
      case '^':
        return [{ kind: this.#flags.has('multiline') ? 'line-start' : 'start' }]
      case '$':
        return [{ kind: this.#flags.has('multiline') ? 'line-end' : 'end' }]
      case '\\':
        return this.#escape()
      case '*':
      case '+':
      case '?':
      case '{':
        throw malformed(`The regular expression has nothing before "${character}".`)
      default:
        return [this.#literal(character)]
    }
  }

  #dot(): CharacterTest {
    if (this.#flags.has('dotMatchesAll')) return () => true
    return this.#flags.has('unixLines') ? (code) => code !== 10 : complement(isUnicodeLineEnd)
  }

  #literal(character: string): RegexNode {
    const code = codeOf(character)
    return characters(this.#inAnyCase((each) => each === code))
  }

  #inAnyCase(test: CharacterTest): CharacterTest {
    return this.#flags.has('ignoresCase') ? withoutCase(test, this.#flags.has('unicodeCase')) : test
  }

  #group(): RegexNode[] {
    if (!this.#take('?')) return [this.#captured()]
    if (this.#take(':')) return [{ kind: 'group', inner: this.#inside(), number: undefined }]
    if (this.#take('>'))
      throw new RegexError(
        'unsupported',
        'Atomic groups "(?>…)" are not supported in regular expressions.',
      )
    if (this.#peek() === '=' || this.#peek() === '!') return [this.#look('ahead')]
    if (this.#take('<'))
      return [
        this.#peek() === '=' || this.#peek() === '!' ? this.#look('behind') : this.#namedGroup(),
      ]
    const before = this.#flags
    this.#flags = this.#switchedFlags()
    if (this.#take(')')) return []
    this.#expect(':')
    const inner = this.#inside()
    this.#flags = before
    return [{ kind: 'group', inner, number: undefined }]
  }

  #captured(): RegexNode {
    const number = ++this.#groupCount
    return { kind: 'group', inner: this.#inside(), number }
  }

  #namedGroup(): RegexNode {
    if (!/^[A-Za-z]$/.test(this.#peek() ?? ''))
      throw malformed('A group in the regular expression needs a name of letters and digits.')
    const name = this.#until('>')
    if (this.#names.has(name))
      throw malformed(`Two groups in the regular expression have the name "${name}".`)
    this.#names.add(name)
    return this.#captured()
  }

  #inside(): RegexNode {
    const inner = this.#choice()
    this.#expect(')')
    return inner
  }

  #look(direction: 'ahead' | 'behind'): RegexNode {
    const isNegated = this.#next() === '!'
    const inner = this.#inside()
    return {
      kind: 'look',
      inner,
      isNegated,
      longest: direction === 'ahead' ? undefined : lengthOf(inner),
    }
  }

  /** `(?i)` holds for the rest of the group, `(?i:…)` inside; what follows a hyphen is switched off. */
  #switchedFlags(): ReadonlySet<Flag> {
    const switched = new Set(this.#flags)
    for (let on = true; this.#peek() !== ')' && this.#peek() !== ':'; ) {
      const letter = this.#next()
      const flag = Object.hasOwn(flags, letter) ? flags[letter as keyof typeof flags] : undefined
      if (flag === undefined && (letter !== '-' || !on))
        throw malformed(`Unknown flag "${letter}" in the regular expression.`)
      if (flag === undefined) on = false
      else if (on) switched.add(flag)
      else switched.delete(flag)
    }
    return switched
  }

  #escape(): RegexNode[] {
    const character = this.#next()
    if (character === 'Q') return this.#quoted().map((quoted) => this.#literal(quoted))
    const position = positions[character]
    if (position !== undefined) return [{ kind: position }]
    if (character === 'R') return [lineBreak()]
    if (/^[1-9k]$/.test(character))
      throw new RegexError(
        'unsupported',
        'Back-references are not supported in regular expressions.',
      )
    if (/^[GXN]$/.test(character))
      throw new RegexError(
        'unsupported',
        `"\\${character}" is not supported in regular expressions.`,
      )
    const test = this.#classEscape(character)
    if (test === undefined) return [this.#literal(this.#escapedCharacter(character))]
    return [
      characters(
        test,
        /[pP]/.test(character) || this.#flags.has('unicodeClasses') ? propertyCost : 1,
      ),
    ]
  }

  /** `\Q…\E` stands for the characters themselves. */
  #quoted(): string[] {
    const quoted: string[] = []
    while (this.#at < this.#source.length) {
      const character = this.#next()
      if (character === '\\' && this.#take('E')) break
      quoted.push(character)
    }
    return quoted
  }

  #classEscape(character: string): CharacterTest | undefined {
    const isUnicode = this.#flags.has('unicodeClasses')
    if (character !== 'p' && character !== 'P') return shorthandClass(character, isUnicode)
    const name = this.#take('{') ? this.#until('}') : this.#next()
    const test = namedClass(name, this.#flags.has('ignoresCase'), isUnicode)
    if (test === undefined)
      throw new RegexError(
        'unsupported',
        `The class of characters "${name}" is not known in regular expressions.`,
      )
    return character === 'p' ? test : complement(test)
  }

  #escapedCharacter(character: string): string {
    if (Object.hasOwn(characterEscapes, character)) return characterEscapes[character] as string
    if (character === 'x')
      return this.#take('{') ? fromHex(this.#until('}')) : this.#hexCharacter(2)
    if (character === 'u') return this.#unicodeCharacter()
    if (character === '0') return this.#octalCharacter()
    if (character === 'c') return String.fromCodePoint(codeOf(this.#next()) ^ 64)
    if (/^[A-Za-z0-9]$/.test(character))
      throw malformed(`Unknown escape "\\${character}" in the regular expression.`)
    return character
  }

  #hexCharacter(digits: number): string {
    let text = ''
    for (let count = 0; count < digits; count++) text += this.#next()
    return fromHex(text)
  }

  /** Two codes that are halves of one character stand for it. */
  #unicodeCharacter(): string {
    const first = this.#hexCharacter(4)
    const isHalf = first >= '\ud800' && first <= '\udbff'
    if (!isHalf || this.#peek() !== '\\' || this.#source[this.#at + 1] !== 'u') return first
    const before = this.#at
    this.#at += 2
    const second = this.#hexCharacter(4)
    if (second >= '\udc00' && second <= '\udfff') return first + second
    this.#at = before
    return first
  }

  #octalCharacter(): string {
    const digits = /^(?:[0-3][0-7]{0,2}|[4-7][0-7]?)/.exec(
      this.#source.slice(this.#at, this.#at + 3).join(''),
    )?.[0]
    if (digits === undefined) throw malformed('"\\0" needs octal digits in the regular expression.')
    this.#at += digits.length
    return String.fromCodePoint(Number.parseInt(digits, 8))
  }

  /** Each character of a class may mean a comparison. */
  #bracket(): RegexNode {
    const start = this.#at
    const test = this.#characterClass()
    const text = this.#source.slice(start, this.#at).join('')
    return characters(test, text.length + (text.match(/\\[pP]/g)?.length ?? 0) * propertyCost)
  }

  /** Behind the opening bracket. `&&` leaves what both sides have. */
  #characterClass(): CharacterTest {
    if (++this.#depth > deepestNesting)
      throw new RegexError('unsupported', 'The regular expression nests too deeply.')
    const isNegated = this.#take('^')
    let all: CharacterTest | undefined
    let members: CharacterTest[] = []
    const close = () => {
      const test = oneOf(members)
      const before = all
      all =
        before === undefined
          ? test
          : members.length === 0
            ? before
            : (code) => before(code) && test(code)
      members = []
    }
    // A bracket in first place is a character.
    for (let isFirst = true; ; isFirst = false) {
      this.#skipComments()
      if (!isFirst && this.#take(']')) break
      if (this.#peek() === '&' && this.#source[this.#at + 1] === '&') {
        this.#at += 2
        close()
      } else members.push(...this.#classMembers())
    }
    close()
    this.#depth--
    const test = all as unknown as CharacterTest
    return isNegated ? complement(test) : test
  }

  #classMembers(): CharacterTest[] {
    const first = this.#next()
    if (first === '[') return [this.#characterClass()]
    if (first === '\\' && this.#take('Q'))
      return this.#quoted().map((character) => this.#range(character, character))
    let from = first
    if (first === '\\') {
      const escaped = this.#next()
      const test = this.#classEscape(escaped)
      if (test !== undefined) return [test]
      from = this.#escapedCharacter(escaped)
    }
    const afterHyphen = this.#source[this.#at + 1]
    if (this.#peek() !== '-' || afterHyphen === ']' || afterHyphen === '[')
      return [this.#range(from, from)]
    this.#next()
    const last = this.#next()
    return [this.#range(from, last === '\\' ? this.#escapedCharacter(this.#next()) : last)]
  }

  #range(from: string, to: string): CharacterTest {
    const [low, high] = [codeOf(from), codeOf(to)]
    if (low > high) throw malformed(`The range ${from}-${to} in the regular expression is empty.`)
    return this.#inAnyCase((code) => code >= low && code <= high)
  }

  #repeated(atom: RegexNode): RegexNode {
    this.#skipComments()
    const bounds = this.#bounds()
    if (bounds === undefined) return atom
    this.#skipComments()
    const greedy = !this.#take('?')
    this.#skipComments()
    if (greedy && this.#peek() === '+') {
      throw new RegexError(
        'unsupported',
        'Possessive quantifiers such as "*+" are not supported in regular expressions.',
      )
    }
    return { kind: 'repeat', inner: atom, ...bounds, greedy }
  }

  #bounds(): { least: number; most: number } | undefined {
    if (this.#take('*')) return { least: 0, most: Infinity }
    if (this.#take('+')) return { least: 1, most: Infinity }
    if (this.#take('?')) return { least: 0, most: 1 }
    if (!this.#take('{')) return undefined
    const text = this.#until('}')
    const match = /^(\d+)(,(\d*))?$/.exec(text)
    if (match === null) throw malformed(`"{${text}}" is not a number of repetitions.`)
    const least = Number(match[1])
    const most = match[2] === undefined ? least : match[3] === '' ? Infinity : Number(match[3])
    if (least > most) throw malformed(`"{${text}}" is not a number of repetitions.`)
    if (least > mostRepeats || (most !== Infinity && most > mostRepeats)) {
      throw new RegexError('unsupported', `"{${text}}" repeats more than ${mostRepeats} times.`)
    }
    return { least, most }
  }

  #skipComments(): void {
    if (!this.#flags.has('comments')) return
    for (let next = this.#peek(); next !== undefined && /[\s#]/.test(next); next = this.#peek()) {
      this.#at++
      if (next === '#')
        while (this.#peek() !== undefined && !isLineEnd(codeOf(this.#peek() as string))) this.#at++
    }
  }

  #peek(): string | undefined {
    return this.#source[this.#at]
  }

  #next(): string {
    const character = this.#source[this.#at]
    if (character === undefined) throw malformed('The regular expression ends too early.')
    this.#at++
    return character
  }

  /** What stands before the next such character, which is taken too. */
  #until(end: string): string {
    let text = ''
    for (let next = this.#next(); next !== end; next = this.#next()) text += next
    return text
  }

  #take(character: string): boolean {
    const isNext = this.#peek() === character
    if (isNext) this.#at++
    return isNext
  }

  #expect(character: string): void {
    if (!this.#take(character))
      throw malformed(`"${character}" is missing in the regular expression.`)
  }
}

function malformed(message: string): RegexError {
  return new RegexError('malformed', message)
}

/** `\R`: carriage return and line feed together, or one line end of any kind. */
function lineBreak(): RegexNode {
  const one = (code: number) => characters((each) => each === code)
  const both: RegexNode = { kind: 'sequence', parts: [one(13), one(10)] }
  return {
    kind: 'choice',
    options: [both, characters((code) => (code >= 10 && code <= 13) || isUnicodeLineEnd(code))],
  }
}

/** The most characters that a part of a pattern matches. */
function lengthOf(node: RegexNode): number {
  switch (node.kind) {
    case 'characters':
      return 1
    case 'sequence':
      return node.parts.reduce((sum, part) => sum + lengthOf(part), 0)
    case 'choice':
      return Math.max(...node.options.map(lengthOf))
    case 'repeat':
      return node.most === 0 ? 0 : lengthOf(node.inner) * node.most || 0
    case 'group':
      return lengthOf(node.inner)
    default:
      return 0
  }
}

function characters(test: CharacterTest, cost = 1): RegexNode {
  return { kind: 'characters', test, cost }
}

function fromHex(text: string): string {
  const code = /^[0-9a-fA-F]+$/.test(text) ? Number.parseInt(text, 16) : Number.NaN
  if (!(code <= 0x10ffff)) throw malformed(`"${text}" is not a character code.`)
  return String.fromCodePoint(code)
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0
}
