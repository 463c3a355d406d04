/** Logins and credentials that are refused, by every method: one event each, with method, address, code and reason, and no secret. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { AuditRecord } from '../../packages/gateway/audit/event.ts'
import { readAuditFile } from '../../packages/gateway/audit/sqlite-sink.ts'
import { audience, startKeyServer } from '../login/iap/key-server.ts'
import { pattern } from '../login/ldap/support.ts'
import { beginLogin, currentSettings, startOAuth2 } from '../login/oauth2/support.ts'
import { post, login as samlLogin, startLogin, startSaml } from '../login/saml/support.ts'
import { basic, startGuarded } from '../login/support.ts'
import { createToken, sendJson, startWithTokens, withToken } from '../login/tokens/support.ts'
import {
  ask,
  createFiles,
  createIssuers,
  runWithApiPort,
  sslSettings,
} from '../login/x509/support.ts'
import { createClock } from '../sessions/support.ts'
import { createAuthority } from '../support/authority.ts'
import { startDirectory } from '../support/directory.ts'
import { type RunningGateway, runGateway } from '../support/gateway.ts'
import { startIdentityProvider } from '../support/identity-provider.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { Reply } from '../support/upstream.ts'

/** Stops the gateway, so that everything is written, and reads its log. */
async function recordsOf({
  stop,
  dataDir,
}: Pick<RunningGateway, 'stop' | 'dataDir'>): Promise<AuditRecord[]> {
  await stop()
  return [...readAuditFile(join(dataDir, 'audit.db'))].map(
    (line) => JSON.parse(line) as AuditRecord,
  )
}

/** What every refusal has to say, and its reason. */
function judge(record: AuditRecord | undefined) {
  assert.equal(record?.address, '127.0.0.1', JSON.stringify(record))
  return [record?.kind, record?.decision, record?.login, record?.error, record?.reason]
}

const refused = 'CREDENTIALS_REFUSED'

function dataDirOf(t: TestContext): string {
  const folder = createFolder('audit')
  t.after(() => removeFolder(folder))
  return join(folder, 'data')
}

test('OAuth 2.0: each refusal is one event with its reason', async (t) => {
  const provider = await startIdentityProvider(t)
  const settings = currentSettings(provider, {
    beside: { userInfoRequirements: { hd: 'example.com' } },
  })
  const gateway = await startOAuth2(t, settings)
  const callback = '/login/oauth2/code/corp'
  await gateway.open().visit(`${callback}?code=c4n4ry&state=${'S'.repeat(43)}`)
  const denied = gateway.open()
  const state = new URLSearchParams((await beginLogin(denied)).split('?')[1]).get('state')
  await denied.visit(
    `${callback}?error=access_denied&error_description=c4n4ry&state=${state}&iss=${provider.url}`,
  )
  const unmet = gateway.open()
  await unmet.visit(await beginLogin(unmet))
  provider.faults = { idToken: () => 'c4n4ry.c4n4ry.c4n4ry' }
  const forged = gateway.open()
  await forged.visit(await beginLogin(forged), { headers: { accept: 'text/html' } })
  provider.faults = { tokens: () => new Reply(503) }
  const down = gateway.open()
  await down.visit(await beginLogin(down))

  const records = await recordsOf(gateway)
  const [unknown, byPerson, byRequirement, bySignature, byProvider] = records
  assert.deepEqual(judge(unknown), [
    'login',
    'refused',
    'oauth2',
    refused,
    'this browser has no such login under way',
  ])
  assert.deepEqual(judge(byPerson).slice(0, 4), ['login', 'refused', 'oauth2', refused])
  assert.match(byPerson?.reason ?? '', /reports "…"/)
  assert.deepEqual(judge(byRequirement).slice(0, 4), ['login', 'refused', 'oauth2', refused])
  assert.match(byRequirement?.reason ?? '', /does not meet the requirement on hd/)
  assert.deepEqual(judge(bySignature).slice(0, 4), ['login', 'refused', 'oauth2', refused])
  assert.match(bySignature?.reason ?? '', /signature|ID token|JWT/i)
  assert.deepEqual(judge(byProvider).slice(0, 4), [
    'login',
    'failed',
    'oauth2',
    'LOGIN_UNAVAILABLE',
  ])
  assert.equal(records.length, 5)
  assert.doesNotMatch(JSON.stringify(records), /c4n4ry/)
})

test('rejected bearer tokens are recorded with their method', async (t) => {
  const provider = await startIdentityProvider(t)
  const gateway = await startOAuth2(t, currentSettings(provider))
  const headers = { authorization: 'Bearer c4n4ry' }
  await gateway.open().visit('/credentials', { headers })
  await gateway.open().visit('/auth/user', { headers })
  provider.faults = { userInfo: () => new Reply(503) }
  await gateway
    .open()
    .visit('/credentials', { headers: { authorization: 'Bearer access-token-1-c4n4ry' } })

  const records = await recordsOf(gateway)
  const [protectedPath, openPath, unjudged] = records
  assert.deepEqual(judge(protectedPath).slice(0, 4), ['refusal', 'refused', 'oauth2', refused])
  assert.match(protectedPath?.reason ?? '', /answered 401/)
  assert.deepEqual(
    [...judge(openPath).slice(0, 4), openPath?.status],
    ['refusal', 'refused', 'oauth2', refused, 200],
  )
  assert.deepEqual(judge(unjudged).slice(0, 2), ['refusal', 'refused'])
  assert.doesNotMatch(JSON.stringify(records), /c4n4ry/)
})

test('SAML: each refusal is one event with its reason', async (t) => {
  const dataDir = dataDirOf(t)
  const gateway = await startSaml(t, { idpInitiated: { enabled: false } }, { dataDir })
  await samlLogin(gateway, gateway.open(), { signed: 'neither' })
  await samlLogin(gateway, gateway.open(), { issuer: 'https://c4n4ry.example' })
  await samlLogin(gateway, gateway.open(), { audience: 'c4n4ry" or not' })
  const browser = gateway.open()
  const inResponseTo = await startLogin(browser)
  const good = gateway.provider.answer({ inResponseTo })
  await post(browser, good)
  await post(browser, good)
  await post(gateway.open(), gateway.provider.answer())

  const records = await recordsOf({ ...gateway, dataDir })
  assert.deepEqual(
    records.map((record) => judge(record).slice(0, 4)),
    [
      ['login', 'refused', 'saml', refused],
      ['login', 'refused', 'saml', refused],
      ['login', 'refused', 'saml', refused],
      ['login', 'allowed', 'saml', undefined],
      ['login', 'refused', 'saml', refused],
      ['login', 'refused', 'saml', refused],
    ],
  )
  const reasons = [
    /signed/,
    /issued by|comes from|another identity provider|issuer/i,
    /meant for "…"/,
    /^$/,
    /answered|used before/,
    /idpInitiated/,
  ]
  for (const [index, reason] of reasons.entries())
    assert.match(records[index]?.reason ?? '', reason)
  assert.doesNotMatch(JSON.stringify(records), /c4n4ry/)
})

test('LDAP: wrong passwords, limits and a silent directory are recorded', async (t) => {
  const directory = await startDirectory(t)
  if (directory === undefined) return
  const gateway = await runGateway(t, { ldap: { enabled: true, url: directory.url, ...pattern } })
  const send = (body: Record<string, string>) =>
    fetch(`${gateway.url}/login`, {
      method: 'POST',
      body: new URLSearchParams(body),
      redirect: 'manual',
    })
  await send({ username: 'alice', password: 'c4n4ry' })
  await send({ username: 'c4n4ry', password: '' })
  await fetch(`${gateway.url}/credentials`, {
    headers: basic('alice', 'c4n4ry'),
    redirect: 'manual',
  })
  await directory.stop()
  await send({ username: 'alice', password: 'pw' })

  const records = await recordsOf(gateway)
  assert.deepEqual(records.map(judge), [
    ['login', 'refused', 'ldap', refused, 'refused'],
    ['refusal', 'refused', 'ldap', refused, 'wrong user name or password'],
    ['login', 'failed', 'ldap', undefined, 'unavailable'],
    ['login', 'refused', 'ldap', refused, 'refused'],
  ])
  assert.equal(records[3]?.repeated, 1)
  assert.doesNotMatch(JSON.stringify(records), /c4n4ry/)
})

test('client certificates: rejected ones are recorded, also by TLS', async (t) => {
  const { authority, server } = await createIssuers()
  const files = createFiles(t)
  const revoked = await authority.issue({ subject: 'CN=gone' })
  const foreign = await (await createAuthority('O=Acme, CN=CA-2')).issue({ subject: 'CN=svc' })
  const crlFile = files.write('ca.crl', await authority.revoke([revoked]))
  const gateway = await runWithApiPort(
    t,
    { ...sslSettings(files, server, [authority]), crlFile, 'client-auth': 'want' },
    { x509: { enabled: true } },
  )
  await assert.rejects(ask(`${gateway.apiUrl}/credentials`, { client: revoked }))
  await assert.rejects(ask(`${gateway.apiUrl}/credentials`, { client: foreign }))
  await assert.rejects(ask(`${gateway.apiUrl}/credentials`, {}))
  assert.equal((await ask(`${gateway.url}/credentials`, { client: revoked })).status, 403)
  assert.equal((await ask(`${gateway.url}/credentials`, { client: foreign })).status, 403)

  const records = await recordsOf(gateway)
  const code = 'CERTIFICATE_REQUIRED'
  assert.deepEqual(
    records.map((record) => judge(record).slice(0, 4)),
    Array(5).fill(['refusal', 'refused', 'x509', code]),
  )
  assert.deepEqual(
    records.map(({ operation }) => operation !== undefined),
    [false, false, false, true, true],
  )
  for (const [index, reason] of [
    /revoked/i,
    /ISSUER|SIGNATURE|VERIFY/i,
    /CERTIFICATE/,
    /revoked/i,
    /ISSUER|SIGNATURE|VERIFY/i,
  ].entries()) {
    assert.match(records[index]?.reason ?? '', reason)
  }
})

test('an unused certificate is no refusal beside a password', async (t) => {
  const { authority, server } = await createIssuers()
  const foreign = await (await createAuthority('O=Acme, CN=CA-2')).issue({ subject: 'CN=svc' })
  const gateway = await runWithApiPort(
    t,
    { ...sslSettings(createFiles(t), server, [authority]), 'client-auth': 'want' },
    {
      x509: { enabled: true },
      security: { basicform: { enabled: true }, user: { name: 'admin', password: 'secret' } },
    },
  )
  const headers = basic('admin', 'secret')
  assert.equal((await ask(`${gateway.url}/version`, { client: foreign, headers })).status, 200)

  assert.deepEqual(await recordsOf(gateway), [])
})

test('the trusted header: rejected names and peers are recorded', async (t) => {
  const elsewhere = await runGateway(t, {
    header: { enabled: true },
    server: { tomcat: { remoteip: { 'internal-proxies': '10\\.0\\.0\\.1' } } },
  })
  await fetch(`${elsewhere.url}/credentials`, { headers: { 'x-spinnaker-user': 'bob' } })
  const [stranger] = await recordsOf(elsewhere)
  assert.deepEqual(judge(stranger).slice(0, 3), ['refusal', 'refused', 'header'])
  assert.match(stranger?.reason ?? '', /no trusted proxy/)

  const gateway = await runGateway(t, { header: { enabled: true } })
  await fetch(`${gateway.url}/credentials`, {
    headers: { 'x-spinnaker-user': 'c4n4ry'.repeat(100) },
  })
  const records = await recordsOf(gateway)
  assert.deepEqual(judge(records[0]).slice(0, 3), ['refusal', 'refused', 'header'])
  assert.doesNotMatch(JSON.stringify(records), /c4n4ry/)
})

test('IAP: expired, foreign and unverifiable tokens are recorded', async (t) => {
  const clock = createClock(Date.now())
  const keys = await startKeyServer(t, clock.now)
  const gateway = await runGateway(
    t,
    { google: { iap: { enabled: true, audience, iapVerifyKeyUrl: keys.url } } },
    { now: clock.now },
  )
  const send = (token: string) =>
    fetch(`${gateway.url}/credentials`, { headers: { 'x-goog-iap-jwt-assertion': token } })
  const seconds = Math.floor(clock.nowMs / 1000)
  const expired = await keys.sign({ exp: seconds - 31 })
  await send(expired)
  await keys.addKey('hidden', { published: false })
  await send(await keys.sign({}, { kid: 'hidden' }))

  const records = await recordsOf(gateway)
  assert.deepEqual(
    records.map((record) => judge(record).slice(0, 4)),
    Array(2).fill(['refusal', 'refused', 'iap', 'PERMISSION_DENIED']),
  )
  assert.match(records[0]?.reason ?? '', /has expired/)
  assert.ok(!JSON.stringify(records).includes(expired.split('.')[2] ?? '-'))
})

test('API tokens: unusable tokens and denied operations are recorded', async (t) => {
  const clock = createClock(Date.now())
  const dataDir = dataDirOf(t)
  const gateway = await startWithTokens(t, {}, { now: clock.now, dataDir })
  const browser = await gateway.logIn('alice', ['dev'])
  const expiresAt = new Date(clock.nowMs + 120_000).toISOString()
  const short = await createToken(browser, { name: 'short', expiresAt })
  const gone = await createToken(browser, { name: 'gone' })
  const reader = await createToken(browser, { name: 'reader', readOnly: true })
  await withToken(gateway.url, 'spk_c4n4ry').visit('/credentials')
  assert.equal((await sendJson(browser, 'DELETE', `/auth/apiTokens/${gone.id}`)).status, 204)
  await withToken(gateway.url, gone.token).visit('/credentials')
  clock.nowMs += 121_000
  await withToken(gateway.url, short.token).visit('/credentials')
  await sendJson(withToken(gateway.url, reader.token), 'PUT', '/pipelines/p1/cancel')

  const records = await recordsOf({ stop: gateway.stop, dataDir })
  const refusals = records.filter(({ decision }) => decision === 'refused')
  assert.deepEqual(
    refusals.map((record) => judge(record).slice(0, 4)),
    [
      ...Array(3).fill(['refusal', 'refused', 'token', refused]),
      ['change', 'refused', 'token', 'TOKEN_LIMITED'],
    ],
  )
  for (const [index, reason] of [/./, /./, /expired/].entries())
    assert.match(refusals[index]?.reason ?? '', reason)
  assert.deepEqual([refusals[3]?.user, refusals[3]?.token], ['alice', reader.id])
  for (const { token } of [short, gone, reader]) assert.ok(!JSON.stringify(records).includes(token))
  assert.doesNotMatch(JSON.stringify(records), /c4n4ry/)
})

test('a refused login names only an existing user', async (t) => {
  const gateway = await startGuarded(t)
  await gateway.open().login('admin', 'wrong')
  await gateway.open().login('c4n4ry', 'wrong')
  await fetch(`${gateway.url}/credentials`, {
    headers: basic('admin', 'wrong'),
    redirect: 'manual',
  })

  const records = await recordsOf(gateway)
  assert.deepEqual(
    records.map(({ kind, decision, user }) => [kind, decision, user]),
    [
      ['login', 'refused', 'admin'],
      ['login', 'refused', undefined],
      ['refusal', 'refused', 'admin'],
    ],
  )
  assert.doesNotMatch(JSON.stringify(records), /c4n4ry/)
})

test('too many wrong HTTP Basic passwords are recorded', async (t) => {
  const gateway = await startGuarded(t)
  const headers = basic('admin', 'wrong')
  for (let time = 0; time < 12; time++)
    await fetch(`${gateway.url}/credentials`, { headers, redirect: 'manual' })

  const told = (await recordsOf(gateway)).map(({ login, error, reason, user, repeated }) => [
    login,
    error,
    reason,
    user,
    repeated,
  ])
  const wrong = ['form', refused, 'wrong user name or password', 'admin']
  const wait = ['form', 'RATE_LIMITED', 'wait', 'admin']
  assert.deepEqual(told, [
    [...wrong, undefined],
    [...wait, undefined],
    [...wrong, 9],
    [...wait, 1],
  ])
})

test('refusals before the login leave a code', async (t) => {
  const gateway = await startGuarded(t, {
    requestShedding: { enabled: true, paths: '/pipelines/shed/.*' },
  })
  const headers = basic('admin', 'secret')
  const put = (path: string, more: Record<string, string> = {}) =>
    fetch(gateway.url + path, { method: 'PUT', headers: { ...headers, ...more } })
  assert.equal((await put('/pipelines/shed/cancel')).status, 503)
  assert.equal((await put('/pipelines/a%2e%2e/cancel')).status, 400)
  assert.equal((await fetch(`${gateway.url}/pipelines/a%2fb`, { headers })).status, 400)
  const foreign = { ...headers, origin: 'https://evil.example', 'content-type': 'text/plain' }
  assert.equal(
    (await fetch(`${gateway.url}/tasks`, { method: 'POST', headers: foreign, body: '{}' })).status,
    403,
  )
  assert.equal((await fetch(`${gateway.url}/tasks`, { method: 'POST' })).status, 401)

  const told = (await recordsOf(gateway)).map(({ kind, decision, status, error, user }) => [
    kind,
    decision,
    status,
    error,
    user,
  ])
  assert.deepEqual(told, [
    ['change', 'refused', 503, 'REQUEST_SHED', undefined],
    // It is not routed, so no operation is known.
    ['refusal', 'refused', 400, 'PATH_REFUSED', undefined],
    ['refusal', 'refused', 400, 'PATH_REFUSED', undefined],
    ['change', 'refused', 403, 'ORIGIN_REFUSED', 'admin'],
    ['change', 'refused', 401, 'LOGIN_REQUIRED', undefined],
  ])
})
