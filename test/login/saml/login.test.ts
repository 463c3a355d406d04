/** The login by SAML from the first redirect to the web UI, in all its forms. */
import assert from 'node:assert/strict'
import { verify, X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { assertionToUser } from '../../../packages/gateway/login/saml/identity.ts'
import { readSigned } from '../../../packages/gateway/login/saml/signed-bytes.ts'
import { parseXml } from '../../../packages/gateway/login/saml/xml.ts'
import { startRedis } from '../../support/redis.ts'
import {
  readForm,
  readRedirect,
  signOnUrl,
  startSamlIdentityProvider,
} from '../../support/saml-identity-provider.ts'
import { keyPairOf } from '../../support/self-signed.ts'
import { Reply, startUpstream } from '../../support/upstream.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { Browser } from '../browser.ts'
import { gatewayUrl, startPath, ui } from '../support.ts'
import { currentStore } from './key-stores.ts'
import {
  consumerPath,
  login,
  post,
  reasonsOf,
  startLogin,
  startSaml,
  writeFiles,
} from './support.ts'

const minute = 60_000

test('auth-scenario 14, 1, 4, 6, 10, 12, 13: the UI sequence ends logged in at its page', async (t) => {
  const gateway = await startSaml(t)
  const browser = gateway.open()

  const stranger = await browser.visit('/auth/user')
  assert.deepEqual([stranger.status, stranger.text, stranger.cookies.length], [200, '', 0])

  const sent = await browser.visit(startPath)
  assert.deepEqual([sent.status, sent.location], [302, `${gatewayUrl}/login`])

  const start = await browser.visit('/login')
  assert.equal(start.status, 302)
  assert.ok(start.location?.startsWith(`${signOnUrl}&SAMLRequest=`))
  const { id, relayState } = readRedirect(start.location ?? '')

  const before = browser.session
  const done = await post(browser, gateway.provider.answer({ inResponseTo: id }), {
    RelayState: relayState,
  })
  assert.deepEqual([done.status, done.location], [302, gatewayUrl + startPath])
  assert.notEqual(browser.session, before)

  const back = await browser.visit(startPath)
  assert.deepEqual([back.status, back.location], [302, `${ui}/#/search`])

  const user = await browser.user()
  assert.equal(user?.['username'], 'alice@example.com')
  assert.equal(user?.['email'], 'alice@example.com')
  assert.equal(user?.['enabled'], true)

  const again = await browser.visit('/login')
  assert.deepEqual([again.status, again.location], [302, `${gatewayUrl}/`])
})

test('auth-scenario 57: any protected page is where the login leads back to', async (t) => {
  const gateway = await startSaml(t)
  const browser = gateway.open()
  assert.equal((await browser.visit('/credentials?expand=true')).location, `${gatewayUrl}/login`)
  assert.equal((await login(gateway, browser)).location, `${gatewayUrl}/credentials?expand=true`)
  assert.notEqual((await browser.visit('/credentials?expand=true')).status, 302)
})

test('auth-scenario 119: the redirect request names its issuer; relay state is opaque', async (t) => {
  const gateway = await startSaml(t)
  const browser = gateway.open()
  const first = readRedirect((await browser.visit('/login')).location ?? '')
  const second = readRedirect((await browser.visit('/login')).location ?? '')
  assert.match(first.xml, /<saml:Issuer [^>]*>spinnaker<\/saml:Issuer>/)
  assert.match(first.xml, / AssertionConsumerServiceURL="https:\/\/gate\.example\.com\/saml\/SSO"/)
  assert.match(first.xml, / ProtocolBinding="urn:oasis:names:tc:SAML:2\.0:bindings:HTTP-POST"/)
  assert.match(first.xml, / ForceAuthn="false" IsPassive="false"/)
  assert.ok(first.xml.includes(` Destination="${signOnUrl}"`))
  assert.match(first.id, /^_[0-9a-f]{40}$/)
  assert.notEqual(first.id, second.id)
  assert.match(first.relayState, /^[\w-]{22}$/)
  assert.notEqual(first.relayState, second.relayState)
  assert.equal(first.parameters.get('tenant'), '1')
  assert.equal(first.parameters.has('Signature'), false)
})

test('the paths of Spring start a login', async (t) => {
  const gateway = await startSaml(t)
  const browser = gateway.open()
  for (const path of [
    '/saml2/authenticate',
    '/saml2/authenticate?registrationId=SSO',
    '/saml2/authenticate/SSO',
  ]) {
    const { location } = await browser.visit(path)
    assert.ok(location?.startsWith(signOnUrl), path)
  }
  assert.equal((await browser.visit('/saml2/authenticate?registrationId=nobody')).status, 404)
})

test('auth-scenario 120: the POST binding uses a form', async (t) => {
  const provider = await startSamlIdentityProvider(t, { bindings: ['POST'] })
  const gateway = await startSaml(t, {}, { provider })
  const browser = gateway.open()
  const page = await browser.visit('/login')
  assert.equal(page.status, 200)
  assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
  assert.ok(
    page.text.includes('<form method="post" action="https://idp.example.com/sso?tenant=1">'),
  )
  const policy = page.headers.get('content-security-policy') ?? ''
  assert.match(policy, /script-src 'sha256-[^']+'/)
  assert.doesNotMatch(policy, /unsafe|form-action/)
  const { xml, id, relayState } = readForm(page.text)
  assert.doesNotMatch(xml, /Signature/)
  assert.match(relayState, /^[\w-]{22}$/)
  assert.equal((await post(browser, provider.answer({ inResponseTo: id }))).status, 302)
})

const signing = keyPairOf('gateway')

function signingCredentials(t: TestContext, pair = signing) {
  const folder = writeFiles(t, { 'key.pem': pair.keyPem, 'cert.pem': pair.certificate })
  return [
    { privateKeyLocation: `file:${folder}/key.pem`, certificateLocation: join(folder, 'cert.pem') },
  ]
}

/** Checks the query as it was sent, byte for byte. */
async function checkSignedRedirect(
  browser: Browser,
  certificate: string,
  algorithm: string,
  options = {},
): Promise<void> {
  const { location } = await browser.visit('/login')
  const query = (location ?? '').slice(signOnUrl.length + 1)
  const { parameters } = readRedirect(location ?? '')
  assert.equal(parameters.get('SigAlg'), algorithm)
  const signed = query.slice(0, query.indexOf('&Signature='))
  assert.match(signed, /^SAMLRequest=[^&]+&RelayState=[^&]+&SigAlg=[^&]+$/)
  const key = { key: new X509Certificate(certificate).publicKey, ...options }
  const hash = /sha\d+$/.exec(algorithm)?.[0] ?? ''
  assert.ok(
    verify(
      hash,
      Buffer.from(signed),
      key,
      Buffer.from(parameters.get('Signature') ?? '', 'base64'),
    ),
  )
}

test('auth-scenario 121: redirect requests are signed on demand', async (t) => {
  const sha256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256'
  const configured = await startSaml(t, {
    signRequests: true,
    signingCredentials: signingCredentials(t),
  })
  await checkSignedRedirect(configured.open(), signing.certificate, sha256)

  const provider = await startSamlIdentityProvider(t, { wantsSignedRequests: true })
  const wanted = await startSaml(t, { signingCredentials: signingCredentials(t) }, { provider })
  await checkSignedRedirect(wanted.open(), signing.certificate, sha256)
})

test('auth-scenario 121: the digest is configurable, and keys may be elliptic', async (t) => {
  const more = 'http://www.w3.org/2001/04/xmldsig-more#'
  const strong = await startSaml(t, {
    signRequests: true,
    signatureDigest: 'SHA512',
    signingCredentials: signingCredentials(t),
  })
  await checkSignedRedirect(strong.open(), signing.certificate, `${more}rsa-sha512`)

  const pair = keyPairOf('gateway', 'ec')
  const elliptic = await startSaml(t, {
    signRequests: true,
    signingCredentials: signingCredentials(t, pair),
  })
  await checkSignedRedirect(elliptic.open(), pair.certificate, `${more}ecdsa-sha256`, {
    dsaEncoding: 'ieee-p1363',
  })
})

test('auth-scenario 121: a request by POST is signed in the document', async (t) => {
  const provider = await startSamlIdentityProvider(t, { bindings: ['POST'] })
  const gateway = await startSaml(
    t,
    { signRequests: true, signingCredentials: signingCredentials(t) },
    { provider },
  )
  const { xml } = readForm((await gateway.open().visit('/login')).text)
  assert.match(xml, /<\/saml:Issuer><ds:Signature /)
  const document = parseXml(xml)
  const keys = [new X509Certificate(signing.certificate).publicKey]
  assert.ok(readSigned(document, document.root, { keys, sha1: false }))
  const other = parseXml(xml.replace('spinnaker', 'other'))
  assert.throws(
    () => readSigned(other, other.root, { keys, sha1: false }),
    /does not fit its content/,
  )
})

test('auth-scenario 15, 122: names and roles come from the attributes that Gate reads', async (t) => {
  const gateway = await startSaml(t)
  const browser = gateway.open()
  await login(gateway, browser, {
    attributes: {
      'User.FirstName': ['Alice'],
      'User.LastName': ['Lidell'],
      memberOf: [
        'Dev;Ops',
        'CN=Admins,OU=x,DC=y',
        'dev',
        ' ; ',
        'OU=y,CN=Night\\, Shift',
        'CN=broken,no name',
      ],
    },
  })
  const user = await browser.user()
  assert.equal(user?.['username'], 'alice@example.com')
  assert.equal(user?.['email'], 'alice@example.com')
  assert.equal(user?.['firstName'], 'Alice')
  assert.equal(user?.['lastName'], 'Lidell')
  assert.deepEqual(user?.['roles'], ['dev', 'ops', 'admins', 'night, shift'])
  assert.deepEqual(
    user?.['authorities'],
    ['dev', 'ops', 'admins', 'night, shift'].map((authority) => ({ authority })),
  )
  assert.ok(gateway.log.some(({ role }) => role === 'CN=broken,no name'))
})

test('auth-scenario 123: the mapping of names and roles is a setting', async (t) => {
  const gateway = await startSaml(t, {
    userAttributeMapping: {
      username: 'uid',
      email: 'mail',
      roles: 'groups',
      rolesDelimiter: ',',
      firstName: 'given',
      lastName: 'sn',
    },
    forceLowercaseRoles: false,
    sortRoles: true,
  })
  const browser = gateway.open()
  const attributes = {
    uid: ['al'],
    mail: ['al@x.io'],
    groups: ['b,C', 'a'],
    given: ['A'],
    sn: ['L'],
    memberOf: ['not-me'],
  }
  await login(gateway, browser, { attributes })
  const user = await browser.user()
  assert.deepEqual(
    [user?.['username'], user?.['email'], user?.['firstName'], user?.['lastName'], user?.['roles']],
    ['al', 'al@x.io', 'A', 'L', ['C', 'a', 'b']],
  )
})

const roleRows: [what: string, delimiter: RegExp, values: string[], roles: string[]][] = [
  ['an escaped delimiter', /;/g, [String.raw`CN=x\;CN=admins,OU=groups`], ['x;cn=admins']],
  ['a quoted delimiter', /;/g, ['CN="x;CN=admins",OU=groups'], ['x;cn=admins']],
  ['a delimiter in hexadecimal digits', /;/g, [String.raw`CN=x\3BCN=admins`], ['x;cn=admins']],
  ['names in a list', /;/g, [String.raw`CN=a\;b,OU=x;CN=c,OU=y;d`], ['a;b', 'c', 'd']],
  ['a quoted name in a list', /;/g, ['CN="a;CN=admins",OU=x;CN=c'], ['a;cn=admins', 'c']],
  ['an escape before a list', /;/g, [String.raw`x\;CN=admins,OU=y`], []],
  ['commas within a name', /,/g, [String.raw`CN=x\,admins,OU=admins`], ['x,admins']],
  [
    'commas within a name in small letters',
    /[;,]/g,
    [String.raw`cn=x\,admins,ou=y`],
    [String.raw`cn=x\,admins,ou=y`],
  ],
  ['a delimiter with a group', /(;|,)\s*/g, ['a; b,c'], ['a', 'b', 'c']],
  ['a delimiter that may be empty', /;*/g, ['ab;;c'], ['ab', 'c']],
  ['names of Windows', /;/g, [String.raw`CORP\a;CORP\b`], [String.raw`corp\a`, String.raw`corp\b`]],
  ['no delimiter', /(?!)/g, ['a;b', ' c '], ['a;b', 'c']],
  ['a semicolon between parts', /\|/g, ['CN=a;OU=b|CN=c'], ['a', 'c']],
  ['a value without end', /;/g, ['a;'.repeat(40_000), 'b'], ['b']],
]
for (const [what, rolesDelimiter, values, roles] of roleRows) {
  test(`auth-scenario 122: roles are read from ${what}`, () => {
    const mapping = {
      attributes: {
        firstName: 'f',
        lastName: 'l',
        roles: 'r',
        rolesDelimiter,
        username: undefined,
        email: undefined,
      },
      lowercaseRoles: true,
      sortRoles: false,
      requiredRoles: [],
    }
    const assertion = {
      id: '1',
      inResponseTo: '2',
      isSolicited: true,
      nameId: 'alice',
      attributes: new Map([['r', values]]),
      usableUntilMs: 0,
    }
    assert.deepEqual(
      assertionToUser(assertion, mapping, { skipped: () => {}, split: () => {} }).roles,
      roles,
    )
  })
}

test('accented letters before an escape are read at once', async (t) => {
  const gateway = await startSaml(t)
  const browser = gateway.open()
  const name = String.raw`\C3\A9`.repeat(1000)
  await login(gateway, browser, { attributes: { memberOf: [`CN=${name}\\;x"`, `CN=${name}`] } })
  assert.deepEqual((await browser.user())?.['roles'], ['é'.repeat(1000)])
})

test('a value among several that holds the delimiter is logged once', async (t) => {
  const gateway = await startSaml(t)
  const split = () =>
    gateway.log.filter(({ msg }) =>
      String(msg).startsWith('one of several roles holds the delimiter'),
    )
  await login(gateway, gateway.open(), { attributes: { memberOf: ['a;b'] } })
  assert.deepEqual(split(), [])
  for (const _ of ['first', 'second'])
    await login(gateway, gateway.open(), { attributes: { memberOf: ['x;admins', 'b'] } })
  assert.deepEqual(
    split().map(({ role }) => role),
    ['x;admins'],
  )
})

/** A permission service in which alice may write to `prod`. */
const fiatAnswers = {
  'PUT /roles/alice%40example.com': '',
  'GET /authorize/alice%40example.com': {
    name: 'alice@example.com',
    admin: true,
    accounts: [{ name: 'prod', authorizations: ['READ', 'WRITE'] }],
    applications: [],
    serviceAccounts: [],
    roles: [
      { name: 'r1', source: 'EXTERNAL' },
      { name: 'r2', source: 'LDAP' },
    ],
  },
}

test('auth-scenario 124, 16: the permission service is told before it is asked', async (t) => {
  const fiat = await startUpstream(t, fiatAnswers)
  const gateway = await startSaml(
    t,
    {},
    { settings: { services: { fiat: { enabled: true, baseUrl: fiat.url } } } },
  )
  const browser = gateway.open()
  await login(gateway, browser, { attributes: { memberOf: ['dev'] } })
  const calls = [...fiat.requests, ...fiat.background].map(
    ({ method, path }) => `${method} ${path}`,
  )
  assert.deepEqual(calls.slice(0, 2).sort(), [
    'GET /authorize/alice%40example.com',
    'PUT /roles/alice%40example.com',
  ])
  const told = [...fiat.requests, ...fiat.background].find(({ method }) => method === 'PUT')
  assert.equal(told?.body, '["dev"]')
  const user = await browser.user()
  assert.deepEqual(user?.['allowedAccounts'], ['prod'])
  assert.deepEqual(user?.['roles'], ['r1', 'r2'])
  assert.equal(user?.['isAdmin'], true)
})

test('missing roles are reported; without the service logins fail', async (t) => {
  const fiat = await startUpstream(t, fiatAnswers)
  const gateway = await startSaml(
    t,
    {},
    { settings: { services: { fiat: { enabled: true, baseUrl: fiat.url } } } },
  )
  await login(gateway, gateway.open())
  assert.equal(
    [...fiat.requests, ...fiat.background].find(({ method }) => method === 'PUT')?.body,
    '[]',
  )

  fiat.answer({ 'PUT /roles/alice%40example.com': new Reply(503, {}) })
  const browser = gateway.open()
  assert.equal((await login(gateway, browser)).status, 503)
  assert.equal(await browser.user(), undefined)
})

test('auth-scenario 125: a required role decides who gets in', async (t) => {
  const gateway = await startSaml(t, { requiredRoles: ['Admins', 'ops'] })
  const admin = gateway.open()
  await admin.visit('/credentials')
  assert.equal(
    (await login(gateway, admin, { attributes: { memberOf: ['dev;admins'] } })).location,
    `${gatewayUrl}/credentials`,
  )

  const other = gateway.open()
  assert.equal((await login(gateway, other, { attributes: { memberOf: ['dev'] } })).status, 401)
  assert.equal(await other.user(), undefined)
  assert.match(reasonsOf(gateway)[0] ?? '', /saml\.requiredRoles/)
})

test('one signature, of response or assertion, is enough', async (t) => {
  const gateway = await startSaml(t)
  for (const signed of ['response', 'assertion', 'both'] as const) {
    const browser = gateway.open()
    assert.equal((await login(gateway, browser, { signed })).status, 302)
    assert.equal((await browser.user())?.['username'], 'alice@example.com')
  }
})

test('other requests are answered while a user of thousands of groups logs in', async (t) => {
  const gateway = await startSaml(t)
  const browser = gateway.open()
  const groups = Array.from({ length: 4500 }, (_, index) => `group-${index}`)
  const xml = gateway.provider.answer({
    inResponseTo: await startLogin(browser),
    attributes: { memberOf: groups },
  })
  let others = 0
  let isOver = false
  const visited = post(browser, xml).finally(() => {
    isOver = true
  })
  while (!isOver) {
    assert.equal((await fetch(`${gateway.url}/health`)).status, 200)
    others++
  }
  assert.equal((await visited).status, 302)
  assert.ok(others > 30, `${others} other requests`)
})

test('every canonicalization is understood', async (t) => {
  const gateway = await startSaml(t)
  for (const name of [
    '2001/10/xml-exc-c14n#',
    '2001/10/xml-exc-c14n#WithComments',
    'TR/2001/REC-xml-c14n-20010315',
    'TR/2001/REC-xml-c14n-20010315#WithComments',
  ]) {
    const answer = { signed: 'response', canonicalization: `http://www.w3.org/${name}` } as const
    assert.equal((await login(gateway, gateway.open(), answer)).status, 302, name)
  }
})

test('SHA-1 is accepted where saml.signatureDigest says SHA1, and SHA-512 everywhere', async (t) => {
  const weak = await startSaml(t, { signatureDigest: 'SHA1' })
  assert.equal((await login(weak, weak.open(), { hash: 'sha1' })).status, 302)
  assert.equal((await login(weak, weak.open(), { hash: 'sha256' })).status, 302)
  const strong = await startSaml(t)
  assert.equal((await login(strong, strong.open(), { hash: 'sha512' })).status, 302)
})

test('auth-scenario 132: clocks may differ by five minutes', async (t) => {
  const gateway = await startSaml(t)
  const nowMs = Date.now()
  assert.equal(
    (await login(gateway, gateway.open(), { notOnOrAfterMs: nowMs - 4 * minute })).status,
    302,
  )
  assert.equal(
    (await login(gateway, gateway.open(), { notBeforeMs: nowMs + 4 * minute })).status,
    302,
  )
})

test('auth-scenario 132, 136: an assertion is remembered until nobody would take it any more', async (t) => {
  let nowMs = Date.now()
  const gateway = await startSaml(t, {}, { now: () => nowMs })
  const xml = gateway.provider.answer({ nowMs })
  assert.equal((await post(gateway.open(), xml)).status, 302)
  nowMs += 6 * minute
  assert.equal((await post(gateway.open(), xml)).status, 401)
  assert.match(reasonsOf(gateway).at(-1) ?? '', /used before/)
  nowMs += 2 * minute
  assert.equal((await post(gateway.open(), xml)).status, 401)
  assert.match(reasonsOf(gateway).at(-1) ?? '', /was valid until/)
})

test('auth-scenario 136: used assertions survive a restart', async (t) => {
  const dataDir = writeFiles(t, {})
  const provider = await startSamlIdentityProvider(t)
  const xml = provider.answer()
  const first = await startSaml(t, {}, { provider, dataDir })
  assert.equal((await post(first.open(), xml)).status, 302)
  await first.stop()
  const second = await startSaml(t, {}, { provider, dataDir })
  assert.equal((await post(second.open(), xml)).status, 401)
  assert.match(reasonsOf(second)[0] ?? '', /used before/)
})

test('auth-scenario 136: replicas share used assertions in Redis', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const provider = await startSamlIdentityProvider(t)
  const settings = { redis: { connection: redis.url, timeout: 3000 } }
  const [first, second] = await Promise.all([
    startSaml(t, {}, { provider, settings }),
    startSaml(t, {}, { provider, settings }),
  ])
  const xml = provider.answer()
  assert.equal((await post(first.open(), xml)).status, 302)
  assert.equal((await post(second.open(), xml)).status, 401)
  assert.match(reasonsOf(second)[0] ?? '', /used before/)
  const [key = ''] = (await redis.ask('keys', 'fairlead:saml:*')) as string[]
  const restMs = Number(await redis.ask('pttl', key))
  assert.ok(restMs > 11 * minute && restMs <= 12 * minute, String(restMs))

  const browser = second.open()
  const inResponseTo = await startLogin(browser)
  assert.equal((await post(browser, provider.answer({ inResponseTo }))).status, 302)
  await redis.kill()
  assert.equal((await post(first.open(), provider.answer())).status, 503)
})

test('the age of an authentication matters only where saml.maxAuthenticationAge is set', async (t) => {
  const authnInstantMs = Date.now() - 3 * 60 * minute
  const relaxed = await startSaml(t)
  assert.equal((await login(relaxed, relaxed.open(), { authnInstantMs })).status, 302)
  const strict = await startSaml(t, { maxAuthenticationAge: 7200 })
  assert.equal((await login(strict, strict.open(), { authnInstantMs })).status, 401)
  assert.match(reasonsOf(strict)[0] ?? '', /saml\.maxAuthenticationAge/)
  assert.equal((await login(strict, strict.open())).status, 302)
})

test('a request is not answered after an hour', async (t) => {
  let nowMs = Date.now()
  const gateway = await startSaml(
    t,
    {},
    {
      now: () => nowMs,
      settings: {
        server: { 'forward-headers-strategy': 'native', session: { timeoutInSeconds: 86400 } },
      },
    },
  )
  const browser = gateway.open()
  const inResponseTo = await startLogin(browser)
  nowMs += 61 * minute
  assert.equal((await post(browser, gateway.provider.answer({ inResponseTo, nowMs }))).status, 401)
})

test('auth-scenario 135: a login may start at the identity provider', async (t) => {
  const gateway = await startSaml(t)
  const browser = gateway.open()
  const answer = await post(browser, gateway.provider.answer())
  assert.deepEqual([answer.status, answer.location], [302, `${gatewayUrl}/`])
  assert.equal((await browser.user())?.['username'], 'alice@example.com')
  assert.equal((await browser.visit('/')).location, ui)
})

test('a login may be forbidden to start at the identity provider', async (t) => {
  const gateway = await startSaml(t, { idpInitiated: { enabled: false } })
  assert.equal((await post(gateway.open(), gateway.provider.answer())).status, 401)
  assert.match(reasonsOf(gateway)[0] ?? '', /saml\.idpInitiated\.enabled/)
  assert.equal((await login(gateway, gateway.open())).status, 302)
})

test('an unsigned frame adds no request to an assertion', async (t) => {
  const strict = await startSaml(t, { idpInitiated: { enabled: false } })
  const browser = strict.open()
  const stolen = strict.provider.answer({ responseInResponseTo: await startLogin(browser) })
  assert.equal((await post(browser, stolen)).status, 401)
  assert.match(reasonsOf(strict)[0] ?? '', /as far as its signature says/)
  for (const signed of ['response', 'both'] as const) {
    const other = strict.open()
    const responseInResponseTo = await startLogin(other)
    assert.equal(
      (await post(other, strict.provider.answer({ responseInResponseTo, signed }))).status,
      302,
    )
  }
})

test('auth-scenario 132: an assertion counts for an hour, whatever it says itself', async (t) => {
  let nowMs = Date.now()
  const gateway = await startSaml(t, {}, { now: () => nowMs })
  const notOnOrAfterMs = Date.parse('9999-12-31T23:59:59Z')
  const [used, late, unused] = [1, 2, 3].map(() =>
    gateway.provider.answer({ nowMs, notOnOrAfterMs }),
  ) as [string, string, string]
  const future = gateway.provider.answer({
    nowMs: nowMs + 6 * minute,
    notBeforeMs: nowMs,
    notOnOrAfterMs,
  })
  assert.equal((await post(gateway.open(), used)).status, 302)
  assert.equal((await post(gateway.open(), future)).status, 401)
  nowMs += 64 * minute
  assert.equal((await post(gateway.open(), late)).status, 302)
  assert.equal((await post(gateway.open(), used)).status, 401)
  nowMs += 2 * minute
  assert.equal((await post(gateway.open(), unused)).status, 401)
  assert.deepEqual(
    reasonsOf(gateway).map((reason) => reason.replace(/"[^"]*"/, '…')),
    [
      'the assertion was issued at …, which is in the future',
      'the assertion has been used before',
      'the assertion was issued at …, more than an hour ago',
    ],
  )
})

test('auth-scenario 136: assertions are kept until the slowest clock rejects them', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const provider = await startSamlIdentityProvider(t)
  const settings = { redis: { connection: redis.url } }
  const nowMs = Date.now()
  const fast = await startSaml(t, {}, { provider, settings, now: () => nowMs + 4 * minute })
  assert.equal(
    (await post(fast.open(), provider.answer({ nowMs, notOnOrAfterMs: nowMs }))).status,
    302,
  )
  const [key = ''] = (await redis.ask('keys', 'fairlead:saml:*')) as string[]
  // A replica whose clock is right accepts the assertion for five more minutes.
  assert.ok(Number(await redis.ask('pttl', key)) > 5 * minute)
})

test('auth-scenario 138: a relay state of somebody else leads nowhere', async (t) => {
  const gateway = await startSaml(t, { idpInitiated: { relayStates: [`${ui}/#/applications`] } })
  for (const RelayState of [
    'https://evil.com',
    'javascript:alert(1)',
    '//evil.com',
    '/auth/logout',
    `${ui}/#/other`,
  ]) {
    await t.test(RelayState, async () => {
      const visitor = gateway.open()
      assert.equal(
        (await post(visitor, gateway.provider.answer(), { RelayState })).location,
        `${gatewayUrl}/`,
      )
      assert.ok(await visitor.user())

      const browser = gateway.open()
      await browser.visit('/credentials')
      const inResponseTo = await startLogin(browser)
      const answer = await post(browser, gateway.provider.answer({ inResponseTo }), { RelayState })
      assert.equal(answer.location, `${gatewayUrl}/credentials`)
    })
  }
})

test('a listed relay state leads to a page of the UI', async (t) => {
  const gateway = await startSaml(t, {
    idpInitiated: { relayStates: [`${ui}/#/applications`, 'https://evil.com/'] },
  })
  const browser = gateway.open()
  const answer = await post(browser, gateway.provider.answer(), {
    RelayState: `${ui}/#/applications`,
  })
  assert.equal(
    answer.location,
    `${gatewayUrl}/auth/redirect?to=${encodeURIComponent(`${ui}/#/applications`)}`,
  )
  const { pathname, search } = new URL(answer.location ?? '')
  assert.equal((await browser.visit(pathname + search)).location, `${ui}/#/applications`)

  const lured = gateway.open()
  const evil = await post(lured, gateway.provider.answer(), { RelayState: 'https://evil.com/' })
  const target = new URL(evil.location ?? '')
  assert.equal((await lured.visit(target.pathname + target.search)).status, 400)
})

test('auth-scenario 140: an encrypted assertion is read in a signed response only', async (t) => {
  const folder = writeFiles(t, { 'saml.p12': Buffer.from(currentStore, 'base64') })
  const gateway = await startSaml(t, {
    keyStore: join(folder, 'saml.p12'),
    keyStorePassword: 'changeit',
    keyStoreType: 'PKCS12',
  })
  const encryptFor = encryptionCertificate((await gateway.open().visit('/saml/metadata')).text)
  for (const keyTransport of ['rsa-oaep-mgf1p', 'rsa-oaep'] as const) {
    for (const cipher of ['aes256-gcm', 'aes128-gcm', 'aes256-cbc'] as const) {
      await t.test(`with ${cipher} and ${keyTransport}`, async () => {
        for (const signed of ['response', 'both'] as const) {
          const browser = gateway.open()
          const attributes = { memberOf: ['ops'] }
          assert.equal(
            (
              await login(gateway, browser, {
                encryptFor,
                cipher,
                keyTransport,
                signed,
                attributes,
              })
            ).status,
            302,
          )
          assert.deepEqual((await browser.user())?.['roles'], ['ops'])
        }
        for (const signed of ['assertion', 'neither'] as const) {
          assert.equal(
            (await login(gateway, gateway.open(), { encryptFor, cipher, keyTransport, signed }))
              .status,
            401,
          )
          assert.match(reasonsOf(gateway).at(-1) ?? '', /in a signed response only/)
        }
      })
    }
  }
})

test('auth-scenario 140: an encrypted assertion is checked like any other', async (t) => {
  const folder = writeFiles(t, { 'saml.p12': Buffer.from(currentStore, 'base64') })
  const gateway = await startSaml(t, {
    keyStore: join(folder, 'saml.p12'),
    keyStorePassword: 'changeit',
  })
  const encryptFor = encryptionCertificate((await gateway.open().visit('/saml/metadata')).text)
  const rows = [
    [{ audience: 'other' }, /meant for "other"/],
    [{ keyTransport: 'rsa-1_5' }, /rsa-1_5" is not supported/],
    [{ encryptFor: keyPairOf('somebody').certificate }, /not encrypted for a key/],
  ] as const
  for (const [answer, reason] of rows) {
    assert.equal(
      (await login(gateway, gateway.open(), { encryptFor, signed: 'response', ...answer })).status,
      401,
    )
    assert.match(reasonsOf(gateway).at(-1) ?? '', reason)
  }
  const keyless = await startSaml(t)
  assert.equal(
    (await login(keyless, keyless.open(), { encryptFor, signed: 'response' })).status,
    401,
  )
  assert.match(reasonsOf(keyless)[0] ?? '', /no key to decrypt it is configured/)
})

function encryptionCertificate(metadata: string): string {
  const base64 = /use="encryption">.*?<ds:X509Certificate>([^<]*)/s.exec(metadata)?.[1] ?? ''
  return new X509Certificate(Buffer.from(base64, 'base64')).toString()
}

test('auth-scenario 142: the metadata of the gateway is open and complete', async (t) => {
  const folder = writeFiles(t, { 'saml.p12': Buffer.from(currentStore, 'base64') })
  const gateway = await startSaml(t, {
    keyStore: join(folder, 'saml.p12'),
    keyStorePassword: 'changeit',
    signRequests: true,
    signingCredentials: signingCredentials(t),
  })
  for (const path of [
    '/saml/metadata',
    '/saml2/metadata',
    '/saml2/service-provider-metadata/SSO',
    '/saml/metadata?registrationId=SSO',
  ]) {
    const { status, headers, text } = await gateway.open().visit(path)
    assert.equal(status, 200)
    assert.equal(headers.get('content-type'), 'application/samlmetadata+xml')
    assert.match(text, / entityID="spinnaker"/)
    assert.match(
      text,
      /<md:AssertionConsumerService Binding="[^"]*HTTP-POST" Location="https:\/\/gate\.example\.com\/saml\/SSO"/,
    )
    assert.match(text, /AuthnRequestsSigned="true"/)
    assert.ok(text.includes(signing.base64))
    assert.equal(parseXml(text).root.localName, 'EntityDescriptor')
  }
  assert.equal((await gateway.open().visit('/saml/metadata?registrationId=nobody')).status, 404)
})

test('auth-scenario 143: the last good metadata survives failures and restarts', async (t) => {
  const dataDir = writeFiles(t, {})
  const provider = await startSamlIdentityProvider(t)
  const first = await startSaml(t, { metadataRefresh: '20ms' }, { provider, dataDir })
  provider.server.answer({ 'GET /metadata': new Reply(500, 'down') })
  await waitUntil(() => first.log.some(({ level }) => level === 40), 'the complaint')
  assert.equal((await login(first, first.open())).status, 302)
  provider.server.answer({ 'GET /metadata': new Reply(200, '<html>maintenance</html>') })
  await waitUntil(() => provider.server.requests.length > 1, 'the metadata to be read')
  assert.equal((await login(first, first.open())).status, 302)
  await first.stop()

  const second = await startSaml(t, {}, { provider, dataDir })
  assert.equal((await login(second, second.open())).status, 302)
})

test('a new provider key replaces the old one', async (t) => {
  const [old, renewed] = [keyPairOf('idp'), keyPairOf('idp-renewed')]
  const provider = await startSamlIdentityProvider(t, { keys: [old] })
  const both = await startSamlIdentityProvider(t, { keys: [renewed, old] })
  const gateway = await startSaml(t, { metadataRefresh: '20ms' }, { provider })
  assert.equal((await login(gateway, gateway.open(), { signer: renewed })).status, 401)

  provider.server.answer({ 'GET /metadata': new Reply(200, both.metadata) })
  await waitUntil(() => provider.server.requests.length > 1, 'the metadata to be read')
  assert.equal((await login(gateway, gateway.open(), { signer: renewed })).status, 302)
  assert.equal((await login(gateway, gateway.open(), { signer: old })).status, 302)

  const only = await startSamlIdentityProvider(t, { keys: [renewed] })
  provider.server.answer({ 'GET /metadata': new Reply(200, only.metadata) })
  await waitUntil(() => provider.server.requests.length > 1, 'the metadata to be read')
  assert.equal((await login(gateway, gateway.open(), { signer: old })).status, 401)
})

test('auth-scenario 144: a response without the session cookie leads to the start', async (t) => {
  const gateway = await startSaml(t)
  const inResponseTo = await startLogin(gateway.open())
  const answer = await post(gateway.open(), gateway.provider.answer({ inResponseTo }))
  assert.equal(answer.status, 401)
  assert.equal(answer.location, null)
  assert.match(answer.text, /href="\/login">Start again</)
  assert.match(answer.text, /server\.servlet\.session\.cookie\.same-site: none/)
  assert.match(
    reasonsOf(gateway)[0] ?? '',
    /no cookie.*server\.servlet\.session\.cookie\.same-site: none/,
  )
})

test('a program that posts an answer gets the error object', async (t) => {
  const gateway = await startSaml(t)
  const answer = await gateway.open().visit(consumerPath, {
    method: 'POST',
    body: new URLSearchParams({ SAMLResponse: 'x' }),
    headers: { accept: 'application/json' },
  })
  const body = JSON.parse(answer.text) as Record<string, unknown>
  assert.equal(answer.status, 401)
  assert.deepEqual([body['status'], body['error'], 'path' in body], [401, 'Unauthorized', false])
})
