/** What the keys of both generations mean, and what is refused before anything starts. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { ConfigError, type LoadedConfig, loadConfig } from '../../../packages/app/config/config.ts'
import { fillAddress } from '../../../packages/gateway/login/address-template.ts'
import { formMethod } from '../../../packages/gateway/login/form/method.ts'
import { oauth2Method } from '../../../packages/gateway/login/oauth2/method.ts'
import type { Registration } from '../../../packages/gateway/login/oauth2/registration.ts'
import { methodSettingsOf } from '../../../packages/gateway/login/settings.ts'
import { startIdentityProvider } from '../../support/identity-provider.ts'
import { currentSettings, olderSettings, startOAuth2 } from './support.ts'

async function load(
  t: TestContext,
  yaml: string,
  env: Record<string, string> = {},
): Promise<LoadedConfig> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-oauth2-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'fairlead.yml'), yaml)
  return loadConfig({ cwd: folder, env, homeDir: folder, systemDir: folder })
}

async function registrationOf(
  t: TestContext,
  yaml: string,
  env: Record<string, string> = {},
): Promise<Registration> {
  const { config } = await load(t, yaml, env)
  const [registration] = methodSettingsOf(config.login, oauth2Method)?.registrations ?? []
  assert.ok(registration !== undefined, 'no registration')
  assert.equal(methodSettingsOf(config.login, formMethod), undefined)
  return registration
}

async function problemsOf(t: TestContext, yaml: string): Promise<readonly string[]> {
  try {
    await load(t, yaml)
  } catch (error) {
    if (error instanceof ConfigError)
      return error.problems.map(({ key, message }) => `${key}: ${message}`)
    throw error
  }
  return []
}

const explicit = 'userAuthorizationUri: https://i.example/a, accessTokenUri: https://i.example/t'

test('auth-scenario 261: three spellings and the environment mean the same', async (t) => {
  const camel = `security: {oauth2: {client: {clientId: gw, clientSecret: s, scope: "email profile", ${explicit}}, resource: {userInfoUri: "https://i.example/u"}}}`
  const kebab = `security.oauth2.client: {client-id: gw, client-secret: s, scope: [email, profile], user-authorization-uri: https://i.example/a, access-token-uri: https://i.example/t}
security.oauth2.resource.user-info-uri: https://i.example/u`
  const environment = {
    SECURITY_OAUTH2_CLIENT_CLIENTID: 'gw',
    SECURITY_OAUTH2_CLIENT_CLIENTSECRET: 's',
    SECURITY_OAUTH2_CLIENT_SCOPE: 'email,profile',
    SECURITY_OAUTH2_CLIENT_USERAUTHORIZATIONURI: 'https://i.example/a',
    SECURITY_OAUTH2_CLIENT_ACCESSTOKENURI: 'https://i.example/t',
    SECURITY_OAUTH2_RESOURCE_USERINFOURI: 'https://i.example/u',
  }

  const [one, two, three] = [
    await registrationOf(t, camel),
    await registrationOf(t, kebab),
    await registrationOf(t, '', environment),
  ]

  assert.deepEqual(two, one)
  assert.deepEqual(three, one)
  assert.equal(one.redirectUri, '{baseUrl}/login')
})

test('the current keys can stand in the environment', async (t) => {
  const registration = await registrationOf(t, '', {
    SPRING_SECURITY_OAUTH2_CLIENT_REGISTRATION_GOOGLE_CLIENTID: 'gw',
    SPRING_SECURITY_OAUTH2_CLIENT_REGISTRATION_GOOGLE_CLIENTSECRET: 's',
    SPRING_SECURITY_OAUTH2_CLIENT_REGISTRATION_USERINFOREQUIREMENTS_HD: 'x.io',
    SPRING_SECURITY_OAUTH2_CLIENT_REGISTRATION_USERINFOMAPPING_FIRSTNAME: '',
  })

  assert.equal(registration.id, 'google')
  assert.deepEqual(registration.requirements, [{ attribute: 'hd', value: 'x.io' }])
  assert.equal(registration.mapping.firstName, undefined)
  assert.equal(registration.endpoints.issuer, 'https://accounts.google.com')
})

const presets: [name: string, parts: string, expected: Partial<Registration>][] = [
  [
    'google',
    '',
    {
      scopes: ['openid', 'profile', 'email'],
      clientAuthentication: 'client_secret_basic',
      label: 'Google',
    },
  ],
  ['github', '', { scopes: ['read:user'], label: 'GitHub' }],
  ['gitlab', '', { scopes: ['openid', 'profile', 'email'], label: 'GitLab' }],
  [
    'facebook',
    '',
    {
      scopes: ['public_profile', 'email'],
      clientAuthentication: 'client_secret_post',
      label: 'Facebook',
    },
  ],
  [
    'azure',
    'issuer-uri: https://login.microsoftonline.com/t/v2.0',
    { scopes: ['openid', 'profile', 'email'], label: 'Microsoft' },
  ],
  [
    'okta',
    'issuer-uri: https://corp.okta.com/oauth2/default',
    { scopes: ['openid', 'profile', 'email'], label: 'Okta' },
  ],
  [
    'keycloak',
    'issuer-uri: https://kc.example/realms/corp',
    { scopes: ['openid', 'profile', 'email'], label: 'Keycloak' },
  ],
]
for (const [name, parts, expected] of presets) {
  test(`the preset ${name} needs identifier and secret${parts === '' ? '' : ', and the issuer'}`, async (t) => {
    const client = `registration: {${name}: {client-id: gw, client-secret: s}}${parts === '' ? '' : `, provider: {${name}: {${parts}}}`}`

    const registration = await registrationOf(t, `spring.security.oauth2.client: {${client}}`)

    for (const [key, value] of Object.entries(expected))
      assert.deepEqual(registration[key as keyof Registration], value)
    if (parts === '')
      assert.ok(registration.endpoints.tokenUri && registration.endpoints.userInfoUri)
    else assert.equal(registration.issuerUri, registration.endpoints.issuer)
  })
}

test('the preset Oracle needs a tenant', async (t) => {
  const yaml =
    'spring.security.oauth2.client.registration.oracle: {client-id: gw, client-secret: s}\n'

  const registration = await registrationOf(t, `${yaml}idcsTenantId: abc`)

  assert.equal(
    registration.endpoints.tokenUri,
    'https://idcs-abc.identity.oraclecloud.com/oauth2/v1/token',
  )
  assert.equal(registration.mapping.email, undefined)
  assert.ok((await problemsOf(t, yaml)).some((problem) => problem.includes('token-uri')))
})

for (const [profile, host, scopes] of [
  ['googleOAuth', 'accounts.google.com', ['profile', 'email']],
  ['githubOAuth', 'github.com', ['user:email']],
  ['azureOAuth', 'login.microsoftonline.com', ['profile']],
] as const) {
  test(`the profile ${profile} of Gate is a preset`, async (t) => {
    const yaml = `spring.profiles.active: ${profile}\nazureTenantId: t\nsecurity.oauth2.client: {clientId: gw, clientSecret: s}`

    const registration = await registrationOf(t, yaml)

    assert.equal(new URL(registration.endpoints.authorizationUri ?? '').hostname, host)
    assert.deepEqual(registration.scopes, scopes)
  })
}

test('the spelling of installers is read, and their switch is obeyed', async (t) => {
  const block = (enabled: boolean) =>
    `security.authn: {enabled: ${enabled}, oauth2: {enabled: ${enabled}, provider: GITHUB, client: {clientId: gw, clientSecret: s}}}`

  const registration = await registrationOf(t, block(true))
  const off = await load(t, block(false))

  assert.equal(registration.id, 'github')
  assert.equal(registration.mapping.username, 'login')
  assert.deepEqual(
    off.config.login.methods.map(({ type }) => type.name),
    ['form'],
  )
})

test('the spelling of the earliest releases is read', async (t) => {
  const registration = await registrationOf(
    t,
    `spring.oauth2: {client: {clientId: gw, clientSecret: s, ${explicit}}, resource: {userInfoUri: "https://i.example/u"}}`,
  )

  assert.equal(registration.endpoints.userInfoUri, 'https://i.example/u')
})

test('an own installation ignores the preset addresses', async (t) => {
  const provider = '{authorization-uri: https://git.corp/a, token-uri: https://git.corp/t}'
  const problems = await problemsOf(
    t,
    `spring.security.oauth2.client: {registration: {github: {client-id: gw, client-secret: s}}, provider: {github: ${provider}}}`,
  )

  assert.deepEqual(problems.length, 1)
  assert.match(problems[0] ?? '', /provider\.github\.user-info-uri: is missing/)
})

test('auth-scenario 93: the current generation wins, with a warning', async (t) => {
  const provider = await startIdentityProvider(t)
  const settings = {
    ...currentSettings(provider),
    ...olderSettings(provider, { client: { clientId: 'older' } }),
  }
  const browser = (await startOAuth2(t, settings)).open()

  const { location } = await browser.visit('/login')

  assert.equal(new URL(location ?? '').searchParams.get('client_id'), 'gw')
  const { notices } = await load(t, JSON.stringify(settings))
  assert.ok(
    notices.some((notice) =>
      notice.startsWith(
        'Warning: security.oauth2 and spring.security.oauth2.client.registration both',
      ),
    ),
  )
})

const registration = 'spring.security.oauth2.client.registration'
const refused: [name: string, yaml: string, problem: RegExp][] = [
  [
    'auth-scenario 260: a form beside the provider',
    `${registration}.google: {client-id: a, client-secret: b}\nsecurity.basicform.enabled: true`,
    /OAuth 2\.0 \(.*registration\) and form \(security\.basicform\.enabled\)/,
  ],
  [
    'anonymous access beside the provider',
    `${registration}.google: {client-id: a, client-secret: b}\nanonymous.enabled: true`,
    /anonymous\.enabled: .*exclude each other/,
  ],
  [
    'auth-scenario 262: no authorization address',
    'security.oauth2.client: {clientId: a, clientSecret: b}',
    /client\.userAuthorizationUri: is missing/,
  ],
  [
    'a provider that nobody knows',
    `${registration}.corp: {client-id: a, client-secret: b}`,
    /provider\.corp\.authorization-uri: is missing/,
  ],
  [
    'a switch without a client',
    'security.authn.oauth2.enabled: true',
    /client\.clientId: is missing/,
  ],
  [
    'no secret',
    `${registration}.google: {client-id: a, client-authentication-method: client_secret_post}`,
    /client-secret: is missing/,
  ],
  [
    'a method that does not exist',
    `${registration}.google: {client-id: a, client-secret: b, client-authentication-method: magic}`,
    /must be one of/,
  ],
  [
    'another grant',
    `${registration}.google: {client-id: a, client-secret: b, authorization-grant-type: password}`,
    /authorization_code/,
  ],
  [
    'a key that nobody knows',
    `${registration}.google: {client-id: a, client-secret: b, clientsecrets: c}`,
    /is not a known key/,
  ],
  [
    'an address that is none',
    `${registration}.google: {client-id: a, client-secret: b}\nspring.security.oauth2.client.provider.google.token-uri: idp`,
    /must be an absolute address/,
  ],
  [
    'a pattern that is none',
    `${registration}: {google: {client-id: a, client-secret: b}, userInfoRequirements: {team: "/(/"}}`,
    /userInfoRequirements\.team: is not a pattern/,
  ],
  [
    'a private key that does not exist',
    `${registration}.google: {client-id: a, client-authentication-method: private_key_jwt, private-key-location: /nonexistent.pem}`,
    /private-key-location: cannot be used/,
  ],
  [
    'a private key that nobody names',
    `${registration}.google: {client-id: a, client-authentication-method: private_key_jwt}`,
    /private-key-location: is missing/,
  ],
  [
    'an audience that nobody can check',
    `${registration}.github: {client-id: a, client-secret: b}\nsecurity.oauth2.external-auth-token-filter.audience: x`,
    /audience: can only be checked with an issuer/,
  ],
  [
    'another login path',
    `security.oauth2: {provider: GITHUB, client: {clientId: a, clientSecret: b}, sso: {loginPath: /sso}}`,
    /sso\.loginPath: must be \/login/,
  ],
]
for (const [name, yaml, problem] of refused) {
  test(`the start is refused: ${name}`, async (t) => {
    const problems = await problemsOf(t, yaml)

    assert.ok(
      problems.some((text) => problem.test(text)),
      problems.join('\n') || 'no problem',
    )
    assert.ok(!problems.join('\n').includes('s3cret'))
  })
}

test('an unprotected address of a provider is worth a warning', async (t) => {
  const { notices } = await load(
    t,
    `security.oauth2: {client: {clientId: a, clientSecret: b, ${explicit}}, resource: {userInfoUri: "http://i.example/u?x=1"}}`,
  )

  assert.ok(
    notices.some((notice) => notice.includes('unprotected to http://i.example/u;')),
    notices.join('\n'),
  )
})

test('placeholders of a redirect address are filled in', () => {
  const place = { baseUrl: 'https://g.example:8443/api', registrationId: 'corp' }

  assert.equal(
    fillAddress('{baseUrl}/x/{registrationId}', place),
    'https://g.example:8443/api/x/corp',
  )
  assert.equal(
    fillAddress('{baseScheme}://{baseHost}{basePort}{basePath}/{action}', place),
    'https://g.example:8443/api/login',
  )
  assert.equal(fillAddress('{constructor}{other}', place), '{constructor}{other}')
})
