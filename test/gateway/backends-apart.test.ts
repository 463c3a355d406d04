/** Gateways whose back ends are served by another process: `fairlead backends`. */
import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { leaseKey } from '../../packages/app/standby/redis-lease.ts'
import { Browser } from '../login/browser.ts'
import { createAuthority } from '../support/authority.ts'
import { freePort } from '../support/free-port.ts'
import { type GatewaySettings, runGateway } from '../support/gateway.ts'
import { needsLitestream } from '../support/kubernetes-programs.ts'
import { startObjectStore } from '../support/object-store.ts'
import { startRedis } from '../support/redis.ts'
import { createHome, type ServeOptions, type ServeProcess, startServe } from '../support/serve.ts'
import { createFolder } from '../support/temporary-folder.ts'
import { waitUntil } from '../support/wait-until.ts'

const password = 'correct-horse-battery'
const key = 'a-key-of-more-than-24-characters'
const json = { 'content-type': 'application/json' }

const noHolder = JSON.stringify({ id: 'none', holder: 'none', term: 0, released: true })
/** A second on a machine of one's own; tests share theirs with others. */
const lossBoundMs = 10_000
/** Of requests for an engine. A very busy machine starts a standby later. */
const waitMs = 20_000

interface EngineOptions extends ServeOptions {
  readonly port?: number
  readonly settings?: GatewaySettings
}

function startEngine(
  t: TestContext,
  { port = 0, settings, ...options }: EngineOptions = {},
): ServeProcess {
  const given = { anonymous: { enabled: false }, backends: { port, key }, ...settings }
  return startServe(t, given, { embedded: true, words: ['backends'], ...options })
}

interface Entrance {
  readonly url: string
  /** Of the administrator, logged in. */
  readonly browser: Browser
}

/** A gateway without back ends of its own, in a process as operators start it. */
async function startProcess(
  t: TestContext,
  baseUrl: string,
  settings: GatewaySettings = {},
): Promise<Entrance> {
  const given = {
    anonymous: { enabled: false },
    backends: { key },
    services: { embedded: { baseUrl } },
    ...settings,
  }
  const serve = startServe(t, given, { embedded: true, env: { FAIRLEAD_ADMIN_PASSWORD: password } })
  return enter(await serve.listening)
}

/** In the process of the test; the password of its administrator takes no time to check. */
async function startGateway(t: TestContext, settings: GatewaySettings): Promise<Entrance> {
  const given = {
    spring: { security: { user: { name: 'admin', password } } },
    backends: { key },
    ...settings,
  }
  return enter((await runGateway(t, given, { embedded: true })).url)
}

async function enter(url: string): Promise<Entrance> {
  await waitUntil(
    async () => (await fetch(`${url}/readyz`)).status === 200,
    'a gateway that is ready',
  )
  const browser = new Browser(url)
  assert.equal((await browser.login('admin', password)).status, 302)
  return { url, browser }
}

async function post(browser: Browser, path: string, body: unknown) {
  return browser.ask(path, { method: 'POST', headers: json, body: JSON.stringify(body) })
}

async function runJob(browser: Browser, job: Record<string, unknown>): Promise<void> {
  const task = { application: 'web', description: 'test', job: [job] }
  const { ref } = JSON.parse((await post(browser, '/tasks', task)).text) as { ref: string }
  await waitUntil(
    async () => JSON.parse((await browser.ask(ref)).text).status === 'SUCCEEDED',
    JSON.stringify(job),
  )
}

test('back ends without a guard are not served', async (t) => {
  const open = startEngine(t, { settings: { backends: { port: 0 } } })
  assert.equal((await open.exited).code, 1)
  assert.match(
    open.errors(),
    /Nothing guards the back ends\. Set backends\.key, or FAIRLEAD_BACKENDS_KEY/,
  )
  const weak = startEngine(t, { settings: { backends: { port: 0, key: 'short' } } })
  assert.equal((await weak.exited).code, 1)
  assert.match(weak.errors(), /backends\.key.*at least 24 characters/s)
})

test('several gateways are one, whichever takes a request', async (t) => {
  const engine = startEngine(t)
  const baseUrl = await engine.listening
  // The name of a standby that is being replaced is not known.
  const baseUrls = ['http://absent.invalid:7010', baseUrl]
  const [one, other] = await Promise.all([
    startProcess(t, baseUrl),
    startProcess(t, baseUrl, { services: { embedded: { baseUrls, baseUrl: null } } }),
  ])

  await t.test('what one saves and starts, the other one lists and follows', async () => {
    await runJob(one.browser, {
      type: 'createApplication',
      application: { name: 'web', email: 'a@example.com' },
    })
    const stages = [
      { refId: '1', type: 'wait', name: 'Wait', waitTime: 1, requisiteStageRefIds: [] },
    ]
    assert.equal(
      (await post(one.browser, '/pipelines', { application: 'web', name: 'ship', stages })).status,
      200,
    )
    await waitUntil(
      async () => (await other.browser.ask('/applications/web')).status === 200,
      'the application',
    )
    const following = new AbortController()
    const events = await fetch(`${other.url}/applications/web/executions/events`, {
      headers: { cookie: other.browser.cookie },
      signal: following.signal,
    })
    const started = await post(other.browser, '/pipelines/web/ship', { type: 'manual' })
    assert.equal(started.status, 202, started.text)
    const id = (JSON.parse(started.text) as { ref: string }).ref.split('/').at(-1) as string
    let heard = ''
    for await (const piece of events.body as ReadableStream<Uint8Array>) {
      heard += new TextDecoder().decode(piece)
      if (heard.includes(id) && heard.includes('SUCCEEDED')) break
    }
    following.abort()
  })

  await t.test(
    'a right that one takes away, the other one denies with the next request',
    async () => {
      const readers: Browser[] = []
      for (const { url, browser } of [one, other]) {
        assert.equal(
          (await post(browser, '/auth/users', { username: 'rita', password, roles: ['readers'] }))
            .status,
          201,
        )
        const reader = new Browser(url)
        await reader.login('rita', password)
        readers.push(reader)
      }
      const statuses = async () => {
        const found = []
        for (const reader of readers) found.push((await reader.ask('/applications/web')).status)
        return found
      }
      for (let round = 0; round < 3; round++) {
        for (const [roles, expected] of [
          [['readers'], 200],
          [['others'], 403],
        ] as const) {
          const application = { name: 'web', email: 'a@example.com', permissions: { READ: roles } }
          await runJob(one.browser, { type: 'updateApplication', application })
          assert.deepEqual(await statuses(), [expected, expected])
        }
      }
    },
  )

  await t.test('who has no key is refused, whatever it says to be', async () => {
    const forged = { 'x-spinnaker-user': 'admin', 'x-fairlead-key': `${key.slice(1)}b` }
    for (const headers of [{}, { 'x-spinnaker-user': 'admin' }, forged, { 'x-fairlead-key': '' }]) {
      for (const path of [
        '/front50/v2/applications',
        '/fiat/authorize/admin',
        '/orca/changes/feed',
        '/metrics/',
      ]) {
        assert.equal((await fetch(baseUrl + path, { headers })).status, 401, path)
      }
    }
    assert.equal((await fetch(`${baseUrl}/livez`)).status, 204)
    const stranger = startServe(
      t,
      {
        anonymous: { enabled: false },
        services: { embedded: { baseUrl } },
        backends: { key: `${key}-other` },
      },
      { embedded: true, env: { NOTIFY_SOCKET: '/nowhere/notify' } },
    )
    assert.equal((await fetch(`${await stranger.listening}/readyz`)).status, 503)
    const isTold = () =>
      stranger
        .log()
        .some(({ reason }) => /answers with 401: set the same backends\.key/.test(String(reason)))
    await waitUntil(isTold, () => JSON.stringify(stranger.log()))
    // A service manager that waited for the back ends would end the gateway.
    const isStarted = () =>
      stranger.log().some(({ msg }) => String(msg).startsWith('systemd cannot be notified'))
    await waitUntil(isStarted, () => JSON.stringify(stranger.log()))
  })

  await t.test(
    'a gateway that checks no permissions is not connected with back ends that do',
    async () => {
      const careless = startServe(
        t,
        { backends: { key }, services: { embedded: { baseUrl } } },
        { embedded: true },
      )
      await careless.listening
      await waitUntil(
        () =>
          careless
            .log()
            .some(({ msg }) => /check permissions, and this gateway does not/.test(String(msg))),
        'words',
      )
      assert.equal((await fetch(`${await careless.listening}/readyz`)).status, 503)
    },
  )
})

/** Saves and reads at a gateway until stopped; notes what was answered otherwise than with 200. */
function work({ url, browser }: Entrance, name: string) {
  const saved: string[] = []
  const savedAtMs = new Map<string, number>()
  const failures: string[] = []
  let isStopped = false
  const headers = { cookie: browser.cookie }
  const note = async (path: string, init: RequestInit) => {
    try {
      const answer = await fetch(url + path, init)
      const text = await answer.text()
      if (answer.status === 200) return true
      failures.push(`${init.method ?? 'GET'} ${answer.status} ${text}`)
    } catch (error) {
      failures.push(`${init.method ?? 'GET'} ${(error as Error).message}`)
    }
    return false
  }
  const write = async () => {
    for (let turn = 0; !isStopped; turn++, await sleep(25)) {
      const definition = { application: 'web', name: `${name}-${turn}`, stages: [], triggers: [] }
      if (
        await note('/pipelines', {
          method: 'POST',
          headers: { ...headers, ...json },
          body: JSON.stringify(definition),
        })
      ) {
        saved.push(definition.name)
        savedAtMs.set(definition.name, Date.now())
      }
    }
  }
  const read = async () => {
    for (; !isStopped; await sleep(50)) await note('/applications/web/pipelineConfigs', { headers })
  }
  const ends = Promise.all([write(), read(), read()])
  return {
    saved,
    savedAtMs,
    failures,
    stop: async () => {
      isStopped = true
      await ends
    },
  }
}

test('requests wait while a standby takes over, and nothing is lost or done twice', async (t) => {
  const home = createHome(t)
  const [first, second] = [await freePort(), await freePort()]
  const ports = [first, second]
  const baseUrls = ports.map((port) => `http://127.0.0.1:${port}`)
  let serving = startEngine(t, { home, port: first })
  await serving.listening
  const gateway = await startGateway(t, { services: { embedded: { baseUrls } } })
  await runJob(gateway.browser, {
    type: 'createApplication',
    application: { name: 'web', email: 'a@example.com' },
  })
  const stages = [
    { refId: '1', type: 'wait', name: 'Wait', waitTime: 2, requisiteStageRefIds: [] },
    { refId: '2', type: 'wait', name: 'And wait', waitTime: 2, requisiteStageRefIds: ['1'] },
  ]
  const running: string[] = []
  const saved: string[] = []
  for (const [round, name] of (['SIGTERM', 'SIGKILL'] as const).entries()) {
    const standby = startEngine(t, {
      home,
      port: ports[(round + 1) % 2] as number,
      words: ['backends', '--standby'],
    })
    await waitUntil(
      () => standby.log().some(({ msg }) => String(msg).startsWith('standing by')),
      'a standby',
    )
    assert.equal(
      (
        await post(gateway.browser, '/pipelines', {
          application: 'web',
          name: `run-${round}`,
          stages,
        })
      ).status,
      200,
    )
    const started = await post(gateway.browser, `/pipelines/web/run-${round}`, { type: 'manual' })
    running.push((JSON.parse(started.text) as { ref: string }).ref)
    const load = work(gateway, `round-${round}`)
    const hasSaved = (count: number) =>
      waitUntil(() => load.saved.length >= count, 'definitions that are saved')
    await hasSaved(5)
    const lostAtMs = Date.now()
    serving.signal(name)
    const login = fetch(`${gateway.url}/applications/web`, {
      headers: { authorization: `Basic ${btoa(`admin:${password}`)}` },
    })
    await standby.listening
    const { status } = await login
    const isLate = Date.now() - lostAtMs > waitMs
    assert.ok(status === 200 || isLate, 'a login waits, too')
    await hasSaved(load.saved.length + 5)
    await load.stop()
    // What was under way at a kill has no known outcome, and says so; a read is asked again, and a proper stop takes nothing away.
    const isUncertain = (failure: string) => name === 'SIGKILL' && /^POST 50[02]/.test(failure)
    const [uncertain, others] = [isUncertain, (each: string) => !isUncertain(each)].map((is) =>
      load.failures.filter(is),
    )
    assert.deepEqual(isLate ? [] : others, [], name)
    assert.ok((uncertain?.length ?? 0) <= 1, `one client writes: ${uncertain}`)
    saved.push(...load.saved)
    serving = standby
  }
  const { text } = await gateway.browser.ask('/applications/web/pipelineConfigs')
  const names = (JSON.parse(text) as { name: string }[]).map((definition) => definition.name)
  assert.deepEqual(
    saved.filter((each) => !names.includes(each)),
    [],
  )
  assert.equal(new Set(names).size, names.length)
  for (const ref of running) {
    const read = async () =>
      JSON.parse((await gateway.browser.ask(ref)).text) as {
        status: string
        stages: { status: string }[]
      }
    await waitUntil(async () => (await read()).status === 'SUCCEEDED', ref)
    assert.deepEqual(
      (await read()).stages.map(({ status }) => status),
      ['SUCCEEDED', 'SUCCEEDED'],
    )
  }
})

test('an engine that cannot renew its lease ends, and only the latest directory is served', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  // Without any record, the first engine waits for a holder that might be there.
  await redis.ask('hset', leaseKey, 'version', '0', 'record', noHolder)
  const settings = { redis: { connection: redis.url }, backends: { port: 0, key, lease: 'redis' } }
  const home = createHome(t)
  const start = (options: EngineOptions) => startEngine(t, { settings, ...options })
  const read = async (engine: ServeProcess, path: string) =>
    (await fetch((await engine.listening) + path)).text()
  const holder = hostname()
  const first = start({ home })
  assert.deepEqual(JSON.parse(await read(first, '/health')), {
    status: 'UP',
    lease: { holder, term: 1 },
  })
  assert.match(
    await read(first, '/metrics'),
    new RegExp(`^fairlead_lease_term\\{holder="${holder}"\\} 1$`, 'm'),
  )

  const standby = start({ words: ['backends', '--standby'] })
  const isStandingBy = () =>
    standby.log().some(({ msg }) => msg === `standing by: ${holder} holds the lease, term 1`)
  await waitUntil(isStandingBy, () => standby.errors())
  redis.signal('SIGSTOP')
  assert.equal((await first.exited).code, 1)
  assert.match(
    first.errors(),
    /it has lost the lease, since Redis has not renewed it for 8 seconds/,
  )
  redis.signal('SIGCONT')
  assert.equal((await standby.exited).code, 1)
  assert.match(standby.errors(), /is empty, but term 1 on .* has written since, elsewhere/)

  const again = start({ home })
  assert.deepEqual(JSON.parse(await read(again, '/health')), {
    status: 'UP',
    lease: { holder, term: 3 },
  })
  again.signal('SIGTERM')
  assert.equal((await again.exited).code, 0)
  assert.match(String(await redis.ask('hget', leaseKey, 'record')), /"released":true/)
})

test('a standby takes over from the copy when machine and volume are lost', async (t) => {
  const [litestream, redis, store] = [
    needsLitestream(t),
    await startRedis(t),
    await startObjectStore(t),
  ]
  if (litestream === undefined || redis === undefined || store === undefined) return
  await redis.ask('hset', leaseKey, 'version', '0', 'record', noHolder)
  const [first, second] = [await freePort(), await freePort()]
  const baseUrls = [first, second].map((port) => `http://127.0.0.1:${port}`)
  const start = (port: number, { env, ...options }: EngineOptions) => {
    const backends = { port, key, lease: 'redis', copy: store.copyUrl('fairlead') }
    const all = { PATH: `${litestream}:${process.env['PATH']}`, ...env }
    return startEngine(t, {
      port,
      env: all,
      ...options,
      settings: { redis: { connection: redis.url }, backends },
    })
  }
  const [home, empty] = [createHome(t), createHome(t)]
  const lost = start(first, {
    home,
    env: { LITESTREAM_ACCESS_KEY_ID: store.keyId, LITESTREAM_SECRET_ACCESS_KEY: store.secret },
  })
  await lost.listening
  const gateway = await startGateway(t, { services: { embedded: { baseUrls } } })
  await runJob(gateway.browser, {
    type: 'createApplication',
    application: { name: 'web', email: 'a@example.com' },
  })
  const stages = [
    { refId: '1', type: 'wait', name: 'Wait', waitTime: 3600, requisiteStageRefIds: [] },
  ]
  assert.equal(
    (await post(gateway.browser, '/pipelines', { application: 'web', name: 'long', stages }))
      .status,
    200,
  )
  const { ref } = JSON.parse(
    (await post(gateway.browser, '/pipelines/web/long', { type: 'manual' })).text,
  ) as { ref: string }
  const recordOf = async () =>
    JSON.parse(String(await redis.ask('hget', leaseKey, 'record'))) as { copy?: string }
  await waitUntil(
    async () => (await recordOf()).copy?.startsWith('term-1-') === true,
    () => JSON.stringify(lost.log()),
  )
  const keysFile = join(empty, 'store-keys')
  writeFileSync(
    keysFile,
    `[default]\naws_access_key_id = ${store.keyId}\naws_secret_access_key = ${store.secret}\n`,
  )
  const standby = start(second, {
    home: empty,
    words: ['backends', '--standby'],
    env: { AWS_SHARED_CREDENTIALS_FILE: keysFile },
  })
  await waitUntil(
    () => standby.log().some(({ msg }) => String(msg).includes('holds the lease, term 1')),
    () => standby.errors(),
  )

  const load = work(gateway, 'copied')
  await waitUntil(() => load.saved.length >= 20, 'definitions that are saved')
  const { pid } = JSON.parse(readFileSync(join(home, 'data', 'litestream.json'), 'utf8')) as {
    pid: number
  }
  const lostAtMs = Date.now()
  lost.signal('SIGKILL')
  process.kill(pid, 'SIGKILL')
  await lost.exited
  rmSync(join(home, 'data'), { recursive: true, force: true })
  const before = load.saved.length
  const waited = gateway.browser.ask(ref)
  await standby.listening
  const { status } = await waited
  assert.ok(status === 200 || Date.now() - lostAtMs > waitMs, 'a read waits')
  await waitUntil(() => load.saved.length >= before + 5, 'definitions that are saved again')
  await load.stop()

  const health = await (await fetch(`${baseUrls[1]}/health`)).text()
  assert.match(health, /"term":2/)
  const { text } = await gateway.browser.ask('/applications/web/pipelineConfigs')
  const names = new Set(
    (JSON.parse(text) as { name: string }[]).map((definition) => definition.name),
  )
  const missing = load.saved.filter((name) => !names.has(name))
  const earliest = Math.min(lostAtMs, ...missing.map((name) => load.savedAtMs.get(name) ?? 0))
  t.diagnostic(
    `${missing.length} of ${load.saved.length} definitions are missing, of the last ${lostAtMs - earliest} ms`,
  )
  assert.ok(names.has('long') && names.has(load.saved.at(-1) ?? ''))
  assert.ok(
    lostAtMs - earliest < lossBoundMs,
    `missing since ${lostAtMs - earliest} ms before the loss`,
  )
  const execution = JSON.parse((await gateway.browser.ask(ref)).text) as {
    status: string
    systemNotifications: unknown[]
  }
  assert.equal(execution.status, 'RUNNING')
  assert.match(
    JSON.stringify(execution.systemNotifications),
    /goes on from a copy.*may be done a second time/,
  )
})

test('client certificates guard the back ends without a key', async (t) => {
  const folder = createFolder('backends')
  const authority = await createAuthority('CN=CA-1')
  const write = (name: string, ...parts: string[]) => {
    const file = join(folder, name)
    writeFileSync(file, parts.join('\n'))
    return file
  }
  const server = await authority.issue({
    subject: 'CN=backends',
    hosts: ['127.0.0.1'],
    usage: 'server',
  })
  const client = await authority.issue({ subject: 'CN=gateway', usage: 'client' })
  const trustStore = write('ca.pem', authority.certificate)
  const tls = { keyStore: write('server.pem', server.cert, server.key), trustStore }
  const engine = startEngine(t, { settings: { backends: { port: 0, tls } } })
  const baseUrl = await engine.listening
  assert.match(baseUrl, /^https:/)
  const keyStore = write('client.pem', client.cert, client.key)
  const { browser } = await startGateway(t, {
    backends: {},
    okHttpClient: { trustStore, keyStore },
    services: { embedded: { baseUrl } },
  })
  await runJob(browser, {
    type: 'createApplication',
    application: { name: 'web', email: 'a@example.com' },
  })
  const dispatcher = new Agent({ connect: { ca: authority.certificate } })
  t.after(() => dispatcher.destroy())
  await assert.rejects(request(`${baseUrl}/front50/v2/applications`, { dispatcher }))
})
