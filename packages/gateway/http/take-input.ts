/** Input that has arrived, and waits in the system for its turn. */
import { setImmediate as endOfIteration } from 'node:timers/promises'

/** Connections that wait at a port, if the system allows; a client beyond them tries again after seconds. */
export const maxUnaccepted = 4096

/**
 * Accepts and reads what arrived while the process was busy, until an iteration of the event loop brings nothing. An iteration
 * accepts one connection per port, and the current one may be past its input.
 */
export async function takeInput(): Promise<void> {
  // New input without end does not delay a stop any longer.
  let eventsBefore: number | undefined
  for (let iteration = 0; iteration <= maxUnaccepted; iteration++) {
    await endOfIteration()
    const { events } = performance.nodeTiming.uvMetricsInfo
    if (events === eventsBefore) return
    eventsBefore = events
  }
}
