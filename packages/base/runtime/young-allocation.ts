/** Objects of requests stay young: an option of V8, which changes no answer. */
import { setFlagsFromString } from 'node:v8'

export const youngAllocation = '--no-allocation-site-pretenuring'
/** By then, all threads have written what they have compiled, see `compile-cache.ts`. */
const startedMs = 2000

/**
 * Has V8 allocate everything in the young generation. It would otherwise allocate some objects of requests in the old one, at random: where
 * nearly all objects of a line of code have survived so far, as those of the start do. Such an object keeps its whole request until the next
 * full garbage collection, which costs requests of every other start 7 to 18 %.
 *
 * Soon after the start only, as V8 takes compiled code from where it had the same options: the start would take twice as long.
 */
export function allocateYoung(): void {
  setTimeout(() => setFlagsFromString(youngAllocation), startedMs).unref()
}
