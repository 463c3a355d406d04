/** `fairlead explain login` against real peers: each step is told, nothing is used up, and the gateway would do the same. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import pino from 'pino'
import { formatExplanation } from '../../bin/explain.ts'
import { explainLogin } from '../../packages/app/doctor/explain-login.ts'
import { openUsers } from '../../packages/gateway/login/form/users.ts'
import { openTokens } from '../../packages/gateway/login/tokens/tokens.ts'
import { currentSettings } from '../login/oauth2/support.ts'
import { login, startSaml } from '../login/saml/support.ts'
import { createAuthority, utf8String } from '../support/authority.ts'
import { manager, startDirectory } from '../support/directory.ts'
import {
  clientId,
  signingKey,
  signJwt,
  startIdentityProvider,
} from '../support/identity-provider.ts'
import { startSamlIdentityProvider } from '../support/saml-identity-provider.ts'
import { startUpstream } from '../support/upstream.ts'
import { explainTo, load, stepsOf } from './support.ts'

const fiatView = {
  name: 'alice',
  admin: true,
  roles: [{ name: 'ops', source: 'LDAP' }],
  applications: [],
  accounts: [],
  serviceAccounts: [],
}

test('a user of a directory is followed through each step', async (t) => {
  const directory = await startDirectory(t)
  if (directory === undefined) return
  const ldap = {
    enabled: true,
    url: directory.url,
    userDnPattern: 'uid={0},ou=users',
    groupSearchBase: 'ou=groups',
  }
  const explanation = await explainTo(
    t,
    { ldap },
    { kind: 'password', username: 'alice', password: 'pw' },
  )
  const steps = stepsOf(explanation)
  const dn = 'uid=alice,ou=users,dc=example,dc=org'
  assert.ok(steps.includes(`note ldap.userDnPattern leads to the entry ${dn}`), steps.join('\n'))
  assert.ok(steps.includes(`yes bind as ${dn} with the password`))
  assert.ok(steps.includes('note e-mail address alice@example.org, from the attribute mail'))
  assert.ok(
    steps.some((step) =>
      step.startsWith(
        `yes search for groups as the user: base "ou=groups,dc=example,dc=org", filter (uniqueMember=${dn})`,
      ),
    ),
  )
  assert.deepEqual(explanation.user?.roles, ['dev', 'ops', 'team, east'])
  assert.ok(explanation.roles.every(({ from }) => from === 'login by ldap'))
  assert.ok(!formatExplanation(explanation).includes('pw'))
})

test('without a password, the manager searches and reports the filter', async (t) => {
  const directory = await startDirectory(t)
  if (directory === undefined) return
  const ldap = {
    enabled: true,
    url: directory.url,
    userSearchFilter: '(uid={0})',
    userSearchBase: 'ou=users',
    groupSearchBase: 'ou=groups',
    managerDn: manager.dn,
    managerPassword: manager.password,
  }
  const known = await explainTo(
    t,
    { ldap },
    { kind: 'password', username: 'bob', password: undefined },
  )
  assert.equal(known.admitted, true)
  assert.deepEqual(known.user?.roles, ['dev', 'inner'])
  assert.equal(directory.asked('BIND dn="uid=bob').length, 0)
  const unknown = await explainTo(
    t,
    { ldap },
    { kind: 'password', username: 'mallory', password: undefined },
  )
  assert.deepEqual(stepsOf(unknown), [
    `no search for users as ${manager.dn}: base "ou=users,dc=example,dc=org", filter (uid=mallory): 0 found`,
    'no the user is unknown',
  ])
  const wrong = await explainTo(
    t,
    { ldap },
    { kind: 'password', username: 'bob', password: 'guess' },
  )
  assert.match(
    stepsOf(wrong).join('\n'),
    /no bind as uid=bob,.*: the password is wrong or the user is unknown/,
  )
})

test('a silent directory is reported with a solution', async (t) => {
  const ldap = { enabled: true, url: 'ldap://127.0.0.1:1/dc=x', userDnPattern: 'uid={0}' }
  const explanation = await explainTo(
    t,
    { ldap },
    { kind: 'password', username: 'alice', password: 'pw' },
  )
  assert.equal(explanation.admitted, false)
  assert.match(stepsOf(explanation).join('\n'), /no the directory cannot say: connect ECONNREFUSED/)
})

test('a form user is found, and no login is reported', async (t) => {
  const fiat = await startUpstream(t, { 'GET /authorize/alice': fiatView })
  const { config } = await load(t, { services: { fiat: { baseUrl: fiat.url } } })
  const users = openUsers(config.backends.dataDir)
  await users.add('alice', 'correct horse', ['dev'])
  users.close()
  const explanation = await explainLogin({
    config,
    credentials: { kind: 'password', username: 'alice', password: 'correct horse' },
  })
  assert.deepEqual(explanation.roles, [
    { role: 'dev', from: 'login by form' },
    { role: 'ops', from: 'permission service (LDAP)' },
  ])
  assert.deepEqual(explanation.permissions[0], 'it knows alice, who is an administrator')
  assert.ok(
    stepsOf(explanation).includes(
      'note the login tells the permission service that alice is here, with the roles dev',
    ),
  )
  assert.deepEqual(
    fiat.requests.map(({ method }) => method).filter((method) => method !== 'GET'),
    [],
  )
  const wrong = await explainLogin({
    config,
    credentials: { kind: 'password', username: 'alice', password: 'guess' },
  })
  assert.equal(wrong.admitted, false)
})

test('explaining creates neither a first administrator nor a data directory', async (t) => {
  const { config } = await load(t, {})
  const dataDir = join(config.backends.dataDir, 'missing')
  const explanation = await explainLogin({
    config: { ...config, backends: { ...config.backends, dataDir } },
    credentials: { kind: 'password', username: 'admin', password: undefined },
  })
  assert.equal(explanation.admitted, false)
  assert.equal(existsSync(dataDir), false)
})

test('an API token is recognized without recording its use', async (t) => {
  const { config } = await load(t, {
    security: { basicform: { enabled: true } },
    'api-tokens': { enabled: true },
  })
  const settings = config.login.tokens
  assert.ok(settings)
  const tokens = openTokens({
    settings,
    dataDir: config.backends.dataDir,
    log: pino({ level: 'silent' }),
  })
  const limits = { readOnly: true, applications: ['web'], operations: undefined }
  const { token, text } = await tokens.create({
    name: 'ci',
    principal: { type: 'SERVICE_ACCOUNT', id: 'robot' },
    createdBy: 'admin',
    limits,
  })
  const explanation = await explainLogin({ config, credentials: { kind: 'token', text } })
  assert.equal(explanation.user?.username, 'robot')
  const steps = stepsOf(explanation).join('\n')
  assert.match(steps, /yes this is the API token "ci"/)
  assert.match(steps, /note it may only read\nnote it counts for the applications web/)
  assert.equal((await tokens.find(token.id)).lastUsedAtMs, undefined)
  await tokens.revoke(token.id, 'admin')
  tokens.close()
  const revoked = await explainLogin({ config, credentials: { kind: 'token', text } })
  assert.equal(revoked.judgements[0]?.reason, 'the API token is unknown or revoked')
  assert.ok(!JSON.stringify([explanation, revoked]).includes(text))
})

test('claims are followed to user name, roles and each requirement', async (t) => {
  const provider = await startIdentityProvider(t)
  const settings = currentSettings(provider, {
    beside: {
      userInfoMapping: { roles: 'realm.roles' },
      userInfoRequirements: { hd: 'x.io', groups: '/dev.*/' },
    },
  })
  const claims = {
    sub: '1',
    email: 'a@x.io',
    hd: 'x.io',
    groups: ['ops'],
    realm: { roles: ['r1', 'r2'] },
  }
  const refused = await explainTo(t, settings, { kind: 'claims', claims, registration: undefined })
  const steps = stepsOf(refused)
  assert.ok(steps.includes('note user name a@x.io, from email'), steps.join('\n'))
  assert.ok(steps.includes('note roles r1, r2, from realm.roles'))
  assert.ok(steps.includes('yes requirement on hd: x.io'))
  assert.ok(steps.some((step) => step.startsWith('no requirement on groups: ')))
  assert.match(refused.judgements[0]?.reason ?? '', /does not meet the requirement on groups/)
  const admitted = await explainTo(t, settings, {
    kind: 'claims',
    claims: { ...claims, groups: ['dev-1'] },
    registration: 'corp',
  })
  assert.deepEqual(admitted.user?.roles, ['r1', 'r2'])
  const upperCase = await explainTo(t, settings, {
    kind: 'claims',
    claims: { ...claims, groups: ['dev-1'], email: 'A@x.io' },
    registration: undefined,
  })
  assert.match(
    upperCase.judgements[0]?.reason ?? '',
    /A@x\.io has upper-case letters, and a@x\.io may be another user/,
  )
})

test('ID and bearer tokens are verified with the keys', async (t) => {
  const provider = await startIdentityProvider(t)
  const nowS = Math.floor(Date.now() / 1000)
  const claims = {
    iss: provider.url,
    aud: clientId,
    sub: 's',
    email: 'a@x.io',
    iat: nowS,
    exp: nowS + 60,
  }
  const explainToken = (text: string, now?: () => number) =>
    explainTo(
      t,
      currentSettings(provider),
      { kind: 'id-token', text, registration: undefined },
      now,
    )
  const good = await explainToken(signJwt(claims, signingKey(0)))
  assert.equal(good.user?.username, 'a@x.io')
  const late = await explainToken(signJwt(claims, signingKey(0)), () => Date.now() + 3_600_000)
  assert.match(late.judgements[0]?.reason ?? '', /has expired/)
  const foreign = await explainToken(signJwt(claims, signingKey(1)))
  assert.match(foreign.judgements[0]?.reason ?? '', /the signature does not count/)
  const bearer = await explainTo(t, currentSettings(provider), {
    kind: 'token',
    text: 'access-token-1',
  })
  assert.equal(bearer.user?.username, 'a@x.io')
})

test('a SAML response is explained and remains usable', async (t) => {
  const mapping = { roles: 'groups', username: 'uid' }
  const saml = { requiredRoles: ['dev'], userAttributeMapping: mapping }
  const gateway = await startSaml(t, saml)
  const { provider } = gateway
  const settings = {
    saml: { enabled: true, metadataUrl: provider.url, issuerId: 'spinnaker', ...saml },
  }
  const attributes = { uid: ['alice'], groups: ['Dev;Ops'] }
  const xml = provider.answer({ attributes })
  const baseUrl = 'https://gate.example.com'
  const explanation = await explainTo(t, settings, {
    kind: 'saml-response',
    text: Buffer.from(xml).toString('base64'),
    baseUrl,
  })
  const steps = stepsOf(explanation)
  for (const step of [
    'yes issuer, destination and status of the response',
    'note user name alice, from the attribute uid',
    'note roles dev, ops, from 1 values of the attribute groups',
    'yes one of the roles in saml.requiredRoles (dev): dev',
  ]) {
    assert.ok(steps.includes(step), `${step}\n\n${steps.join('\n')}`)
  }
  const again = await explainTo(t, settings, { kind: 'saml-response', text: xml, baseUrl })
  assert.equal(again.admitted, true, 'XML as well, and the assertion is not used up')
  const browser = gateway.open()
  await login(gateway, browser, { attributes })
  assert.deepEqual((await browser.user())?.['roles'], explanation.user?.roles)
  const elsewhere = await explainTo(t, settings, {
    kind: 'saml-response',
    text: xml,
    baseUrl: 'http://10.0.0.1:8084',
  })
  assert.match(elsewhere.judgements[0]?.reason ?? '', /which is no address of this gateway/)
  const later = await explainTo(
    t,
    settings,
    { kind: 'saml-response', text: xml, baseUrl },
    () => Date.now() + 30 * 60_000,
  )
  assert.match(later.judgements[0]?.reason ?? '', /was valid until/)
})

test('metadata that cannot be read is what the explanation consists of', async (t) => {
  const { metadata } = await startSamlIdentityProvider(t)
  const settings = {
    saml: {
      enabled: true,
      metadataUrl: metadata.replace('IDPSSODescriptor', 'Other'),
      issuerId: 'spinnaker',
    },
  }
  await assert.rejects(
    explainTo(t, settings, {
      kind: 'saml-response',
      text: '',
      baseUrl: 'https://gate.example.com',
    }),
    /saml\.metadataUrl/,
  )
})

test('a client certificate is followed to identity, roles and required roles', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-explain-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const authority = await createAuthority('CN=CA-1')
  const between = await authority.issueAuthority('CN=CA-2')
  const server = await authority.issue({ subject: 'CN=gate', usage: 'server' })
  const oid = '1.2.840.10070.8.1'
  const client = await between.issue({
    subject: 'C=DE, O=Acme, CN=svc',
    emails: ['svc@x.io'],
    extensions: { [oid]: utf8String('Dev\nOps') },
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
  }
  const settings = {
    server: { ssl },
    x509: { enabled: true, 'role-oid': oid, 'required-roles': ['dev'] },
  }
  const explanation = await explainTo(t, settings, { kind: 'certificate', pem: client.cert })
  assert.deepEqual(explanation.user?.roles, ['svc@x.io', 'dev', 'ops'], JSON.stringify(explanation))
  const steps = stepsOf(explanation)
  assert.ok(
    steps.includes(
      'note user name and e-mail address svc@x.io, from the first e-mail address among its alternative names',
    ),
  )
  assert.ok(steps.includes('yes one of the roles in x509.required-roles (dev): dev'))
  const stranger = await (await createAuthority('CN=Other')).issue({ subject: 'CN=svc' })
  const refused = await explainTo(t, settings, { kind: 'certificate', pem: stranger.cert })
  assert.equal(refused.judgements[0]?.reason, 'no trusted authority has issued the certificate')
})

test('unusable credentials and anonymous access are reported', async (t) => {
  const none = await explainTo(t, {}, { kind: 'certificate', pem: '' })
  assert.match(formatExplanation(none), /No login method of this configuration takes this\./)
  const open = await explainTo(
    t,
    { anonymous: { enabled: true } },
    { kind: 'password', username: 'a', password: 'b' },
  )
  assert.equal(open.admitted, true)
  assert.match(open.notes[0] ?? '', /anonymous\.enabled/)
})
