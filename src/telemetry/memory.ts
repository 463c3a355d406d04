/** Memory of the process: what only the start needed, and what load needs. */
import { setFlagsFromString } from 'node:v8'
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

/** The same, once what is loaded at the start is there. @param before What else is done then. */
export function giveBackMemoryOnceSettled(before = () => {}): void {
  setTimeout(() => {
    before()
    giveBackMemory()
  }, settledMs).unref()
}

const growthFactor = 16

/**
 * Has the young generation of V8 grow to its full size with the first load, instead of by doubling. While it is small, most of
 * what a request allocates is copied several times, and then collected at length. An idle process shrinks it again.
 */
export function growWithLoad(): void {
  setFlagsFromString(`--semi-space-growth-factor=${growthFactor}`)
}
