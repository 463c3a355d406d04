/** `kill -9` of the agent while clients connect: the standby holds the ports and becomes the next agent. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextIteration } from 'node:timers/promises'
import { packageVersion } from '../../bin/version.ts'
import { readTraffic } from '../../packages/agent/agent.ts'
import { Standby } from '../../packages/agent/standby.ts'
import { agentNodeOptions } from '../../packages/agent/start-agent.ts'
import type {
  DesiredInstance,
  DesiredLoadBalancer,
  ObservedState,
} from '../../packages/base/net/agent-protocol.ts'
import { openTestAgent, silentLog, type TestAgent, toInstance } from '../support/agent.ts'
import { freePort } from '../support/free-port.ts'
import { program, sharedEnvironment } from '../support/program.ts'
import { openRawConnection } from '../support/raw-connection.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { waitUntil } from '../support/wait-until.ts'

/** Only the first health check finds it healthy; later ones are not answered. */
const servingProgram = `
let checks = 0
require('node:http').createServer((request, response) => {
  if (request.url === '/') console.log('visit')
  if (request.url !== '/health' || checks++ === 0) response.end('served')
}).listen(Number(process.env.PORT), '127.0.0.1')
`

interface Service {
  readonly instance: DesiredInstance
  readonly balancer: DesiredLoadBalancer
  readonly url: string
}

async function toService(id: string): Promise<Service> {
  const [own, port] = [await freePort(), await freePort()]
  const host = '127.0.0.1'
  const instance = toInstance(id, [process.execPath, '-e', servingProgram], {
    program: { environment: { PORT: String(own) } },
  })
  const check = {
    kind: 'http',
    path: '/health',
    intervalMs: 20,
    timeoutMs: 3_600_000,
    healthyThreshold: 1,
  } as const
  const balancer = {
    id,
    listeners: [
      { protocol: 'http', host, port, certificate: undefined, allowedSources: undefined },
    ],
    healthCheck: { ...check, unhealthyThreshold: 3 },
    members: [{ instanceId: id, host, port: own, inService: true }],
  } as const
  return { instance, balancer, url: `http://${host}:${port}` }
}

async function serve(
  agent: TestAgent,
  services: readonly Service[],
  others: readonly DesiredInstance[] = [],
): Promise<void> {
  await agent.desire(
    [...services.map(({ instance }) => instance), ...others],
    services.map(({ balancer }) => balancer),
  )
  await waitUntil(() => agent.client.observed()?.standby !== undefined, 'a standby')
  const isRecorded = ({ balancer: { id } }: Service) =>
    readTraffic(agent.dataDir)?.healthy[id]?.includes(id) === true
  await waitUntil(() => services.every(isRecorded), 'the health of all')
}

const beginOf = (pid: number | undefined) =>
  /FAIRLEAD_AGENT_BEGIN=([^\0]*)/.exec(readFileSync(`/proc/${pid}/environ`, 'utf8'))?.[1] ?? ''

/** Of this process, with one socket. @param begin What the agent before has left in the environment */
async function openStandby(
  t: TestContext,
  begin: string | undefined,
): Promise<{ standby: Standby; hasBegun: () => boolean }> {
  const dataDir = createFolder('standby')
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { fd } = (server as unknown as { _handle: { fd: number } })._handle
  const program = { dataDir, command: '/bin/true', args: [], environment: {} }
  if (begin !== undefined) process.env['FAIRLEAD_AGENT_BEGIN'] = begin
  const standby = new Standby({
    program,
    traffic: () => ({ loadBalancers: [], healthy: {} }),
    sockets: () => new Map([['127.0.0.1:1', fd]]),
    onChange: () => {},
    log: silentLog,
  })
  delete process.env['FAIRLEAD_AGENT_BEGIN']
  t.after(() => {
    standby.end()
    server.close()
    removeFolder(dataDir)
  })
  standby.refreshSoon()
  return { standby, hasBegun: () => readTraffic(dataDir) !== undefined }
}

const visit = async (url: string) => (await fetch(url, { headers: { connection: 'close' } })).text()

test('no connection is refused after the agent was killed, and shares of the traffic stay', async (t) => {
  const agent = openTestAgent(t)
  const service = await toService('web')
  const young = await toService('young')
  const share = { group: 'shop-v001', percent: 10 }
  const members = [
    ...service.balancer.members,
    ...young.balancer.members.map((member) => ({ ...member, share })),
  ]
  await serve(agent, [{ ...service, balancer: { ...service.balancer, members } }], [young.instance])
  await waitUntil(
    () => readTraffic(agent.dataDir)?.healthy['web']?.includes('young') === true,
    'the health of both',
  )
  const { pid, standby } = agent.client.observed() as ObservedState
  await agent.kill()
  for (let count = 0; count < 20; count++) assert.equal(await visit(service.url), 'served')
  const isNext = ({ pid: next, revision }: ObservedState) => next !== pid && revision > 0
  await waitUntil(() => isNext(agent.client.observed() as ObservedState), 'the next agent')
  assert.equal(agent.client.observed()?.pid, standby)
  assert.equal(agent.instance('web')?.restarts, 0)
  await waitUntil(
    async () => (await agent.client.console('young', 1000)) === 'visit\n'.repeat(2),
    'the share',
  )
  const printed = 'visit\n'.repeat(18)
  await waitUntil(async () => (await agent.client.console('web', 1000)) === printed, 'all output')
  assert.equal(await visit(service.url), 'served')
  await waitUntil(
    async () => (await agent.client.console('web', 1000)) === `${printed}visit\n`,
    'more output',
  )
})

test('the standby of an agent in the foreground becomes an agent', async (t) => {
  const dataDir = createFolder('standby')
  const child = spawn(process.execPath, [program, 'agent'], {
    env: { ...sharedEnvironment, FAIRLEAD_DATA_DIR: dataDir },
  })
  t.after(() => child.kill('SIGKILL'))
  await waitUntil(() => existsSync(join(dataDir, 'agent.sock')), 'the agent')
  const agent = openTestAgent(t, { dataDir, version: packageVersion() })
  const service = await toService('web')
  await serve(agent, [service])
  assert.equal(agent.client.observed()?.pid, child.pid)
  await agent.client.close()
  await agent.kill()
  assert.equal(await visit(service.url), 'served')
})

/** What a program prints that this Node runs. */
function printedBy(options: readonly string[], code: string): unknown {
  const { stdout } = spawnSync(process.execPath, [...options, '--input-type=module', '-e', code], {
    encoding: 'utf8',
  })
  return JSON.parse(stdout)
}

test('an agent takes the compiled code that Node contains', () => {
  const code = `import { cachedDataVersionTag } from 'node:v8'; console.log(cachedDataVersionTag())`
  assert.equal(printedBy(agentNodeOptions, code), printedBy([], code))
})

test('an agent serves before it loads what its listeners do not need', () => {
  const url = JSON.stringify(new URL('../../packages/agent/agent.ts', import.meta.url))
  const code = `await import(${url}); console.log(JSON.stringify(process.moduleLoadList))`
  const loaded = printedBy([], code) as string[]
  assert.ok(loaded.includes('NativeModule _http_server'))
  for (const name of ['crypto', 'child_process'])
    assert.ok(!loaded.includes(`NativeModule ${name}`), name)
})

test('without Fairlead, the next agent serves with the last known health', async (t) => {
  const agent = openTestAgent(t)
  const services = [await toService('one'), await toService('two')]
  await serve(agent, services)
  await agent.client.close()
  await agent.kill()
  for (const { url } of services) assert.equal(await visit(url), 'served')
})

test('an agent counts those before it that died early', async (t) => {
  const agent = openTestAgent(t)
  await serve(agent, [await toService('web')])
  for (const quickEnds of [0, 1, 2]) {
    const state = () => agent.client.observed() as ObservedState
    await waitUntil(
      () => state().standby !== undefined && beginOf(state().standby).startsWith(`${quickEnds} `),
      () => `the standby after ${quickEnds} ends: ${JSON.stringify(state())}`,
    )
    await agent.kill()
  }
})

test('the later of many agents that die early waits with its standby', async (t) => {
  const begins = [undefined, `5 ${uptime()}`, `5 ${uptime() - 61}`]
  const standbys = await Promise.all(begins.map((begin) => openStandby(t, begin)))
  await waitUntil(() => standbys.every(({ hasBegun }) => hasBegun()), 'the records of the traffic')
  assert.deepEqual(
    standbys.map(({ standby }) => standby.pid !== undefined),
    [true, false, true],
  )
})

test('a timer that runs too early does not leave an agent without a standby', {
  timeout: 60_000,
}, async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { standby } = await openStandby(t, `0 ${uptime()}`)
  for (; standby.pid === undefined; await nextIteration()) t.mock.timers.tick(10)
})

test('a port that is no longer desired is closed at once', async (t) => {
  const agent = openTestAgent(t)
  const [one, two] = [await toService('one'), await toService('two')]
  await serve(agent, [one, two])
  await agent.desire([one.instance], [one.balancer])
  await assert.rejects(openRawConnection(t, two.url), /ECONNREFUSED/)
  assert.equal(await visit(one.url), 'served')
})

test('a port changes its protocol while a standby holds it', async (t) => {
  const agent = openTestAgent(t)
  const { instance, balancer, url } = await toService('web')
  await serve(agent, [{ instance, balancer, url }])
  const listeners = balancer.listeners.map((listener) => ({
    ...listener,
    protocol: 'tcp' as const,
  }))
  await agent.desire([instance], [{ ...balancer, listeners }])
  await waitUntil(
    () => agent.client.observed()?.loadBalancers[0]?.listeners[0]?.open === true,
    'the open port',
  )
  assert.equal(await visit(url), 'served')
})
