/** Deployments to this machine: how soon they serve, what they lose, what their load balancer and their agent cost. */
import { setTimeout as sleep } from 'node:timers/promises'
import { askAgent } from '../packages/agent/agent-request.ts'
import type { DesiredInstance, DesiredState } from '../packages/base/net/agent-protocol.ts'
import { socketPathFor } from '../packages/base/storage/socket-path.ts'
import { toInstance } from '../test/support/agent.ts'
import {
  creation,
  type Deployments,
  receivedNumbers,
  sized,
  startDeployments,
  visit,
} from '../test/support/deployments.ts'
import type { TestEnd } from '../test/support/test-end.ts'
import {
  killAllInstances,
  startTraffic,
  trafficChanges,
  untilSettled,
} from '../test/support/traffic-changes.ts'
import { measure, median, print, round, toRows } from './measure.ts'
import type { BenchOptions } from './options.ts'
import { startPeers } from './peers.ts'
import {
  type Scratch,
  startAgent,
  startAgentBalancer,
  startAgentFront,
  type Target,
} from './targets.ts'
import { withEnd } from './with-end.ts'

const smallPath = '/networks/small'
const trafficRate = 500

/** The load balancer of the agent beside nginx. */
export async function measureBalancer(options: BenchOptions, scratch: Scratch): Promise<void> {
  const targets: Target[] = []
  try {
    const service = await startPeers(targets, scratch)
    targets.push(await startAgentBalancer(scratch.dir('agent'), options.dist, service))
    for (const hosts of [1, 500]) {
      const dir = scratch.dir(`front-${hosts}`)
      targets.push(await startAgentFront(dir, options.dist, { service, hosts }))
    }
    const small = await measure(targets, options, { path: smallPath, connections: 50 })
    print('Load balancer: 2 KB answers, 50 connections', toRows(small))
    const secure = await measure(
      targets.filter(({ securePort }) => securePort !== undefined),
      options,
      { path: smallPath, connections: 50, isSecure: true },
    )
    print('Load balancer: the same with TLS', toRows(secure))
    const megabyte = await measure(targets, options, { path: '/networks/mb1', connections: 16 })
    print('Load balancer: 1 MB answers, 16 connections', toRows(megabyte))
  } finally {
    for (const target of targets.reverse()) await target.process.stop()
  }
}

/** Instances that do nothing; what costs is to keep them, and to probe them each second. */
export async function measureAgentMemory(
  { dist, starts }: BenchOptions,
  scratch: Scratch,
): Promise<void> {
  const targets: Target[] = []
  try {
    const service = await startPeers(targets, scratch)
    const dir = scratch.dir('agent')
    const agent = startAgent(dir, dist)
    targets.push({ name: 'agent', port: 0, process: agent, headers: {} })
    const { port } = service
    const probe = { kind: 'http', path: '/health', intervalMs: 1000, timeoutMs: 5000 } as const
    const instances = Array.from({ length: 50 }, (_, index): DesiredInstance => {
      const readiness = { ...probe, host: '127.0.0.1', port }
      return toInstance(`instance-${index}`, ['sleep', '1000000'], { readiness })
    })
    const members = instances.map(({ id }) => ({
      instanceId: id,
      host: '127.0.0.1',
      port,
      inService: true,
    }))
    const healthCheck = { ...probe, healthyThreshold: 1, unhealthyThreshold: 2 }
    await desire(dir, {
      revision: 1,
      instances,
      loadBalancers: [{ id: 'bench', listeners: [], healthCheck, members }],
    })
    // The agent settles within some collections of its garbage.
    await sleep(starts * 5000)
    print('Agent with 50 instances, each probed twice a second', [
      { 'memory, MiB': round(agent.ownMebibytes()) },
    ])
    await desire(dir, { revision: 2, instances: [], loadBalancers: [] })
    await sleep(1000)
  } finally {
    for (const target of targets.reverse()) await target.process.stop()
  }
}

async function desire(dir: string, state: DesiredState): Promise<void> {
  const socketPath = socketPathFor(dir, 'agent.sock')
  for (let isTaken = false; !isTaken; await sleep(20)) {
    const sent = askAgent({
      socketPath,
      method: 'PUT',
      path: '/desired',
      body: JSON.stringify(state),
      signal: AbortSignal.timeout(5000),
    })
    isTaken = await sent.then(({ status }) => status === 200).catch(() => false)
  }
}

export function measureTimes(): Promise<void> {
  return withEnd(timeDeployments)
}

async function timeDeployments(t: TestEnd): Promise<void> {
  const fleet = await startDeployments(t, { isProcess: true })
  const first: number[] = []
  for (let count = 0; count < 5; count++) {
    const stack = `first${count}`
    const port = await fleet.balance(`shop-${stack}`)
    const task = { ...creation(stack, { loadBalancers: [`shop-${stack}`] }) }
    const startMs = performance.now()
    const id = await fleet.submit(task)
    await untilServed(port, `shop-${stack}-v000`)
    first.push(performance.now() - startMs)
    await fleet.ends(id)
  }
  const { servedMs, endedMs } = await measureRedBlack(fleet)
  print('Deployments', [
    { what: 'one instance: request until first response, median', ms: round(median(first)) },
    {
      what: 'red/black of 10 instances: request until first response of the new ones',
      ms: round(servedMs),
    },
    { what: 'red/black of 10 instances: request until the end of the task', ms: round(endedMs) },
  ])
}

async function measureRedBlack(fleet: Deployments): Promise<{ servedMs: number; endedMs: number }> {
  const port = await fleet.balance('shop-ten')
  const settings = { loadBalancers: ['shop-ten'], capacity: sized(10) }
  await fleet.deploy('ten', settings)
  const startMs = performance.now()
  const id = await fleet.submit(creation('ten', { ...settings, strategy: 'redblack' }))
  await untilServed(port, 'shop-ten-v001')
  const servedMs = performance.now() - startMs
  await fleet.ends(id)
  return { servedMs, endedMs: performance.now() - startMs }
}

async function untilServed(port: number, group: string): Promise<void> {
  while ((await visit(port)).group !== group) await sleep(5)
}

export function measureTraffic({ secondsEach }: BenchOptions): Promise<void> {
  return withEnd((t) => countLost(t, secondsEach * 60_000))
}

async function countLost(t: TestEnd, forMs: number): Promise<void> {
  const traffic = await startTraffic(t, { rate: trafficRate, size: 3 })
  const [gets, puts, posts] = traffic.loads
  const startMs = performance.now()
  const untilMs = startMs + forMs
  for (let round = 0; round === 0 || performance.now() < untilMs; round++) {
    for (const [, change] of [...trafficChanges, ['the death of all', killAllInstances] as const]) {
      await change(traffic)
      await untilSettled(traffic)
    }
  }
  const seconds = (performance.now() - startMs) / 1000
  await Promise.all(traffic.loads.map((load) => load.stop()))
  const received = receivedNumbers(traffic.fleet.dataDir)
  const sent = gets.counts.sent + puts.counts.sent + posts.counts.sent
  const failures = [...gets.counts.failures, ...puts.counts.failures]
  print(
    'Requests during strategies, resizes, rollbacks and kills; half of the clients keep their connection',
    [
      {
        seconds: round(seconds),
        'requests sent': sent,
        'requests/s': round(sent / seconds),
        'GET and PUT lost': failures.length,
        'POST failed': posts.counts.failures.length,
        'POST done twice': received.length - new Set(received).size,
      },
    ],
  )
  for (const failure of failures.slice(0, 10)) console.log(JSON.stringify(failure))
}
