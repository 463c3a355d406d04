/**
 * Finds regular expressions that a backtracking engine may take more than linear time for: an automaton is built of the pattern, and
 * searched for two ways to read one repeated text.
 *
 * @see Weideman, Van der Merwe, Berglund, Watson: "Analyzing Matching Time Behavior of Backtracking Regular Expression Matchers", 2016
 */
import assert from 'node:assert/strict'
import { type AST, RegExpParser } from '@eslint-community/regexpp'

/** `quadratic` stands for every power. */
export type Backtracking = 'linear' | 'quadratic' | 'exponential'

/** Longer bounded repetitions count as unbounded. */
const maxBounded = 31

const start = 'start'
const end = 'end'
/** A character, or an end of the text. */
type Symbol = string

/** What has to hold between two characters. */
type Guard = (before: Symbol, after: Symbol) => boolean

/** One character of the pattern: all texts that match are walks over positions. */
interface Position {
  matches(symbol: Symbol): boolean
  readonly next: { readonly to: Position; readonly guards: readonly Guard[] }[]
  /** Ways to have matched the whole here: without a guard, the engine looks no further. */
  readonly accepting: (readonly Guard[])[]
}

interface Step {
  readonly position: Position
  readonly guards: readonly Guard[]
}

/** A part of a pattern. */
interface Fragment {
  readonly first: readonly Step[]
  readonly last: readonly Step[]
  /** Ways to match nothing, each with its guards. */
  readonly empty: readonly (readonly Guard[])[]
}

const nothing: Fragment = { first: [], last: [], empty: [[]] }

/** How the time of a search grows with the length of a text that does not match. @throws {SyntaxError} */
export function backtrackingOf(source: string, flags: string): Backtracking {
  const unicode = { unicode: flags.includes('u'), unicodeSets: flags.includes('v') }
  const pattern = new RegExpParser().parsePattern(source, 0, source.length, unicode)
  const automaton = new Automaton(flags)
  automaton.build(pattern)
  return automaton.judge(alphabetOf(pattern, flags))
}

class Automaton {
  readonly #flags: string
  readonly #positions: Position[] = []
  /** A look-behind that repeats something runs backwards from every place. */
  #looksFarBack = false

  constructor(flags: string) {
    this.#flags = flags
  }

  build(pattern: AST.Pattern): void {
    const whole = this.#anyOf(pattern.alternatives)
    this.#finish(whole)
    if (this.#flags.includes('y')) return
    // A search tries every place: as if anything might come before.
    const before = this.#add(() => true)
    connect([{ position: before, guards: [] }], [{ position: before, guards: [] }])
    connect([{ position: before, guards: [] }], whole.first)
  }

  judge(alphabet: readonly Symbol[]): Backtracking {
    const search = new Search(this.#positions, representatives(alphabet, this.#positions))
    if (search.findsTwoLoops()) return 'exponential'
    return this.#looksFarBack || search.findsTwoPlaces() ? 'quadratic' : 'linear'
  }

  #add(matches: (symbol: Symbol) => boolean): Position {
    const position: Position = { matches, next: [], accepting: [] }
    this.#positions.push(position)
    return position
  }

  #finish({ last }: Fragment): void {
    for (const { position, guards } of last) position.accepting.push(guards)
  }

  #anyOf(alternatives: readonly AST.Alternative[]): Fragment {
    const fragments = alternatives.map(({ elements }) =>
      elements.map((one) => this.#element(one)).reduce(sequence, nothing),
    )
    return {
      first: fragments.flatMap(({ first }) => first),
      last: fragments.flatMap(({ last }) => last),
      empty: fragments.flatMap(({ empty }) => empty),
    }
  }

  #element(element: AST.Element): Fragment {
    switch (element.type) {
      case 'Group':
      case 'CapturingGroup':
        return this.#anyOf(element.alternatives)
      case 'Quantifier':
        return this.#repeated(element)
      case 'Assertion':
        return this.#assertion(element)
      case 'Backreference':
        return this.#loop(() => this.#character(() => true))
      default:
        return this.#character(toTest(element, this.#flags))
    }
  }

  #character(matches: (symbol: Symbol) => boolean): Fragment {
    const step = { position: this.#add(matches), guards: [] }
    return { first: [step], last: [step], empty: [] }
  }

  #repeated({ min, max, element }: AST.Quantifier): Fragment {
    const once = () => this.#element(element)
    const isBounded = max <= maxBounded
    // Two copies stand for any number of them: without a loop, no count makes a text ambiguous for long.
    const required = Array.from({ length: Math.min(min, 2) }, once)
    const optional = isBounded
      ? Array.from({ length: Math.min(max - min, 2) }, once).map(optionally)
      : [this.#loop(once)]
    return [...required, ...optional].reduce(sequence, nothing)
  }

  #loop(once: () => Fragment): Fragment {
    const body = once()
    connect(body.last, body.first)
    return optionally(body)
  }

  #assertion(assertion: AST.Assertion): Fragment {
    const isMultiline = this.#flags.includes('m')
    const ends = (symbol: Symbol, edge: Symbol) =>
      symbol === edge || (isMultiline && /^[\n\r\u2028\u2029]$/.test(symbol))
    switch (assertion.kind) {
      case 'start':
        return { ...nothing, empty: [[(before) => ends(before, start)]] }
      case 'end':
        return { ...nothing, empty: [[(_, after) => ends(after, end)]] }
      case 'word': {
        const isWord = (symbol: Symbol) => /^\w$/.test(symbol)
        return {
          ...nothing,
          empty: [[(before, after) => (isWord(before) !== isWord(after)) !== assertion.negate]],
        }
      }
      default:
        return this.#look(assertion)
    }
  }

  /** Looking at one character is exact. Otherwise what is looked at is walked through, and what follows may always come. */
  #look({ kind, negate, alternatives }: AST.LookaroundAssertion): Fragment {
    const isAhead = kind === 'lookahead'
    const single = toSingle(alternatives, this.#flags)
    if (single !== undefined)
      return {
        ...nothing,
        empty: [[(before, after) => single(isAhead ? after : before) !== negate]],
      }
    if (!isAhead) {
      this.#looksFarBack ||= alternatives.some(repeats)
      return { ...nothing, empty: [[() => true]] }
    }
    const body = this.#anyOf(alternatives)
    this.#finish(body)
    return { first: body.first, last: [], empty: [[() => true]] }
  }
}

function sequence(left: Fragment, right: Fragment): Fragment {
  connect(left.last, right.first)
  return {
    first: [
      ...left.first,
      ...left.empty.flatMap((guards) => right.first.map((step) => guard(step, guards))),
    ],
    last: [
      ...right.last,
      ...right.empty.flatMap((guards) => left.last.map((step) => guard(step, guards))),
    ],
    empty: left.empty.flatMap((guards) => right.empty.map((others) => [...guards, ...others])),
  }
}

function guard({ position, guards }: Step, more: readonly Guard[]): Step {
  return { position, guards: [...guards, ...more] }
}

function optionally(fragment: Fragment): Fragment {
  return { ...fragment, empty: [...fragment.empty.filter((guards) => guards.length > 0), []] }
}

function connect(last: readonly Step[], first: readonly Step[]): void {
  for (const from of last) {
    for (const to of first)
      from.position.next.push({ to: to.position, guards: [...from.guards, ...to.guards] })
  }
}

function toTest({ raw }: AST.Node, flags: string): (symbol: Symbol) => boolean {
  const pattern = new RegExp(`^(?:${raw})$`, flags.replaceAll(/[gyd]/g, ''))
  return (symbol) => symbol !== start && symbol !== end && pattern.test(symbol)
}

/** A test for what an assertion looks at, when that is one character or the end of the text. */
function toSingle(
  alternatives: readonly AST.Alternative[],
  flags: string,
): ((symbol: Symbol) => boolean) | undefined {
  const tests = alternatives.map(({ elements: [element, ...others] }) => {
    if (element === undefined || others.length > 0) return undefined
    if (element.type === 'Assertion' && element.kind === 'end')
      return (symbol: Symbol) => symbol === end
    if (element.type === 'Assertion' && element.kind === 'start')
      return (symbol: Symbol) => symbol === start
    return element.type.startsWith('Character') ? toTest(element, flags) : undefined
  })
  if (tests.includes(undefined)) return undefined
  return (symbol) => tests.some((test) => test?.(symbol) === true)
}

function repeats(alternative: AST.Alternative): boolean {
  return alternative.elements.some((element) => {
    if (element.type === 'Quantifier')
      return element.max > maxBounded || repeatsWithin(element.element)
    return repeatsWithin(element)
  })
}

function repeatsWithin(element: AST.Element): boolean {
  return (
    'alternatives' in element &&
    element.alternatives.some((one) => 'elements' in one && repeats(one))
  )
}

/** The characters of the pattern and their neighbours, and some of every kind. */
function alphabetOf(pattern: AST.Pattern, flags: string): Symbol[] {
  const codes = new Set(
    [...'azAZ09_-./ \n\r\t\0é\u00a0\u2028\u212a\u4e2d~!"'].map(
      (one) => one.codePointAt(0) as number,
    ),
  )
  collectCodes(pattern, codes)
  const usable = [...codes]
    .flatMap((code) => [code - 1, code, code + 1])
    .filter((code) => code >= 0 && code <= 0x10ffff)
  const texts = [...new Set(usable)].map((code) => String.fromCodePoint(code))
  return flags.includes('i')
    ? [...new Set(texts.flatMap((one) => [one, one.toLowerCase(), one.toUpperCase()]))]
    : texts
}

function collectCodes(node: object, codes: Set<number>): void {
  for (const [key, value] of Object.entries(node)) {
    if (key === 'parent' || key === 'resolved' || key === 'references') continue
    if (key === 'value' && typeof value === 'number') codes.add(value)
    else if (Array.isArray(value)) for (const one of value) collectCodes(one, codes)
    else if (typeof value === 'object' && value !== null) collectCodes(value, codes)
  }
}

/** One symbol of each kind that the positions tell apart. */
function representatives(alphabet: readonly Symbol[], positions: readonly Position[]): Symbol[] {
  const guards = [...new Set(positions.flatMap(({ next }) => next.flatMap((one) => one.guards)))]
  const probes = [...alphabet]
  const kinds = new Map<string, Symbol>()
  for (const symbol of alphabet) {
    const matched = positions.map(({ matches }) => (matches(symbol) ? '1' : '0'))
    const guarded = guards.map((guard) =>
      probes.map((probe) => (guard(symbol, probe) ? 1 : 0) * 2 + (guard(probe, symbol) ? 1 : 0)),
    )
    const kind = matched.join('') + guarded.flat().join('')
    if (!kinds.has(kind)) kinds.set(kind, symbol)
  }
  return [...kinds.values()]
}

/** Numbers in place of positions and symbols. */
class Search {
  readonly #count: number
  readonly #symbols: readonly Symbol[]
  /**
   * By position, symbol before and symbol read: positions that follow, twice where two ways lead there. None where the whole matches,
   * because there the engine stops.
   */
  readonly #next: readonly (readonly (readonly (readonly number[])[])[])[]
  /** By position: what may follow it. */
  readonly #after: readonly (readonly number[])[]
  readonly #reachable: readonly ReadonlySet<number>[]

  constructor(positions: readonly Position[], symbols: readonly Symbol[]) {
    assert.ok(Math.max(positions.length, symbols.length) < 4096, 'four numbers are one key')
    this.#count = positions.length
    this.#symbols = symbols
    const numbers = new Map(positions.map((position, number) => [position, number]))
    const matched = positions.map(({ matches }) => symbols.map(matches))
    const final = positions.map((position) => isFinal(position, symbols))
    this.#next = positions.map(({ next }, position) => {
      const edges = next.map(({ to, guards }) => ({ to: numbers.get(to) as number, guards }))
      const [guarded = [], free = []] = [true, false].map((isGuarded) =>
        edges.filter(({ guards }) => guards.length > 0 === isGuarded),
      )
      const toRead = (read: readonly { readonly to: number }[]) =>
        final[position] || read.some(({ to }) => final[to]) ? [] : read.map(({ to }) => to)
      const reads = symbols.map((_, column) => {
        const isMatched = ({ to }: { readonly to: number }) => matched[to]?.[column] === true
        const always = free.filter(isMatched)
        return { always, asAlways: toRead(always), perhaps: guarded.filter(isMatched) }
      })
      const unguarded = reads.map(({ asAlways }) => asAlways)
      if (guarded.length === 0) return symbols.map(() => unguarded)
      return symbols.map((before) =>
        symbols.map((symbol, column) => {
          const { always = [], asAlways = [], perhaps = [] } = reads[column] ?? {}
          const held = perhaps.filter(({ guards }) =>
            guards.every((holds) => holds(before, symbol)),
          )
          return held.length === 0 ? asAlways : toRead([...always, ...held])
        }),
      )
    })
    this.#after = this.#next.map((rows) => [
      ...new Set([...new Set([...new Set(rows)].flat())].flat()),
    ])
    this.#reachable = positions.map((_, from) => walk([from], (at) => this.#after[at] ?? []))
  }

  /** Two ways from a position back to itself with the same text. */
  findsTwoLoops(): boolean {
    return this.#loops().some((position) =>
      this.#symbols.some((_, symbol) => {
        if (!this.#canRead(position, symbol)) return false
        const home = [position, position, symbol, 0]
        return this.#leads(
          home,
          [position, position, symbol, 1],
          ([left = 0, right = 0, before = 0, parted = 0]) =>
            this.#each((read) => {
              const [ones, others] = [
                this.#read(left, before, read),
                this.#read(right, before, read),
              ]
              return ones.flatMap((one, index) =>
                others.map((other, otherIndex) => {
                  const isApart =
                    parted === 1 || left !== right || one !== other || index !== otherIndex
                  return [one, other, read, isApart ? 1 : 0]
                }),
              )
            }).filter(
              ([one = 0, other = 0]) =>
                this.#isBound(one, position) && this.#isBound(other, position),
            ),
        )
      }),
    )
  }

  /** A text that can stay at one position, stay at another one, and lead from the first to the second. */
  findsTwoPlaces(): boolean {
    const loops = this.#loops()
    return loops.some((first) =>
      loops.some((second) => {
        if (first === second || this.#reachable[first]?.has(second) !== true) return false
        return this.#symbols.some((_, symbol) => {
          if (!this.#canRead(first, symbol) || !this.#canRead(second, symbol)) return false
          return this.#leads(
            [first, first, second, symbol],
            [first, second, second, symbol],
            ([one = 0, two = 0, three = 0, before = 0]) =>
              this.#each((read) =>
                this.#read(one, before, read)
                  .filter((to) => this.#isBound(to, first))
                  .flatMap((a) =>
                    this.#read(three, before, read)
                      .filter((to) => this.#isBound(to, second))
                      .flatMap((c) =>
                        this.#read(two, before, read)
                          .filter((to) => this.#isBound(to, second))
                          .map((b) => [a, b, c, read]),
                      ),
                  ),
              ),
          )
        })
      }),
    )
  }

  #leads(
    from: readonly number[],
    to: readonly number[],
    steps: (at: readonly number[]) => readonly (readonly number[])[],
  ): boolean {
    const keyOf = (at: readonly number[]) => at.reduce((key, part) => key * 4096 + part, 0)
    const wanted = keyOf(to)
    const seen = new Set<number>()
    const open = [from]
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      for (const next of steps(at)) {
        const key = keyOf(next)
        if (key === wanted) return true
        if (!seen.has(key)) {
          seen.add(key)
          open.push(next)
        }
      }
    }
    return false
  }

  #each<T>(run: (symbol: number) => readonly T[]): T[] {
    return this.#symbols.flatMap((_, symbol) => run(symbol))
  }

  #read(position: number, before: number, symbol: number): readonly number[] {
    return this.#next[position]?.[before]?.[symbol] ?? []
  }

  /** Positions that can be come back to. */
  #loops(): number[] {
    return Array.from({ length: this.#count }, (_, position) => position).filter((position) =>
      this.#after[position]?.some((next) => this.#isBound(next, position)),
    )
  }

  #isBound(from: number, to: number): boolean {
    return this.#reachable[from]?.has(to) === true
  }

  #canRead(position: number, symbol: number): boolean {
    return this.#next.some((before) =>
      before.some((reads) => reads[symbol]?.includes(position) === true),
    )
  }
}

/** The whole has matched, or will at the end of the text, whatever comes until then. */
function isFinal({ matches, next, accepting }: Position, symbols: readonly Symbol[]): boolean {
  if (accepting.some((guards) => guards.length === 0)) return true
  const goesOn = (before: Symbol, symbol: Symbol) =>
    next.some(
      ({ to, guards }) => to.matches === matches && guards.every((holds) => holds(before, symbol)),
    )
  const ends = (before: Symbol) =>
    accepting.some((guards) => guards.every((holds) => holds(before, end)))
  return symbols.every(
    (before) =>
      matches(before) && ends(before) && symbols.every((symbol) => goesOn(before, symbol)),
  )
}

/** Everything that can be reached, with where it starts. */
function walk(from: readonly number[], after: (at: number) => readonly number[]): Set<number> {
  const seen = new Set(from)
  for (const at of seen) for (const next of after(at)) seen.add(next)
  return seen
}
