/** When an instance has written what: marks of time along the offsets of its output, kept for the next agent. */
import { appendFileSync, type FSWatcher, readFileSync, watch, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { OutputTime } from '@fairlead/base/net/agent-protocol.ts'
import { extentOf } from './console.ts'

/** Output within this time gets one mark; a program that writes on is looked at as often. */
const gatherMs = 100
/** Where the system cannot watch another folder. */
const unwatchedMs = 1_000
const maxMarks = 4096
const maxRuns = 64

/** Marks of one console; a reader of them must bear that one was made up to `gatherMs` after its output. */
export class OutputTimes {
  readonly #console: string
  readonly #file: string
  readonly #grew: () => void
  #marks: OutputTime[] = []
  /** Offsets at which a program was started. */
  #runs: number[] = []
  #end = 0
  #watcher: FSWatcher | undefined
  #timer: NodeJS.Timeout | undefined
  #isOver = false

  /** @param grew Called after new output was seen */
  constructor(console: string, grew: () => void) {
    this.#console = console
    this.#file = `${console}-times`
    this.#grew = grew
    this.#load()
  }

  /** Output so far belongs to earlier runs, what follows to the one that starts now. */
  startRun(): void {
    this.look()
    this.#runs = [...this.#runs, this.#end].slice(-maxRuns)
    this.#append(`run ${this.#end}\n`)
  }

  /** Looks after the console from now on. */
  follow(): void {
    if (this.#isOver || this.#watcher !== undefined || this.#timer !== undefined) return
    this.#watch()
  }

  close(): void {
    this.#isOver = true
    this.#watcher?.close()
    clearTimeout(this.#timer)
  }

  /** @returns whether there was new output */
  look(): boolean {
    const extent = extentOf(this.#console)
    if (extent === undefined || extent.end <= this.#end) return false
    // After a time without an agent, it was written by then.
    const atMs = Math.min(Date.now(), Math.ceil(extent.changedMs))
    this.#mark({ offset: this.#end, atMs }, extent.end)
    this.#grew()
    return true
  }

  /** Marks that hold between two offsets; the first may begin before. */
  between(from: number, to: number): OutputTime[] {
    const first = Math.max(
      0,
      this.#marks.findLastIndex(({ offset }) => offset <= from),
    )
    return this.#marks.slice(first).filter(({ offset }) => offset < to)
  }

  /** The first offset that was written at this time or later. */
  offsetSince(ms: number): number {
    return this.#marks.find(({ atMs }) => atMs >= ms)?.offset ?? this.#end
  }

  /** The output of the run before the latest one; undefined: there was none. */
  previousRun(): { readonly start: number; readonly end: number } | undefined {
    const [start, end] = this.#runs.slice(-2)
    return start === undefined || end === undefined ? undefined : { start, end }
  }

  #watch(): void {
    try {
      const watcher = watch(dirname(this.#console), { persistent: false }, () => this.#pause())
      this.#watcher = watcher
      watcher.on('error', () => this.#pause(unwatchedMs))
      // What was written before the watch began.
      if (this.look()) this.#pause()
    } catch {
      this.#pause(unwatchedMs)
    }
  }

  /** A busy program would wake the watch with each line. */
  #pause(ms = gatherMs): void {
    this.#watcher?.close()
    this.#watcher = undefined
    clearTimeout(this.#timer)
    if (this.#isOver) return
    const hasMore = this.look()
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (this.look() || hasMore) this.#pause(ms)
      else this.#watch()
    }, ms).unref()
  }

  #mark(mark: OutputTime, end: number): void {
    this.#marks.push(mark)
    this.#end = end
    this.#append(`${mark.offset} ${mark.atMs} ${end}\n`)
    if (this.#marks.length <= maxMarks) return
    const start = extentOf(this.#console)?.start ?? 0
    const kept = this.between(start, Number.POSITIVE_INFINITY)
    // Of a console with many short outputs, the older half gets coarser.
    this.#marks =
      kept.length < maxMarks / 2
        ? kept
        : kept.filter((_, index) => index % 2 === 0 || index > kept.length / 2)
    const lines = [
      ...this.#runs.map((offset) => `run ${offset}\n`),
      ...this.#marks.map(({ offset, atMs }) => `${offset} ${atMs} ${end}\n`),
    ]
    this.#attempt(() => writeFileSync(this.#file, lines.join(''), { mode: 0o600 }))
  }

  #append(line: string): void {
    this.#attempt(() => appendFileSync(this.#file, line, { mode: 0o600 }))
  }

  /** Times are worth less than the program: a full disk loses them only for the next agent. */
  #attempt(write: () => void): void {
    try {
      write()
    } catch {
      // `look` finds the output again.
    }
  }

  #load(): void {
    for (const line of readLines(this.#file)) {
      const [first = '', second = '', third = ''] = line.split(' ')
      if (first === 'run' && second !== '') this.#runs.push(Number(second))
      else if (third !== '') {
        this.#marks.push({ offset: Number(first), atMs: Number(second) })
        this.#end = Number(third)
      }
    }
    this.#runs = this.#runs.slice(-maxRuns)
  }
}

/** None where the file cannot be read. */
function readLines(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n')
  } catch {
    return []
  }
}
