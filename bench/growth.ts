/** What grows with the amount of data, sessions and connections: the start, memory, the request path, and the list concerned. */
import { cpSync } from 'node:fs'
import { createConnection, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { load } from './load.ts'
import { print, type Row, round } from './measure.ts'
import type { BenchOptions } from './options.ts'
import { addApplications, addAuditRecords, addExecutions, addSessions, createData } from './seed.ts'
import { logIn, type Scratch, startGateway, type Target } from './targets.ts'

interface Dimension {
  readonly name: string
  /** The largest amount; a tenth and a hundredth of it are measured as well. */
  readonly most: number
  /** Adds so many to a data directory. */
  readonly add?: (dir: string, count: number) => void
  /** Adds so many to a running gateway. @returns ends it */
  readonly hold?: (target: Target, count: number) => Promise<() => void>
  /** The list that shows them. */
  readonly list?: string
}

const dimensions: readonly Dimension[] = [
  { name: 'requests before', most: 10_000, hold: sendRequests },
  { name: 'sessions', most: 100_000, add: addSessions, list: '/auth/sessions' },
  { name: 'applications', most: 10_000, add: addApplications, list: '/applications' },
  { name: 'idle connections', most: 10_000, hold: openConnections },
  { name: 'executions', most: 100_000, add: addExecutions, list: '/applications/shop/pipelines?limit=5&expand=false' },
  { name: 'audit records', most: 100_000, add: addAuditRecords, list: '/audit/events?limit=50' },
]
/** A forwarded read of an embedded service. */
const path = '/networks'
const maxLogins = 30
const settleMs = 5000

/** Each amount with a fresh process on a copy of the same data. */
export async function measureGrowth(options: BenchOptions, scratch: Scratch): Promise<void> {
  const model = scratch.dir('model')
  await createData(model, options.dist)
  const rows: Row[] = []
  for (const dimension of dimensions) {
    for (const share of [100, 10, 1]) {
      const dir = scratch.dir('growth')
      cpSync(join(model, 'data'), join(dir, 'data'), { recursive: true })
      const row = await measureAmount(options, { dir, dimension, count: dimension.most / share })
      console.error(Object.values(row).join(' | '))
      rows.push(row)
    }
  }
  print('Growth, every service embedded; memory after the list was read', rows)
}

async function measureAmount(
  { dist, secondsEach }: BenchOptions,
  { dir, dimension, count }: { dir: string; dimension: Dimension; count: number },
): Promise<Row> {
  dimension.add?.(dir, count)
  const gateway = await startGateway({ dir, dist, env: { AUDIT_ENABLED: 'true' } })
  const startMs = performance.now() - gateway.process.startedAt
  try {
    const target = await logInPatiently(gateway)
    // Until what a start leaves behind is done.
    await sleep(settleMs)
    const release = await dimension.hold?.(target, count)
    const request = await time(target, path, secondsEach)
    const list = dimension.list === undefined ? undefined : await time(target, dimension.list, secondsEach)
    release?.()
    return {
      what: dimension.name,
      count,
      'start ms': round(startMs),
      'memory MiB': round(target.process.memory().now),
      'request p50 ms': request.p50.toFixed(2),
      'request CPU µs': round(request.cpuUs),
      'list p50 ms': list?.p50.toFixed(2) ?? '',
      'list CPU µs': list === undefined ? '' : round(list.cpuUs),
    }
  } finally {
    await gateway.process.stop()
  }
}

/** After a start with much data the permission service may need a moment. */
async function logInPatiently(gateway: Target): Promise<Target> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await logIn(gateway)
    } catch (error) {
      if (attempt === maxLogins) throw error
      await sleep(1000)
    }
  }
}

async function time({ port, headers, process }: Target, asked: string, seconds: number): Promise<{ p50: number; cpuUs: number }> {
  const times: number[] = []
  let before = 0
  const read = async (untilMs: number) => {
    while (performance.now() < untilMs || times.length === 0) {
      const startedMs = performance.now()
      const answer = await fetch(`http://127.0.0.1:${port}${asked}`, { headers: { ...headers, 'accept-encoding': 'gzip' } })
      await answer.arrayBuffer()
      if (answer.status !== 200) throw new Error(`${asked} was answered with ${answer.status}.`)
      times.push(performance.now() - startedMs)
    }
  }
  for (const lastMs of [2000, seconds * 1000]) {
    times.length = 0
    before = process.cpuUs()
    await read(performance.now() + lastMs)
  }
  const sorted = times.toSorted((one, other) => one - other)
  return { p50: sorted[Math.floor(sorted.length / 2)] ?? Number.NaN, cpuUs: (process.cpuUs() - before) / times.length }
}

async function sendRequests({ port, headers }: Target, count: number): Promise<() => void> {
  for (let sent = 0; sent < count; ) sent += (await load({ port, headers, path, connections: 8, seconds: 1 })).requests
  return () => {}
}

/** Each has had one answer, and is kept open. */
async function openConnections({ port }: Target, count: number): Promise<() => void> {
  const sockets: Socket[] = []
  const open = () =>
    new Promise<void>((resolve, reject) => {
      const socket = createConnection({ port, host: '127.0.0.1' })
      sockets.push(socket)
      socket.once('data', () => resolve())
      socket.once('error', reject)
      socket.write('GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n')
    })
  for (let opened = 0; opened < count; opened += 100) await Promise.all(Array.from({ length: 100 }, open))
  for (const socket of sockets) socket.on('error', () => {})
  return () => {
    for (const socket of sockets) socket.destroy()
  }
}
