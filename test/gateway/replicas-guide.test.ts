/** The guide about replicas, followed literally: its user in Redis, its configurations and its nginx, with other addresses. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { parse } from 'yaml'
import { Browser } from '../login/browser.ts'
import { startNginx } from '../support/balancer.ts'
import { freePort } from '../support/free-port.ts'
import { type GatewaySettings, runGateway } from '../support/gateway.ts'
import { blocksOf, readGuide } from '../support/guide.ts'
import { type RedisServer, startRedis } from '../support/redis.ts'
import { startServe } from '../support/serve.ts'
import { startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

const guide = readGuide('replicas')

const [setUser = ''] = blocksOf(guide, 'redis')
const [plain = '', encrypted = '', , , user = '', server = ''] = blocksOf(guide, 'yaml')
const [nginx = ''] = blocksOf(guide, 'nginx')
const ui = 'https://deck.example.com'

for (const [title, redisBlock, tls] of [
  ['', plain, false],
  [', with TLS to Redis', encrypted, true],
] as const) {
  test(`the guide${title} works with one login at any replica`, async (t) => {
    const redis = await startRedis(t, { tls })
    if (redis === undefined) return
    const settings = await follow(t, redis, redisBlock, tls)
    settings['api-tokens'] = { enabled: true }
    const replicas = [await runGateway(t, settings), await runGateway(t, settings)]
    const balancer = await startNginx(t, {
      tls: true,
      prefix: '/gate',
      http: (place) => placed(nginx, replicas, place),
    })
    if (balancer === undefined) return
    const browser = new Browser(balancer.url, {}, balancer.dispatcher)

    await waitUntil(
      async () => (await browser.visit('/readyz')).status === 200,
      'gateways that reach Redis',
    )
    const entry = await browser.visit(`/auth/redirect?to=${encodeURIComponent(`${ui}/#/search`)}`)
    assert.equal(entry.location, `${balancer.url}/login`)
    const login = await browser.login('operator', 'change me')
    assert.match(login.cookies[0] as string, /; Path=\/gate\/; Secure; HttpOnly$/)
    assert.equal((await browser.visit(login.location as string)).location, `${ui}/#/search`)
    for (let time = 0; time < 4; time++)
      assert.equal((await browser.user())?.['username'], 'operator')

    const created = await browser.visit('/auth/apiTokens', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'ci' }),
    })
    assert.equal(created.status, 201, created.text)
    const token = /spk_\w+/.exec(created.text)?.[0] ?? ''
    const program = new Browser(balancer.url, { 'x-spinnaker-token': token }, balancer.dispatcher)
    for (let time = 0; time < 4; time++) assert.equal((await program.visit('/version')).status, 200)
    const listed = JSON.parse((await browser.visit('/auth/apiTokens')).text) as { id: string }[]
    assert.equal(
      (await browser.visit(`/auth/apiTokens/${listed[0]?.id}`, { method: 'DELETE' })).status,
      204,
    )
    for (let time = 0; time < 2; time++) assert.equal((await program.visit('/version')).status, 401)

    assert.equal((await browser.visit('/auth/deleteSessionCache', { method: 'POST' })).status, 200)
    const targets = new Set(balancer.targetsSoFar())
    assert.equal(targets.size, 2)
    const refusals = (await redis.ask('acl', 'log')) as unknown[]
    assert.deepEqual(refusals, [])
  })
}

/** What clients send during a rolling restart, until it is over. */
class Load {
  readonly outcomes = new Map<string, number>()
  readonly posted: string[] = []
  sent = 0
  #over = false
  readonly #workers: Promise<void>[]

  /** @param perSecond At most: a slow machine offers less. */
  constructor(browser: Browser, perSecond: number) {
    const workers = 8
    this.#workers = Array.from({ length: workers }, async () => {
      while (!this.#over)
        await Promise.all([this.#send(browser), pause((1000 * workers) / perSecond)])
    })
  }

  async #send(browser: Browser): Promise<void> {
    const number = ++this.sent
    const id = `request ${number}`
    const post = number % 2 === 0
    const json = { 'content-type': 'application/json' }
    const body = JSON.stringify({ application: 'web', description: id, job: [{ type: 'wait' }] })
    const outcome = await browser
      .visit(post ? '/tasks' : '/networks', post ? { method: 'POST', headers: json, body } : {})
      .then(
        ({ status, text }) =>
          `${post ? 'POST' : 'GET'} ${status}${status === 200 ? '' : `: ${text}`}`,
        (error: Error) => `${post ? 'POST' : 'GET'} ${error.message}: ${String(error.cause)}`,
      )
    if (post) this.posted.push(id)
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1)
  }

  /** Until so many more were sent. */
  async more(requests: number): Promise<void> {
    const enough = this.sent + requests
    while (this.sent < enough) await pause(10)
  }

  async stop(): Promise<void> {
    this.#over = true
    await Promise.all(this.#workers)
  }
}

test('the guide replaces every replica without a lost request', { timeout: 300_000 }, async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const orca = await startUpstream(t, { 'POST /ops': { ref: '/tasks/1' } })
  const clouddriver = await startUpstream(t, {
    'GET /networks': '{}',
    'GET /credentials': [],
    'GET /applications': [],
  })
  const settings = await follow(t, redis, plain, false)
  Object.assign(settings.services as object, {
    orca: { baseUrl: orca.url },
    clouddriver: { baseUrl: clouddriver.url },
  })
  const ports = [await freePort(), await freePort()]
  const start = async (index: number) => {
    const server = { ...(settings['server'] as object), port: ports[index], 'drain-ms': '1s' }
    const process = startServe(t, { ...settings, anonymous: { enabled: false }, server })
    const url = await process.listening
    while ((await fetch(`${url}/gate/readyz`)).status !== 200) await pause(20)
    return { ...process, url }
  }
  const replicas = [await start(0), await start(1)]
  const balancer = await startNginx(t, {
    tls: true,
    prefix: '/gate',
    http: (place) => placed(nginx, replicas, place),
  })
  if (balancer === undefined) return
  const browser = new Browser(balancer.url, {}, balancer.dispatcher)
  await browser.login('operator', 'change me')
  const load = new Load(browser, 40)
  t.after(() => load.stop())
  await load.more(50)

  for (const index of [0, 1]) {
    replicas[index]?.signal('SIGTERM')
    assert.deepEqual(await replicas[index]?.exited, { code: 0, signal: null })
    await load.more(20)
    const servedBefore = balancer.targetsSoFar().length
    replicas[index] = await start(index)
    await load.more(50)
    const since = balancer.targetsSoFar().slice(servedBefore)
    assert.ok(
      since.some((target) => target.endsWith(`:${ports[index]}`)),
      'the successor serves',
    )
  }
  await load.stop()

  assert.deepEqual(
    [...load.outcomes.keys()].sort(),
    ['GET 200', 'POST 200'],
    JSON.stringify([...load.outcomes]),
  )
  const done = orca.requests.map(
    ({ body }) => (JSON.parse(body) as { description: string }).description,
  )
  assert.deepEqual(done.sort(), load.posted.sort(), 'each change is made once')
})

/** The settings that the guide names, with the Redis of the test, where its user has been created; nothing is served yet. */
async function follow(
  t: TestContext,
  redis: RedisServer,
  redisBlock: string,
  tls: boolean,
): Promise<GatewaySettings> {
  assert.equal(await redis.ask('acl', ...wordsOf(setUser).slice(1)), 'OK')
  const fiat = await startUpstream(t, (request: { path: string }) =>
    request.path.startsWith('/authorize/')
      ? {
          name: 'operator',
          admin: true,
          accounts: [],
          roles: [],
          applications: [],
          serviceAccounts: [],
        }
      : {},
  )
  const written = [
    redisBlock
      .replace(/redis\.example:\d+/, `${tls ? 'localhost' : '127.0.0.1'}:${redis.port}`)
      .replace('/etc/fairlead/redis-ca.pem', redis.caFile),
    user,
    server,
  ].map((block) => parse(block) as GatewaySettings)
  const settings: GatewaySettings = Object.assign({}, ...written)
  // From the environment, as the guide says.
  Object.assign(settings['redis'] as object, { password: 'a long password' })
  settings.services = { deck: { baseUrl: ui }, fiat: { enabled: true, baseUrl: fiat.url } }
  return settings
}

interface Place {
  port: number
  certificateFile: string
  keyFile: string
}

/** The nginx of the guide, where the test has its replicas, certificate and port. */
function placed(
  block: string,
  replicas: readonly { url: string }[],
  { port, certificateFile, keyFile }: Place,
): string {
  return block
    .replace(
      /fairlead-(\d)\.example:8084/g,
      (_, index: string) => new URL(replicas[Number(index)]?.url ?? '').host,
    )
    .replace('listen 443', `listen 127.0.0.1:${port}`)
    .replace('/etc/nginx/gate.pem', certificateFile)
    .replace('/etc/nginx/gate-key.pem', keyFile)
}

/** Words of a line of redis-cli, those in quotes together. */
function wordsOf(line: string): string[] {
  return [...line.trim().matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, quoted, bare]) => quoted ?? bare ?? '',
  )
}
