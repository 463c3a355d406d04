/**
 * `npm run bench`: start, memory, the request path, small and large answers, compared with direct access, nginx and a bare
 * pass-through; the cost of the audit log; long lists; deployments; Kubernetes; if named, overload, requests without login, a soak and kills.
 */
import { cpus } from 'node:os'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { measureDbos } from './dbos.ts'
import { measureDefinitions, measureExecutions, measureWaking } from './engine.ts'
import { measureAccount, measureDeploys, measureRequests, measureVerdicts } from './kubernetes.ts'
import { measureLists } from './lists.ts'
import { type Asked, measure, print, type Row, round, toRows, warmUp } from './measure.ts'
import { measureMemoryUse } from './memory.ts'
import { type BenchOptions, parseOptions } from './options.ts'
import { gateways, startPeers } from './peers.ts'
import { measureRestarts } from './restart.ts'
import { measureAttacks, measureOverload, measureSoak } from './steady.ts'
import { measureSteps } from './steps.ts'
import {
  createScratch,
  logIn,
  type Scratch,
  startGateway,
  startPassThrough,
  startPathGateway,
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
  'engine/definitions': measureDefinitions,
  'engine/executions': measureExecutions,
  'engine/waking': measureWaking,
  'engine/steps': measureSteps,
  'engine/dbos': measureDbos,
  'deployments/balancer': (...given) => measureDeployments('measureBalancer', ...given),
  'deployments/memory': (...given) => measureDeployments('measureAgentMemory', ...given),
  'deployments/times': (...given) => measureDeployments('measureTimes', ...given),
  'kubernetes/verdicts': measureVerdicts,
  'kubernetes/account': measureAccount,
  'kubernetes/requests': measureRequests,
  'kubernetes/deploys': measureDeploys,
  'deployments/traffic': (...given) => measureDeployments('measureTraffic', ...given),
}
/** They run only if they are named. */
const longParts: Record<string, Part> = {
  overload: measureOverload,
  attacks: measureAttacks,
  soak: measureSoak,
  memory: measureMemoryUse,
  'restart/apart': (...given) => measureRestarts('apart', 'kill', ...given),
  'restart/standalone': (...given) => measureRestarts('standalone', 'kill', ...given),
  'restart/stops': async (...given) => {
    await measureRestarts('apart', 'stop', ...given)
    await measureRestarts('standalone', 'stop', ...given)
  },
}
const smallPath = '/networks/small'
/** About one application, on which the user needs a permission. */
const applicationPath = '/applications/app-{connection}/serverGroupManagers'
const idleSeconds = 10

const options = parseOptions(process.argv.slice(2))
if (options !== undefined) await main(options)

async function main(options: BenchOptions): Promise<void> {
  if (process.platform !== 'linux')
    throw new Error('The benchmark reads processor time and memory from /proc: Linux only.')
  const scratch = createScratch()
  console.log(
    `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model}, ${options.dist ? 'bundle' : 'sources'}`,
  )
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

/** From the start of the process to the first 200 of /health, then memory after a pause. */
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
      const own = gateway.process.ownMebibytes()
      await gateway.process.stop()
      const [first = Number.NaN, ...later] = times
      const sorted = later.sort((a, b) => a - b)
      rows.push({
        'back ends': kind,
        'first start ms': round(first),
        'later starts, median ms': round(sorted[Math.floor(sorted.length / 2)] ?? Number.NaN),
        'best ms': round(sorted[0] ?? Number.NaN),
        [`idle after ${idleSeconds} s, MiB`]: round(own),
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
    const service = await startPeers(targets, scratch, gateways)
    targets.push(await startPassThrough(scratch.dir('bare'), service))
    targets.push(
      await startPathGateway({ dir: scratch.dir('fairlead'), dist: options.dist, service }),
    )
    const asked = { path: applicationPath, connections: 50 }
    const sent: string[] = []
    for (const target of targets.slice(1))
      sent.push(`${target.name} ${await warmUp(target, asked)}`)
    console.log(`\nRequests before the measurement: ${sent.join(', ')}`)
    const full = await measure(targets.slice(1), options, asked)
    print(
      'Request path: session, permission, metrics and log; 2 KB answers, 50 connections',
      toRows(full, 'bare'),
    )
    const saturated =
      full.find(({ target }) => target.name === 'fairlead')?.best.requestsPerSecond ?? Number.NaN
    const rate = options.rate ?? Math.round(saturated / 200) * 100
    const steady = await measure(targets.slice(1), options, { ...asked, rate })
    print(`The same at ${rate} requests a second`, toRows(steady, 'bare'))
  } finally {
    for (const target of targets.reverse()) await target.process.stop()
  }
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
  await compare(options, scratch, {
    title: `${title}, 50 connections`,
    asked: { ...change, connections: 50 },
    gateways,
  })
  await compare(options, scratch, {
    title: `${title}, one at a time`,
    asked: { ...change, connections: 1 },
    gateways,
  })
}

interface Comparison {
  title: string
  asked: Asked
  /** Settings by name; ratios are to the first. */
  gateways: Record<string, Record<string, string>>
}

async function compare(
  options: BenchOptions,
  scratch: Scratch,
  { title, asked, gateways }: Comparison,
): Promise<void> {
  const targets: Target[] = []
  try {
    const service = await startService(scratch.dir('service'))
    targets.push(service)
    for (const [name, env] of Object.entries(gateways)) {
      targets.push(
        await logIn(
          await startGateway({
            dir: scratch.dir('fairlead'),
            dist: options.dist,
            service,
            env,
            name,
          }),
        ),
      )
    }
    print(title, toRows(await measure(targets.slice(1), options, asked)))
  } finally {
    for (const target of targets.reverse()) await target.process.stop()
  }
}

async function withTargets(
  { dist }: BenchOptions,
  scratch: Scratch,
  use: (targets: Target[]) => Promise<void>,
): Promise<void> {
  const targets: Target[] = []
  try {
    const service = await startPeers(targets, scratch)
    targets.push(await logIn(await startGateway({ dir: scratch.dir('fairlead'), dist, service })))
    await use(targets)
  } finally {
    for (const target of targets.reverse()) await target.process.stop()
  }
}
