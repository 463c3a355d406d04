/** A system that has no descriptors left for a list of processes: the agent and its instances go on. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openProcessTable, type ProcessTable } from '../../packages/agent/processes.ts'
import { Supervisor } from '../../packages/agent/supervisor.ts'
import type { DesiredInstance, ObservedInstance } from '../../packages/base/net/agent-protocol.ts'
import { endWithTest, toInstance } from '../support/agent.ts'
import { freePort } from '../support/free-port.ts'
import { createFolder } from '../support/temporary-folder.ts'
import { waitFor, waitUntil } from '../support/wait-until.ts'

const probe = {
  kind: 'tcp',
  host: '127.0.0.1',
  port: await freePort(),
  intervalMs: 20,
  timeoutMs: 10_000,
} as const
const sleeps = ['sh', '-c', 'exec sleep 1000']

interface RefusedSearch {
  readonly title: string
  readonly instance: DesiredInstance
  /** Whether the system refuses a list, by what is observed of the instance. */
  readonly refusesAt: (observed: ObservedInstance) => boolean
  readonly reaches: (observed: ObservedInstance) => boolean
}

const refusedSearches: RefusedSearch[] = [
  {
    title: 'after a search for strangers',
    instance: toInstance('web', sleeps),
    refusesAt: ({ phase }) => phase === 'ready',
    reaches: ({ phase, restarts }) => phase === 'ready' && restarts === 0,
  },
  {
    title: 'after a refused end at the time limit',
    instance: toInstance('job', sleeps, { restart: 'once', timeLimitMs: 100, stopGraceMs: 0 }),
    refusesAt: ({ pid }) => pid !== undefined,
    reaches: ({ phase, reason }) =>
      phase === 'ended' && /its time limit of 100 ms/.test(reason ?? ''),
  },
  {
    title: 'after a refused search for ports',
    instance: toInstance('slow', sleeps, { readiness: probe }),
    refusesAt: ({ pid }) => pid !== undefined,
    reaches: ({ phase, reason }) =>
      phase === 'starting' && /did not become ready within 200 ms/.test(reason ?? ''),
  },
]

for (const { title, instance, refusesAt, reaches } of refusedSearches) {
  test(`an instance goes on ${title}`, async (t) => {
    const rig = startSupervisor(t, refusesAt)
    rig.supervisor.apply([instance])
    await waitUntil(
      () => rig.refusals() === 1 && rig.faults.length === 1,
      `a refusal: ${JSON.stringify(rig.supervisor.observe())}`,
    )
    assert.match(String(rig.faults[0]), /EMFILE/)
    await waitFor(
      () => rig.supervisor.observe().find(reaches),
      () => JSON.stringify(rig.supervisor.observe()),
    )
  })
}

test('ports of a program that is never ready are looked for more and more rarely', async (t) => {
  const port = await freePort()
  const answers = `console.log('asked'), answer.writeHead(503).end()`
  const server = `http.createServer((_request, answer) => (${answers})).listen(${port}, '127.0.0.1')`
  const readiness = { ...probe, kind: 'http', path: '/', port } as const
  const { supervisor, searches } = startSupervisor(t, () => false)
  supervisor.apply([toInstance('never', [process.execPath, '-e', server], { readiness })])
  const probes = () =>
    supervisor.consolePart('never', { tail: 1000 }, 10_000)?.output.split('\n').length ?? 0
  await waitUntil(
    () => probes() > 100,
    () => `${probes()} probes`,
  )
  assert.ok(searches() < 20, `${searches()} searches`)
})

/** One list of the processes is refused. */
function startSupervisor(t: TestContext, refusesAt: RefusedSearch['refusesAt']) {
  const dataDir = createFolder('supervisor')
  const faults: unknown[] = []
  const real = openProcessTable()
  let refusals = 0
  let searches = 0
  const refuse = () => {
    if (refusals > 0 || !supervisor.observe().some(refusesAt)) return
    refusals += 1
    throw Object.assign(new Error('EMFILE: too many open files, scandir /proc'), { code: 'EMFILE' })
  }
  const table: ProcessTable = {
    ...real,
    list() {
      refuse()
      return real.list()
    },
    recent(maxAgeMs) {
      searches += 1
      refuse()
      return real.recent(maxAgeMs)
    },
  }
  const log = {
    info: () => {},
    warn: () => {},
    error: ({ err }: { err?: unknown }) => void faults.push(err),
  }
  const supervisor = new Supervisor({ dataDir, log, onChange: () => {}, table })
  endWithTest(t, dataDir, () => supervisor.stop())
  return { supervisor, faults, refusals: () => refusals, searches: () => searches }
}
