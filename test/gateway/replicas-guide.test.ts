/** The guide about replicas, followed literally: its user in Redis, its configurations and its nginx, with other addresses. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import test from 'node:test'
import { parse } from 'yaml'
import { Browser } from '../login/browser.ts'
import { startNginx } from '../support/balancer.ts'
import { type GatewaySettings, runGateway } from '../support/gateway.ts'
import { startRedis } from '../support/redis.ts'
import { startUpstream } from '../support/upstream.ts'

const guide = readFileSync(resolve(import.meta.dirname, '../../docs/guides/replicas.md'), 'utf8')
const blocksOf = (language: string) =>
  [...guide.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(([, block = '']) => block)

const [setUser = ''] = blocksOf('redis')
const [plain = '', encrypted = '', , , user = '', server = ''] = blocksOf('yaml')
const [nginx = ''] = blocksOf('nginx')
const ui = 'https://deck.example.com'

for (const [title, redisBlock, tls] of [
  ['', plain, false],
  [', with TLS to Redis', encrypted, true],
] as const) {
  test(`whoever follows the guide${title} logs in once, through any replica, and administers sessions and tokens`, async (t) => {
    const redis = await startRedis(t, { tls })
    if (redis === undefined) return
    assert.equal(await redis.ask('acl', ...wordsOf(setUser).slice(1)), 'OK')
    const fiat = await startUpstream(t, (request: { path: string }) =>
      request.path.startsWith('/authorize/')
        ? { name: 'operator', admin: true, accounts: [], roles: [], applications: [], serviceAccounts: [] }
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
    settings['api-tokens'] = { enabled: true }
    const replicas = [await runGateway(t, settings), await runGateway(t, settings)]
    const balancer = await startNginx(t, { tls: true, prefix: '/gate', http: (place) => placed(nginx, replicas, place) })
    if (balancer === undefined) return
    const browser = new Browser(balancer.url, {}, balancer.dispatcher)

    assert.equal((await browser.visit('/readyz')).status, 200)
    const entry = await browser.visit(`/auth/redirect?to=${encodeURIComponent(`${ui}/#/search`)}`)
    assert.equal(entry.location, `${balancer.url}/login`)
    assert.match(entry.cookies[0] as string, /; Path=\/gate\/; Secure; HttpOnly$/)
    const login = await browser.login('operator', 'change me')
    assert.equal((await browser.visit(login.location as string)).location, `${ui}/#/search`)
    for (let time = 0; time < 4; time++) assert.equal((await browser.user())?.['username'], 'operator')

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
    assert.equal((await browser.visit(`/auth/apiTokens/${listed[0]?.id}`, { method: 'DELETE' })).status, 204)
    for (let time = 0; time < 2; time++) assert.equal((await program.visit('/version')).status, 401)

    assert.equal((await browser.visit('/auth/deleteSessionCache', { method: 'POST' })).status, 200)
    const targets = new Set(balancer.targetsSoFar())
    assert.equal(targets.size, 2)
    const refusals = (await redis.ask('acl', 'log')) as unknown[]
    assert.deepEqual(refusals, [])
  })
}

interface Place {
  port: number
  certificateFile: string
  keyFile: string
}

/** The nginx of the guide, where the test has its replicas, certificate and port. */
function placed(block: string, replicas: readonly { url: string }[], { port, certificateFile, keyFile }: Place): string {
  return block
    .replace(/fairlead-(\d)\.example:8084/g, (_, index: string) => new URL(replicas[Number(index)]?.url ?? '').host)
    .replace('listen 443', `listen 127.0.0.1:${port}`)
    .replace('/etc/nginx/gate.pem', certificateFile)
    .replace('/etc/nginx/gate-key.pem', keyFile)
}

/** Words of a line of redis-cli, those in quotes together. */
function wordsOf(line: string): string[] {
  return [...line.trim().matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '')
}
