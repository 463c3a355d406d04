/**
 * SIGKILL of Fairlead, of the agent or of both in the middle of deployments: afterwards what runs is what is desired.
 * `DEPLOYMENT_KILLS=100` makes it a long search, and `DEPLOYMENT_KILLS_SEED` repeats one.
 */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { JsonObject } from '../../src/json/values.ts'
import { freePort } from '../support/free-port.ts'
import { balancerOf, type Installation, listeningPorts, place, startInstallation, type Task } from '../support/installation.ts'
import { createRandom } from '../support/random.ts'
import { waitUntil } from '../support/wait-until.ts'

const rounds = Number(process.env['DEPLOYMENT_KILLS'] ?? 12)
const seed = Number(process.env['DEPLOYMENT_KILLS_SEED'] ?? randomInt(1_000_000))
const capacityOf = (desired: number) => ({ min: desired, max: desired, desired })
const creation = { ...place, stack: 'main', imageId: 'shop:1.0.0', loadBalancers: ['front'], capacity: capacityOf(2) }
/** A start of Fairlead costs most. */
const victims = ['the agent', 'Fairlead', 'the agent', 'both'] as const
/** More steps than most of the changes have: some are over before anything is killed. */
const latestStep = 14

const changes: [name: string, job: (live: string) => JsonObject][] = [
  ['red/black', () => ({ type: 'createServerGroup', ...creation, strategy: 'redblack', maxRemainingAsgs: 2 })],
  ['resize up', (serverGroupName) => ({ type: 'resizeServerGroup', ...place, serverGroupName, capacity: capacityOf(4) })],
  ['resize down', (serverGroupName) => ({ type: 'resizeServerGroup', ...place, serverGroupName, capacity: capacityOf(1) })],
  [
    'clone',
    (asgName) => ({
      type: 'cloneServerGroup',
      ...place,
      stack: 'main',
      source: { account: 'dev', region: 'east', asgName },
      strategy: 'highlander',
    }),
  ],
  [
    'rolling red/black',
    () => ({ type: 'createServerGroup', ...creation, strategy: 'rollingredblack', targetPercentages: [50, 100] }),
  ],
  ['deployment without a strategy', () => ({ type: 'createServerGroup', ...creation })],
  ['highlander', () => ({ type: 'createServerGroup', ...creation, strategy: 'highlander' })],
]

test(`killing Fairlead and its agent at any step leaves what is desired (seed ${seed})`, async (t) => {
  const random = createRandom(seed)
  const installation = await startInstallation(t)
  const port = await prepare(installation)
  for (let round = 0; round < rounds; round++) {
    const [name, job] = changes[round % changes.length]!
    const victim = victims[round % victims.length]!
    const step = Math.floor(random() * latestStep)
    const title = `round ${round}: ${victim} at step ${step} of ${name}`
    const path = await installation.submit(job(await liveGroup(installation)))
    await reached(installation, path, step)
    await kill(installation, victim)
    const task = await installation.ended(path)
    assert.equal(task.status, 'SUCCEEDED', `${title}: ${JSON.stringify(task.execution.stages)}`)
    let difference: string | undefined = ''
    await waitUntil(
      async () => {
        difference = await differenceOf(installation, port)
        return difference === undefined
      },
      () => `${title}: ${difference}`,
    )
  }
})

async function prepare(installation: Installation): Promise<number> {
  await installation.putImage('1.0.0')
  const port = await freePort()
  await installation.run(balancerOf('front', port))
  await installation.run({ type: 'createServerGroup', ...creation })
  return port
}

async function liveGroup(installation: Installation): Promise<string> {
  const groups = (await installation.groups()).filter(({ isDisabled }) => !isDisabled)
  return groups.sort((one, other) => other.createdTime - one.createdTime)[0]?.name ?? ''
}

/** Waits until so many steps have begun, or the task is over. */
async function reached(installation: Installation, path: string, step: number): Promise<void> {
  const begun = ({ execution }: Task) =>
    execution.stages.flatMap(({ tasks }) => tasks).filter(({ status }) => status !== 'NOT_STARTED').length
  await waitUntil(async () => {
    const task = await installation.ask<Task>('GET', path)
    return !['NOT_STARTED', 'RUNNING'].includes(task.status) || begun(task) >= step
  }, `step ${step} of ${path}`)
}

async function kill(installation: Installation, victim: (typeof victims)[number]): Promise<void> {
  if (victim !== 'Fairlead') process.kill((await installation.observed()).pid, 'SIGKILL')
  if (victim === 'the agent') return
  await installation.kill()
  await installation.start()
}

/** Undefined when the API, the agent, the processes, the ports and the files all say the same. */
async function differenceOf(installation: Installation, port: number): Promise<string | undefined> {
  const groups = await installation.groups()
  const sizes = groups.filter(({ capacity, instances }) => capacity.desired !== instances.length)
  if (sizes.length > 0) return `sizes: ${JSON.stringify(sizes)}`
  const wrong = groups.flatMap(({ isDisabled, instances }) =>
    instances.filter(({ healthState }) => healthState !== (isDisabled ? 'OutOfService' : 'Up')),
  )
  if (wrong.length > 0) return `health: ${JSON.stringify(wrong)}`
  const desired = groups.flatMap(({ instances }) => instances.map(({ id }) => id)).sort()
  const observed = await installation.observed().catch(() => undefined)
  if (observed === undefined) return 'no agent answers'
  const { instances, loadBalancers } = observed
  const real = {
    observed: instances.map(({ id }) => id).sort(),
    ready: instances
      .filter(({ phase }) => phase === 'ready')
      .map(({ id }) => id)
      .sort(),
    processes: installation
      .processes()
      .map(({ instanceId }) => instanceId)
      .sort(),
    folders: readdirSync(join(installation.dataDir, 'instances')).sort(),
    members: loadBalancers.flatMap(({ members }) => members.map(({ instanceId }) => instanceId)).sort(),
  }
  for (const [what, ids] of Object.entries(real)) {
    if (ids.join() !== desired.join()) return `${what}: ${ids.join(' ')}, and the desired ones are ${desired.join(' ')}`
  }
  const ports = listeningPorts(installation.firstPort, installation.firstPort + 99)
  if (ports.length !== desired.length) return `ports: ${ports.join(' ')}`
  const { status } = await fetch(`http://127.0.0.1:${port}/`)
  return status === 200 ? undefined : `the load balancer answers ${status}`
}
