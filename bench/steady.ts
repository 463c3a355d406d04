/** What is measured of steadiness: goodput under overload, requests without login for a minute, and a soak with curves. */
import { execFile } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Curve, drawCurves } from './curves.ts'
import { load } from './load.ts'
import { print, round } from './measure.ts'
import type { BenchOptions } from './options.ts'
import { logIn, type Scratch, startGateway, startService, type Target } from './targets.ts'

const smallPath = '/networks/small'
const run = promisify(execFile)

async function withGateway(
  { dist }: BenchOptions,
  scratch: Scratch,
  use: (gateway: Target) => Promise<void>,
  env: Record<string, string> = {},
): Promise<void> {
  const service = await startService(scratch.dir('service'))
  const gateway = await startGateway({ dir: scratch.dir('fairlead'), dist, service, env })
  try {
    await use(await logIn(gateway))
  } finally {
    await gateway.process.stop()
    await service.process.stop()
  }
}

/** Offers three times what the gateway can answer, on many connections: what is still answered with 200. */
export async function measureOverload(options: BenchOptions, scratch: Scratch): Promise<void> {
  await withGateway(options, scratch, async ({ port, headers }) => {
    const ask = { port, headers, path: smallPath, tolerated: [503] }
    await load({ ...ask, connections: 50, seconds: 4 })
    const seconds = options.secondsEach * 3
    const peak = await load({ ...ask, connections: 50, seconds })
    const offered = peak.requestsPerSecond * 3
    const healthTimes: number[] = []
    const probing = probe(port, '/health', {}, healthTimes, (settleSeconds + seconds) * 1000)
    const over = await load({ ...ask, connections: 3000, seconds, settleSeconds, rate: offered })
    await probing
    print('Three times the capacity, 3,000 connections', [
      {
        load: 'as much as 50 connections get',
        'answers/s': round(peak.requestsPerSecond),
        'rejected/s': 0,
        'p99 ms': round(peak.p99),
      },
      {
        load: `${round(offered)} requests/s offered`,
        'answers/s': round(over.requestsPerSecond),
        'rejected/s': round(over.refused / seconds),
        'p99 ms': round(over.p99),
        'of the peak': `${round((100 * over.requestsPerSecond) / peak.requestsPerSecond)} %`,
        '/health p99 ms': round(quantile(healthTimes, 0.99)),
      },
    ])
  })
}

/** Times a request again and again, one after the other. Failures count as infinitely slow. */
async function probe(
  port: number,
  path: string,
  headers: Record<string, string>,
  times: number[],
  durationMs: number,
): Promise<void> {
  const endsMs = performance.now() + durationMs
  while (performance.now() < endsMs) {
    const startedMs = performance.now()
    const status = await fetch(`http://127.0.0.1:${port}${path}`, { headers, signal: AbortSignal.timeout(30_000) })
      .then(async (answer) => {
        await answer.arrayBuffer()
        return answer.status
      })
      .catch(() => 0)
    times.push(status === 200 ? performance.now() - startedMs : Number.POSITIVE_INFINITY)
    await sleep(20)
  }
}

function quantile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

const attackers = 50
const settleSeconds = 10

/** 50 connections without a session send whatever for a minute; logged-in users and probes must hardly notice. */
export async function measureAttacks(options: BenchOptions, scratch: Scratch): Promise<void> {
  const seconds = (options.minutes ?? 1) * 60
  await withGateway(options, scratch, async ({ port, headers, process: measured }) => {
    await load({ port, headers, path: smallPath, connections: 4, seconds: 3, rate: 200 })
    await sleep(10_000)
    const idle = measured.memory().now
    measured.forgetPeak()
    const [health, reads]: [number[], number[]] = [[], []]
    const program = [resolve(import.meta.dirname, 'attacks.ts'), port, attackers, seconds].map(String)
    const [sent] = await Promise.all([
      run(process.execPath, program),
      probe(port, '/health', {}, health, seconds * 1000),
      probe(port, smallPath, headers, reads, seconds * 1000),
    ])
    const { peak } = measured.memory()
    await sleep(Math.min(60, seconds) * 1000)
    const after = measured.memory().now
    print(`${attackers} connections without a session for ${seconds} s`, [
      row('/health p99 ms', quantile(health, 0.99), 50),
      row('reads with a session p99 ms', quantile(reads, 0.99), 250),
      row('memory at most, MiB', peak, 400),
      row('memory a minute later, of idle, %', (100 * after) / idle, 120),
      { measured: 'requests sent', value: Number(sent.stdout), target: '' },
    ])
  })
}

function row(measured: string, value: number, target: number) {
  return { measured, value: round(value), target: `${value <= target ? '' : 'missed: '}≤ ${target}` }
}

/** A mix of reads, changes, logins and clients that leave, and what the process holds meanwhile. */
export async function measureSoak(options: BenchOptions, scratch: Scratch): Promise<void> {
  const seconds = (options.minutes ?? 10) * 60
  await withGateway(options, scratch, async ({ port, headers, process }) => {
    const curves: Record<'memory' | 'descriptors' | 'delay', Curve> = {
      memory: { title: 'Resident memory, MiB', points: [] },
      descriptors: { title: 'Open descriptors', points: [] },
      delay: { title: 'Event loop delay p99, ms', points: [] },
    }
    const ask = { port, headers, seconds, tolerated: [503] }
    const startedMs = performance.now()
    const endsMs = startedMs + seconds * 1000
    const sampling = (async () => {
      while (performance.now() < endsMs) {
        const metrics = await (await fetch(`http://127.0.0.1:${port}/spectator/metrics`)).text()
        const second = (performance.now() - startedMs) / 1000
        curves.memory.points.push([second, process.memory().now])
        curves.descriptors.points.push([second, readdirSync(`/proc/${process.pid}/fd`).length])
        curves.delay.points.push([
          second,
          1000 * Number(/^nodejs_eventloop_lag_p99_seconds (\S+)/m.exec(metrics)?.[1] ?? Number.NaN),
        ])
        await sleep(1000)
      }
    })()
    const leaving = (async () => {
      while (performance.now() < endsMs) {
        const gone = new AbortController()
        setTimeout(() => gone.abort(), 20)
        await fetch(`http://127.0.0.1:${port}/networks/mb50`, { headers, signal: gone.signal })
          .then((answer) => answer.arrayBuffer())
          .catch(() => {})
        await logIn({ name: 'again', port, headers: {}, process })
        await sleep(200)
      }
    })()
    await Promise.all([
      load({ ...ask, path: smallPath, connections: 20, rate: 500 }),
      load({ ...ask, path: '/networks/mb1', connections: 2, rate: 10 }),
      load({ ...ask, path: '/pipelines/p1/cancel', method: 'PUT', connections: 2, rate: 20 }),
      sampling,
      leaving,
    ])
    const file = resolve('soak.svg')
    writeFileSync(file, drawCurves(Object.values(curves)))
    print(
      `${seconds} s of mixed load; curves in ${file}`,
      Object.values(curves).map(({ title, points }) => ({
        measured: title,
        'second quarter': round(median(points, 0.25, 0.5)),
        'last quarter': round(median(points, 0.75, 1)),
      })),
    )
  })
}

function median(points: Curve['points'], from: number, to: number): number {
  const part = points.slice(Math.floor(points.length * from), Math.ceil(points.length * to)).map(([, value]) => value)
  return quantile(part, 0.5)
}
