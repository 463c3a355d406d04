/**
 * Regular expressions matched in time proportional to pattern and text. All ways through the pattern are followed at once, so
 * no pattern can make the engine hang. A meter counts the work.
 */

import { type CharacterTest, isBoundedByWords, isUnicodeLineEnd } from './character-classes.ts'
import { Meter } from './meter.ts'
import { type Position, parseRegex, RegexError, type RegexNode } from './regex-syntax.ts'

type Instruction =
  | { kind: 'characters'; test: CharacterTest; cost: number }
  | { kind: 'position'; what: Position }
  | { kind: 'look'; program: Program; isNegated: boolean; longest: number | undefined }
  /** Follows both; the first is preferred. */
  | { kind: 'fork'; first: number; second: number }
  | { kind: 'jump'; to: number }
  | { kind: 'save'; slot: number }
  | { kind: 'match' }

type Program = readonly Instruction[]

const mostInstructions = 20_000
const longestPattern = 2000
const mostCompiled = 500
/** Instructions that cost as much as one step of a meter. */
const instructionsPerStep = 2
/** Instructions that cost as much as beginning to look ahead or behind. */
const lookCost = 8
/** What patterns may take that are matched for one purpose: some hundred milliseconds. */
const mostSteps = 1_000_000

/** A meter for patterns that do not stand in expressions; those that are matched for one purpose share it. */
export function createRegexMeter(): Meter {
  return new Meter(mostSteps, () => new RegexError('too-long', 'The regular expression takes too long on this text.'))
}

/** @throws {RegexError} when the pattern cannot be used or takes too long */
export function matchesWhole(pattern: string, text: string, meter: Meter): boolean {
  return matches(pattern, text, meter, { isWhole: true })
}

/** @throws {RegexError} when the pattern cannot be used or takes too long */
export function occursIn(pattern: string, text: string, meter: Meter): boolean {
  return matches(pattern, text, meter, { isWhole: false })
}

/** Without characters of meaning a pattern is the text itself, as most are. */
const plain = /^[^\\^$.|?*+()[\]{}]*$/

function matches(pattern: string, text: string, meter: Meter, { isWhole }: { isWhole: boolean }): boolean {
  if (plain.test(pattern)) {
    meter.spendOnText(text.length + pattern.length)
    return isWhole ? text === pattern : text.includes(pattern)
  }
  const program = compile(pattern, meter)
  return (
    new Matching(program, text, meter).run({ from: 0, isAnchored: isWhole, end: isWhole ? text.length : undefined }) !== undefined
  )
}

/** Why a pattern cannot be used, before it meets any text. */
export function findRegexProblem(pattern: string): RegexError | undefined {
  try {
    compile(pattern, createRegexMeter())
    return undefined
  } catch (error) {
    if (error instanceof RegexError) return error
    throw error
  }
}

interface ReplaceOptions {
  /** `$1` stands for a group, `\$` for a dollar. */
  replacement: string
  all: boolean
  /** Characters that the result may have; what stands behind the last match is not counted. */
  longest: number
  meter: Meter
}

/**
 * Replaces the first or all matches.
 *
 * @throws {RegexError} when the pattern cannot be used, takes too long or makes too much
 */
export function replaceMatches(pattern: string, text: string, options: ReplaceOptions): string {
  const { replacement, all, longest, meter } = options
  let replaced = ''
  let at = 0
  for (const slots of eachMatch(compile(pattern, meter), text, meter)) {
    const [start, end] = boundsOf(slots)
    meter.spendOnText(start - at + replacement.length)
    replaced += text.slice(at, start) + expand(replacement, slots, text, meter)
    if (replaced.length > longest) throw new RegexError('too-long', `The text would have more than ${longest} characters.`)
    at = end
    if (!all) break
  }
  return replaced + text.slice(at)
}

/**
 * The parts of a text between matches, at most `limit`; an empty match at the very beginning splits nothing off.
 *
 * @throws {RegexError} when the pattern cannot be used or takes too long
 */
export function splitAt(pattern: string, text: string, limit: number, meter: Meter): string[] {
  const parts: string[] = []
  let at = 0
  for (const slots of eachMatch(compile(pattern, meter), text, meter)) {
    const [start, end] = boundsOf(slots)
    if (parts.length + 1 >= limit) break
    if (end === 0 || (start === end && start === text.length)) continue
    parts.push(text.slice(at, start))
    at = end
  }
  return [...parts, text.slice(at)]
}

/** Where each group begins and ends; group 0 is the whole match. */
type Slots = readonly (number | undefined)[]

function boundsOf([start = 0, end = 0]: Slots): [start: number, end: number] {
  return [start, end]
}

function* eachMatch(program: Program, text: string, meter: Meter): Generator<Slots> {
  const matching = new Matching(program, text, meter)
  for (let at = 0; at <= text.length; ) {
    const slots = matching.run({ from: at, isAnchored: false, end: undefined, captures: true })
    if (slots === undefined) return
    yield slots
    const [start, end] = boundsOf(slots)
    at = end > start ? end : end + widthAt(text, end)
  }
}

function expand(replacement: string, slots: Slots, text: string, meter: Meter): string {
  return replacement.replace(/\\(.)|\$(\d)/g, (_all, escaped?: string, digit?: string) => {
    if (escaped !== undefined) return escaped
    const group = 2 * Number(digit)
    const [start, end] = [slots[group] ?? 0, slots[group + 1] ?? 0]
    meter.spend()
    meter.spendOnText(end - start)
    return text.slice(start, end)
  })
}

/** Newest last; patterns of triggers meet one event after another. */
const compiled = new Map<string, Program>()

function compile(pattern: string, meter: Meter): Program {
  if (pattern.length > longestPattern) {
    throw new RegexError('unsupported', `The regular expression is longer than ${longestPattern} characters.`)
  }
  meter.spend()
  const known = compiled.get(pattern)
  if (known !== undefined) return known
  meter.spend(pattern.length)
  const program = toProgram(parseRegex(pattern))
  meter.spend(program.length / instructionsPerStep)
  const [oldest] = compiled.keys()
  if (compiled.size >= mostCompiled && oldest !== undefined) compiled.delete(oldest)
  compiled.set(pattern, program)
  return program
}

function toProgram(root: RegexNode): Program {
  const program: Instruction[] = []
  emit({ kind: 'group', inner: root, number: 0 }, program)
  program.push({ kind: 'match' })
  return program
}

function emit(node: RegexNode, program: Instruction[]): void {
  if (program.length > mostInstructions) throw new RegexError('unsupported', 'The regular expression is too large.')
  switch (node.kind) {
    case 'characters':
      program.push({ kind: 'characters', test: node.test, cost: node.cost })
      return
    case 'sequence':
      for (const part of node.parts) emit(part, program)
      return
    case 'choice':
      emitChoice(node.options, program)
      return
    case 'repeat':
      emitRepeat(node, program)
      return
    case 'group':
      if (node.number !== undefined) program.push({ kind: 'save', slot: 2 * node.number })
      emit(node.inner, program)
      if (node.number !== undefined) program.push({ kind: 'save', slot: 2 * node.number + 1 })
      return
    case 'look':
      program.push({ kind: 'look', program: toProgram(node.inner), isNegated: node.isNegated, longest: node.longest })
      return
    default:
      program.push({ kind: 'position', what: node.kind })
  }
}

function emitChoice(options: readonly RegexNode[], program: Instruction[]): void {
  const jumps: { kind: 'jump'; to: number }[] = []
  for (const [index, option] of options.entries()) {
    if (index === options.length - 1) emit(option, program)
    else {
      const fork = { kind: 'fork' as const, first: program.length + 1, second: 0 }
      program.push(fork)
      emit(option, program)
      const jump = { kind: 'jump' as const, to: 0 }
      program.push(jump)
      jumps.push(jump)
      fork.second = program.length
    }
  }
  for (const jump of jumps) jump.to = program.length
}

function emitRepeat(node: Extract<RegexNode, { kind: 'repeat' }>, program: Instruction[]): void {
  for (let count = 0; count < node.least; count++) emit(node.inner, program)
  if (node.most === Infinity) {
    const start = program.length
    const fork = emitFork(program)
    emit(node.inner, program)
    program.push({ kind: 'jump', to: start })
    direct(fork, start + 1, program.length, node.greedy)
    return
  }
  const forks: [fork: Extract<Instruction, { kind: 'fork' }>, inner: number][] = []
  for (let count = node.least; count < node.most; count++) {
    forks.push([emitFork(program), program.length])
    emit(node.inner, program)
  }
  for (const [fork, inner] of forks) direct(fork, inner, program.length, node.greedy)
}

function emitFork(program: Instruction[]): Extract<Instruction, { kind: 'fork' }> {
  const fork = { kind: 'fork' as const, first: 0, second: 0 }
  program.push(fork)
  return fork
}

function direct(fork: Extract<Instruction, { kind: 'fork' }>, inner: number, past: number, greedy: boolean): void {
  fork.first = greedy ? inner : past
  fork.second = greedy ? past : inner
}

interface Thread {
  at: number
  slots: Slots
}

interface RunOptions {
  from: number
  /** Only a match that begins at `from` counts. */
  isAnchored: boolean
  /** Only a match that ends there counts; anywhere when undefined. */
  end: number | undefined
  /** Whether groups are captured; otherwise the result only shows a match. */
  captures?: boolean
}

const noSlots: Slots = []

/** One program on one text; positions count UTF-16 units and never lie inside a character. */
class Matching {
  readonly #program: Program
  readonly #text: string
  readonly #meter: Meter
  /** The visit at which an instruction was followed last: once for each position is enough. */
  readonly #visited: Int32Array
  readonly #looks = new Map<Program, Matching>()
  /** Whether a look held, by instruction and position. */
  readonly #held = new Map<number, boolean>()
  #visit = 0
  #work = 0

  constructor(program: Program, text: string, meter: Meter) {
    meter.spend(program.length / instructionsPerStep)
    this.#program = program
    this.#text = text
    this.#meter = meter
    this.#visited = new Int32Array(program.length)
  }

  run({ from, isAnchored, end, captures = false }: RunOptions): Slots | undefined {
    let best: Slots | undefined
    let threads: Thread[] = []
    const last = end ?? this.#text.length
    this.#work++
    for (let position = from; position <= last; ) {
      this.#visit++
      const ready: Thread[] = []
      for (const thread of threads) this.#follow(thread, position, ready, captures)
      // A match that began earlier is preferred, so a later start is only tried while there is none.
      const mayBegin = best === undefined && (!isAnchored || position === from)
      if (mayBegin) this.#follow({ at: 0, slots: noSlots }, position, ready, captures)
      threads = []
      const code = this.#text.codePointAt(position)
      for (const thread of ready) {
        const instruction = this.#program[thread.at] as Instruction
        if (instruction.kind === 'match') {
          if (end !== undefined && position < end) continue
          best = thread.slots
          break
        }
        if (instruction.kind !== 'characters' || code === undefined) continue
        this.#work += instruction.cost
        if (instruction.test(code)) threads.push({ at: thread.at + 1, slots: thread.slots })
      }
      this.#meter.spend((this.#work + 1) / instructionsPerStep)
      this.#work = 0
      if (best !== undefined && !captures) return best
      if (threads.length === 0 && (best !== undefined || isAnchored)) return best
      position += widthAt(this.#text, position)
    }
    return best
  }

  /** Follows jumps and forks to the instructions that need a character, preferred ways first. */
  #follow(start: Thread, position: number, ready: Thread[], captures: boolean): void {
    const open = [start]
    for (let thread = open.pop(); thread !== undefined; thread = open.pop()) {
      const { at, slots } = thread
      if (this.#visited[at] === this.#visit) continue
      this.#visited[at] = this.#visit
      this.#work++
      const instruction = this.#program[at] as Instruction
      switch (instruction.kind) {
        case 'jump':
          open.push({ at: instruction.to, slots })
          break
        case 'fork':
          open.push({ at: instruction.second, slots }, { at: instruction.first, slots })
          break
        case 'save':
          open.push({ at: at + 1, slots: captures ? this.#saved(slots, instruction.slot, position) : slots })
          break
        case 'position':
          if (holdsAt(instruction.what, this.#text, position)) open.push({ at: at + 1, slots })
          break
        case 'look':
          if (this.#holds(instruction, at, position)) open.push({ at: at + 1, slots })
          break
        default:
          ready.push(thread)
      }
    }
  }

  #saved(slots: Slots, slot: number, position: number): Slots {
    this.#work += slots.length / instructionsPerStep
    const saved = [...slots]
    saved[slot] = position
    return saved
  }

  /** Groups inside a look capture nothing. */
  #holds({ program, isNegated, longest }: Extract<Instruction, { kind: 'look' }>, at: number, position: number): boolean {
    const key = at * (this.#text.length + 1) + position
    const known = this.#held.get(key)
    if (known !== undefined) return known
    this.#work += lookCost
    const matching = this.#looks.get(program) ?? new Matching(program, this.#text, this.#meter)
    this.#looks.set(program, matching)
    const found = longest === undefined ? matching.#startsAt(position) : matching.#endsAt(position, longest)
    this.#held.set(key, found !== isNegated)
    return found !== isNegated
  }

  #startsAt(position: number): boolean {
    return this.run({ from: position, isAnchored: true, end: undefined }) !== undefined
  }

  #endsAt(position: number, longest: number): boolean {
    for (let from = position, length = 0; ; length++) {
      if (this.run({ from, isAnchored: true, end: position }) !== undefined) return true
      if (from === 0 || length === longest) return false
      from -= from > 1 && widthAt(this.#text, from - 2) === 2 ? 2 : 1
    }
  }
}

/** Units of the character at a position; past the end they count as one. */
function widthAt(text: string, position: number): number {
  return (text.codePointAt(position) ?? 0) > 0xffff ? 2 : 1
}

function holdsAt(what: Position, text: string, position: number): boolean {
  switch (what) {
    case 'start':
      return position === 0
    case 'very-end':
      return position === text.length
    case 'end':
      return position === text.length || position === lastLineEnd(text)
    case 'line-start':
      return position === 0 || (position < text.length && isLineEndBefore(text, position))
    case 'line-end':
      return position === text.length || isLineEndAt(text, position)
    default:
      return (isWordAt(text, position - 1) !== isWordAt(text, position)) === (what === 'word-boundary')
  }
}

/** Where the line end begins that is the last of the text, if the text ends with one. */
function lastLineEnd(text: string): number | undefined {
  const last = text.length - 1
  if (!isUnicodeLineEnd(text.charCodeAt(last))) return undefined
  return text.endsWith('\r\n') ? last - 1 : last
}

/** A carriage return and the line feed behind it are one line end. */
function isLineEndBefore(text: string, position: number): boolean {
  const before = text.charCodeAt(position - 1)
  return isUnicodeLineEnd(before) && !(before === 13 && text.charCodeAt(position) === 10)
}

function isLineEndAt(text: string, position: number): boolean {
  const code = text.charCodeAt(position)
  return isUnicodeLineEnd(code) && !(code === 10 && text.charCodeAt(position - 1) === 13)
}

function isWordAt(text: string, position: number): boolean {
  const isSecondHalf = position > 0 && widthAt(text, position - 1) === 2
  const code = text.codePointAt(isSecondHalf ? position - 1 : position)
  return code !== undefined && isBoundedByWords(code)
}
