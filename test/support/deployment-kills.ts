/** SIGKILL of Fairlead, of the agent or of both in the middle of deployments, until what runs is what is desired. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { JsonObject } from '../../src/json/values.ts'
import { type Deployments, listeningPorts, sized, startDeployments, type TaskView } from './deployments.ts'
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
const victims = ['the agent', 'Fairlead', 'the agent', 'both'] as const
/** More steps than most of the changes have: some are over before anything is killed. */
const latestStep = 14

const changes: [name: string, job: (live: string) => JsonObject][] = [
  ['red/black', () => ({ ...creation, strategy: 'redblack', maxRemainingAsgs: 2 })],
  ['resize up', (serverGroupName) => ({ type: 'resizeServerGroup', serverGroupName, capacity: sized(4) })],
  ['resize down', (serverGroupName) => ({ type: 'resizeServerGroup', serverGroupName, capacity: sized(1) })],
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
  ['rolling red/black', () => ({ ...creation, strategy: 'rollingredblack', targetPercentages: [50, 100] })],
  ['deployment without a strategy', () => creation],
  ['highlander', () => ({ ...creation, strategy: 'highlander' })],
]

export interface KillsOptions {
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
export async function runKills(t: TestEnd, { rounds, seed }: KillsOptions): Promise<number[]> {
  const random = createRandom(seed)
  const fleet = await startDeployments(t, { isProcess: true })
  const port = await fleet.balance('front')
  await fleet.run(creation)
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const [name, job] = changes[round % changes.length]!
    const victim = victims[round % victims.length]!
    const step = Math.floor(random() * latestStep)
    const title = `round ${round}: ${victim} at step ${step} of ${name}`
    const id = await fleet.submit(job(await liveGroup(fleet)))
    await reached(fleet, id, step)
    const killedMs = performance.now()
    await kill(fleet, victim)
    await fleet.ends(id)
    let difference: string | undefined
    await waitUntil(
      async () => {
        difference = await differenceOf(fleet, port)
        return difference === undefined
      },
      () => `${title}: ${difference}`,
    )
    times.push(performance.now() - killedMs)
  }
  return times
}

async function liveGroup(fleet: Deployments): Promise<string> {
  const groups = (await fleet.groups()).filter(({ isDisabled }) => !isDisabled)
  return groups.sort((one, other) => other.createdTime - one.createdTime)[0]?.name ?? ''
}

/** Waits until so many steps have begun, or the task is over. */
async function reached(fleet: Deployments, id: string, step: number): Promise<void> {
  const begun = ({ execution }: TaskView) =>
    execution.stages.flatMap(({ tasks }) => tasks).filter(({ status }) => status !== 'NOT_STARTED').length
  await waitUntil(async () => {
    const task = await fleet.read<TaskView>(`/tasks/${id}`)
    return !['NOT_STARTED', 'RUNNING'].includes(task.status) || begun(task) >= step
  }, `step ${step} of ${id}`)
}

async function kill(fleet: Deployments, victim: (typeof victims)[number]): Promise<void> {
  if (victim !== 'Fairlead') process.kill((await fleet.observed()).pid, 'SIGKILL')
  if (victim !== 'the agent') await fleet.restart()
}

/** Undefined when the API, the agent, the processes, the ports and the files all say the same. */
async function differenceOf(fleet: Deployments, port: number): Promise<string | undefined> {
  const groups = await fleet.groups()
  const sizes = groups.filter(({ capacity, instances }) => capacity.desired !== instances.length)
  if (sizes.length > 0) return `sizes: ${JSON.stringify(sizes)}`
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
    members: loadBalancers.flatMap(({ members }) => members.map(({ instanceId }) => instanceId)).sort(),
  }
  for (const [what, ids] of Object.entries(real)) {
    if (ids.join() !== desired.join()) return `${what}: ${ids.join(' ')}, and the desired ones are ${desired.join(' ')}`
  }
  const ports = listeningPorts(fleet.ports)
  if (ports.length !== desired.length) return `ports: ${ports.join(' ')}`
  const { status } = await fetch(`http://127.0.0.1:${port}/`)
  return status === 200 ? undefined : `the load balancer answers ${status}`
}
