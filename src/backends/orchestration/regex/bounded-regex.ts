/**
 * Regular expressions from pipelines, matched in time proportional to pattern and text: all ways through the pattern are
 * followed at once, so no pattern can make the engine hang. What it takes is counted on a meter.
 */
import { Meter } from '../meter.ts'
import { isWordCharacter, parseRegex, RegexError, type RegexNode } from './regex-syntax.ts'

type Instruction =
  | { kind: 'characters'; test: (character: string) => boolean; cost: number }
  | { kind: 'assert'; what: 'start' | 'end' | 'word-boundary' | 'no-word-boundary' }
  /** Follows both; the first is preferred. */
  | { kind: 'fork'; first: number; second: number }
  | { kind: 'jump'; to: number }
  | { kind: 'save'; slot: number }
  | { kind: 'match' }

const mostInstructions = 20_000
const longestPattern = 2000
/** Instructions that cost as much as one step of a meter. */
const instructionsPerStep = 2
/** Characters that cost as much, where each is looked at by itself. */
const charactersPerStep = 8
/** What patterns may take that are matched for one purpose: some hundred milliseconds. */
const mostSteps = 1_000_000

/** Where each group begins and ends, in characters; group 0 is the whole match. */
type Slots = readonly (number | undefined)[]

/** A meter for patterns that do not stand in expressions; those that are matched for one purpose share it. */
export function createRegexMeter(): Meter {
  return new Meter(mostSteps, () => new RegexError('The regular expression takes too long on this text.'))
}

/** @throws {RegexError} when the pattern cannot be read or takes too long. */
export function matchesWhole(pattern: string, text: string, meter: Meter): boolean {
  const program = compile(pattern, meter)
  return findMatch(program, charactersOf(text, meter), 0, { anchored: true, whole: true, meter }) !== undefined
}

/**
 * Replaces the first or all matches. `$1` in the replacement stands for a group, `\$` for a dollar.
 *
 * @throws {RegexError} when the pattern cannot be read or takes too long.
 */
export function replaceMatches(pattern: string, text: string, options: ReplaceOptions): string {
  const { replacement, all, longest, meter } = options
  const characters = charactersOf(text, meter)
  let replaced = ''
  let at = 0
  for (const slots of eachMatch(compile(pattern, meter), characters, meter)) {
    const [start, end] = [slots[0] as number, slots[1] as number]
    meter.spend((start - at + replacement.length) / charactersPerStep)
    replaced += characters.slice(at, start).join('') + expand(replacement, slots, characters, meter)
    if (replaced.length > longest) throw new RegexError(`The text would have more than ${longest} characters.`)
    at = end
    if (!all) break
  }
  return replaced + characters.slice(at).join('')
}

export interface ReplaceOptions {
  replacement: string
  all: boolean
  /** Characters that the result may have; what stands behind the last match is not counted. */
  longest: number
  meter: Meter
}

/**
 * The parts of a text between matches, at most `limit`; an empty match at the very beginning splits nothing off.
 *
 * @throws {RegexError} when the pattern cannot be read or takes too long.
 */
export function splitAt(pattern: string, text: string, limit: number, meter: Meter): string[] {
  const characters = charactersOf(text, meter)
  const parts: string[] = []
  let at = 0
  for (const slots of eachMatch(compile(pattern, meter), characters, meter)) {
    const [start, end] = [slots[0] as number, slots[1] as number]
    if (parts.length + 1 >= limit) break
    if (end === 0 || (start === end && start === characters.length)) continue
    parts.push(characters.slice(at, start).join(''))
    at = end
  }
  return [...parts, characters.slice(at).join('')]
}

function charactersOf(text: string, meter: Meter): string[] {
  meter.spend(text.length / charactersPerStep)
  return [...text]
}

function* eachMatch(program: readonly Instruction[], characters: readonly string[], meter: Meter): Generator<Slots> {
  let at = 0
  while (at <= characters.length) {
    const slots = findMatch(program, characters, at, { anchored: false, whole: false, meter })
    if (slots === undefined) return
    yield slots
    const [start, end] = [slots[0] as number, slots[1] as number]
    at = end > start ? end : end + 1
  }
}

function expand(replacement: string, slots: Slots, characters: readonly string[], meter: Meter): string {
  return replacement.replace(/\\(.)|\$(\d)/g, (_all, escaped?: string, digit?: string) => {
    if (escaped !== undefined) return escaped
    const group = 2 * Number(digit)
    const [start, end] = [slots[group] ?? 0, slots[group + 1] ?? 0]
    meter.spend(1 + (end - start) / charactersPerStep)
    return characters.slice(start, end).join('')
  })
}

function compile(pattern: string, meter: Meter): Instruction[] {
  if (pattern.length > longestPattern) throw new RegexError(`The regular expression is longer than ${longestPattern} characters.`)
  const program: Instruction[] = []
  meter.spend(1 + pattern.length)
  const { root } = parseRegex(pattern)
  emit({ kind: 'group', inner: root, number: 0 }, program)
  program.push({ kind: 'match' })
  meter.spend(program.length / instructionsPerStep)
  return program
}

function emit(node: RegexNode, program: Instruction[]): void {
  if (program.length > mostInstructions) throw new RegexError('The regular expression is too large.')
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
    default:
      program.push({ kind: 'assert', what: node.kind })
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

interface MatchOptions {
  /** Only a match that begins at the start position counts. */
  anchored: boolean
  /** Only a match that reaches the end of the text counts. */
  whole: boolean
  meter: Meter
}

function findMatch(
  program: readonly Instruction[],
  characters: readonly string[],
  from: number,
  options: MatchOptions,
): Slots | undefined {
  let best: Slots | undefined
  let threads: Thread[] = []
  let work = 0
  for (let position = from; position <= characters.length; position++) {
    const seen = new Set<number>()
    const ready: Thread[] = []
    for (const thread of threads) follow(thread, position, seen, ready)
    // A match that began earlier is preferred, so a later start is only tried while there is none.
    const mayBegin = best === undefined && (!options.anchored || position === from)
    if (mayBegin) follow({ at: 0, slots: [] }, position, seen, ready)
    threads = []
    for (const thread of ready) {
      const instruction = program[thread.at] as Instruction
      if (instruction.kind === 'match') {
        if (options.whole && position < characters.length) continue
        best = thread.slots
        break
      }
      const character = characters[position]
      if (instruction.kind !== 'characters' || character === undefined) continue
      work += instruction.cost
      if (instruction.test(character)) threads.push({ at: thread.at + 1, slots: thread.slots })
    }
    options.meter.spend((work + seen.size + 1) / instructionsPerStep)
    work = 0
    if (threads.length === 0 && (best !== undefined || options.anchored)) break
  }
  return best

  /** Follows jumps and forks to the instructions that need a character, preferred ways first. */
  function follow(start: Thread, position: number, seen: Set<number>, ready: Thread[]): void {
    const open = [start]
    for (let thread = open.pop(); thread !== undefined; thread = open.pop()) {
      if (seen.has(thread.at)) continue
      seen.add(thread.at)
      const { at, slots } = thread
      const instruction = program[at] as Instruction
      if (instruction.kind === 'jump') open.push({ at: instruction.to, slots })
      else if (instruction.kind === 'fork') open.push({ at: instruction.second, slots }, { at: instruction.first, slots })
      else if (instruction.kind === 'save') {
        const saved = [...slots]
        saved[instruction.slot] = position
        work += saved.length / instructionsPerStep
        open.push({ at: at + 1, slots: saved })
      } else if (instruction.kind !== 'assert') ready.push(thread)
      else if (holds(instruction.what, characters, position)) open.push({ at: at + 1, slots })
    }
  }
}

function holds(
  what: 'start' | 'end' | 'word-boundary' | 'no-word-boundary',
  characters: readonly string[],
  position: number,
): boolean {
  if (what === 'start') return position === 0
  if (what === 'end') return position === characters.length
  const before = position > 0 && isWordCharacter(characters[position - 1] as string)
  const after = position < characters.length && isWordCharacter(characters[position] as string)
  return (before !== after) === (what === 'word-boundary')
}
