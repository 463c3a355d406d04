/** The queue of `process.nextTick` in a process that runs for long. */
import { createHook } from 'node:async_hooks'
import { isOn } from './without.ts'

const kept: object[] = []

/**
 * Keeps an entry of the queue, and thereby its hidden class, which V8 drops when a garbage collection finds no object of it. Node builds entries
 * with computed keys, and machine code for these never recovers from that. To be called before the first full garbage collection of a thread. Should
 * entries have another name, nothing is kept, and each request takes longer from that collection on.
 */
export function keepTickShape(): void {
  if (!isOn('ticks')) return
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
