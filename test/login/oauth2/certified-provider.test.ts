/** Logins at a certified provider, which checks what the gateway sends: proof, client, redirect address. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { startCertifiedProvider } from '../../support/certified-provider.ts'
import { signingKey, toJwk } from '../../support/identity-provider.ts'
import { Browser } from '../browser.ts'
import { currentSettings, startOAuth2, startPath } from './support.ts'

const home = 'https://gate.example.com'
const secret = 'a secret of the client: +/&=%'

/** Follows the provider's own pages until it sends the browser back to the gateway. */
async function passProvider(start: string): Promise<string> {
  const browser = new Browser(new URL(start).origin)
  let location = start
  for (let step = 0; step < 10; step++) {
    const { status, location: next, text } = await browser.visit(location)
    assert.ok(status >= 302 && status <= 303 && next !== null, `${status}: ${text}`)
    if (next.startsWith(home)) return next.slice(home.length)
    location = new URL(next, location).href
  }
  return assert.fail('the provider does not come to an end')
}

function client(parts: Record<string, unknown>): Record<string, unknown> {
  return {
    client_id: 'gw',
    client_secret: secret,
    redirect_uris: [`${home}/login/oauth2/code/corp`],
    response_types: ['code'],
    grant_types: ['authorization_code'],
    ...parts,
  }
}

function writeKey(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-key-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'client.pem')
  writeFileSync(file, signingKey(1).privateKey.export({ type: 'pkcs8', format: 'pem' }))
  return file
}

const methods: [
  method: string,
  client: Record<string, unknown>,
  registration: (t: TestContext) => Record<string, unknown>,
][] = [
  ['client_secret_basic', {}, () => ({ 'client-secret': secret })],
  ['client_secret_post', {}, () => ({ 'client-secret': secret })],
  [
    'client_secret_jwt',
    { token_endpoint_auth_signing_alg: 'HS256' },
    () => ({ 'client-secret': secret }),
  ],
  [
    'private_key_jwt',
    {
      client_secret: undefined,
      token_endpoint_auth_signing_alg: 'RS256',
      jwks: { keys: [toJwk(signingKey(1))] },
    },
    (t) => ({
      'client-secret': undefined,
      'private-key-location': writeKey(t),
      'private-key-id': 'key-1',
    }),
  ],
  ['none', { client_secret: undefined }, () => ({ 'client-secret': undefined })],
]

for (const [method, metadata, registration] of methods) {
  test(`a certified provider accepts ${method}`, async (t) => {
    const provider = await startCertifiedProvider(
      t,
      client({ ...metadata, token_endpoint_auth_method: method }),
    )
    const settings = currentSettings(provider, {
      registration: { ...registration(t), 'client-authentication-method': method },
      beside: { userInfoMapping: { roles: 'groups' } },
    })
    const browser = (await startOAuth2(t, settings)).open()
    await browser.visit(startPath)

    const start = await browser.visit('/login')
    const back = await browser.visit(await passProvider(start.location ?? ''))

    assert.equal(back.status, 302, back.text)
    assert.equal(back.location, `${home}${startPath}`)
    const { username, firstName, lastName, roles } = (await browser.user()) ?? {}
    assert.deepEqual(
      [username, firstName, lastName, roles],
      ['alice@example.com', 'Alice', 'Liddell', ['dev', 'ops']],
    )
  })
}

test('auth-scenario 99: a rejected scope leads to the error page', async (t) => {
  const provider = await startCertifiedProvider(t, client({ scope: 'openid email' }))
  const settings = currentSettings(provider, {
    registration: { 'client-secret': secret, scope: 'openid,profile' },
  })
  const lines: string[] = []
  const browser = (
    await startOAuth2(t, settings, { log: (line) => lines.push(JSON.stringify(line)) })
  ).open()

  const start = await browser.visit('/login')
  const back = await browser.visit(await passProvider(start.location ?? ''), {
    headers: { accept: 'text/html' },
  })

  assert.equal(back.status, 401)
  assert.match(back.text, /Try again/)
  assert.ok(
    lines.some((line) => line.includes('invalid_scope')),
    lines.join('\n'),
  )
})
