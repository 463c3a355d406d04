/** Keeps `process.nextTick` fast in a process that runs for long. */
import { createHook } from 'node:async_hooks'

const kept: object[] = []

/**
 * Keeps an entry of the queue of `process.nextTick`, and thereby its hidden class, which V8 drops when a garbage collection finds
 * no object of it. Node builds entries with computed keys, and machine code for these never recovers from that: each request spends
 * 4 µs more from then on. To be called before the first full garbage collection of a thread.
 */
export function keepTickShape(): void {
  const hook = createHook({
    // It would slow every promise down for as long as the process lives.
    trackPromises: false,
    init: (_id, type, _trigger, entry: object) => {
      if (type === 'TickObject') kept.push(entry)
    },
  })
  hook.enable()
  process.nextTick(() => {})
  hook.disable()
}
