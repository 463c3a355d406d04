/** Faults of the machine, each with what clients see and how it ends by itself. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, rmSync, statSync } from 'node:fs'
import { connect } from 'node:net'
import test from 'node:test'
import { promisify } from 'node:util'
import { socketPathFor } from '../../packages/base/storage/socket-path.ts'
import { openUsers } from '../../packages/gateway/login/form/users.ts'
import { Browser } from '../login/browser.ts'
import { runGateway, startGateway } from '../support/gateway.ts'
import { startInstance } from '../support/instance.ts'
import { program } from '../support/program.ts'
import { openRawConnection } from '../support/raw-connection.ts'
import { startRedis } from '../support/redis.ts'
import { startServe } from '../support/serve.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { Reply, startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

test('exhausted descriptors refuse new connections until some are free', async (t) => {
  const clouddriver = await startUpstream(t, { 'GET /networks': { aws: [] } })
  const { url, port } = await startInstance(t, {
    command: `ulimit -n 150; exec '${process.execPath}' '${program}' serve`,
    cwd: process.cwd(),
    env: {
      ANONYMOUS_ENABLED: 'true',
      SERVICES_CLOUDDRIVER_BASEURL: clouddriver.url,
      ...Object.fromEntries(
        ['ECHO', 'FIAT', 'FRONT50', 'IGOR', 'ORCA', 'ROSCO'].map((name) => [
          `SERVICES_${name}_ENABLED`,
          'false',
        ]),
      ),
    },
  })
  const kept = await openRawConnection(t, url)
  const ask = async (path: string) => {
    kept.send(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`)
    return (await kept.next()).status
  }
  assert.equal(await ask('/networks'), 200)

  let refused = 0
  const crowd = Array.from({ length: 250 }, () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {}).once('close', () => refused++)
    return socket
  })
  await waitUntil(() => refused > 0, 'a refused connection')
  assert.equal(await ask('/health'), 200)
  assert.equal(await ask('/networks'), 200)
  for (const socket of crowd) socket.destroy()
  await waitUntil(async () => {
    const answer = await fetch(`${url}/networks`, { headers: { connection: 'close' } }).catch(
      () => undefined,
    )
    await answer?.arrayBuffer()
    return answer?.status === 200
  }, 'a new connection')
})

test('a clock that jumps ends no session early or late', async (t) => {
  const minuteMs = 60_000
  let nowMs = Date.now()
  const password = 'battery staple'
  const clouddriver = await startUpstream(t, { 'GET /networks': { aws: [] } })
  const { url } = await runGateway(
    t,
    { fairlead: { admin: { password } }, services: { clouddriver: { baseUrl: clouddriver.url } } },
    { now: () => nowMs },
  )
  const admin = new Browser(url)
  await admin.login('admin', password)
  const status = async () => (await admin.visit('/networks')).status
  assert.equal(await status(), 200)
  nowMs -= 24 * 60 * minuteMs
  assert.equal(await status(), 200)
  nowMs += 24 * 60 * minuteMs
  assert.equal(await status(), 200)
  nowMs += 10 * minuteMs
  assert.equal(await status(), 200)
  nowMs += 24 * 60 * minuteMs
  assert.notEqual(await status(), 200)
  await admin.login('admin', password)
  assert.equal(await status(), 200)
})

test('a clock that is set back keeps no rights that have ended', async (t) => {
  let nowMs = Date.now()
  const password = 'battery staple'
  let applications = [{ name: 'web', authorizations: ['READ'] }]
  const [orca, fiat] = await Promise.all([
    startUpstream(t, () => []),
    startUpstream(t, ({ method }) =>
      method === 'GET'
        ? { name: 'rita', admin: false, accounts: [], serviceAccounts: [], roles: [], applications }
        : new Reply(200),
    ),
  ])
  const { url, dataDir } = await runGateway(
    t,
    {
      fairlead: { admin: { password } },
      permissions: { enforce: 'gateway' },
      services: {
        fiat: { enabled: true, baseUrl: fiat.url },
        orca: { enabled: true, baseUrl: orca.url },
      },
    },
    { now: () => nowMs },
  )
  const users = openUsers(dataDir)
  await users.add('rita', password, ['dev'])
  users.close()
  const rita = new Browser(url)
  await rita.login('rita', password)
  const status = async () => (await rita.visit('/applications/web/tasks')).status
  assert.equal(await status(), 200)
  nowMs -= 60 * 60_000
  applications = []
  assert.equal(await status(), 403)
  nowMs += 5 * 60_000
  assert.equal(await status(), 403)
})

test('Redis that restarts during logins loses none of them', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const password = 'battery staple'
  const { url } = await runGateway(t, {
    fairlead: { admin: { password } },
    redis: { connection: redis.url },
  })
  const loggedIn: Browser[] = []
  const statuses = new Set<number>()
  let running = true
  const clients = Array.from({ length: 3 }, async () => {
    while (running) {
      const browser = new Browser(url)
      const { status } = await browser.login('admin', password)
      statuses.add(status)
      if (status === 302) loggedIn.push(browser)
      statuses.add((await browser.visit('/auth/user')).status)
    }
  })
  for (let turn = 1; turn <= 2; turn++) {
    const before = loggedIn.length
    await waitUntil(() => loggedIn.length > before + 3, 'logins')
    await redis.kill()
    await waitUntil(() => statuses.has(503), 'a refusal')
    statuses.delete(503)
    await redis.start()
  }
  const before = loggedIn.length
  await waitUntil(() => loggedIn.length > before + 3, 'logins after the restart')
  running = false
  await Promise.all(clients)
  assert.deepEqual(
    [...statuses].filter((status) => ![200, 302, 401, 503].includes(status)),
    [],
  )
  for (const browser of loggedIn) assert.equal((await browser.user())?.['username'], 'admin')
})

test('a full disk refuses what has to be stored, until there is room', async (t) => {
  const password = 'battery staple'
  const env = { FAIRLEAD_ADMIN_PASSWORD: password }
  const serve = startServe(t, { anonymous: { enabled: false } }, { embedded: true, env })
  const url = await serve.listening
  // Any write to a file fails then, as on a full disk.
  const limitFiles = (bytes: string) =>
    promisify(execFile)('prlimit', ['--pid', String(serve.pid), `--fsize=${bytes}:unlimited`])
  const admin = new Browser(url)
  await admin.login('admin', password)
  const save = async (name: string) => {
    const pipeline = JSON.stringify({ application: 'web', name, stages: [], triggers: [] })
    const headers = { 'content-type': 'application/json' }
    return (await admin.visit('/pipelines', { method: 'POST', headers, body: pipeline })).status
  }
  assert.equal(await save('before'), 200)
  const isLimited = await limitFiles('0').catch(() => undefined)
  if (isLimited === undefined) return t.skip('prlimit is not installed')

  for (let count = 0; count < 3; count++) {
    assert.ok((await save(`during ${count}`)) >= 500)
    const login = await new Browser(url).login('admin', password)
    assert.equal(login.status, 503, login.text)
    assert.equal((await admin.visit('/pipelineConfigs')).status, 200)
    assert.equal((await fetch(`${url}/health`)).status, 200)
  }

  await limitFiles('unlimited')
  await waitUntil(
    async () => (await new Browser(url).login('admin', password)).status === 302,
    'a login',
  )
  assert.equal(await save('after'), 200)
  const { text } = await admin.visit('/applications/web/pipelineConfigs')
  assert.deepEqual((JSON.parse(text) as { name: string }[]).map(({ name }) => name).sort(), [
    'after',
    'before',
  ])
})

test('the socket of the back ends is made again after it was removed', async (t) => {
  const dataDir = createFolder('socket')
  t.after(() => removeFolder(dataDir))
  const url = await startGateway(t, {}, { embedded: true, dataDir })
  const read = async () => (await fetch(`${url}/applications`)).status
  assert.equal(await read(), 200)
  const socketPath = socketPathFor(dataDir, 'backends.sock')
  rmSync(socketPath)
  await waitUntil(() => existsSync(socketPath), 'the socket')
  await waitUntil(
    async () =>
      (await Promise.all(Array.from({ length: 40 }, read))).every((status) => status === 200),
    'answers',
  )
  assert.equal(statSync(socketPath).mode & 0o777, 0o600)
})
