/** Memory of the process: what only the start needed, and what load needs. */
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { isMainThread } from 'node:worker_threads'

/**
 * Collects garbage once, thoroughly, in the calling thread. Takes some tens of milliseconds, so it is meant for the moment
 * after the start, before there is work.
 */
export function giveBackMemory(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options?: { type: 'major'; flavor: 'last-resort' }) => void
  collect({ type: 'major', flavor: 'last-resort' })
}

/** By then the first lists, or the first state, have been loaded. */
const settledMs = 2500
/** Of the time; a thread that does more has requests that would wait for the collection. */
const idleShare = 0.05
/** Half a minute without load: its machine code is dropped, too. */
const quietTimes = 12
/** Five minutes: between loads, the time until the next collection doubles up to that. */
const longestPauseTimes = 120
/** Ten seconds: what the C library keeps by then is a few megabytes, which take a millisecond. */
const trimTimes = 4
/** Of the heap since the last collection. V8 itself may wait until it has doubled, which without load it never does. */
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
 * while: requests would wait for it. The main thread also trims what the C library keeps for all threads, under load, too.
 *
 * @param before What else is done the first time.
 */
export function keepMemorySmall(
  before = () => {},
  {
    everyMs = settledMs,
    collect = giveBackMemory,
    trim = isMainThread ? trimMalloc : () => {},
    busyShare = watchLoop(),
    heapBytes = heapBytesNow,
  }: MemoryWatch = {},
): void {
  let bytesAfter: number | undefined
  /** The last ones since the last collection. */
  let shares: number[] = []
  let untrimmedTimes = 0
  let collectedTimesAgo = 0
  /** A thread that always has a little to do makes a little garbage all the time. */
  let pauseTimes = 0
  const shouldCollect = () => {
    const times = bytesAfter === undefined ? 1 : quietTimes
    collectedTimesAgo++
    shares = [...shares, busyShare()].slice(-times)
    const isBusy = shares.reduce((sum, share) => sum + share, 0) / times > idleShare
    if (isBusy) pauseTimes = 0
    if (isBusy || shares.length < times || collectedTimesAgo < pauseTimes) return false
    return bytesAfter === undefined || heapBytes() >= bytesAfter * leastGrowth
  }
  setInterval(() => {
    untrimmedTimes++
    if (shouldCollect()) {
      if (bytesAfter === undefined) {
        before()
        dropStartCode(collect)
      } else collect()
      if (bytesAfter !== undefined) pauseTimes = Math.min(Math.max(pauseTimes, quietTimes) * 2, longestPauseTimes)
      collectedTimesAgo = 0
      shares = []
      bytesAfter = heapBytes()
    } else if (untrimmedTimes < trimTimes) return
    trim()
    untrimmedTimes = 0
  }, everyMs).unref()
}

/** Has V8 drop the code of functions that run at the start only: it would keep them for six collections, which take hours without load. */
function dropStartCode(collect: () => void): void {
  setFlagsFromString('--bytecode-old-age=1')
  try {
    collect()
  } finally {
    setFlagsFromString('--bytecode-old-age=6')
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

type MallocTrim = (pad: bigint) => unknown

let mallocTrim: MallocTrim | undefined

/**
 * Gives whole free pages of all threads back to the system, which takes about 0.1 ms per megabyte. Only glibc needs it and has it;
 * does nothing elsewhere, and where Node cannot or may not call it.
 */
function trimMalloc(): void {
  try {
    mallocTrim ??= loadMallocTrim()
    mallocTrim(0n)
  } catch {
    mallocTrim = () => {}
  }
}

/** @throws {Error} if there is no such function */
function loadMallocTrim(): MallocTrim {
  const ffi = loadQuietly()
  if (ffi === undefined) throw new Error('This Node has no node:ffi')
  return ffi.dlopen(null, { malloc_trim: { arguments: ['uint64'], return: 'int32' } }).functions.malloc_trim
}

/** The module warns that it is experimental, without a code by which users could disable only this warning. */
function loadQuietly(): typeof import('node:ffi') | undefined {
  const { emitWarning } = process
  const ignore = () => {}
  process.emitWarning = ignore
  try {
    return process.getBuiltinModule('node:ffi')
  } finally {
    process.emitWarning = emitWarning
  }
}

/**
 * Has the young generation of V8 grow to its full size with the first load, instead of by doubling. While it is small, most of
 * what a request allocates is copied several times, and then collected at length. A process that idles for half a minute shrinks
 * it again, and drops machine code that no object of a request is left for.
 */
export function growWithLoad(): void {
  for (const option of optionsForLoad) setFlagsFromString(option)
}

/** The memory reducer of V8 would wait for eight seconds. */
export const optionsForLoad = ['--semi-space-growth-factor=16', '--memory-reducer-delay-ms=30000']

/** An option of Node. See `allocateYoung`. */
export const youngAllocation = '--no-allocation-site-pretenuring'

/**
 * Has V8 allocate everything in the young generation. It would otherwise allocate some objects of requests in the old one, at
 * random: where nearly all objects of a line of code have survived so far, as those of the start do. Such an object keeps its
 * whole request until the next full garbage collection. To be called before anything is loaded, as decisions stay.
 *
 * @see docs/performance.md#garbage
 */
export function allocateYoung(): void {
  setFlagsFromString(youngAllocation)
}
