/** Memory: a gateway in front of services and one with every back end, idle and under load. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { load } from './load.ts'
import { print, type Row, round } from './measure.ts'
import type { BenchOptions } from './options.ts'
import { logIn, type Scratch, startGateway, startPathGateway, startService, type Target } from './targets.ts'

/** By then, garbage of the start is collected: see `src/telemetry/memory.ts`. */
const settleMs = 75_000
const loadSeconds = 30

export async function measureMemoryUse(options: BenchOptions, scratch: Scratch): Promise<void> {
  const { dist } = options
  const service = await startService(scratch.dir('service'))
  const rows: Row[] = []
  try {
    const external = await startPathGateway({ dir: scratch.dir('external'), dist, service })
    const standalone = await logIn(
      await startGateway({ dir: scratch.dir('standalone'), dist, env: { HTTP_SHAREDREADS: 'true' } }),
    )
    await sleep(settleMs)
    rows.push(await measureUse('gateway without back ends', external, '/applications/app-{connection}/serverGroupManagers'))
    rows.push(await measureUse('standalone', standalone, '/applications'))
    await external.process.stop()
    await standalone.process.stop()
  } finally {
    await service.process.stop()
  }
  print('Memory in MiB', rows)
}

async function measureUse(name: string, target: Target, path: string): Promise<Row> {
  const { process, port, headers } = target
  const idle = process.memory()
  const share = shareOf(process.pid)
  const children = process.children().map((pid) => round(shareOf(pid)))
  process.forgetPeak()
  await load({ port, headers, path, connections: 50, seconds: loadSeconds })
  const loaded = process.memory()
  await sleep(settleMs)
  return {
    what: name,
    'idle, RSS': round(idle.now),
    'of it own': round(idle.own),
    'idle, PSS': round(share),
    'processes beside it, PSS': children.join(' + '),
    'under load, RSS at most': round(loaded.peak),
    'own after load': round(loaded.own),
    'idle again, RSS': round(process.memory().now),
  }
}

/** Proportional set size in MiB: pages that several processes share count in parts. */
function shareOf(pid: number): number {
  return Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]) / 1024
}
