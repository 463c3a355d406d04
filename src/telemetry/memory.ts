/** Memory of the process: when what only the start or a load needed is collected and given back. */
import { getHeapStatistics } from 'node:v8'
import { isMainThread } from 'node:worker_threads'
import { collectGarbage, dropProgramPages, trimMalloc } from '../runtime/memory.ts'

/** By then the first lists, or the first state, have been loaded. */
const settledMs = 2500
/** Share of the time at work; a thread that does more has requests that would wait for the collection. */
const idleShare = 0.05
/** Half a minute without load: its machine code is dropped, too. */
const quietTimes = 12
/** Five minutes: between loads, the time until the next collection doubles up to that. */
const longestPauseTimes = 120
/** Ten seconds: what the C library keeps by then is a few megabytes, which take a millisecond, as do the pages of the program. */
const trimTimes = 4
/** How much the heap has grown since the last collection. V8 itself may wait until it has doubled, which without load it never does. */
const leastGrowth = 1.25

interface MemoryWatch {
  readonly everyMs?: number
  readonly collect?: () => void
  readonly trim?: () => void
  /** Share of the time since the call before that the thread was busy, 0 to 1. */
  readonly busyShare?: () => number
  /** What the heap of the thread takes, with its buffers, garbage included. */
  readonly heapBytes?: () => number
}

/**
 * Collects garbage once what is loaded at the start is there, and again after each load, always when the thread has been idle for a
 * while: requests would wait for it. The main thread also trims what the C library keeps for all threads, and drops pages of the program, under
 * load, too.
 */
export function keepMemorySmall(watch: MemoryWatch = {}): void {
  const { everyMs = settledMs, trim = isMainThread ? trimProcess : () => {} } = watch
  const collector = new IdleCollector(watch)
  let untrimmedTimes = 0
  setInterval(() => {
    untrimmedTimes++
    if (!collector.collects() && untrimmedTimes < trimTimes) return
    trim()
    untrimmedTimes = 0
  }, everyMs).unref()
}

/** What all threads share. */
function trimProcess(): void {
  trimMalloc()
  dropProgramPages()
}

class IdleCollector {
  readonly #collect: () => void
  readonly #busyShare: () => number
  readonly #heapBytes: () => number
  #bytesAfter: number | undefined
  /** The last ones since the last collection. */
  #shares: number[] = []
  #collectedTimesAgo = 0
  /** A thread that always has a little to do makes a little garbage all the time. */
  #pauseTimes = 0

  constructor({ collect = collectGarbage, busyShare = watchLoop(), heapBytes = heapBytesNow }: MemoryWatch) {
    this.#collect = collect
    this.#busyShare = busyShare
    this.#heapBytes = heapBytes
  }

  /** Asked every time. @returns whether it has collected */
  collects(): boolean {
    const isFirst = this.#bytesAfter === undefined
    if (!this.#isDue(isFirst ? 1 : quietTimes)) return false
    if (!isFirst) this.#pauseTimes = Math.min(Math.max(this.#pauseTimes, quietTimes) * 2, longestPauseTimes)
    this.#collect()
    this.#collectedTimesAgo = 0
    this.#shares = []
    this.#bytesAfter = this.#heapBytes()
    return true
  }

  /** @param times For how long it has to be idle. */
  #isDue(times: number): boolean {
    this.#collectedTimesAgo++
    this.#shares = [...this.#shares, this.#busyShare()].slice(-times)
    const isBusy = this.#shares.reduce((sum, share) => sum + share, 0) / times > idleShare
    if (isBusy) this.#pauseTimes = 0
    if (isBusy || this.#shares.length < times || this.#collectedTimesAgo < this.#pauseTimes) return false
    return this.#bytesAfter === undefined || this.#heapBytes() >= this.#bytesAfter * leastGrowth
  }
}

function heapBytesNow(): number {
  const { total_heap_size: heap, external_memory: buffers } = getHeapStatistics()
  return heap + buffers
}

function watchLoop(): () => number {
  let last = performance.eventLoopUtilization()
  return () => {
    const { utilization } = performance.eventLoopUtilization(last)
    last = performance.eventLoopUtilization()
    return utilization
  }
}
