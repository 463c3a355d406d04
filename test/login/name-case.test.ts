/** Case in user names: `MARK` from an identity provider never gets the roles of `mark` unless both are known to be one user. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { loadConfig } from '../../packages/app/config/config.ts'
import { openUsers } from '../../packages/gateway/login/form/users.ts'
import { nameCaseOfProvider } from '../../packages/gateway/login/oauth2/registration.ts'
import { nameCaseOfIdentityProvider } from '../../packages/gateway/login/saml/idp-metadata.ts'
import { type GatewaySettings, runGateway } from '../support/gateway.ts'
import { startIdentityProvider } from '../support/identity-provider.ts'
import { startSamlIdentityProvider } from '../support/saml-identity-provider.ts'
import { createFolder } from '../support/temporary-folder.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { Browser, type Visit } from './browser.ts'
import { audience as iapAudience, startKeyServer } from './iap/key-server.ts'
import { startLdap, pattern as userPattern } from './ldap/support.ts'
import { currentSettings, logIn, startOAuth2 } from './oauth2/support.ts'
import { login as logInBySaml, startSaml } from './saml/support.ts'
import { formSettings, proxyHeaders } from './support.ts'
import { ask, createFiles, createIssuers, runWithApiPort, sslSettings } from './x509/support.ts'

const issuers = await createIssuers()

/** What a caller gets who comes with a name. */
interface Result {
  /** Of the login, or of a protected request. */
  readonly status: number
  readonly text: string
  readonly user: Record<string, unknown> | undefined
  readonly cookies: readonly string[]
}

type Attempt = (name: string) => Promise<Result>

interface Method {
  /** Undefined where the server that it needs is not installed. */
  readonly start: (t: TestContext, settings: GatewaySettings) => Promise<Attempt | undefined>
  readonly rule: 'one user' | 'refused'
  /** In lower case. */
  readonly user?: string
}

const oauth2 = (provider: string) => async (t: TestContext, settings: GatewaySettings) => {
  const server = await startIdentityProvider(t)
  const parts = currentSettings(server, { registration: { provider } }) as { spring: object }
  const providers = { [provider]: { 'issuer-uri': server.url } }
  const spring = merge(parts.spring, { security: { oauth2: { client: { provider: providers } } } })
  const gateway = await startOAuth2(t, { ...settings, spring })
  return async (email: string) => {
    server.person = { ...server.person, email }
    const browser = gateway.open()
    return afterLogin(browser, await logIn(browser, { accept: 'text/html' }))
  }
}

const saml = (entityId: string) => async (t: TestContext, settings: GatewaySettings) => {
  const gateway = await startSaml(
    t,
    {},
    { provider: await startSamlIdentityProvider(t, { entityId }), settings },
  )
  return async (nameId: string) => {
    const browser = gateway.open()
    return afterLogin(browser, await logInBySaml(gateway, browser, { nameId }))
  }
}

const iap = (issuer: string) => async (t: TestContext, settings: GatewaySettings) => {
  const keys = await startKeyServer(t, Date.now)
  const google = {
    iap: { enabled: true, audience: iapAudience, iapVerifyKeyUrl: keys.url, issuerId: issuer },
  }
  const { url } = await runGateway(t, { ...settings, google })
  return async (email: string) =>
    withHeaders(url, { 'x-goog-iap-jwt-assertion': await keys.sign({ email, iss: issuer }) })
}

const methods: Record<string, Method> = {
  form: {
    rule: 'one user',
    async start(t, settings) {
      const dataDir = createFolder('names')
      const users = openUsers(dataDir)
      await users.add('mark', 'correct horse', [])
      users.close()
      const { url } = await runGateway(t, { ...formSettings, ...settings }, { dataDir })
      return async (name) => {
        const browser = new Browser(url, proxyHeaders)
        return afterLogin(browser, await browser.login(name, 'correct horse'))
      }
    },
  },
  LDAP: {
    rule: 'one user',
    user: 'alice',
    async start(t, settings) {
      const gateway = await startLdap(t, userPattern, { settings })
      return (
        gateway &&
        (async (name) => {
          const browser = gateway.open()
          return afterLogin(browser, await browser.login(name, 'pw'))
        })
      )
    },
  },
  'OpenID Connect': { rule: 'refused', start: oauth2('corp') },
  'OpenID Connect with provider: okta': { rule: 'one user', start: oauth2('okta') },
  SAML: { rule: 'refused', start: saml('https://idp.example.com/metadata') },
  'SAML of Entra': { rule: 'one user', start: saml('https://sts.windows.net/5e1f/') },
  'client certificates': {
    rule: 'refused',
    async start(t, settings) {
      const { authority, server } = issuers
      const { apiUrl } = await runWithApiPort(
        t,
        sslSettings(createFiles(t), server, [authority]),
        settings,
      )
      return async (name) => {
        const client = await authority.issue({ subject: `CN=${name}` })
        const [answer, who] = [
          await ask(`${apiUrl}/credentials`, { client }),
          await ask(`${apiUrl}/auth/user`, { client }),
        ]
        return { status: answer.status, text: answer.text, user: parse(who.text), cookies: [] }
      }
    },
  },
  'trusted header': {
    rule: 'refused',
    async start(t, settings) {
      const { url } = await runGateway(t, { ...settings, header: { enabled: true } })
      return (name) => withHeaders(url, { 'X-SPINNAKER-USER': name })
    },
  },
  'Identity-Aware Proxy': { rule: 'one user', start: iap('https://cloud.google.com/iap') },
  'proxy with tokens of another issuer': {
    rule: 'refused',
    start: iap('https://proxy.example.com'),
  },
}

for (const [name, { start, rule, user: mark = 'mark' }] of Object.entries(methods)) {
  test(`${name}: MARK is ${rule === 'refused' ? 'refused' : 'the user mark'} by default`, async (t) => {
    const fiat = await startFiat(t, mark)
    const attempt = await start(t, { services: { fiat: { baseUrl: fiat.url, enabled: true } } })
    if (attempt === undefined) return
    const lower = await attempt(mark)
    assert.deepEqual([lower.user?.['username'], lower.user?.['isAdmin']], [mark, true], lower.text)

    const upper = await attempt(mark.toUpperCase())
    if (rule === 'one user') return assertSameUser(upper, mark)
    assert.ok(upper.status === 401 || upper.status === 403, `${upper.status}: ${upper.text}`)
    assert.equal(upper.user, undefined)
    assert.deepEqual(
      upper.cookies.filter(
        (cookie) => cookie.startsWith('SESSION=') && !cookie.includes('Max-Age=0'),
      ),
      [],
    )
    assert.match(upper.text, /MARK has upper-case letters, and mark may be another user/)
    assert.match(upper.text, /login\.caseInsensitiveNames: true/)
    assert.deepEqual(
      [...fiat.requests, ...fiat.background].filter(({ path }) => path.includes('MARK')),
      [],
    )
  })

  if (rule === 'refused') {
    test(`${name}: with login.caseInsensitiveNames MARK is mark`, async (t) => {
      const fiat = await startFiat(t, mark)
      const services = { fiat: { baseUrl: fiat.url, enabled: true } }
      const attempt = await start(t, { services, login: { caseInsensitiveNames: true } })
      if (attempt !== undefined) assertSameUser(await attempt(mark.toUpperCase()), mark)
    })
  }
}

test('login.caseInsensitiveNames: false refuses MARK everywhere', async (t) => {
  const fiat = await startFiat(t, 'mark')
  const settings = {
    services: { fiat: { baseUrl: fiat.url, enabled: true } },
    login: { caseInsensitiveNames: false },
  }
  for (const provider of ['okta', 'corp']) {
    const attempt = await oauth2(provider)(t, settings)
    const upper = await attempt('MARK')
    assert.deepEqual([upper.status, upper.user], [403, undefined])
    assert.match(upper.text, /\(login\.caseInsensitiveNames: false\)/)
    assert.equal((await attempt('mark')).user?.['username'], 'mark')
  }
})

test('a configured user that a setting rejects is a problem', async () => {
  const places = {
    cwd: '/nonexistent',
    homeDir: '/nonexistent',
    systemDir: '/nonexistent',
    env: {},
  }
  const settings = {
    'login.caseInsensitiveNames': 'false',
    'spring.security.user.name': 'Mark',
    'spring.security.user.password': 'secret',
  }
  await assert.rejects(
    loadConfig({ ...places, settings }),
    /spring\.security\.user\.name: has upper-case letters/,
  )
})

const providers: [
  name: string | undefined,
  addresses: string[],
  rule: 'insensitive' | 'unknown',
][] = [
  [
    'corp',
    ['https://accounts.google.com', 'https://www.googleapis.com/oauth2/v3/userinfo'],
    'insensitive',
  ],
  [
    undefined,
    ['https://github.com/login/oauth/authorize', 'https://api.github.com/user'],
    'insensitive',
  ],
  ['corp', ['https://login.microsoftonline.com/5e1f/v2.0'], 'insensitive'],
  ['corp', ['https://acme.okta.com/oauth2/default'], 'insensitive'],
  ['OKTA', ['https://login.acme.example'], 'insensitive'],
  ['azure', ['https://login.acme.example'], 'insensitive'],
  ['github', ['https://github.acme.example/api/v3/user'], 'insensitive'],
  ['corp', [], 'unknown'],
  ['google', ['https://login.acme.example'], 'unknown'],
  ['keycloak', ['https://keycloak.acme.example/realms/okta.com'], 'unknown'],
  ['corp', ['http://accounts.google.com'], 'unknown'],
  ['corp', ['https://accounts.google.com', 'https://login.acme.example/userinfo'], 'unknown'],
  ['corp', ['https://accounts.google.com', 'https://acme.okta.com/oauth2/v1/userinfo'], 'unknown'],
  ['corp', ['https://okta.com'], 'unknown'],
  ['corp', ['https://evilokta.com'], 'unknown'],
  ['corp', ['https://acme.okta.com.evil.example'], 'unknown'],
  ['corp', ['https://accounts.google.com.evil.example'], 'unknown'],
  ['corp', ['https://accounts.google.com@evil.example'], 'unknown'],
  ['corp', ['https://evil.example/?https://github.com'], 'unknown'],
  ['corp', ['nonsense'], 'unknown'],
  ['my-okta', ['https://evil.example'], 'unknown'],
]
for (const [name, addresses, rule] of providers) {
  test(`the provider ${name} at ${addresses.join(' ') || 'no address'}: case ${rule}`, () => {
    assert.equal(nameCaseOfProvider({ name, addresses }), rule)
  })
}

const entityIds: [entityId: string, rule: 'insensitive' | 'unknown'][] = [
  ['https://sts.windows.net/5e1f0a7c/', 'insensitive'],
  ['https://accounts.google.com/o/saml2?idpid=C01', 'insensitive'],
  ['http://www.okta.com/exk1', 'insensitive'],
  ['http://fs.acme.example/adfs/services/trust', 'insensitive'],
  ['https://sts.windows.net.evil.example/', 'unknown'],
  ['https://accounts.google.com/o/saml2evil', 'unknown'],
  ['https://www.okta.com.evil.example/exk1', 'unknown'],
  ['http://www.okta.com@evil.example/', 'unknown'],
  ['https://evil.example/?x=/adfs/services/trust', 'unknown'],
  ['https://evil.example/adfs/services/trust/x', 'unknown'],
  ['https://keycloak.acme.example/realms/main', 'unknown'],
  ['', 'unknown'],
]
for (const [entityId, rule] of entityIds) {
  test(`the identity provider ${entityId || 'without name'}: case ${rule}`, () => {
    assert.equal(nameCaseOfIdentityProvider(entityId), rule)
  })
}

/** A permission service, case-insensitive like Fiat, to which `mark` is an administrator. */
function startFiat(t: TestContext, mark: string): Promise<Upstream> {
  const view = {
    name: mark,
    admin: true,
    accounts: [],
    applications: [],
    roles: [],
    serviceAccounts: [],
  }
  return startUpstream(t, ({ path }) => (path.toLowerCase() === `/authorize/${mark}` ? view : {}))
}

function assertSameUser({ user, text }: Result, mark: string): void {
  assert.equal(String(user?.['username']).toLowerCase(), mark, text)
  assert.equal(user?.['isAdmin'], true)
}

async function afterLogin(browser: Browser, { status, text, cookies }: Visit): Promise<Result> {
  return { status, text, user: await browser.user(), cookies }
}

async function withHeaders(url: string, headers: Record<string, string>): Promise<Result> {
  const browser = new Browser(url)
  const { status, text, cookies } = await browser.visit('/credentials', { headers })
  return {
    status,
    text,
    user: parse((await browser.visit('/auth/user', { headers })).text),
    cookies,
  }
}

function parse(text: string): Record<string, unknown> | undefined {
  const value = text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>)
  return value?.['username'] === undefined ? undefined : value
}

/** The second wins, at every depth. */
function merge(first: object, second: object): object {
  const merged: Record<string, unknown> = { ...first }
  for (const [key, value] of Object.entries(second)) {
    const known = merged[key]
    const nested =
      typeof known === 'object' && known !== null && typeof value === 'object' && value !== null
    merged[key] = nested ? merge(known, value as object) : value
  }
  return merged
}
