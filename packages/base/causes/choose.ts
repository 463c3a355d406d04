/** Chooses the line that says why, of the lines that a reader has kept. docs/contracts/causes.md#choice. */
import { type Cause, type CauseKind, cutAround, type Ending, maxText } from './cause.ts'
import { cleanLine, type KeptLine, type Line, maskForms } from './clean-line.ts'
import { describeEnding, signalOf } from './exits.ts'
import { kindOf } from './kinds.ts'
import { placeInOutput } from './places.ts'
import { anyTool, type Rule, rulesOf, scanLine } from './rules.ts'
import { refineTool } from './tool-names.ts'
import { ownTool } from './tool-rules.ts'

interface Choice {
  /** Ascending, with gaps. */
  readonly lines: readonly KeptLine[]
  /** Number of all lines of the output. */
  readonly count: number
  readonly ending: Ending
  readonly tests: Cause['tests']
  readonly mask?: ((text: string) => string) | undefined
  readonly tool?: string
}

type CandidateClass = 'S' | 'B' | 'M' | 'X' | 'C' | 'H' | 'W'

interface Candidate {
  readonly line: Line
  readonly class: CandidateClass
  readonly tool: string
  readonly rank: number
  readonly isLast: boolean
  readonly text: string
  readonly kind: CauseKind | undefined
  /** The line whose place counts, if it is another. */
  readonly header?: Line
}

/** Lines after a header that may belong to it. */
const reach = 14
const blockReach = 40
/** A hint counts so close to the end. */
const hintReach = 10
const expected = /^\s*(?:[-+]\s*)?expected\b[^:]*:/i
const received = /^\s*(?:[-+]\s*)?(?:received|got|actual|but was)\b[^:]*:/i
const exceptionLine =
  /^\s*(?:[\w$.]*(?:Error|Exception|Failure)\b(?: \[\w+\])?:|thrown: |Error: |Test timeout of|Exceeded timeout|error: )/
/** Runners of which the first line of a block has to do where nothing in it looks like an assertion. */
const firstLineRunners = new Set(['jest', 'vitest', 'playwright', 'phpunit'])

class Search {
  readonly #lines: readonly Line[]
  readonly #candidates: Candidate[] = []
  readonly #chains = new Map<string, ExceptionChain>()
  readonly #blocks = new Map<
    string,
    { tool: string; header: Line; first?: Line; isFound: boolean }
  >()
  /** Lines of tests of Go whose result follows. */
  #goPending: Candidate[] = []
  #isGoFailed = false
  readonly tools = new Set<string>()
  lastTool: string | undefined
  attempt: Line | undefined
  cleanup: Line | undefined
  step: Line | undefined
  wrapper: Line | undefined
  readonly steps: Line[] = []

  constructor(lines: readonly Line[]) {
    this.#lines = lines
    for (const line of lines) this.#take(line)
    for (const lane of this.#blocks.keys()) this.#closeBlock(lane)
    this.#candidates.push(...this.#goPending)
  }

  get candidates(): Candidate[] {
    const thrown = [...this.#chains.values()].flatMap((chain) => chain.candidates())
    return [...this.#candidates, ...thrown].sort((one, other) => one.line.at - other.line.at)
  }

  /** Lines of the same lane that follow. */
  #after(line: Line, count = reach): Line[] {
    return this.#lines
      .slice(line.at + 1, line.at + 1 + 2 * count)
      .filter((each) => laneOf(each) === laneOf(line))
      .slice(0, count)
  }

  #take(line: Line): void {
    if (line.level === 'other') return
    const found = rulesOf(scanLine(line.plain), line)
    const rule = found.find(
      (each) => each.class !== 'attempt' && each.class !== 'cleanup' && this.#isNear(each, line),
    )
    for (const each of found) if (each.tool !== anyTool) this.#note(each.tool)
    if (found.some((each) => each.class === 'attempt')) this.attempt = line
    if (found.some((each) => each.class === 'cleanup')) this.cleanup ??= line
    if (line.plain.startsWith('=== ')) this.#isGoFailed = false
    if (this.#takeInBlock(line, rule)) return
    if (rule === undefined || (rule.class === 'H' && line.level !== undefined)) {
      if (line.level !== undefined) this.#addGeneral(line)
      return
    }
    this.#apply(rule, line)
  }

  #note(tool: string): void {
    this.tools.add(tool)
    if (tool !== 'exception' && tool !== ownTool) this.lastTool = tool
  }

  #isNear({ options: { near } }: Rule, line: Line): boolean {
    return (
      near === undefined ||
      near.test(line.line) ||
      this.#after(line, 6).some((each) => near.test(each.line))
    )
  }

  #addGeneral(line: Line): void {
    const isFatal = line.level === 'fatal'
    this.#candidates.push({
      line,
      class: 'C',
      tool: anyTool,
      rank: isFatal ? 0 : 1,
      isLast: isFatal,
      text: line.text,
      kind: undefined,
    })
  }

  #apply(rule: Rule, line: Line): void {
    switch (rule.class) {
      case 'N':
      case 'attempt':
      case 'cleanup':
        return
      case 'step':
        this.steps.push(line)
        return
      case 'W':
        this.wrapper = line
        this.#add(rule, line)
        return
      case 'T':
        this.#openBlock(rule, line)
        return
      case 'ignored':
        this.#ignore(rule, line)
        return
      case 'X':
        this.#chains.getOrInsertComputed(laneOf(line), () => new ExceptionChain()).feed(line, rule)
        return
      default:
        this.#addMessage(rule, line)
    }
  }

  #ignore({ tool }: Rule, line: Line): void {
    if (tool === 'go') {
      if (!this.#isGoFailed) this.#goPending = []
      this.#isGoFailed = false
      return
    }
    const last = this.#candidates.findLastIndex(
      (each) => each.tool === tool && laneOf(each.line) === laneOf(line),
    )
    if (last >= 0) this.#candidates.splice(last, 1)
  }

  #openBlock(rule: Rule, line: Line): void {
    if (rule.tool === 'go') {
      this.#candidates.push(...this.#goPending)
      this.#goPending = []
      this.#isGoFailed = true
      return
    }
    this.#closeBlock(laneOf(line))
    if (rule.tool === 'jest' && !/ › |Test suite failed/.test(line.line)) return
    this.#blocks.set(laneOf(line), { tool: rule.tool, header: line, isFound: false })
  }

  #closeBlock(lane: string): void {
    const block = this.#blocks.get(lane)
    this.#blocks.delete(lane)
    if (block?.first === undefined || block.isFound || !firstLineRunners.has(block.tool)) return
    this.#candidates.push(this.#inBlock(block.tool, block.first, block.first.text))
  }

  #inBlock(tool: string, line: Line, text: string): Candidate {
    return { line, class: 'B', tool, rank: 0, isLast: false, text, kind: 'test' }
  }

  /** @returns whether the line belongs to the block of a failed test */
  #takeInBlock(line: Line, rule: Rule | undefined): boolean {
    const block = this.#blocks.get(laneOf(line))
    if (block === undefined || rule?.class === 'T') return false
    if (line.number - block.header.number > blockReach) {
      this.#closeBlock(laneOf(line))
      return false
    }
    if (line.text === '') return true
    if (rule?.class === 'B' && rule.tool !== block.tool && rule.options.kind === 'code')
      return false
    block.first ??= line
    if (block.isFound) return rule?.class !== 'S'
    const isPair = expected.test(line.line)
    if (!isPair && !exceptionLine.test(line.line)) return rule?.class !== 'S'
    block.isFound = true
    const rest = this.#after(line, 4)
    const other = isPair
      ? rest.find((each) => received.test(each.line))
      : /:$/.test(line.text)
        ? rest.find((each) => each.text !== '')
        : undefined
    const text = other === undefined ? line.text : `${line.text} · ${other.text}`
    this.#candidates.push(this.#inBlock(block.tool, line, text))
    return true
  }

  #addMessage(rule: Rule, line: Line): void {
    const { next, deepest } = rule.options
    if (next !== undefined) {
      const found = this.#after(line).find((each) => each.text !== '' && next.test(each.line))
      if (found !== undefined) this.#add(rule, found, line)
      return
    }
    if (deepest !== undefined) {
      const found = this.#deepest(line, deepest)
      if (found !== undefined) this.#add(rule, found, line)
      return
    }
    this.#add(rule, line)
  }

  /** In the paragraph below a header: the last line of the chain, else the first with text. */
  #deepest(header: Line, pattern: RegExp): Line | undefined {
    const all = this.#after(header)
    const end = all.findIndex(({ line }) => line.startsWith('* '))
    const says = all
      .slice(0, end < 0 ? all.length : end)
      .filter(({ text }) => text !== '')
      .filter((each) => !rulesOf(scanLine(each.plain), each).some((rule) => rule.class === 'W'))
    return says.findLast(({ line }) => pattern.test(line)) ?? says[0]
  }

  #add(rule: Rule, line: Line, header?: Line): void {
    const { options, tool, rank } = rule
    const cut = options.cut?.exec(line.line)?.[1]
    const joined = options.join === undefined ? [] : this.#joined(line, rule)
    const candidate: Candidate = {
      line,
      class: rule.class as CandidateClass,
      tool,
      rank,
      isLast: options.isLast === true,
      text: [cut ?? line.text, ...joined].join(' · '),
      kind: options.kind,
      header,
    }
    const isGoTest = tool === 'go' && options.kind === 'test'
    if (isGoTest && !this.#isGoFailed) this.#goPending.push(candidate)
    else this.#candidates.push(candidate)
  }

  #joined(line: Line, { options: { join, kind } }: Rule): string[] {
    const count = kind === 'test' ? 2 : 1
    const rest = this.#after(line, 10)
    const end = rest.findIndex((each) => /^(?:[│╷╵] ?)*(?:Error|Warning): |^╵/.test(each.line))
    return rest
      .slice(0, end < 0 ? rest.length : end)
      .filter((each) => join?.test(each.line) === true)
      .slice(0, count)
      .map(({ text }) => text)
  }
}

/** Exceptions of one lane: the last block counts, and in it the one that caused the others. */
class ExceptionChain {
  #blocks: Candidate[][] = []
  #link: 'cause' | 'context' | undefined
  #isSuppressed = false

  feed(line: Line, rule: Rule): void {
    const { line: text } = line
    if (/^The above exception/.test(text)) this.#link = 'cause'
    else if (/^During handling/.test(text)) this.#link = 'context'
    else if (/^\s*Suppressed: /.test(text)) this.#isSuppressed = true
    else if (/^\s*(?:Caused by:|\[cause\]:)/.test(text)) this.#feedCause(line, rule)
    else this.#feedTop(line, rule)
  }

  #feedCause(line: Line, rule: Rule): void {
    if (line.text === 'Caused by:' || (this.#isSuppressed && /^\s/.test(line.line))) return
    const block = this.#blocks.at(-1)
    const candidate = this.#toCandidate(line, rule)
    if (block === undefined) this.#blocks.push([candidate])
    else block[0] = candidate
  }

  #feedTop(line: Line, rule: Rule): void {
    const candidate = this.#toCandidate(line, rule)
    const block = this.#blocks.at(-1)
    if (this.#link === undefined || block === undefined) this.#blocks.push([candidate])
    else if (this.#link === 'context') block[0] = candidate
    this.#link = undefined
    this.#isSuppressed = false
  }

  #toCandidate(line: Line, { rank }: Rule): Candidate {
    return {
      line,
      class: 'X',
      tool: 'exception',
      rank,
      isLast: true,
      text: line.text,
      kind: 'code',
    }
  }

  candidates(): Candidate[] {
    return this.#blocks.flat()
  }
}

function laneOf({ stream, lane }: Line): string {
  return `${stream} ${lane}`
}

/** @returns undefined when neither the lines nor the end say why */
export function choose(choice: Choice): Cause | undefined {
  const { ending, count, tests } = choice
  const lines = choice.lines.map((line, at) => ({ ...line, ...cleanLine(line.plain), at }))
  const search = new Search(lines)
  const tool = choice.tool ?? search.lastTool ?? 'sh'
  const said = describeEnding(ending, tool)
  const group = chosenGroup(search, { ending, count, hasWords: said !== undefined })
  const [winner] = group
  if (winner === undefined) {
    const wrapper = search.candidates.find((each) => each.class === 'W' && each.tool !== ownTool)
    if (said === undefined && wrapper !== undefined)
      return toCause(wrapper, { ...choice, lines, search, more: 0 })
    if (said === undefined) return undefined
    const around = lines.slice(-6).map((line) => shown(line, choice))
    return {
      text: said.text,
      stream: 'system',
      kind: said.kind,
      tool,
      around,
      ...(tests && { tests }),
    }
  }
  return toCause(winner, { ...choice, lines, search, more: group.length - 1 })
}

interface Conditions {
  readonly ending: Ending
  readonly count: number
  readonly hasWords: boolean
}

/** The candidates of the best class, the winner first. */
function chosenGroup(search: Search, { ending, count, hasWords }: Conditions): Candidate[] {
  const { reason, isOutOfMemory } = ending
  const all = afterRetries(search)
  const system = all.filter((each) => each.class === 'S')
  if (system.length > 0) return system
  if (isOutOfMemory === true || reason?.kind === 'timeout' || reason?.kind === 'killed') return []
  const eligible = inFailedStep(beforeCleanup(all, search), search)
  for (const classes of ['B', 'XM', 'C']) {
    if (classes === 'C' && signalOf(ending) !== undefined) break
    const group = eligible.filter((each) => classes.includes(each.class))
    const [first] = group
    if (first !== undefined) {
      const lane = group.filter((each) => laneOf(each.line) === laneOf(first.line))
      const winner = winnerOf(lane)
      return [winner, ...group.filter((each) => each !== winner)]
    }
  }
  if (hasWords) return []
  return eligible.filter((each) => each.class === 'H' && each.line.number > count - hintReach)
}

/** An error of an attempt that was followed by another one is none, unless all failed. */
function afterRetries({ candidates, attempt }: Search): Candidate[] {
  if (attempt === undefined) return candidates
  const [first] = candidates
  if (first === undefined || first.line.at > attempt.at) return candidates
  const last = candidates.filter((each) => each.line.at >= attempt.at && each.class !== 'W')
  if (last.length > 0) return last
  if (/\bok\b|succe|passed|done/i.test(attempt.text)) return []
  return candidates.slice(-1)
}

const saysWhy = ({ class: of }: Candidate) => of !== 'H' && of !== 'W'

function beforeCleanup(all: Candidate[], { cleanup, wrapper }: Search): Candidate[] {
  return [cleanup, wrapper].reduce((rest, border) => {
    const before = border === undefined ? [] : rest.filter((each) => each.line.at <= border.at)
    return before.some(saysWhy) ? before : rest
  }, all)
}

/** The step in which the wrapper closest to the end says that something failed. */
function inFailedStep(all: Candidate[], { steps, wrapper }: Search): Candidate[] {
  const end = wrapper?.at ?? Number.POSITIVE_INFINITY
  const begin = steps.findLast(({ at }) => at < end)
  const inside = all.filter((each) => begin !== undefined && each.line.at > begin.at)
  return inside.some(saysWhy) ? inside : all
}

/** Each tool proposes its first or last line with its best rule; the first of these wins. */
function winnerOf(group: readonly Candidate[]): Candidate {
  const winners = [...Map.groupBy(group, ({ tool }) => tool).values()].map((ofTool) => {
    const rank = Math.min(...ofTool.map((each) => each.rank))
    const best = ofTool.filter((each) => each.rank === rank || each.tool === 'exception')
    return (best[0]?.isLast === true ? best.at(-1) : best[0]) as Candidate
  })
  const firsts = winners.filter((each) => !each.isLast)
  return (
    firsts.length > 0 && firsts.length < winners.length ? winners[0] : (firsts[0] ?? winners.at(-1))
  ) as Candidate
}

interface Context extends Choice {
  readonly lines: readonly Line[]
  readonly search: Search
  readonly more: number
}

function toCause(candidate: Candidate, context: Context): Cause {
  const { lines, search, more, tests } = context
  const { line } = candidate
  const text = masked(candidate.text, context)
  const place = placeInOutput(line, { lines, header: candidate.header })
  const tool = refineTool(candidate, { lines, tools: search.tools, given: context.tool })
  return {
    text: cutAround(text, matchIn(text)),
    line: line.number,
    stream: line.stream,
    kind: kindOf(text, {
      kind: candidate.kind,
      class: candidate.class,
      hasPlace: /^\S+:\d+:\d+: /.test(text),
    }),
    tool,
    around: aroundOf(line, context),
    ...(place !== undefined && { place: masked(place, context) }),
    ...(tests !== undefined && {
      tests: { ...tests, names: tests.names.map((name) => masked(name, context)) },
    }),
    ...(more > 0 && { more }),
  }
}

/** Where the interesting part of a long text begins. */
function matchIn(text: string): number {
  return text.length <= maxText
    ? 0
    : Math.max(0, text.search(/\b(?:error|fatal|panic|exception|Could not)\b/i))
}

function masked(text: string, { mask = (same) => same }: Pick<Choice, 'mask'>): string {
  return maskForms(mask(text))
}

function shown(line: Line, choice: Pick<Choice, 'mask'>): Cause['around'][number] {
  return { line: line.number, text: cutAround(masked(line.text, choice)) }
}

const aroundEach = 3

function aroundOf({ number, at }: Line, { lines, count, ...choice }: Context): Cause['around'] {
  const [above, below] = [number - 1, count - number]
  const before = below < aroundEach ? 2 * aroundEach - below : Math.min(above, aroundEach)
  const after = above < aroundEach ? 2 * aroundEach - above : Math.min(below, aroundEach)
  return lines
    .slice(Math.max(0, at - before), at + after + 1)
    .filter((each) => each.number !== number)
    .filter((each) => each.number >= number - before && each.number <= number + after)
    .map((each) => shown(each, choice))
}
