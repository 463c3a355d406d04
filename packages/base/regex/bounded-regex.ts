/**
 * Regular expressions matched in time proportional to pattern and text. All ways through the pattern are followed at once, so
 * no pattern can make the engine hang. A meter counts the work.
 */
import { LRUCache } from 'lru-cache'
import { RegexMatcher, type Slots, widthAt } from './matching.ts'
import { Meter } from './meter.ts'
import { instructionsPerStep, type RegexProgram, toRegexProgram } from './regex-program.ts'
import { parseRegex, RegexError } from './regex-syntax.ts'

const longestPattern = 2000
const mostCompiled = 500
/** Parts of all programs that are kept: some dozen megabytes. */
const mostParts = 500_000
/** What patterns may take that are matched for one purpose: some hundred milliseconds. */
const mostSteps = 1_000_000

/** A meter for patterns that do not stand in expressions; those that are matched for one purpose share it. */
export function createRegexMeter(): Meter {
  return new Meter(
    mostSteps,
    () => new RegexError('too-long', 'The regular expression takes too long on this text.'),
  )
}

/** @throws {RegexError} when the pattern cannot be used or takes too long */
export function matchesWhole(pattern: string, text: string, meter: Meter): boolean {
  return matches(pattern, text, meter, { isWhole: true })
}

/** Like `matchesWhole`; what Java would not take for a pattern matches nothing. */
export function matchesIfValid(pattern: string, text: string, meter: Meter): boolean {
  try {
    return matchesWhole(pattern, text, meter)
  } catch (error) {
    if (error instanceof RegexError && error.kind === 'malformed') return false
    throw error
  }
}

/** @throws {RegexError} when the pattern cannot be used or takes too long */
export function occursIn(pattern: string, text: string, meter: Meter): boolean {
  return matches(pattern, text, meter, { isWhole: false })
}

/** Without characters of meaning a pattern is the text itself, as most are. */
const plain = /^[^\\^$.|?*+()[\]{}]*$/

function matches(
  pattern: string,
  text: string,
  meter: Meter,
  { isWhole }: { isWhole: boolean },
): boolean {
  if (plain.test(pattern)) {
    meter.spendOnText(text.length + pattern.length)
    return isWhole ? text === pattern : text.includes(pattern)
  }
  const program = compile(pattern, meter)
  return (
    new RegexMatcher(program, text, meter).run({
      from: 0,
      isAnchored: isWhole,
      end: isWhole ? text.length : undefined,
    }) !== undefined
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
    if (replaced.length > longest)
      throw new RegexError('too-long', `The text would have more than ${longest} characters.`)
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

function boundsOf([start = 0, end = 0]: Slots): [start: number, end: number] {
  return [start, end]
}

function* eachMatch(program: RegexProgram, text: string, meter: Meter): Generator<Slots> {
  const matching = new RegexMatcher(program, text, meter)
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

/** Patterns of triggers meet one event after another. */
const compiled = new LRUCache<string, ReturnType<typeof toRegexProgram>>({
  max: mostCompiled,
  maxSize: mostParts,
  sizeCalculation: ({ size }) => Math.max(1, size),
})

function compile(pattern: string, meter: Meter): RegexProgram {
  if (pattern.length > longestPattern) {
    throw new RegexError(
      'unsupported',
      `The regular expression is longer than ${longestPattern} characters.`,
    )
  }
  meter.spend()
  const known = compiled.get(pattern)
  if (known !== undefined) return known.program
  meter.spend(pattern.length)
  const made = toRegexProgram(parseRegex(pattern))
  meter.spend(made.size / instructionsPerStep)
  compiled.set(pattern, made)
  return made.program
}
