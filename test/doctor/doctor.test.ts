/** The doctor against real peers: what is in order, what is wrong, and that it says what to do without telling a secret. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { formatExamination } from '../../bin/doctor.ts'
import { examine } from '../../packages/app/doctor/doctor.ts'
import { openUsers } from '../../packages/gateway/login/form/users.ts'
import { currentSettings } from '../login/oauth2/support.ts'
import { basic } from '../login/support.ts'
import { createAuthority } from '../support/authority.ts'
import { startCertifiedProvider } from '../support/certified-provider.ts'
import { startDirectory } from '../support/directory.ts'
import { freePort } from '../support/free-port.ts'
import { runGateway } from '../support/gateway.ts'
import { clientId, clientSecret, startIdentityProvider } from '../support/identity-provider.ts'
import { startRedis } from '../support/redis.ts'
import { startSamlIdentityProvider } from '../support/saml-identity-provider.ts'
import { Reply, startUpstream } from '../support/upstream.ts'
import { about, brief, examineSettings, load } from './support.ts'

const dayMs = 86_400_000

test('a working provider is confirmed with its secret', async (t) => {
  const redirectUri = 'https://gate.example.com/login/oauth2/code/corp'
  const provider = await startCertifiedProvider(t, {
    client_id: clientId,
    client_secret: clientSecret,
    redirect_uris: [redirectUri],
  })
  const examination = await examineSettings(t, currentSettings(provider), {
    publicUrl: 'https://gate.example.com',
  })
  const findings = about(examination, 'OAuth 2.0 corp')
  assert.equal(findings.length, 6)
  assert.deepEqual(
    [...new Set(findings.map(({ verdict }) => verdict))],
    ['ok'],
    JSON.stringify(findings),
  )
  assert.ok(findings.some(({ found }) => found.startsWith('the client is known')))
  assert.match(
    findings.find(({ tried }) => tried === 'compare user names')?.found ?? '',
    /upper-case letters are refused/,
  )
})

test('a wrong client secret is a problem and stays hidden', async (t) => {
  const redirectUri = 'https://gate.example.com/login/oauth2/code/corp'
  const provider = await startCertifiedProvider(t, {
    client_id: clientId,
    client_secret: clientSecret,
    redirect_uris: [redirectUri],
  })
  const settings = currentSettings(provider, {
    registration: { 'client-secret': 'not-the-secret' },
  })
  const examination = await examineSettings(t, settings, { publicUrl: 'https://gate.example.com' })
  const [finding] = about(examination, 'OAuth 2.0').filter(({ verdict }) => verdict === 'problem')
  assert.match(finding?.found ?? '', /invalid_client/)
  assert.match(finding?.advice ?? '', /client-secret/)
  assert.ok(!JSON.stringify(examination).includes('not-the-secret'))
  assert.equal(examination.verdict, 'problem')
})

test('another issuer and missing keys are problems', async (t) => {
  const provider = await startIdentityProvider(t, {
    metadata: (document) => ({ ...document, issuer: 'https://other.example.com' }),
  })
  const settings = currentSettings(provider, {
    provider: { 'jwk-set-uri': `${provider.url}/nothing` },
  })
  const problems = about(await examineSettings(t, settings), 'OAuth 2.0').filter(
    ({ verdict }) => verdict === 'problem',
  )
  assert.deepEqual(brief(problems), [
    `problem: read what ${provider.url} publishes`,
    `problem: read the keys at ${provider.url}/nothing`,
  ])
})

test("SAML: the certificate's expiry, and a missing signing key", async (t) => {
  const authority = await createAuthority('CN=IdP')
  const { cert, key } = await authority.issue({
    subject: 'CN=idp',
    notAfter: Date.now() + 3 * dayMs,
  })
  const base64 = (cert.split('-----END')[0] ?? '').replace(/-----[^-]+-----|\s/g, '')
  const pair = { key: undefined as never, keyPem: key, certificate: cert, base64 }
  const provider = await startSamlIdentityProvider(t, { keys: [pair], wantsSignedRequests: true })
  const saml = { enabled: true, metadataUrl: provider.url, issuerId: 'spinnaker' }
  const findings = about(await examineSettings(t, { saml }), 'SAML SSO')
  assert.match(
    findings.find(({ verdict }) => verdict === 'warning')?.found ?? '',
    /it expires on .*, in [23] days/,
  )
  assert.match(
    findings.find(({ verdict }) => verdict === 'problem')?.advice ?? '',
    /saml\.signingCredentials/,
  )
})

test('missing SAML metadata is a problem that names its key', async (t) => {
  const metadataUrl = `http://127.0.0.1:${await freePort()}/metadata?key=hidden`
  const saml = { enabled: true, metadataUrl, issuerId: 'spinnaker' }
  const examination = await examineSettings(t, { saml })
  const [finding] = about(examination, 'SAML SSO')
  assert.match(finding?.found ?? '', /ECONNREFUSED/)
  assert.match(finding?.advice ?? '', /saml\.metadataUrl/)
  assert.ok(!JSON.stringify(examination).includes('hidden'))
})

test('a directory is tested by connection, manager and searches', async (t) => {
  const directory = await startDirectory(t)
  if (directory === undefined) return
  const ldap = {
    enabled: true,
    url: directory.secureUrl,
    caFile: directory.caFile,
    managerDn: 'cn=admin,dc=example,dc=org',
    managerPassword: 'manager secret',
    userSearchFilter: '(uid={0})',
    groupSearchBase: 'ou=groups',
  }
  const fine = await examineSettings(t, { ldap })
  assert.deepEqual(
    [...new Set(about(fine, 'LDAP ldaps').map(({ verdict }) => verdict))],
    ['ok'],
    JSON.stringify(fine.findings),
  )
  assert.equal(about(fine, 'LDAP ldaps').length, 4)
  const wrong = async (change: Record<string, unknown>) => {
    const examination = await examineSettings(t, { ldap: { ...ldap, ...change } })
    assert.ok(!JSON.stringify(examination).includes('wrong secret'))
    return about(examination, 'LDAP ldaps').filter(({ verdict }) => verdict === 'problem')
  }
  assert.match(
    (await wrong({ managerPassword: 'wrong secret' }))[0]?.advice ?? '',
    /ldap\.managerDn and ldap\.managerPassword/,
  )
  assert.match(
    (await wrong({ groupSearchBase: 'ou=nowhere' }))[0]?.tried ?? '',
    /search groups .*base "ou=nowhere,dc=example,dc=org"/,
  )
  assert.match((await wrong({ caFile: undefined }))[0]?.advice ?? '', /ldap\.caFile/)
  await directory.stop()
  assert.match((await wrong({}))[0]?.found ?? '', /ECONNREFUSED/)
})

test('the directory of roles is tested with its own keys', async (t) => {
  const directory = await startDirectory(t)
  if (directory === undefined) return
  const source = {
    url: directory.secureUrl,
    caFile: directory.caFile,
    managerDn: 'cn=admin,dc=example,dc=org',
    managerPassword: 'manager secret',
    userSearchFilter: '(uid={0})',
    groupSearchBase: 'ou=groups',
  }
  const embedded = { fiat: { baseUrl: 'embedded' } }
  const examineSource = (change: Record<string, unknown>, services = embedded) =>
    examineSettings(t, {
      services,
      auth: { 'group-membership': { service: 'ldap', ldap: { ...source, ...change } } },
    })
  const fine = about(await examineSource({}), 'LDAP for roles ldaps')
  assert.deepEqual(
    fine.map(({ verdict }) => verdict),
    ['ok', 'ok', 'ok', 'ok'],
  )
  const wrong = async (change: Record<string, unknown>) =>
    about(await examineSource(change), 'LDAP for roles').find(
      ({ verdict }) => verdict === 'problem',
    )
  assert.match(
    (await wrong({ managerPassword: 'wrong' }))?.advice ?? '',
    /group-membership\.ldap\.managerPassword/,
  )
  assert.match(
    (await wrong({ caFile: undefined }))?.advice ?? '',
    /auth\.group-membership\.ldap\.caFile/,
  )
  assert.match(
    (await wrong({ groupSearchBase: 'ou=nowhere' }))?.tried ?? '',
    /base "ou=nowhere,dc=example,dc=org"/,
  )
  const external = await examineSource({}, { fiat: { baseUrl: 'http://127.0.0.1:1' } })
  assert.deepEqual(about(external, 'LDAP for roles'), [])
})

test('Redis is tested with all rights and stays unchanged', async (t) => {
  const server = await startRedis(t, {
    users: [
      'user full on >secret ~* +@all',
      'user poor on >secret ~spring:session* +@all -eval -evalsha -scan',
    ],
  })
  if (server === undefined) return
  const connection = (user: string, password = 'secret') =>
    `redis://${user}:${password}@127.0.0.1:${server.port}`
  const fine = about(
    await examineSettings(t, { redis: { connection: connection('full') } }),
    'Redis',
  )
  assert.deepEqual([...new Set(fine.map(({ verdict }) => verdict))], ['ok'], JSON.stringify(fine))
  assert.ok(fine.length >= 8)
  assert.equal(await server.ask('dbsize'), 0)
  const settings = { redis: { connection: connection('poor') }, 'api-tokens': { enabled: false } }
  const poor = about(await examineSettings(t, settings), 'Redis')
  const problems = poor.filter(({ verdict }) => verdict === 'problem')
  assert.deepEqual(brief(problems), [
    'problem: look for sessions, as ending all of them does',
    'problem: ask for a completed login',
  ])
  assert.match(problems[0]?.advice ?? '', /docs\/guides\/replicas\.md/)
  const examination = await examineSettings(t, {
    redis: { connection: connection('full', 'mistaken') },
  })
  assert.match(about(examination, 'Redis')[0]?.advice ?? '', /check user and password/)
  assert.ok(!JSON.stringify(examination).includes('mistaken'))
})

test('the rights that the guide about replicas lists are enough', async (t) => {
  const guide = readFileSync(resolve(import.meta.dirname, '../../docs/guides/replicas.md'), 'utf8')
  const rights = /^ACL SETUSER fairlead on ">[^"]*" (.*)$/m.exec(guide)?.[1]
  assert.ok(rights)
  const server = await startRedis(t, { users: [`user fairlead on >secret ${rights}`] })
  if (server === undefined) return
  const { metadata } = await startSamlIdentityProvider(t)
  const findings = about(
    await examineSettings(t, {
      redis: { connection: `redis://fairlead:secret@127.0.0.1:${server.port}` },
      saml: { enabled: true, metadataUrl: metadata, issuerId: 'spinnaker' },
      'api-tokens': { enabled: true },
    }),
    'Redis',
  )
  assert.deepEqual(
    [...new Set(findings.map(({ verdict }) => verdict))],
    ['ok'],
    JSON.stringify(findings),
  )
  assert.ok(findings.length >= 15)
})

test('an absent Redis is reported after one timeout', async (t) => {
  const [finding] = about(
    await examineSettings(t, { redis: { connection: 'redis://127.0.0.1:1' } }),
    'Redis',
  )
  assert.equal(finding?.verdict, 'problem')
  assert.match(finding?.found ?? '', /ECONNREFUSED/)
})

test('each service address is asked for its health', async (t) => {
  const good = await startUpstream(t, { 'GET /health': { status: 'UP' } })
  const bad = await startUpstream(t, { 'GET /health': new Reply(503) })
  const services = {
    orca: { baseUrl: good.url, shards: { baseUrls: [{ baseUrl: bad.url, config: {} }] } },
    echo: { baseUrl: 'http://user:hidden@127.0.0.1:1' },
  }
  const examination = await examineSettings(t, { services })
  assert.match(
    about(examination, 'Service orca').find(({ verdict }) => verdict === 'ok')?.found ?? '',
    /answers 200 after \d+ ms/,
  )
  assert.match(
    about(examination, 'Service orca').find(({ verdict }) => verdict === 'problem')?.found ?? '',
    /answers 503/,
  )
  assert.match(about(examination, 'Service echo')[0]?.advice ?? '', /services\.echo\.baseUrl/)
  assert.ok(!JSON.stringify(examination).includes('hidden'))
})

test('a silent peer does not delay the doctor', { timeout: 300_000 }, async (t) => {
  const silent = createServer(() => {})
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  t.after(() => silent.close())
  const { port } = silent.address() as { port: number }
  const url = `http://127.0.0.1:${port}`
  const examination = await examineSettings(
    t,
    {
      services: { orca: { baseUrl: url } },
      redis: { connection: `redis://127.0.0.1:${port}` },
      ldap: { enabled: true, url: `ldap://127.0.0.1:${port}/dc=x`, userDnPattern: 'uid={0}' },
    },
    { timeouts: { answerMs: 300, checkMs: 1500 } },
  )
  for (const subject of ['Service orca', 'Redis', 'LDAP'])
    assert.equal(about(examination, subject)[0]?.verdict, 'problem', subject)
})

test('a wrong clock is found by the Date header', async (t) => {
  const upstream = await startUpstream(t, { 'GET /health': { status: 'UP' } })
  const settings = { services: { orca: { baseUrl: upstream.url } } }
  const [good] = about(await examineSettings(t, settings), 'Clock')
  assert.equal(good?.verdict, 'ok')
  const [bad] = about(
    await examineSettings(t, settings, { now: () => Date.now() + 600_000 }),
    'Clock',
  )
  assert.equal(bad?.verdict, 'problem')
  // The Date header has whole seconds, and is some time old when it is read.
  assert.match(bad?.found ?? '', /(?:599|60\d) s ahead/)
})

test('certificates and revocation lists are read and dated', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-doctor-tls-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const authority = await createAuthority('CN=CA-1')
  const server = await authority.issue({
    subject: 'CN=gate',
    hosts: ['gate.example.com'],
    usage: 'server',
    notAfter: Date.now() + 5 * dayMs,
  })
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const ssl = {
    certificate: write('cert.pem', server.cert),
    'certificate-private-key': write('key.pem', server.key),
    'trust-certificate': write('ca.pem', authority.certificate),
    'client-auth': 'want',
    crlFile: write('crl.pem', await authority.revoke([], { nextUpdate: Date.now() - 1000 })),
  }
  const settings = { server: { ssl }, x509: { enabled: true } }
  const examination = await examineSettings(t, settings, { publicUrl: 'https://other.example.com' })
  const own = about(examination, 'Certificates of the listeners')
  assert.match(own[0]?.found ?? '', /it expires on/)
  assert.match(own[1]?.found ?? '', /DNS:gate\.example\.com/)
  assert.equal(about(examination, 'Trusted authorities')[0]?.verdict, 'ok')
  const [list] = about(examination, 'Revocation lists')
  assert.equal(list?.verdict, 'problem')
  assert.match(list?.advice ?? '', /server\.ssl\.crlFile/)
})

test('a data directory that others may read is warned of', async (t) => {
  const loose = mkdtempSync(join(tmpdir(), 'fairlead-doctor-data-'))
  t.after(() => rmSync(loose, { recursive: true, force: true }))
  mkdirSync(join(loose, 'data'), { mode: 0o755 })
  const findings = about(
    await examineSettings(t, { data: { dir: join(loose, 'data') } }),
    'Data directory',
  )
  assert.deepEqual(
    findings.map(({ verdict }) => verdict),
    ['warning', 'ok'],
  )
})

test('the doctor works while the gateway runs', async (t) => {
  const { dataDir } = await runGateway(t, { services: { orca: { baseUrl: 'embedded' } } })
  const { config } = await load(t, {
    data: { dir: dataDir },
    services: { orca: { baseUrl: 'embedded' } },
  })
  const examination = await examine({
    config,
    notices: [],
    publicUrl: undefined,
    proxyAddress: '10.0.0.1',
  })
  assert.match(about(examination, 'Service orca')[0]?.found ?? '', /answers 200/)
})

test('the report begins with addresses and ends with counts', async (t) => {
  const examination = await examineSettings(t, currentSettings({ url: 'http://127.0.0.1:1' }), {
    publicUrl: 'https://gate.example.com',
  })
  const text = formatExamination(examination)
  assert.match(
    text,
    /^Register at the identity provider, for https:\/\/gate\.example\.com:\n {2}OAuth 2\.0 corp, redirect URI: /,
  )
  assert.match(text, /\n\d+ problems?, \d+ warnings?, \d+ in order\n$/)
  assert.match(text, /problem {2}OAuth 2\.0 corp\n {9}tried: .*\n {9}found: .*\n {9}do: {4}/)
})

test('administrators have the running gateway examined', async (t) => {
  const password = 'battery staple'
  const services = { fiat: { enabled: true }, orca: { baseUrl: 'http://127.0.0.1:9' } }
  const { url, dataDir } = await runGateway(
    t,
    { fairlead: { admin: { password } }, services },
    { embedded: true },
  )
  const users = openUsers(dataDir)
  await users.add('rita', password, [])
  users.close()
  const ask = (name: string) => fetch(`${url}/doctor`, { headers: basic(name, password) })
  const saved = await fetch(`${url}/strategies`, {
    method: 'POST',
    headers: { ...basic('admin', password), 'content-type': 'application/json' },
    body: JSON.stringify({
      application: 'demo',
      name: 'odd',
      triggers: [{ type: 'webhok', enabled: true }],
    }),
  })
  assert.equal(saved.status, 200)

  const answers = await Promise.all([ask('admin'), ask('admin')])
  const [first, second] = await Promise.all(
    answers.map((answer) => answer.json() as ReturnType<typeof examine>),
  )
  assert.deepEqual(second, first)
  assert.equal(first?.verdict, 'problem')
  const [problem] = first?.findings.filter(({ verdict }) => verdict === 'problem') ?? []
  assert.match(problem?.subject ?? '', /orca/)
  const [kept] = first?.findings.filter(({ subject }) => subject === 'Retention') ?? []
  assert.match(kept?.found ?? '', /\bevents \d.*\bbakes \d/)
  const [doubtful] = first?.findings.filter(({ subject }) => subject === 'Definitions') ?? []
  assert.equal(doubtful?.verdict, 'warning')
  assert.match(
    doubtful?.found ?? '',
    /^1 have errors: The strategy "odd" of demo: triggers\[0\]\.type: "webhok" is not a type/,
  )
  assert.equal((await ask('rita')).status, 403)
})
