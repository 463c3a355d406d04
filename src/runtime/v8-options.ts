/**
 * Options of V8. None changes what Fairlead answers; a Node that does not know one ignores it where it is set at run time, and a test fails where
 * it is given at the start.
 */
import { setFlagsFromString } from 'node:v8'
import { isOn } from './without.ts'

const youngAllocation = '--no-allocation-site-pretenuring'

/** The option of `allocateYoung`, for a process that this one starts. */
export const youngNodeOptions: readonly string[] = isOn('young-allocation') ? [youngAllocation] : []

/**
 * Has V8 allocate everything in the young generation. It would otherwise allocate some objects of requests in the old one, at
 * random: where nearly all objects of a line of code have survived so far, as those of the start do. Such an object keeps its
 * whole request until the next full garbage collection. To be called before anything is loaded, as decisions stay.
 *
 * @see docs/performance.md#garbage
 */
export function allocateYoung(): void {
  for (const option of youngNodeOptions) setFlagsFromString(option)
}

/** As long as Fairlead itself waits before it collects (`telemetry/memory.ts`). */
const shrinking = '--memory-reducer-delay-ms=30000'

/**
 * Has V8 wait for half a minute without load instead of eight seconds before it shrinks the young generation and drops machine code that no object
 * of a request is left for: between two bursts of requests, all of it would be made again.
 */
export function shrinkLate(): void {
  if (isOn('shrinking')) setFlagsFromString(shrinking)
}

/**
 * Measured with 50 instances: without them and with more than one malloc arena, the agent needs 10 MB more. Most other options of V8 would
 * make it reject the compiled code that Node contains, and the agent would start half as fast.
 */
export const agentNodeOptions = ['--max-semi-space-size=2', '--v8-pool-size=1']

/** What is set at run time, where V8 ignores what it does not know. */
export const runtimeOptions = [youngAllocation, shrinking]
