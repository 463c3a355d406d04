/** Secrets in every place of a request, thrown at a gateway: none of them reaches any sink. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { concealSecrets } from '../../packages/base/telemetry/conceal-secrets.ts'
import { basic, startGuarded } from '../login/support.ts'
import { startUpstream } from '../support/upstream.ts'

const known = {
  name: 'admin',
  admin: true,
  accounts: [],
  roles: [],
  applications: [],
  serviceAccounts: [],
}

/** A secret that nothing else contains, in the form of an API token, so that it is one wherever it stands. */
const newSecret = (mark: string) => `spk_${mark}${randomBytes(12).toString('hex')}`

interface Throw {
  method: string
  path: string
  headers?: Record<string, string>
  body?: string
}

/** Each place in turn: `secret` stands there, and nowhere else. */
function throwsOf(secret: string, text: string): Record<string, Throw> {
  const json = { ...basic('admin', 'secret'), 'content-type': 'application/json' }
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const put = { method: 'PUT', path: '/pipelines/p1/cancel' }
  return {
    'the query of a change': {
      ...put,
      path: `${put.path}?force=${text}&token=${text}`,
      headers: json,
    },
    'the query of a read': { method: 'GET', path: `/version?access_token=${text}`, headers: json },
    'the name of a query parameter': { ...put, path: `${put.path}?${text}=1`, headers: json },
    'the path of a change': { method: 'PUT', path: `/pipelines/${secret}/cancel`, headers: json },
    'the path of something that does not exist': {
      method: 'POST',
      path: `/nothing/${text}/at/all`,
      headers: json,
      body: '{}',
    },
    'a path that is refused': { method: 'GET', path: `/pipelines/${secret}%2fx`, headers: json },
    'the application in the path': {
      method: 'POST',
      path: `/applications/${secret}/tasks`,
      headers: json,
      body: '{"job":[]}',
    },
    'the body of a change': {
      method: 'POST',
      path: '/tasks',
      headers: json,
      body: JSON.stringify({ job: [{ password: text }] }),
    },
    'a body that cannot be read': {
      method: 'POST',
      path: '/tasks',
      headers: json,
      body: `{"${text}`,
    },
    'the header of an API token': { ...put, headers: { 'x-spinnaker-token': secret } },
    'a bearer token': { ...put, headers: { authorization: `Bearer ${text}` } },
    'a bearer token that reads': {
      method: 'GET',
      path: '/version',
      headers: { authorization: `Bearer ${secret}` },
    },
    'a password in HTTP Basic': { ...put, headers: basic('admin', text) },
    'a password in place of the user in HTTP Basic': { ...put, headers: basic(text, '') },
    'HTTP Basic that cannot be read': { ...put, headers: { authorization: `Basic ${text}` } },
    'another scheme': { ...put, headers: { authorization: `Digest ${text}` } },
    'a cookie': { ...put, headers: { cookie: `SESSION=${text}; other=${text}` } },
    'the password of the form': {
      method: 'POST',
      path: '/login',
      headers: form,
      body: `username=admin&password=${text}`,
    },
    'the user name of the form': {
      method: 'POST',
      path: '/login',
      headers: form,
      body: `username=${text}&password=x`,
    },
    'the query of the form': {
      method: 'POST',
      path: `/login?password=${text}`,
      headers: form,
      body: 'username=admin',
    },
    'the request id': { ...put, headers: { ...json, 'x-spinnaker-request-id': `id-${secret}` } },
    'headers of the platform': {
      ...put,
      headers: {
        ...json,
        'x-spinnaker-user': text,
        'x-spinnaker-accounts': text,
        'x-spinnaker-application': text,
      },
    },
    'any other header': {
      ...put,
      headers: {
        ...json,
        'user-agent': text,
        referer: `http://x/${text}`,
        origin: `http://${text}`,
        'x-forwarded-for': text,
        'x-ratelimit-app': text,
      },
    },
  }
}

/** As it is written, without a client that tidies up. */
function send(url: string, { method, path, headers, body }: Throw): Promise<number | undefined> {
  const { hostname, port } = new URL(url)
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  const outgoing = request({ hostname, port, path, method, headers, agent: false }, (answer) => {
    answer.resume()
    answer.on('end', () => resolve(answer.statusCode))
  })
  outgoing.on('error', reject)
  outgoing.end(body)
  return promise
}

function contentOf(folder: string): string {
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((file) => file.includes('audit') && statSync(file).isFile())
    .map((file) => readFileSync(file).toString('latin1'))
    .join('\n')
}

async function start(t: TestContext, settings: Record<string, unknown>) {
  const fiat = await startUpstream(t, ({ path }) => (path.startsWith('/authorize/') ? known : {}))
  const orca = await startUpstream(t, ({ method }) => (method === 'GET' ? {} : { ref: '/tasks/1' }))
  return startGuarded(t, {
    'api-tokens': { enabled: true },
    'rate-limit': { enabled: true, capacity: 1 },
    services: { fiat: { enabled: true, baseUrl: fiat.url }, orca: { baseUrl: orca.url } },
    ...settings,
  })
}

for (const sink of ['sqlite', 'file']) {
  test(`no secret of a request reaches the sink ${sink}`, async (t) => {
    const { url, dataDir, stop } = await start(t, { audit: { sink, reads: true, required: true } })
    const secrets = new Map<string, string>()
    for (const place of Object.keys(throwsOf('', ''))) {
      const secret = newSecret('c4n4ry')
      const plain = randomBytes(12).toString('hex')
      const thrown = throwsOf(secret, plain)[place] as Throw
      const status = await send(url, thrown)
      assert.ok(status !== undefined && status < 504, `${place}: ${status}`)
      secrets.set(`${place} (token)`, secret.slice(4)).set(place, plain)
    }
    await stop()
    const content = contentOf(dataDir)
    assert.ok(content.includes('cancelPipelineUsingPUT1'))
    for (const [place, secret] of secrets) {
      for (const form of [
        secret,
        Buffer.from(secret).toString('base64').replace(/=+$/, ''),
        Buffer.from(`admin:${secret}`).toString('base64'),
      ]) {
        assert.ok(!content.includes(form), place)
      }
    }
    assert.doesNotMatch(content, /c4n4ry/)
  })
}

for (const [text, shown] of [
  ['web', 'web'],
  ['Deploy token service', 'Deploy token service'],
  ['spk_0123abc', '***'],
  ['id-spk_0123abc', 'id-***'],
  ['eyJhbGciOiJI.eyJzdWIiOiIx.c2ln', '***'],
  ['ghp_0123456789abcdef', '***'],
  ['AKIAIOSFODNN7EXAMPLE', '***'],
  ['password=hunter2 more', 'password=*** more'],
  ['https://user:pw@host/x', 'https://***@host/x'],
  ['Bearer abcdefgh12345', 'Bearer ***'],
  ['AKIA', 'AKIA'],
] as const) {
  test(`in a name, ${text} is shown as ${shown}`, () => {
    assert.equal(concealSecrets(text), shown)
  })
}
