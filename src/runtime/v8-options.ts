/**
 * Options of V8. None changes what Fairlead answers; a Node that does not know one ignores it where it is set at run time, and a test fails where
 * it is given at the start.
 */
import { setFlagsFromString } from 'node:v8'
import { isOn } from './without.ts'

const youngAllocation = '--no-allocation-site-pretenuring'

/**
 * Has V8 allocate everything in the young generation. It would otherwise allocate some objects of requests in the old one, at
 * random: where nearly all objects of a line of code have survived so far, as those of the start do. Such an object keeps its
 * whole request until the next full garbage collection. To be called before there are requests, as decisions stay.
 *
 * @see docs/performance.md#garbage
 */
export function allocateYoung(): void {
  if (isOn('young-allocation')) setFlagsFromString(youngAllocation)
}

/** As long as Fairlead itself waits before it collects (`telemetry/memory.ts`). */
const shrinking = '--memory-reducer-delay-ms=30000'

/**
 * Has V8 wait for half a minute without load instead of eight seconds before it shrinks the young generation and drops machine code that no object
 * of a request is left for: between two bursts of requests, all of it would be made again.
 */
function shrinkLate(): void {
  if (isOn('shrinking')) setFlagsFromString(shrinking)
}

/** By then, all threads have written what they have compiled, see `compile-cache.ts`. */
const startedMs = 2000

/**
 * Sets the options of a server soon after its start. V8 takes compiled code only from where it had the same options, so with them a start would
 * compile 200 modules of Node itself, in each thread, which takes twice as long.
 */
export function setServerOptions(): void {
  const set = () => {
    allocateYoung()
    shrinkLate()
  }
  setTimeout(set, startedMs).unref()
}

/**
 * Measured with 50 instances: without them and with more than one malloc arena, the agent needs 10 MB more. Most other options of V8 would
 * make it reject the compiled code that Node contains, and the agent would start half as fast.
 */
export const agentNodeOptions = ['--max-semi-space-size=2', '--v8-pool-size=1']

/** What is set at run time, where V8 ignores what it does not know. */
export const runtimeOptions = [youngAllocation, shrinking]
