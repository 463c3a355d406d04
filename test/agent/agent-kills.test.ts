/**
 * `kill -9` of the agent at any moment: afterwards what runs is what is desired. `AGENT_KILLS=100` makes it a long search, and
 * `AGENT_KILLS_SEED` repeats one.
 */
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { DesiredInstance } from '../../packages/base/net/agent-protocol.ts'
import { openTestAgent, type TestAgent, toInstance } from '../support/agent.ts'
import { createRandom } from '../support/random.ts'
import { waitUntil } from '../support/wait-until.ts'

const rounds = Number(process.env['AGENT_KILLS'] ?? 8)
const seed = Number(process.env['AGENT_KILLS_SEED'] ?? randomInt(1_000_000))
/** Two of these: the program, and a child in a session of its own. */
const program = ['sh', '-c', 'setsid sleep 1000 & exec sleep 1000']
const latestKillMs = 400

test(`kills of the agent leave the desired state intact (seed ${seed})`, async (t) => {
  const agent = openTestAgent(t)
  const random = createRandom(seed)
  let desired: DesiredInstance[] = []
  for (let round = 1; round <= rounds; round += 1) {
    desired = change(desired, round, agent.dataDir, random)
    await agent.desire(desired)
    await sleep(random() * latestKillMs)
    await agent.kill()
    await waitUntil(
      () => isReal(agent, desired),
      () => `round ${round}: ${describe(agent, desired)}`,
    )
    assert.deepEqual(
      readdirSync(join(agent.dataDir, 'instances')).sort(),
      desired.map(({ id }) => id).sort(),
    )
  }
  for (let round = 1; round <= rounds; round += 1) {
    assert.equal(
      readFileSync(join(agent.dataDir, `ran-${round}`), 'utf8'),
      'begun\nended\n',
      `the command of round ${round}`,
    )
  }
})

/** A new program and a new command; of the others, some are removed and some restarted in place. */
function change(
  former: DesiredInstance[],
  round: number,
  dataDir: string,
  random: () => number,
): DesiredInstance[] {
  const kept = former
    .filter(({ restart }) => restart === 'always' && random() < 0.6)
    .map((instance) =>
      random() < 0.3 ? { ...instance, generation: instance.generation + 1 } : instance,
    )
  const file = join(dataDir, `ran-${round}`)
  const command = ['sh', '-c', `echo begun >> ${file}; sleep 0.1; echo ended >> ${file}`]
  return [
    ...kept,
    toInstance(`program-${round}`, program),
    toInstance(`command-${round}`, command, { restart: 'once' }),
  ]
}

function isReal(agent: TestAgent, desired: readonly DesiredInstance[]): boolean {
  const observed = agent.client.observed()?.instances ?? []
  if (observed.length !== desired.length) return false
  const areSettled = desired.every(({ id, generation, restart }) => {
    const found = agent.instance(id)
    if (found === undefined || found.generation !== generation) return false
    return restart === 'always'
      ? found.phase === 'ready'
      : found.phase === 'ended' && found.exitCode === 0
  })
  return (
    areSettled &&
    agent.processes().length === 2 * desired.filter(({ restart }) => restart === 'always').length
  )
}

function describe(agent: TestAgent, desired: readonly DesiredInstance[]): string {
  const processes = agent
    .processes()
    .map(
      ({ pid }) =>
        `${pid} ${readFileSync(`/proc/${pid}/environ`, 'utf8').match(/FAIRLEAD_PROCESS=[^\0]*/)}`,
    )
  return JSON.stringify({ desired, processes, observed: agent.client.observed() }, null, 1)
}
