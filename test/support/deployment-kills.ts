/** Fairlead, its back ends, the agent, or several of them are killed in the middle of deployments, until what runs is what is desired. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { signalProcess } from '../../packages/agent/processes.ts'
import type { JsonObject } from '../../packages/base/json/values.ts'
import type { Execution } from '../../packages/engine/orchestration/model.ts'
import { readCommand } from './agent.ts'
import {
  type Deployments,
  listeningPorts,
  sized,
  startDeployments,
  type TaskView,
} from './deployments.ts'
import { createRandom } from './random.ts'
import type { TestEnd } from './test-end.ts'
import { waitUntil } from './wait-until.ts'

const creation = {
  type: 'createServerGroup',
  application: 'shop',
  stack: 'main',
  imageId: 'shop:1.0.0',
  loadBalancers: ['front'],
  capacity: sized(2),
}
/** A start of Fairlead costs most. */
const processVictims: readonly Victim[] = [
  ['agent'],
  ['Fairlead', 'standby', 'agent'],
  ['pumps', 'agent'],
  ['agent', 'Fairlead'],
]
/** The thread of the back ends can end without the process that it belongs to. */
const threadVictims: readonly Victim[] = [
  ['back ends'],
  ['instances', 'back ends'],
  ['agent', 'back ends'],
  ['standby', 'pumps'],
]
/** More steps than most of the changes have: some are over before anything is killed. */
const latestStep = 14

const place = { cloudProvider: 'local', account: 'dev', region: 'east' }
const changes: [name: string, job: (live: string) => JsonObject][] = [
  [
    'red/black in a pipeline',
    () => ({
      type: 'deploy',
      clusters: [{ ...place, ...creation, strategy: 'redblack', maxRemainingAsgs: 2 }],
    }),
  ],
  ['red/black', () => ({ ...creation, strategy: 'redblack', maxRemainingAsgs: 2 })],
  [
    'resize up',
    (serverGroupName) => ({ type: 'resizeServerGroup', serverGroupName, capacity: sized(4) }),
  ],
  [
    'resize down',
    (serverGroupName) => ({ type: 'resizeServerGroup', serverGroupName, capacity: sized(1) }),
  ],
  [
    'clone',
    (asgName) => ({
      type: 'cloneServerGroup',
      application: 'shop',
      stack: 'main',
      source: { account: 'dev', region: 'east', asgName },
      strategy: 'highlander',
    }),
  ],
  [
    'rolling red/black',
    () => ({ ...creation, strategy: 'rollingredblack', targetPercentages: [50, 100] }),
  ],
  ['deployment without a strategy', () => creation],
  [
    'canary',
    () => ({
      ...creation,
      strategy: 'canary',
      canary: { steps: [{ percent: 10, pauseSeconds: 0.2 }, { percent: 60 }] },
    }),
  ],
]

/** Killed in this order. */
type Victim = readonly ('agent' | 'Fairlead' | 'back ends' | 'standby' | 'pumps' | 'instances')[]

export interface KillsOptions {
  /** The back ends alone are killed, instead of the process with them. */
  readonly killsThreads?: boolean
  readonly rounds: number
  /** The same seed kills the same processes at the same steps. */
  readonly seed: number
}

/**
 * Kills in the middle of one change after the other.
 *
 * @returns milliseconds from each kill until the change was over and everything was as desired
 * @throws {Error} where that never comes
 */
export async function runKills(
  t: TestEnd,
  { rounds, seed, killsThreads = false }: KillsOptions,
): Promise<number[]> {
  const random = createRandom(seed)
  const victims = killsThreads ? threadVictims : processVictims
  const threads = watchThreads(t)
  const fleet = await startDeployments(t, killsThreads ? { hasThread: true } : { isProcess: true })
  const port = await fleet.balance('front')
  await fleet.run(creation)
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    // Half of the changes, the other half next; so two searches of four rounds with different victims interrupt each change.
    const turn = Math.floor((2 * round) / changes.length) + seed
    const [name, job] = changes[(2 * round + ((turn + Number(killsThreads)) % 2)) % changes.length]!
    const victim = victims[(round + turn) % victims.length]!
    const before = await namesOf(fleet)
    const step = Math.floor(random() * latestStep)
    const title = `round ${round}: ${victim.join(' and ')} at step ${step} of ${name}`
    const { kind, id } = await begin(fleet, job(await liveGroup(fleet)))
    await reached(fleet, `/${kind}/${id}`, step)
    const killedMs = performance.now()
    const { pid, standby } = await fleet.observed()
    const kill: Record<Victim[number], () => unknown> = {
      agent: () => killAll([pid]),
      standby: () => killAll(standby === undefined ? [] : [standby]),
      pumps: () => killAll(pumpsOf(fleet)),
      instances: () => killAll(fleet.processes().map((found) => found.pid)),
      Fairlead: () => fleet.restart(),
      'back ends': () =>
        threads.findLast(({ threadName }) => threadName === 'backends')?.terminate(),
    }
    for (const name of victim) await kill[name]()
    await fleet.ends(id, 'SUCCEEDED', kind)
    let difference: string | undefined
    await waitUntil(
      async () => {
        difference = await differenceOf(fleet, port)
        return difference === undefined
      },
      () => `${title}: ${difference}`,
    )
    const added = (await namesOf(fleet)).filter((name) => !before.includes(name))
    const wanted = /resize/.test(name) ? 0 : 1
    assert.equal(
      added.length,
      wanted,
      `${title}: it has created ${added.join(' and ') || 'nothing'}`,
    )
    times.push(performance.now() - killedMs)
  }
  return times
}

async function liveGroup(fleet: Deployments): Promise<string> {
  const groups = (await fleet.groups()).filter(({ isDisabled }) => !isDisabled)
  return groups.sort((one, other) => other.createdTime - one.createdTime)[0]?.name ?? ''
}

/** As a task, and what is a stage of pipelines only as a pipeline. */
async function begin(
  fleet: Deployments,
  job: JsonObject,
): Promise<{ kind: 'tasks' | 'pipelines'; id: string }> {
  if (job['type'] !== 'deploy') return { kind: 'tasks', id: await fleet.submit(job) }
  const pipeline = {
    application: 'shop',
    name: 'ship',
    stages: [{ refId: '1', requisiteStageRefIds: [], ...job }],
  }
  const known = await fleet.read<JsonObject[]>('/applications/shop/pipelineConfigs')
  const saved = await fleet.ask('POST', '/pipelines', { ...known[0], ...pipeline })
  assert.equal(saved.status, 200, JSON.stringify(saved.body))
  const { status, body } = await fleet.ask('POST', '/pipelines/shop/ship', { type: 'manual' })
  assert.equal(status, 202, JSON.stringify(body))
  return {
    kind: 'pipelines',
    id: String((body as { ref: string }).ref)
      .split('/')
      .at(-1) as string,
  }
}

/** Waits until so many steps have begun, or the execution is over. */
async function reached(fleet: Deployments, path: string, step: number): Promise<void> {
  const begun = (stages: Execution['stages']) =>
    stages.flatMap(({ tasks }) => tasks).filter(({ status }) => status !== 'NOT_STARTED').length
  await waitUntil(async () => {
    const found = await fleet.read<TaskView | Execution>(path)
    const { status, stages } = 'execution' in found ? found.execution : found
    return !['NOT_STARTED', 'RUNNING'].includes(status) || begun(stages) >= step
  }, `step ${step} of ${path}`)
}

/** Those that have been started; the thread of the back ends is the last one with its name. */
function watchThreads(t: TestEnd): Worker[] {
  const threads: Worker[] = []
  const remember = (thread: Worker) => void threads.push(thread)
  process.on('worker', remember)
  t.after(() => void process.off('worker', remember))
  return threads
}

function killAll(pids: readonly number[]): void {
  for (const pid of pids) signalProcess(pid, 'SIGKILL')
}

/** Shells that have the console of an instance in their command. */
function pumpsOf({ dataDir }: Deployments): number[] {
  const instances = `${join(dataDir, 'instances')}/`
  const isPump = (pid: string) =>
    readCommand(pid).some((word) => word.startsWith(instances) && word.endsWith('/console'))
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && isPump(name))
    .map(Number)
}

async function namesOf(fleet: Deployments): Promise<string[]> {
  return (await fleet.groups()).map(({ name }) => name)
}

/** Undefined when the API, the agent, the processes, the ports and the files all say the same. */
async function differenceOf(fleet: Deployments, port: number): Promise<string | undefined> {
  const groups = await fleet.groups()
  const sizes = groups.filter(({ capacity, instances }) => capacity.desired !== instances.length)
  if (sizes.length > 0) return `sizes: ${JSON.stringify(sizes)}`
  const shares = groups.filter(({ trafficPercent }) => trafficPercent !== undefined)
  if (shares.length > 0) return `shares: ${JSON.stringify(shares)}`
  const wrong = groups.flatMap(({ isDisabled, instances }) =>
    instances.filter(({ healthState }) => healthState !== (isDisabled ? 'OutOfService' : 'Up')),
  )
  if (wrong.length > 0) return `health: ${JSON.stringify(wrong)}`
  const desired = groups.flatMap(({ instances }) => instances.map(({ id }) => id)).sort()
  const observed = await fleet.observed().catch(() => undefined)
  if (observed === undefined) return 'no agent answers'
  const { instances, loadBalancers } = observed
  const real = {
    observed: instances.map(({ id }) => id).sort(),
    ready: instances
      .filter(({ phase }) => phase === 'ready')
      .map(({ id }) => id)
      .sort(),
    processes: fleet
      .processes()
      .map(({ instanceId }) => instanceId)
      .sort(),
    folders: readdirSync(join(fleet.dataDir, 'instances')).sort(),
    members: loadBalancers
      .flatMap(({ members }) => members.map(({ instanceId }) => instanceId))
      .sort(),
  }
  for (const [what, ids] of Object.entries(real)) {
    if (ids.join() !== desired.join())
      return `${what}: ${ids.join(' ')}, and the desired ones are ${desired.join(' ')}`
  }
  const pumps = pumpsOf(fleet)
  if (pumps.length !== desired.length) return `pumps: ${pumps.join(' ')}`
  const ports = listeningPorts(fleet.ports)
  if (ports.length !== desired.length) return `ports: ${ports.join(' ')}`
  // The connection before may have ended with an instance or the agent.
  const answer = await fetch(`http://127.0.0.1:${port}/`).catch((error: Error) => error)
  if (answer instanceof Error) return `the load balancer does not answer: ${String(answer.cause)}`
  return answer.status === 200 ? undefined : `the load balancer answers ${answer.status}`
}
