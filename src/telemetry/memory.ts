/** Memory of the process: what only the start needed, and what load needs. */
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

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
/** Of the heap since the last collection. V8 itself may wait until it has doubled, which without load it never does. */
const leastGrowth = 1.25

interface IdleWatch {
  readonly everyMs?: number
  readonly collect?: () => void
  /** Share of the time since the call before that the thread was busy, 0 to 1. */
  readonly busyShare?: () => number
  /** What the heap of the thread takes, garbage included. */
  readonly heapBytes?: () => number
}

/**
 * The same, once what is loaded at the start is there, and again after each load, always when the thread has been idle for a
 * while: requests would wait for it.
 *
 * @param before What else is done the first time.
 */
export function giveBackMemoryWhenIdle(
  before = () => {},
  { everyMs = settledMs, collect = giveBackMemory, busyShare = watchLoop(), heapBytes = heapBytesNow }: IdleWatch = {},
): void {
  let bytesAfter: number | undefined
  let idleTimes = 0
  setInterval(() => {
    idleTimes = busyShare() > idleShare ? 0 : idleTimes + 1
    const isFirst = bytesAfter === undefined
    if (idleTimes < (isFirst ? 1 : quietTimes)) return
    if (bytesAfter !== undefined && heapBytes() < bytesAfter * leastGrowth) return
    if (isFirst) before()
    collect()
    idleTimes = 0
    bytesAfter = heapBytes()
  }, everyMs).unref()
}

function heapBytesNow(): number {
  return getHeapStatistics().total_heap_size
}

function watchLoop(): () => number {
  let last = performance.eventLoopUtilization()
  return () => {
    const { utilization } = performance.eventLoopUtilization(last)
    last = performance.eventLoopUtilization()
    return utilization
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
