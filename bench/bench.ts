/**
 * `npm run bench`: start, memory, the request path, small and large answers, compared with direct access, nginx and a bare
 * pass-through; the cost of the audit log; long lists; deployments to this machine; if named, workers, overload, requests without
 * login, a soak, builds, and Kubernetes.
 */
import { cpus } from 'node:os'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { measureLog, measurePolls, measurePush, measureQueue } from './builds.ts'
import { measureCanaries } from './canaries.ts'
import { measureCanaryJudge } from './canary-judge.ts'
import { openQuotas } from './cpu-quota.ts'
import { measureGateways } from './gateways.ts'
import { measureDeploy } from './kubernetes-deploy.ts'
import { measureMemory } from './kubernetes-memory.ts'
import { measureChanges, measureIdle, measureRestart } from './kubernetes-watches.ts'
import { measureLists } from './lists.ts'
import { type Asked, measure, median, print, type Row, round, toRows, warmUp } from './measure.ts'
import { measureMemoryUse } from './memory.ts'
import { type BenchOptions, parseOptions } from './options.ts'
import { measurePrices } from './prices.ts'
import { measureRestarts } from './restart.ts'
import { measureAttacks, measureOverload, measureSoak } from './steady.ts'
import { measureTakeovers } from './takeovers.ts'
import {
  createScratch,
  logIn,
  type Scratch,
  startGateway,
  startPassThrough,
  startPathGateway,
  startPeers,
  startService,
  type Target,
} from './targets.ts'

type Part = (options: BenchOptions, scratch: Scratch) => Promise<void>

const parts: Record<string, Part> = {
  start: measureStart,
  path: measurePath,
  small: measureSmall,
  large: measureLarge,
  audit: measureAudit,
  lists: measureLists,
  'deployments/balancer': (...given) => measureDeployments('measureBalancer', ...given),
  'deployments/memory': (...given) => measureDeployments('measureAgentMemory', ...given),
  'deployments/times': (...given) => measureDeployments('measureTimes', ...given),
  'deployments/traffic': (...given) => measureDeployments('measureTraffic', ...given),
}
/** They run only if they are named. */
const longParts: Record<string, Part> = {
  prices: measurePrices,
  console: (...given) => import('./console.ts').then(({ measureConsole }) => measureConsole(...given)),
  'canary-judge': measureCanaryJudge,
  progressive: (given) => import('./progressive.ts').then(({ measureProgressive }) => measureProgressive(given)),
  workers: measureWorkers,
  overload: measureOverload,
  attacks: measureAttacks,
  soak: measureSoak,
  gateways: measureGateways,
  memory: measureMemoryUse,
  'restart/apart': (...given) => measureRestarts('apart', 'kill', ...given),
  backends: measureTakeovers,
  'restart/standalone': (...given) => measureRestarts('standalone', 'kill', ...given),
  'restart/stops': async (...given) => {
    await measureRestarts('apart', 'stop', ...given)
    await measureRestarts('standalone', 'stop', ...given)
  },
  canaries: measureCanaries,
  'builds/push': measurePush,
  'builds/polls': measurePolls,
  'builds/queue': measureQueue,
  'builds/log': measureLog,
  'kubernetes/deploy': measureDeploy,
  'kubernetes/memory': measureMemory,
  'kubernetes/changes': measureChanges,
  'kubernetes/idle': measureIdle,
  'kubernetes/restart': measureRestart,
}
const smallPath = '/networks/small'
/** About one application, on which the user needs a permission. */
const applicationPath = '/applications/app-{connection}/serverGroupManagers'
const idleSeconds = 10
/** Of a core, for each worker: so little that it is what limits the throughput, even on a machine that does other work. */
const workerShare = 0.1

const options = parseOptions(process.argv.slice(2))
if (options !== undefined) await main(options)

async function main(options: BenchOptions): Promise<void> {
  if (process.platform !== 'linux') throw new Error('The benchmark reads processor time and memory from /proc: Linux only.')
  const scratch = createScratch()
  console.log(`Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}, ${options.dist ? 'bundle' : 'sources'}`)
  try {
    const isNamed = (name: string) => options.only.some((only) => `${name}/`.startsWith(`${only}/`))
    for (const [name, part] of Object.entries(longParts)) {
      if (isNamed(name)) await part(options, scratch)
    }
    for (const [name, part] of Object.entries(parts)) {
      if (options.only.length === 0 || isNamed(name)) await part(options, scratch)
    }
  } finally {
    scratch.remove()
  }
}

/** From the start of the process to the first 200 of /health, then resident memory after a pause. */
async function measureStart({ dist, starts }: BenchOptions, scratch: Scratch): Promise<void> {
  const service = await startService(scratch.dir('service'))
  const rows: Row[] = []
  try {
    for (const kind of ['standalone', 'external services'] as const) {
      const dir = scratch.dir(kind.replaceAll(' ', '-'))
      const start = { dir, dist, service: kind === 'standalone' ? undefined : service }
      const times: number[] = []
      for (let count = 0; count < starts + 1; count++) {
        const gateway = await startGateway(start)
        times.push(performance.now() - gateway.process.startedAt)
        await gateway.process.stop()
      }
      const gateway = await startGateway(start)
      await sleep(idleSeconds * 1000)
      const { now } = gateway.process.memory()
      await gateway.process.stop()
      const [first = Number.NaN, ...later] = times
      const sorted = later.sort((a, b) => a - b)
      rows.push({
        'back ends': kind,
        'first start ms': round(first),
        'later starts, median ms': round(sorted[Math.floor(sorted.length / 2)] ?? Number.NaN),
        'best ms': round(sorted[0] ?? Number.NaN),
        [`idle after ${idleSeconds} s, MiB`]: round(now),
      })
    }
  } finally {
    await service.process.stop()
  }
  print('Start and idle memory', rows)
}

/**
 * What a forwarded read costs with everything on that a gateway is for, beside a pass-through that does nothing else: as many
 * as 50 connections can get, then half of Fairlead's part of that.
 */
async function measurePath(options: BenchOptions, scratch: Scratch): Promise<void> {
  const targets: Target[] = []
  try {
    const service = await startPeers(targets, scratch)
    targets.push(await startPassThrough(scratch.dir('bare'), service))
    const { dist, without } = options
    targets.push(await startPathGateway({ dir: scratch.dir('fairlead'), dist, service }))
    if (without !== undefined) targets.push(await startPathGateway({ dir: scratch.dir('without'), dist, service }, without))
    const asked = { path: applicationPath, connections: 50 }
    const sent: string[] = []
    for (const target of targets.slice(1)) sent.push(`${target.name} ${await warmUp(target, asked)}`)
    console.log(`\nRequests before the measurement: ${sent.join(', ')}`)
    const full = await measure(targets.slice(1), options, asked)
    print('Request path: session, permission, metrics and log; 2 KB answers, 50 connections', toRows(full, 'bare'))
    const saturated = full.find(({ target }) => target.name === 'fairlead')?.best.requestsPerSecond ?? Number.NaN
    const rate = options.rate ?? Math.round(saturated / 200) * 100
    const steady = await measure(targets.slice(1), options, { ...asked, rate })
    print(`The same at ${rate} requests a second`, toRows(steady, 'bare'))
  } finally {
    for (const target of targets.reverse()) await target.process.stop()
  }
}

/**
 * One process and two workers. Each worker has a tenth of a core at most, so that the workers are what is saturated, and their throughput can be
 * compared. Then the same rate for each process, all of them on one core and the load on the other: the processor time of an
 * answer tells what they would do on cores of their own, whatever else the machine does.
 */
async function measureWorkers(options: BenchOptions, scratch: Scratch): Promise<void> {
  const service = await startService(scratch.dir('service'))
  const targets: Target[] = []
  try {
    for (const count of [1, 2]) {
      const name = `${count} worker${count === 1 ? '' : 's'}`
      const env = { SERVER_WORKERS: String(count), HTTP_OVERLOAD_ENABLED: 'false' }
      const dir = scratch.dir(`workers-${count}`)
      const target = await startGateway({ dir, dist: options.dist, service, name, env })
      targets.push(target)
      for (const endMs = performance.now() + 20_000; count > 1 && target.process.workers().length < count; await sleep(100)) {
        if (performance.now() > endMs) throw new Error('the workers do not start')
      }
      targets[targets.length - 1] = await logIn(target)
    }
    await sleep(idleSeconds * 1000)
    const idle = targets.map(({ process }) => describeMemory(process))
    const asked = { path: smallPath, connections: 64 }
    // Each worker compiles for itself.
    for (const target of targets) {
      for (let turn = 0; turn < Math.max(1, target.process.workers().length); turn++) await warmUp(target, asked)
    }
    await measureWithQuotas(targets, options, asked)
    for (const { process } of targets) process.pin(0)
    const perWorker = options.rate ?? 1000
    const rateOf = (target: Target) => perWorker * Math.max(1, target.process.workers().length)
    const steady = await measure(targets, options, { ...asked, rateOf })
    const one = steady[0]?.cpuUs ?? []
    print(
      `${perWorker} requests a second for each worker, 2 KB answers, session in a cookie; one core for all workers`,
      toRows(steady, '1 worker').map((row, index) => ({
        target: row['target'] ?? '',
        'answers/s': row['answers/s'] ?? '',
        'CPU µs/answer': row['CPU µs/answer'] ?? '',
        'throughput on cores of their own': median(
          (steady[index]?.cpuUs ?? []).map((cpuUs, turn) => ((index + 1) * (one[turn] ?? Number.NaN)) / cpuUs),
        ).toFixed(2),
        'idle memory MiB, without files': idle[index] ?? '',
        'after load': describeMemory((targets[index] as Target).process),
      })),
    )
  } finally {
    for (const target of targets) await target.process.stop()
    await service.process.stop()
  }
}

/** As many requests as the workers can answer. */
async function measureWithQuotas(targets: Target[], options: BenchOptions, asked: Asked): Promise<void> {
  const pids = targets.flatMap(({ process }) => (process.workers().length === 0 ? [process.pid] : process.workers()))
  const quotas = openQuotas(pids, workerShare)
  if (quotas === undefined) {
    console.log('/sys/fs/cgroup/cpu cannot be written: the throughput of saturated workers is not measured.')
    return
  }
  try {
    const full = await measure(targets, options, asked)
    const one = full[0]?.throughputs ?? []
    print(
      `Saturated: ${asked.connections} connections, each worker with ${workerShare * 100} % of a core`,
      full.map(({ target, throughputs, cpuUs }) => ({
        target: target.name,
        'answers/s': round(median(throughputs)),
        'CPU µs/answer': round(median(cpuUs)),
        ratio: median(throughputs.map((throughput, turn) => throughput / (one[turn] ?? Number.NaN))).toFixed(2),
      })),
    )
  } finally {
    for (const quota of quotas) quota.close()
  }
}

function describeMemory(process: Target['process']): string {
  const workers = process.workers().map((pid) => round(process.memory(pid).own))
  return [round(process.memory().own), ...workers].join(' + ')
}

/** Small answers: as many as 50 connections can get, and the wait at a fixed rate. */
async function measureSmall(options: BenchOptions, scratch: Scratch): Promise<void> {
  await withTargets(options, scratch, async (targets) => {
    const full = await measure(targets, options, { path: smallPath, connections: 50 })
    print('2 KB answers, 50 connections, session in a cookie', toRows(full))
    const steady = await measure(targets, options, { path: smallPath, connections: 20, rate: 1000 })
    print('The same at 1,000 requests a second', toRows(steady))
  })
}

/** Large answers stream: memory must not grow with them. */
async function measureLarge(options: BenchOptions, scratch: Scratch): Promise<void> {
  await withTargets(options, scratch, async (targets) => {
    const megabyte = await measure(targets, options, { path: '/networks/mb1', connections: 16 })
    print('1 MB answers, 16 connections', toRows(megabyte))
    const fifty = await measure(targets, options, { path: '/networks/mb50', connections: 8 })
    print('50 MB answers, 8 connections', toRows(fifty))
  })
}

/** It starts deployments as tests do, which choose between sources and bundle when they are loaded. */
async function measureDeployments(
  part: keyof typeof import('./deployments.ts'),
  options: BenchOptions,
  scratch: Scratch,
): Promise<void> {
  if (options.dist) process.env['TESTED_BUNDLE'] = resolve(import.meta.dirname, '..')
  const parts = await import('./deployments.ts')
  await parts[part](options, scratch)
}

/** What it costs that a change is on disk before it is answered. */
async function measureAudit(options: BenchOptions, scratch: Scratch): Promise<void> {
  const change = { method: 'PUT', path: '/pipelines/p1/cancel' }
  const gateways = {
    'audit off': { AUDIT_ENABLED: 'false' },
    'audit in SQLite': { AUDIT_SINK: 'sqlite' },
    'audit in files': { AUDIT_SINK: 'file' },
    'SQLite, required': { AUDIT_SINK: 'sqlite', AUDIT_REQUIRED: 'true' },
    'files, required': { AUDIT_SINK: 'file', AUDIT_REQUIRED: 'true' },
  }
  const title = 'Changes'
  await compare(options, scratch, { title: `${title}, 50 connections`, asked: { ...change, connections: 50 }, gateways })
  await compare(options, scratch, { title: `${title}, one at a time`, asked: { ...change, connections: 1 }, gateways })
}

interface Comparison {
  title: string
  asked: Asked
  /** Settings by name; ratios are to the first. */
  gateways: Record<string, Record<string, string>>
}

async function compare(options: BenchOptions, scratch: Scratch, { title, asked, gateways }: Comparison): Promise<void> {
  const targets: Target[] = []
  try {
    const service = await startService(scratch.dir('service'))
    targets.push(service)
    for (const [name, env] of Object.entries(gateways)) {
      targets.push(await logIn(await startGateway({ dir: scratch.dir('fairlead'), dist: options.dist, service, env, name })))
    }
    print(title, toRows(await measure(targets.slice(1), options, asked)))
  } finally {
    for (const target of targets.reverse()) await target.process.stop()
  }
}

async function withTargets({ dist }: BenchOptions, scratch: Scratch, use: (targets: Target[]) => Promise<void>): Promise<void> {
  const targets: Target[] = []
  try {
    const service = await startPeers(targets, scratch)
    targets.push(await logIn(await startGateway({ dir: scratch.dir('fairlead'), dist, service })))
    await use(targets)
  } finally {
    for (const target of targets.reverse()) await target.process.stop()
  }
}
