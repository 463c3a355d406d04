/** Run of a regular expression's program over a text. */
import { isBoundedByWords, isUnicodeLineEnd } from './character-classes.ts'
import type { Meter } from './meter.ts'
import { type Instruction, instructionsPerStep, type RegexProgram } from './regex-program.ts'
import type { RegexAnchor } from './regex-syntax.ts'

/** Instructions that cost as much as beginning to look ahead or behind. */
const lookCost = 8

/** Where each group begins and ends; group 0 is the whole match. */
export type Slots = readonly (number | undefined)[]

interface Thread {
  at: number
  slots: Slots
}

interface MatchOptions {
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
export class RegexMatcher {
  readonly #program: RegexProgram
  readonly #text: string
  readonly #meter: Meter
  /** The visit at which an instruction was followed last: once for each position is enough. */
  readonly #visited: Int32Array
  readonly #looks = new Map<RegexProgram, RegexMatcher>()
  /** Whether a look held, by instruction and position. */
  readonly #held = new Map<number, boolean>()
  #visit = 0
  #work = 0

  constructor(program: RegexProgram, text: string, meter: Meter) {
    meter.spend(program.length / instructionsPerStep)
    this.#program = program
    this.#text = text
    this.#meter = meter
    this.#visited = new Int32Array(program.length)
  }

  run({ from, isAnchored, end, captures = false }: MatchOptions): Slots | undefined {
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
          open.push({
            at: at + 1,
            slots: captures ? this.#saved(slots, instruction.slot, position) : slots,
          })
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
  #holds(
    { program, isNegated, longest }: Extract<Instruction, { kind: 'look' }>,
    at: number,
    position: number,
  ): boolean {
    const key = at * (this.#text.length + 1) + position
    const known = this.#held.get(key)
    if (known !== undefined) return known
    this.#work += lookCost
    const matching = this.#looks.get(program) ?? new RegexMatcher(program, this.#text, this.#meter)
    this.#looks.set(program, matching)
    const found =
      longest === undefined
        ? matching.run({ from: position, isAnchored: true, end: undefined }) !== undefined
        : matching.#endsAt(position, longest)
    this.#held.set(key, found !== isNegated)
    return found !== isNegated
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
export function widthAt(text: string, position: number): number {
  return (text.codePointAt(position) ?? 0) > 0xffff ? 2 : 1
}

function holdsAt(what: RegexAnchor, text: string, position: number): boolean {
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
      return (
        (isWordAt(text, position - 1) !== isWordAt(text, position)) === (what === 'word-boundary')
      )
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
