/** Reads an output once, in pieces, and keeps the lines that may say why it failed, with what stands around them. */
import type { Cause, CauseStream, Ending } from './cause.ts'
import { choose } from './choose.ts'
import { cleanLine, type KeptLine, squeeze, withoutControls } from './clean-line.ts'
import { FailedTests } from './failed-tests.ts'
import { classOf, type Scan, scanLine } from './rules.ts'

/** Lines before and after one that matters. */
const before = 8
const after = 20
/** Of a class of a lane: the first and the last ones. */
const keptEach = 32
const maxLanes = 64
/** Of a longer output, the first and the last part count. */
const maxBytes = 10_000_000
const firstBytes = 1_000_000

interface Anchor {
  readonly at: number
  readonly lines: KeptLine[]
}

interface Pending {
  text: string
  readonly decoder: TextDecoder
}

interface ReaderOptions {
  /** Replaces values of secrets in a text. */
  readonly mask?: ((text: string) => string) | undefined
  /** The tool, where the command is known to be one. */
  readonly tool?: string | undefined
}

export class CauseReader {
  readonly #options: ReaderOptions
  readonly #pending = new Map<CauseStream, Pending>()
  readonly #anchors = new Map<string, Anchor[]>()
  readonly #lanes = new Set<string>()
  readonly #tests = new FailedTests()
  #recent: KeptLine[] = []
  #open: Anchor[] = []
  #lines = 0
  #bytes = 0

  constructor(options: ReaderOptions = {}) {
    this.#options = options
  }

  feed(piece: Uint8Array | string, stream: CauseStream = 'stdout'): void {
    const pending = this.#pending.getOrInsertComputed(stream, () => ({
      text: '',
      decoder: new TextDecoder(),
    }))
    const text = typeof piece === 'string' ? piece : pending.decoder.decode(piece, { stream: true })
    let start = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      const rest = text.slice(start, end)
      this.#line(pending.text === '' ? rest : pending.text + rest, stream)
      pending.text = ''
      start = end + 1
    }
    pending.text = squeeze(pending.text + text.slice(start))
  }

  /** @returns undefined when nothing failed, or neither the output nor the end says why */
  end(ending: Ending): Cause | undefined {
    for (const [stream, { text, decoder }] of this.#pending) {
      const rest = text + decoder.decode()
      if (rest !== '') this.#line(rest, stream)
    }
    if (ending.exitCode === 0 && ending.signal === undefined && ending.reason === undefined) return
    const isSeen = ({ at }: { at: number }) =>
      this.#bytes <= maxBytes || at < firstBytes || at >= this.#bytes - (maxBytes - firstBytes)
    const lines = new Map<number, KeptLine>()
    for (const anchors of this.#anchors.values())
      for (const anchor of anchors.filter(isSeen))
        for (const line of anchor.lines) lines.set(line.number, line)
    for (const line of this.#recent) lines.set(line.number, line)
    const kept = [...lines.values()].sort((one, other) => one.number - other.number)
    return choose({
      lines: kept,
      count: this.#lines,
      ending,
      tests: this.#tests.result(),
      ...this.#options,
    })
  }

  #line(raw: string, stream: CauseStream): void {
    const at = this.#bytes
    this.#bytes += raw.length + 1
    const plain =
      raw.length > 2_500 || raw.includes('\u001b') || raw.includes('\r')
        ? withoutControls(raw)
        : raw
    const line: KeptLine = { number: ++this.#lines, stream, plain }
    for (const anchor of this.#open) anchor.lines.push(line)
    const [oldest] = this.#open
    if (oldest !== undefined && (oldest.lines.at(-1)?.number ?? 0) - oldest.at >= after)
      this.#open.shift()
    const scan = scanLine(plain)
    if (scan.matters || scan.isOfTests || this.#tests.isOpen) this.#keep(line, scan, at)
    this.#recent.push(line)
    if (this.#recent.length > 2 * before) this.#recent = this.#recent.slice(-before)
  }

  #keep(line: KeptLine, scan: Scan, at: number): void {
    const clean = cleanLine(line.plain)
    if (scan.isOfTests || this.#tests.isOpen) this.#tests.feed(clean.line)
    const found = scan.matters ? classOf(scan, clean) : undefined
    if (found === undefined || found === 'N') return
    const lane = `${line.stream} ${clean.lane}`
    if (this.#lanes.size < maxLanes) this.#lanes.add(lane)
    const key = `${found} ${this.#lanes.has(lane) ? lane : ''}`
    const anchors = this.#anchors.getOrInsertComputed(key, () => [])
    if (anchors.length >= 2 * keptEach) anchors.splice(keptEach, 1)
    const anchor = { at, lines: [...this.#recent.slice(-before), line] }
    anchors.push(anchor)
    this.#open.push({ at: line.number, lines: anchor.lines })
  }
}
