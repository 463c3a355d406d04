/** Measurements of targets under load, and the tables that show them. */
import { type LoadRequest, type LoadResult, load } from './load.ts'
import type { BenchOptions } from './options.ts'
import type { Target } from './targets.ts'

export type Row = Record<string, string | number>

const warmUpSeconds = 4
/** V8 compiles until then: the bare pass-through for some 25,000 requests, Fairlead for some 60,000. */
const warmUpRequests = 60_000
const maxWarmUps = 12

export interface Asked {
  isSecure?: boolean
  method?: string
  path: string
  connections: number
  rate?: number
  /** Besides those of the target. */
  headers?: Record<string, string>
  /** The status that counts, 200 unless given. */
  status?: number
  /** Other statuses, which are counted as refused. */
  tolerated?: readonly number[]
}

export interface Measured {
  target: Target
  best: LoadResult
  /** Microseconds of processor time of the target's own process for one answer, in each round. */
  cpuUs: number[]
  /** Answers a second in each round. */
  throughputs: number[]
  before: number
  peak: number
}

/** Measures the targets in turn, round after round, so that what else happens on the machine meets all of them. */
export async function measure(
  targets: Target[],
  { rounds, secondsEach }: BenchOptions,
  what: Asked,
): Promise<Measured[]> {
  const measured = new Map<Target, Measured>()
  for (const target of targets) {
    await load({ ...toRequest(target, what), seconds: warmUpSeconds })
  }
  for (let count = 0; count < rounds; count++) {
    for (const target of targets) {
      const before = target.process.ownMebibytes()
      const cpuBefore = target.process.cpuUs()
      const { result, peak } = await target.process.watchMemory(() =>
        load({ ...toRequest(target, what), seconds: secondsEach }),
      )
      const cpuUs = (target.process.cpuUs() - cpuBefore) / result.requests
      const known = measured.get(target)
      const isBetter =
        known === undefined ||
        (what.rate === undefined
          ? result.requestsPerSecond > known.best.requestsPerSecond
          : result.p99 < known.best.p99)
      measured.set(target, {
        target,
        best: isBetter ? result : known.best,
        cpuUs: [...(known?.cpuUs ?? []), cpuUs],
        throughputs: [...(known?.throughputs ?? []), result.requestsPerSecond],
        before: known?.before ?? before,
        peak: Math.max(known?.peak ?? 0, peak),
      })
    }
  }
  return [...measured.values()]
}

function toRequest(target: Target, what: Asked): Omit<LoadRequest, 'seconds'> {
  const port = (what.isSecure === true ? target.securePort : undefined) ?? target.port
  return { ...what, port, headers: { ...target.headers, ...what.headers } }
}

/** Until what runs often is compiled, or it takes too long on a busy machine. @returns requests that were answered */
export async function warmUp({ port, headers }: Target, asked: Asked): Promise<number> {
  let sent = 0
  for (let turn = 0; sent < warmUpRequests && turn < maxWarmUps; turn++) {
    sent += (await load({ port, headers, ...asked, seconds: warmUpSeconds })).requests
  }
  return sent
}

/** A row for each target; ratios are to the target of that name, or to the first where there is none. */
export function toRows(measured: Measured[], baseName = 'nginx'): Row[] {
  const base = measured.find(({ target }) => target.name === baseName) ?? measured[0]
  return measured.map(({ target, best, cpuUs, before, peak }) => {
    const isDirect = target.name === 'direct'
    // Both of a round ran within seconds of each other.
    const ratios = cpuUs.map((one, round) => one / (base?.cpuUs[round] ?? Number.NaN))
    return {
      target: target.name,
      'answers/s': round(best.requestsPerSecond),
      'MB/s': round(best.megabytesPerSecond),
      ratio: (best.requestsPerSecond / (base?.best.requestsPerSecond ?? Number.NaN)).toFixed(2),
      'p50 ms': best.p50.toFixed(2),
      'p99 ms': best.p99.toFixed(2),
      // The service itself is busy behind every target; its own time says nothing about direct access.
      'CPU µs/answer': isDirect ? '' : round(median(cpuUs)),
      'CPU ratio': isDirect ? '' : median(ratios).toFixed(2),
      'memory MiB': isDirect ? '' : `${round(before)} → ${round(peak)}`,
    }
  })
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}

export function print(title: string, rows: Row[]): void {
  const columns = Object.keys(rows[0] ?? {})
  const line = (cells: (string | number)[]) => `| ${cells.join(' | ')} |`
  console.log(`\n${title}\n\n${line(columns)}\n${line(columns.map(() => '---'))}`)
  for (const row of rows) console.log(line(columns.map((column) => row[column] ?? '')))
}

export function round(value: number): number {
  return Math.round(value)
}
