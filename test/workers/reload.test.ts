import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { pathToFileURL } from 'node:url'
import { Agent, request } from 'undici'
import type { WorkerStart } from '../../src/workers/protocol.ts'
import { type OtherDuties, WorkerProcess } from '../../src/workers/worker-process.ts'
import { createFiles, createIssuers } from '../login/x509/support.ts'
import { freePort } from '../support/free-port.ts'
import { openRawConnection } from '../support/raw-connection.ts'
import { createHome, type ServeProcess, startServe } from '../support/serve.ts'
import { silence, startUpstream } from '../support/upstream.ts'
import { waitFor, waitUntil } from '../support/wait-until.ts'
import { isAlive, servingPids, startWorkers, untilServing } from './support.ts'

const limited = { 'rate-limit': { enabled: true, capacity: 1234 } }
const off = Object.fromEntries(
  ['clouddriver', 'front50', 'orca', 'echo', 'igor', 'rosco', 'fiat'].map((name) => [name, { enabled: false }]),
)

/** Over what `startServe` has written for the same home. */
function configure(home: string, settings: Record<string, unknown>): void {
  const server = { port: 0, address: '127.0.0.1', 'drain-ms': 0, ...(settings['server'] as object | undefined) }
  const written = { anonymous: { enabled: true }, services: off, ...settings, server }
  writeFileSync(join(home, 'gate-under-test.yml'), JSON.stringify(written))
}

function untilLogged(serve: ServeProcess, message: RegExp, times = 1): Promise<Record<string, unknown>> {
  const find = () => serve.log().filter(({ msg }) => message.test(String(msg)))[times - 1]
  return waitFor(find, () => `${message} in ${JSON.stringify(serve.log().slice(-10))}`)
}

async function capacityAt(url: string): Promise<string | null> {
  const answer = await fetch(`${url}/version`, { headers: { connection: 'close' } })
  await answer.text()
  return answer.headers.get('x-ratelimit-capacity')
}

/**
 * Clients that keep their connection, and some that open one for each request, with pauses in which the processes can start. `stop` gives
 * what was no good answer.
 */
function startClients(url: string): { stop(): Promise<string[]> } {
  let running = true
  const failures: string[] = []
  const ask = async (dispatcher: Agent) => {
    const outcome = await request(`${url}/version`, { dispatcher }).then(
      async ({ statusCode, body }) => `${statusCode} ${(await body.text()).length > 0}`,
      (error: Error) => String(error.cause ?? error),
    )
    if (outcome !== '200 true') failures.push(outcome)
    await pause(5)
  }
  const kept = [1, 2].map(async () => {
    const dispatcher = new Agent({ connections: 1 })
    while (running) await ask(dispatcher)
    await dispatcher.destroy()
  })
  const fresh = [1, 2].map(async () => {
    while (running) {
      const dispatcher = new Agent({ connections: 1 })
      await ask(dispatcher)
      await dispatcher.destroy()
    }
  })
  return {
    async stop() {
      running = false
      await Promise.all([...kept, ...fresh])
      return failures
    },
  }
}

test('SIGHUP replaces one worker after the other without a lost request', async (t) => {
  const home = createHome(t)
  const { serve, url, pids } = await startWorkers(t, { anonymous: { enabled: true } }, { home, embedded: false })
  const before = [...pids().values()]
  const load = startClients(url)

  configure(home, { ...limited, server: { workers: 3, port: 1 } })
  serve.signal('SIGHUP')
  await untilLogged(serve, /every worker process has been replaced/)

  assert.equal(await capacityAt(url), '1234')
  const later = await untilLogged(serve, /count after a restart/)
  assert.match(JSON.stringify(later['settings']), /^\["server\.port/)
  assert.ok(!before.some(isAlive), 'the former workers have ended')
  assert.equal(pids().size, 3)

  configure(home, { server: { workers: 1 } })
  serve.signal('SIGHUP')
  await untilLogged(serve, /every worker process has been replaced/, 2)
  const failures = await load.stop()

  assert.equal(await capacityAt(url), null)
  assert.deepEqual([...pids().values()].filter(isAlive).length, 1)
  assert.deepEqual(failures, [])
})

test('workers serve every port, and SIGHUP reads certificates', async (t) => {
  const [{ server }, home, files] = [await createIssuers(), createHome(t), createFiles(t)]
  const certificate = files.write('gate.pem', server.cert)
  const ssl = { certificate, 'certificate-private-key': files.write('gate.key', server.key) }
  const settings = { anonymous: { enabled: true }, default: { legacyServerPort: await freePort() }, server: { ssl } }
  const { serve, url } = await startWorkers(t, settings, { home, embedded: false })
  const lines = serve.log().map(({ msg }) => /listening on (https:\S+),/.exec(String(msg))?.[1])
  const encrypted = lines.find((address) => address !== undefined) as string
  const fingerprints = async () => {
    const found = new Set<string>()
    for (let turn = 0; turn < 4; turn++) {
      const connection = await openRawConnection(t, encrypted)
      connection.send('GET /livez HTTP/1.1\r\nhost: gate\r\n\r\n')
      assert.equal((await connection.next()).status, 200)
      found.add((connection.socket as TLSSocket).getPeerX509Certificate()?.fingerprint256 ?? '')
    }
    return [...found]
  }
  assert.equal((await fetch(`${url}/livez`)).status, 200)
  const before = await fingerprints()
  assert.equal(before.length, 1)

  const { server: renewed } = await createIssuers()
  files.write('gate.key', renewed.key)
  files.write('gate.pem', renewed.cert)
  serve.signal('SIGHUP')
  await untilLogged(serve, /every worker process has been replaced/)

  const after = await fingerprints()
  assert.equal(after.length, 1)
  assert.notDeepEqual(after, before)
})

test('SIGHUP with an invalid configuration changes nothing', async (t) => {
  const home = createHome(t)
  const { serve, url, pids } = await startWorkers(t, { anonymous: { enabled: true } }, { home, embedded: false })
  const before = pids()

  configure(home, { 'rate-limit': { enabled: true, capacity: 'many' } })
  serve.signal('SIGHUP')

  const { reason } = await untilLogged(serve, /the configuration cannot be used, so nothing changes/)
  assert.match(String(reason), /rate-limit\.capacity/)
  assert.deepEqual(pids(), before)
  assert.equal(await capacityAt(url), null)
})

test('SIGHUP to one process applies what it can and names the rest', async (t) => {
  const home = createHome(t)
  const serve = startServe(t, {}, { home })
  const url = await serve.listening
  await waitUntil(async () => (await fetch(`${url}/livez`)).ok, 'the start')

  configure(home, { ...limited, logging: { level: { root: 'debug' } } })
  serve.signal('SIGHUP')

  const { settings } = await untilLogged(serve, /changed settings of these parts count after a restart/)
  assert.deepEqual(settings, ['rate limits'])
  await (await fetch(`${url}/livez`)).text()
  await untilLogged(serve, /^request$/)
})

test('with server.reload: full, SIGHUP replaces the only worker', async (t) => {
  const home = createHome(t)
  const full = { server: { reload: 'full' } }
  const serve = startServe(t, full, { home })
  const url = await serve.listening
  await untilServing(serve, 1)
  const [before = 0] = [...servingPids(serve).values()]
  const load = startClients(url)
  assert.equal(await capacityAt(url), null)

  configure(home, { ...limited, ...full })
  serve.signal('SIGHUP')
  await untilLogged(serve, /every worker process has been replaced/)
  const failures = await load.stop()

  assert.equal(await capacityAt(url), '1234')
  assert.ok(!isAlive(before), 'the former worker has ended')
  assert.deepEqual(failures, [])
})

test('after SIGTERM running requests finish and every process ends', async (t) => {
  const clouddriver = await startUpstream(t, { 'GET /networks': silence })
  const services = { clouddriver: { baseUrl: clouddriver.url } }
  const { serve, url, pids } = await startWorkers(t, { anonymous: { enabled: true }, services }, { embedded: false })
  await untilServing(serve, 2)
  const processes = [...pids().values()]
  const slow = [1, 2].map(async () => (await fetch(`${url}/networks`)).text())
  await waitUntil(() => clouddriver.requests.length === 2, 'both requests at the service')

  serve.signal('SIGTERM')
  await untilLogged(serve, /SIGTERM: finishing/)
  clouddriver.release('{"aws":[]}')

  assert.deepEqual(await Promise.all(slow), ['{"aws":[]}', '{"aws":[]}'])
  assert.deepEqual(await serve.exited, { code: 0, signal: null })
  assert.ok(!processes.some(isAlive))
})

test('a worker that does not become ready is ended', async (t) => {
  const program = join(createHome(t), 'hangs.mjs')
  writeFileSync(program, 'setInterval(() => {}, 1000)')
  const worker = new WorkerProcess({
    program: pathToFileURL(program),
    start: { number: 1 } as WorkerStart,
    duties: {} as OtherDuties,
    passOn: () => {},
    giveBack: () => {},
  })
  t.after(() => worker.kill())
  for (let turn = 1; turn < 60; turn++) assert.equal(worker.noteStartTurn(), undefined)

  assert.match(String(worker.noteStartTurn()), /not ready within two minutes; see what its last log lines wait for/)

  await assert.rejects(worker.ready, /not ready within two minutes/)
  assert.deepEqual(await worker.ended, { code: null, signal: 'SIGKILL' })
})
