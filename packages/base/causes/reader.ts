/** Reads an output once, in pieces, and keeps the lines that may say why it failed, with what stands around them. */
import type { Cause, CauseStream, Ending } from './cause.ts'
import { choose } from './choose.ts'
import { cleanLine, type KeptLine, longLine, squeezeBytes, withoutControls } from './clean-line.ts'
import { FailedTests } from './failed-tests.ts'
import { classOf, type Scan, scanBytes, scanLine } from './rules.ts'

/** Lines before and after one that matters. */
const before = 8
const after = 20
/** Lines kept per class of a lane: the first and the last ones. */
const keptEach = 32
const maxLanes = 64
/** A longer output is read at its beginning and its end only. */
const maxBytes = 10_000_000
const firstBytes = 1_000_000

/** Lines that were read one after the other. */
type Run = SeenLine[]
const runLength = 32

interface Anchor {
  readonly at: number
  readonly number: number
  /** Kept lines, with those around them. */
  readonly runs: Run[]
}

/** Part of a piece, which becomes text where it matters. */
interface SeenLine {
  readonly number: number
  readonly stream: CauseStream
  readonly bytes: Buffer
  readonly from: number
  readonly to: number
}

interface ReaderOptions {
  /** Replaces values of secrets in a text. */
  readonly mask?: ((text: string) => string) | undefined
  /** The tool, where the command is known to be one. */
  readonly tool?: string
}

export class CauseReader {
  readonly #options: ReaderOptions
  /** The unfinished line of each stream. */
  readonly #pending = new Map<CauseStream, Buffer>()
  readonly #anchors = new Map<string, Anchor[]>()
  readonly #lanes = new Set<string>()
  readonly #tests = new FailedTests()
  #runs: [Run, Run] = [[], []]
  #open: Anchor[] = []
  #lines = 0
  #bytes = 0

  constructor(options: ReaderOptions = {}) {
    this.#options = options
  }

  feed(piece: Uint8Array | string, stream: CauseStream = 'stdout'): void {
    // What gives the piece may use its memory again.
    const bytes = Buffer.from(piece as Uint8Array)
    let start = 0
    const pending = this.#pending.get(stream)
    if (pending !== undefined) {
      const first = bytes.indexOf(newline)
      const joined = Buffer.concat([pending, first < 0 ? bytes : bytes.subarray(0, first)])
      if (first < 0) {
        this.#pending.set(stream, squeezeBytes(joined))
        return
      }
      this.#line({ bytes: joined, from: 0, to: joined.length }, stream)
      this.#pending.delete(stream)
      start = first + 1
    }
    for (let end = bytes.indexOf(newline, start); end >= 0; end = bytes.indexOf(newline, start)) {
      this.#line({ bytes, from: start, to: end }, stream)
      start = end + 1
    }
    if (start < bytes.length) this.#pending.set(stream, squeezeBytes(bytes.subarray(start)))
  }

  /** @returns undefined when nothing failed, or neither the output nor the end says why */
  end(ending: Ending): Cause | undefined {
    for (const [stream, bytes] of this.#pending)
      this.#line({ bytes, from: 0, to: bytes.length }, stream)
    if (ending.exitCode === 0 && ending.signal === undefined && ending.reason === undefined) return
    const isSeen = ({ at }: { at: number }) =>
      this.#bytes <= maxBytes || at < firstBytes || at >= this.#bytes - (maxBytes - firstBytes)
    const lines = new Map<number, SeenLine>()
    const add = (run: Run, first: number, last = Number.POSITIVE_INFINITY) => {
      for (const line of run)
        if (line.number >= first && line.number <= last) lines.set(line.number, line)
    }
    for (const anchors of this.#anchors.values())
      for (const { number, runs } of anchors.filter(isSeen))
        for (const run of runs) add(run, number - before, number + after)
    for (const run of this.#runs) add(run, this.#lines - before + 1)
    const kept = [...lines.values()]
      .sort((one, other) => one.number - other.number)
      .map(({ number, stream, ...line }): KeptLine => ({ number, stream, plain: textOf(line) }))
    return choose({
      lines: kept,
      count: this.#lines,
      ending,
      tests: this.#tests.result(),
      ...this.#options,
    })
  }

  #line(place: Pick<SeenLine, 'bytes' | 'from' | 'to'>, stream: CauseStream): void {
    const at = this.#bytes
    const { bytes, from, to } = place
    this.#bytes += to - from + 1
    const line: SeenLine = { number: ++this.#lines, stream, bytes, from, to }
    const [, current] = this.#runs
    current.push(line)
    let scan = scanBytes(bytes, from, to)
    if (scan.isControl || to - from > longLine) scan = scanLine(textOf(line))
    if (scan.matters || scan.runners.length > 0 || this.#tests.isOpen) this.#keep(line, scan, at)
    if (current.length >= runLength) this.#beginRun(current)
  }

  /** Anchors that are close need what follows, too. */
  #beginRun(last: Run): void {
    this.#runs = [last, []]
    this.#open = this.#open.filter(({ number }) => number > this.#lines - after)
    for (const { runs } of this.#open) runs.push(this.#runs[1])
  }

  #keep(line: SeenLine, scan: Scan, at: number): void {
    const plain = textOf(line)
    const isNoise = quiet.test(plain) || (scan.isNumbers && !numbered.test(plain))
    if (isNoise && !this.#tests.isOpen) return
    const clean = cleanLine(plain)
    if (scan.runners.length > 0 || this.#tests.isOpen) this.#tests.feed(clean.line, scan.runners)
    const found = scan.matters ? classOf(scan, clean) : undefined
    if (found === undefined || found === 'N') return
    const lane = `${line.stream} ${clean.lane}`
    if (this.#lanes.size < maxLanes) this.#lanes.add(lane)
    const key = `${found} ${this.#lanes.has(lane) ? lane : ''}`
    const anchors = this.#anchors.getOrInsertComputed(key, () => [])
    if (anchors.length >= 2 * keptEach) anchors.splice(keptEach, 1)
    const anchor = { at, number: line.number, runs: [...this.#runs] }
    anchors.push(anchor)
    this.#open.push(anchor)
  }
}

const newline = 10
/** Records of logs that say at their beginning that they are no errors. */
const quiet = /^\{"level":(?:[1-4]0\b|"(?:info|debug|trace|warn)")/

const numbered = /(?:^|\s)\d+\) /

/** Without control characters. */
function textOf({ bytes, from, to }: Pick<SeenLine, 'bytes' | 'from' | 'to'>): string {
  const raw = bytes.toString('utf8', from, to)
  return raw.length > longLine || raw.includes('\u001b') || raw.includes('\r')
    ? withoutControls(raw)
    : raw
}
