/** What each switch of `src/runtime/` brings: the request path with all of them, and without each one. */
import { setTimeout as sleep } from 'node:timers/promises'
import { switches } from '../src/runtime/without.ts'
import { load } from './load.ts'
import { print, type Row, warmUp } from './measure.ts'
import type { BenchOptions } from './options.ts'
import { type Scratch, startPassThrough, startPathGateway, startService, type Target } from './targets.ts'

/** Slices so short that what else the machine does meets all targets alike. */
const sliceSeconds = 0.12
const slices = { short: 120, long: 400 }
/** Of the slices: the quietest are the best to compare on a machine that does other work. */
const shares = [0.05, 0.15, 0.5]
const idleMs = 10_000
const asked = { path: '/applications/app-{connection}/serverGroupManagers', connections: 50 }

interface Priced {
  readonly target: Target
  readonly idleMebibytes: number
  /** Microseconds of processor time for a request, in each slice. */
  readonly cpuUs: number[]
}

/** The gateway with everything is started twice: what the two differ by is noise. */
export async function measurePrices({ dist, isShort }: BenchOptions, scratch: Scratch): Promise<void> {
  const service = await startService(scratch.dir('service'))
  const targets: Target[] = [service]
  try {
    targets.push(await startPassThrough(scratch.dir('bare'), service))
    for (const without of [undefined, undefined, ...switches]) {
      targets.push(await startPathGateway({ dir: scratch.dir('fairlead'), dist, service }, without))
    }
    await sleep(idleMs)
    const priced = targets.slice(1).map((target): Priced => ({ target, idleMebibytes: target.process.memory().own, cpuUs: [] }))
    for (const { target } of priced) await warmUp(target, asked)
    for (let slice = 0; slice < (isShort ? slices.short : slices.long); slice++) {
      for (let turn = 0; turn < priced.length; turn++) await measureSlice(priced[(slice + turn) % priced.length] as Priced)
    }
    print('Prices of src/runtime/: processor time of a request, and memory of its own', toPriceRows(priced))
  } finally {
    for (const target of targets.reverse()) await target.process.stop()
  }
}

async function measureSlice({ target, cpuUs }: Priced): Promise<void> {
  const { port, headers, process: measured } = target
  // What the pause has left in caches is not measured.
  await load({ ...asked, port, headers, seconds: sliceSeconds / 6 })
  const beforeUs = measured.cpuUs()
  const { requests } = await load({ ...asked, port, headers, seconds: sliceSeconds })
  cpuUs.push((measured.cpuUs() - beforeUs) / requests)
}

function toPriceRows(priced: readonly Priced[]): Row[] {
  const base = priced.find(({ target }) => target.name === 'fairlead')
  return priced.map(({ target, idleMebibytes, cpuUs }) => ({
    target: target.name,
    'CPU µs': quantile(cpuUs, 0.5).toFixed(1),
    ...Object.fromEntries(
      shares.map((share) => [
        `ratio at ${share * 100} %`,
        (quantile(cpuUs, share) / quantile(base?.cpuUs ?? [], share)).toFixed(3),
      ]),
    ),
    'idle MiB': idleMebibytes.toFixed(1),
    'after load MiB': target.process.memory().own.toFixed(1),
  }))
}

function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN
}
