/**
 * References to HashiCorp Vault. Debian and npm have no Vault, so this server is written from the documentation of its HTTP API:
 * KV version 2, tokens, AppRole and Kubernetes logins.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fieldAt, type JsonObject } from '../../../packages/base/json/values.ts'
import { PortError } from '../../../packages/base/port-error.ts'
import type { VaultSettings } from '../../../packages/engine/secrets/settings.ts'
import { VaultSecrets } from '../../../packages/engine/secrets/vault-secrets.ts'
import { keyPairOf } from '../../support/self-signed.ts'
import { createFolder, removeFolder } from '../../support/temporary-folder.ts'

const value = 'from-the-vault'
const leaseS = 60

interface FakeVault {
  readonly settings: Pick<VaultSettings, 'address' | 'authorities' | 'mount' | 'rules'>
  /** Requests as `METHOD path namespace`. */
  readonly requests: string[]
  /** Tokens that count. */
  readonly tokens: Set<string>
  /** Status of all further answers. */
  fail(status: number): void
}

async function startVault(t: TestContext): Promise<FakeVault> {
  const { certificate, keyPem } = keyPairOf('localhost', 'ec')
  const requests: string[] = []
  const tokens = new Set(['root'])
  let failure: number | undefined
  let logins = 0
  const answerTo = (path: string, token: string, body: unknown): [number, unknown] => {
    const auth = { client_token: token, lease_duration: leaseS, renewable: true }
    if (failure !== undefined) return [failure, { errors: ['failed'] }]
    if (/^auth\/(approle|kubernetes)\/login$/.test(path)) {
      if (fieldAt(body, 'secret_id') !== 'right' && fieldAt(body, 'jwt') !== 'pod-token')
        return [400, { errors: ['invalid'] }]
      const given = `login-${++logins}`
      tokens.add(given)
      return [200, { auth: { ...auth, client_token: given } }]
    }
    if (!tokens.has(token)) return [403, { errors: ['permission denied'] }]
    if (path === 'auth/token/lookup-self') return [200, { data: { ttl: leaseS, renewable: true } }]
    if (path === 'auth/token/renew-self') return [200, { auth }]
    if (path === 'kv/data/shop/db')
      return [200, { data: { data: { password: value, port: 5432 }, metadata: { version: 4 } } }]
    return [404, { errors: [] }]
  }
  const server = createServer({ cert: certificate, key: keyPem }, async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const path = (request.url ?? '').replace(/^\/v1\//, '')
    requests.push(`${request.method} ${path} ${request.headers['x-vault-namespace']}`)
    const text = Buffer.concat(chunks).toString()
    const [status, body] = answerTo(
      path,
      String(request.headers['x-vault-token']),
      text === '' ? {} : JSON.parse(text),
    )
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => void server.close())
  t.after(() => server.closeAllConnections())
  const address = `https://localhost:${(server.address() as AddressInfo).port}`
  const rules = [{ applications: ['shop'], paths: ['shop/*'] }]
  const fail = (status: number) => {
    failure = status
  }
  return {
    settings: { address, authorities: certificate, mount: 'kv', rules },
    requests,
    tokens,
    fail,
  }
}

function open(vault: FakeVault, more: Partial<VaultSettings>, clock = { ms: 0 }): VaultSecrets {
  const settings = {
    namespace: 'team',
    cacheMs: 30_000,
    login: { kind: 'token', token: 'root' },
    ...vault.settings,
    ...more,
  } as const
  return new VaultSecrets(settings, () => clock.ms)
}

const isAbout =
  (words: RegExp, status = 400) =>
  (error: unknown) =>
    error instanceof PortError && error.status === status && words.test(error.message)

test('a value is read over TLS, kept for its time, and has the version of Vault', async (t) => {
  const vault = await startVault(t)
  const clock = { ms: 0 }
  const secrets = open(vault, {}, clock)
  assert.deepEqual(await secrets.read('shop/db', 'password', 'Shop'), { value, version: 4 })
  assert.deepEqual(await secrets.read('shop/db', 'port', 'shop'), { value: '5432', version: 4 })
  assert.deepEqual(vault.requests, ['GET auth/token/lookup-self team', 'GET kv/data/shop/db team'])
  clock.ms += 31_000
  await secrets.read('shop/db', 'port', 'shop')
  assert.equal(vault.requests.length, 3)
  clock.ms += 20_000
  await secrets.read('shop/db', 'port', 'shop')
  assert.equal(vault.requests.length, 3, 'it is kept')
})

test('a token is renewed when a third of its time is left', async (t) => {
  const vault = await startVault(t)
  const clock = { ms: 0 }
  const secrets = open(vault, { cacheMs: 0 }, clock)
  await secrets.read('shop/db', 'port', 'shop')
  clock.ms += (leaseS * 1000 * 2) / 3
  await Promise.all([
    secrets.read('shop/db', 'port', 'shop'),
    secrets.read('shop/db', 'port', 'shop'),
  ])
  assert.equal(vault.requests.filter((each) => each.includes('renew-self')).length, 1)
})

test('logins by AppRole and service account replace a token that Vault denies', async (t) => {
  const vault = await startVault(t)
  const folder = createFolder('vault')
  t.after(() => removeFolder(folder))
  const file = join(folder, 'token')
  writeFileSync(file, 'pod-token\n')
  const approle = { kind: 'approle', roleId: 'fairlead', secretId: 'right' } as const
  for (const login of [approle, { kind: 'service-account', role: 'fairlead', file }] as const) {
    const secrets = open(vault, { login, cacheMs: 0 })
    await secrets.read('shop/db', 'password', 'shop')
    vault.tokens.clear()
    assert.deepEqual(await secrets.read('shop/db', 'password', 'shop'), { value, version: 4 })
  }
  const refused = open(vault, { login: { ...approle, secretId: 'wrong' } })
  await assert.rejects(
    refused.read('shop/db', 'password', 'shop'),
    isAbout(/refuses the login \(400\); check secrets\.vault\.approle/),
  )

  writeFileSync(file, 'first')
  vault.tokens.add('first')
  const secrets = open(vault, { login: { kind: 'token-file', file }, cacheMs: 0 })
  await secrets.read('shop/db', 'password', 'shop')
  vault.tokens.clear()
  vault.tokens.add('second')
  writeFileSync(file, 'second')
  assert.equal((await secrets.read('shop/db', 'password', 'shop')).value, value)
})

test('errors of Vault say what to do and hold no value', async (t) => {
  const vault = await startVault(t)
  const secrets = open(vault, { cacheMs: 0 })
  const read = (path: string, key = 'password', application: string | undefined = 'shop') =>
    secrets.read(path, key, application)
  await assert.rejects(
    read('crm/db'),
    isAbout(/may not be used by the application shop.*secrets\.vault\.rules/),
  )
  await assert.rejects(
    read('shop/db', 'password', 'crm'),
    isAbout(/may not be used by the application crm/),
  )
  await assert.rejects(read('shop/db', 'user'), isAbout(/no text at the key "user"/))
  await assert.rejects(read('shop/none'), isAbout(/nothing at shop\/none in the mount kv/))
  vault.tokens.clear()
  await assert.rejects(read('shop/db'), isAbout(/policy of Fairlead read kv\/data\/shop\/db/))
  vault.fail(503)
  await assert.rejects(read('shop/db'), isAbout(/sealed/, 503))
  const untrusted = open(
    { ...vault, settings: { ...vault.settings, authorities: undefined } } as FakeVault,
    {},
  )
  await assert.rejects(
    untrusted.read('shop/db', 'password', 'shop'),
    isAbout(/cannot be asked \(.*CERT.*\); check/, 503),
  )
  assert.ok(!JSON.stringify(vault.requests as unknown as JsonObject).includes(value))
})
