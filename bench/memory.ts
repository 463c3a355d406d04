/** Memory: a gateway in front of services and one with every back end, idle and under load. */
import { setTimeout as sleep } from 'node:timers/promises'
import { load } from './load.ts'
import { print, type Row, round } from './measure.ts'
import type { BenchOptions } from './options.ts'
import {
  logIn,
  type Scratch,
  startGateway,
  startPathGateway,
  startService,
  type Target,
} from './targets.ts'

/** By then, a start or a load is over. */
const settleMs = 75_000
const loadSeconds = 30

export async function measureMemoryUse({ dist }: BenchOptions, scratch: Scratch): Promise<void> {
  const service = await startService(scratch.dir('service'))
  const rows: Row[] = []
  try {
    const external = await startPathGateway({ dir: scratch.dir('external'), dist, service })
    const standalone = await logIn(
      await startGateway({
        dir: scratch.dir('standalone'),
        dist,
        env: { HTTP_SHAREDREADS: 'true' },
      }),
    )
    await sleep(settleMs)
    rows.push(
      await measureUse(
        'gateway without back ends',
        external,
        '/applications/app-{connection}/serverGroupManagers',
      ),
    )
    rows.push(await measureUse('standalone', standalone, '/applications'))
    await external.process.stop()
    await standalone.process.stop()
  } finally {
    await service.process.stop()
  }
  print('Memory without pages of files (RssAnon), MiB', rows)
}

async function measureUse(
  what: string,
  { process, port, headers }: Target,
  path: string,
): Promise<Row> {
  const idle = process.ownMebibytes()
  const { peak } = await process.watchMemory(() =>
    load({ port, headers, path, connections: 50, seconds: loadSeconds }),
  )
  await sleep(settleMs)
  return {
    what,
    idle: round(idle),
    'under load at most': round(peak),
    'idle again': round(process.ownMebibytes()),
  }
}
