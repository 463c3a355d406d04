/** Fiat behind the gateway: what it is asked and told on the wire, and what its answers mean to clients. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { openUsers } from '../../packages/gateway/login/form/users.ts'
import { Browser } from '../login/browser.ts'
import { type GatewaySettings, runGateway } from '../support/gateway.ts'
import {
  type Answers,
  brokenOff,
  type RecordedRequest,
  Reply,
  silence,
  startUpstream,
} from '../support/upstream.ts'

const password = 'battery staple'
const quick = { retry: { initialBackoffMillis: 1, maxBackoffMillis: 1 } }

function view(fields: Record<string, unknown> = {}) {
  return {
    name: 'alice',
    admin: false,
    accounts: [],
    applications: [],
    serviceAccounts: [],
    roles: [],
    ...fields,
  }
}

function knows(fields: Record<string, unknown> = {}, more: Answers = {}): Answers {
  const others = more as Record<string, unknown>
  return {
    'GET /authorize/alice': view(fields),
    'PUT /roles/alice': new Reply(200),
    'DELETE /roles/alice': new Reply(200),
    'POST /roles/sync': 1,
    ...others,
  }
}

interface Options {
  fiat?: Record<string, unknown>
  settings?: GatewaySettings
  services?: Record<string, unknown>
}

/** A gateway with the user alice of the role dev, logged in. */
async function start(
  t: test.TestContext,
  answers: Answers,
  { fiat: own = {}, settings = {}, services = {} }: Options = {},
) {
  const fiat = await startUpstream(t, answers)
  const { url, dataDir } = await runGateway(t, {
    fairlead: { admin: { password } },
    ...settings,
    services: { fiat: { baseUrl: fiat.url, ...quick, ...own }, ...services },
  })
  const users = openUsers(dataDir)
  await users.add('alice', password, ['dev'])
  users.close()
  const alice = new Browser(url)
  assert.equal((await alice.login('alice', password)).location, `${url}/`)
  const asked = () => fiat.background.map(toLine)
  return { url, fiat, alice, asked }
}

function toLine({ method, path, query, body }: RecordedRequest): string {
  return [method, query === '' ? path : `${path}?${query}`, ...(body === '' ? [] : [body])].join(
    ' ',
  )
}

test('a visit makes exactly these calls', async (t) => {
  const serviceAccounts = [{ name: 'ci', memberOf: ['dev'] }]
  const { fiat, alice, asked } = await start(t, knows({ admin: true, serviceAccounts }))
  await alice.visit('/auth/user/serviceAccounts?application=web')
  await alice.visit('/auth/roles/sync', { method: 'POST' })
  await alice.visit('/auth/logout')
  assert.deepEqual(asked(), [
    'PUT /roles/alice ["dev"]',
    'GET /authorize/alice',
    'GET /authorize/alice/serviceAccounts?expand=true',
    'POST /roles/sync []',
    'DELETE /roles/alice',
  ])
  assert.equal(fiat.requests.length, 0)
  assert.ok(fiat.background.every(({ headers }) => headers['x-spinnaker-user'] === undefined))
})

test('auth-scenario 230: login calls use their configured address', async (t) => {
  const logins = await startUpstream(t, knows())
  const dynamicEndpoints = { login: `${logins.url}/login-side` }
  logins.answer(({ method }) => (method === 'POST' ? 1 : new Reply(200)))
  const { alice, asked } = await start(t, knows({ admin: true }), {
    fiat: { config: { dynamicEndpoints } },
  })
  await alice.visit('/auth/roles/sync', { method: 'POST' })
  await alice.visit('/auth/logout')
  assert.deepEqual(asked(), ['GET /authorize/alice'])
  assert.deepEqual(logins.background.map(toLine), [
    'PUT /login-side/roles/alice ["dev"]',
    'POST /login-side/roles/sync []',
    'DELETE /login-side/roles/alice',
  ])
})

test('roles of fiat show in the identity', async (t) => {
  const { alice } = await start(t, knows({ admin: true, roles: [{ name: 'ops', source: 'LDAP' }] }))
  const user = await alice.user()
  assert.deepEqual([user?.['isAdmin'], user?.['roles']], [true, ['ops']])
})

for (const status of [400, 401, 403, 418]) {
  test(`fiat's ${status} is an outage: no logout, then 503`, async (t) => {
    const { fiat, alice, asked } = await start(t, knows(), {
      fiat: { cache: { expiresAfterWriteSeconds: 0 } },
    })
    fiat.answer(knows({}, { 'GET /authorize/alice': new Reply(status) }))
    assert.equal((await alice.visit('/credentials')).status, 503)
    assert.equal(asked().length, 1)
    assert.equal((await alice.user())?.['username'], 'alice')
    fiat.answer(knows())
    assert.equal((await alice.visit('/credentials')).status, 200)
  })
}

test('without fiat checks allow, except for administrators', async (t) => {
  const { alice, fiat } = await start(t, knows({ admin: true }), { fiat: { enabled: false } })
  const user = await alice.user()
  assert.deepEqual([user?.['isAdmin'], user?.['roles']], [false, ['dev']])
  assert.deepEqual(JSON.parse((await alice.visit('/auth/user/serviceAccounts')).text), [])
  assert.equal((await alice.visit('/applications')).status, 200)
  assert.equal((await alice.visit('/auth/roles/sync', { method: 'POST' })).status, 403)
  assert.deepEqual(fiat.background, [])
})

/** What POST /tasks with a createApplication job is answered. */
async function create(t: test.TestContext, answers: Answers, options: Options = {}) {
  const orca = await startUpstream(t, { 'POST /ops': { ref: '/tasks/1' } })
  const lookupTimeoutMs = Object.values(answers).includes(silence) ? 1000 : 60_000
  const permissions = {
    enforce: 'gateway',
    lookupTimeoutMs,
    ...(options.settings?.['permissions'] as object | undefined),
  }
  const started = await start(t, answers, {
    ...options,
    settings: { ...options.settings, permissions },
    services: { orca: { baseUrl: orca.url } },
  })
  const job = [
    { type: 'createApplication', application: { name: 'fresh', email: 'a@example.com' } },
  ]
  const answer = await started.alice.ask('/tasks', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ application: 'fresh', description: 'Create', job }),
  })
  const { code, message } = JSON.parse(answer.text) as { code?: string; message?: string }
  const creations = started.asked().filter((line) => line.includes('/create'))
  return { status: answer.status, code, message, creations, passedOn: orca.requests.length }
}

const question = 'POST /authorize/alice/applications/create'

for (const [what, answer, expected] of [
  ['yes', new Reply(200), { status: 200, code: undefined, passedOn: 1 }],
  ['no', new Reply(404), { status: 403, code: 'PERMISSION_DENIED', passedOn: 0 }],
  [
    'that nobody creates that',
    new Reply(400, { message: 'not creatable' }),
    { status: 400, code: 'UPSTREAM_FAILED', passedOn: 0 },
  ],
  ['500', new Reply(500), { status: 503, code: 'PERMISSIONS_UNAVAILABLE', passedOn: 0 }],
  ['503', new Reply(503), { status: 503, code: 'PERMISSIONS_UNAVAILABLE', passedOn: 0 }],
  [
    'nothing and breaks off',
    brokenOff,
    { status: 503, code: 'PERMISSIONS_UNAVAILABLE', passedOn: 0 },
  ],
  ['nothing at all', silence, { status: 503, code: 'PERMISSIONS_UNAVAILABLE', passedOn: 0 }],
] as const) {
  test(`whether an application may be created, fiat says: ${what}`, async (t) => {
    const { status, code, message, passedOn, creations } = await create(
      t,
      knows({}, { [question]: answer }),
    )
    assert.deepEqual({ status, code, passedOn }, expected)
    assert.deepEqual(creations, [`${question} {"name":"fresh"}`])
    if (status === 403)
      assert.match(
        String(message),
        /^You may not do this: it needs CREATE on the application fresh\. Ask /,
      )
  })
}

test('an application known to fiat needs WRITE', async (t) => {
  const applications = (authorization: string) => [
    { name: 'Fresh', authorizations: [authorization] },
  ]
  const refused = await create(t, knows({ applications: applications('READ') }))
  assert.deepEqual([refused.status, refused.creations], [403, []])
  const allowed = await create(t, knows({ applications: applications('WRITE') }))
  assert.deepEqual([allowed.status, allowed.creations], [200, []])
})

test('administrators create without a question', async (t) => {
  const admin = await create(t, knows({ admin: true }))
  assert.deepEqual([admin.status, admin.creations], [200, []])
  const lenient = await create(t, knows({}, { [question]: brokenOff }), {
    fiat: { legacyFallback: true },
  })
  assert.equal(lenient.status, 200)
})

test('where services decide, the gateway does not ask', async (t) => {
  const { status, creations, passedOn } = await create(
    t,
    knows({}, { [question]: new Reply(404) }),
    {
      settings: { permissions: { enforce: 'services' } },
    },
  )
  assert.deepEqual([status, creations, passedOn], [200, [], 1])
})

const both = [
  { name: 'ci', memberOf: ['dev'] },
  { name: 'cd', memberOf: ['dev'] },
]
const expanded = (authorization: string) => [
  view({ name: 'ci', applications: [{ name: 'WEB', authorizations: [authorization] }] }),
  view({ name: 'cd', applications: [{ name: 'other', authorizations: ['WRITE', 'EXECUTE'] }] }),
]
const expand = 'GET /authorize/alice/serviceAccounts'

for (const [what, query, answer, names, calls] of [
  ['without an application all of the user', '', expanded('WRITE'), ['ci', 'cd'], 0],
  [
    'with a blank application all of the user',
    '?application=%20',
    expanded('WRITE'),
    ['ci', 'cd'],
    0,
  ],
  ['those that may WRITE the application', '?application=web', expanded('WRITE'), ['ci'], 1],
  ['those that may EXECUTE the application', '?application=web', expanded('EXECUTE'), ['ci'], 1],
  ['all, when none may do more than READ', '?application=web', expanded('READ'), ['ci', 'cd'], 1],
  ['all, when there are too many to expand', '?application=web', new Reply(400), ['ci', 'cd'], 1],
  ['all, when fiat knows none', '?application=web', new Reply(404), ['ci', 'cd'], 1],
  ['all, when fiat fails three times', '?application=web', new Reply(500), ['ci', 'cd'], 3],
] as const) {
  test(`service accounts on offer are ${what}`, async (t) => {
    const { alice, asked } = await start(t, knows({ serviceAccounts: both }, { [expand]: answer }))
    const offered = await alice.visit(`/auth/user/serviceAccounts${query}`)
    assert.deepEqual(JSON.parse(offered.text), names)
    assert.equal(asked().filter((line) => line.startsWith(expand)).length, calls)
  })
}

test('the matching authorizations are configurable', async (t) => {
  const answers = knows({ serviceAccounts: both }, { [expand]: expanded('READ') })
  const filter = (settings: Record<string, unknown>) => ({
    settings: { fiat: { 'service-accounts': { filter: settings } } },
  })
  const offer = async (settings: Record<string, unknown>) => {
    const { alice } = await start(t, answers, filter(settings))
    return JSON.parse(
      (await alice.visit('/auth/user/serviceAccounts?application=web')).text,
    ) as unknown
  }
  assert.deepEqual(await offer({ 'match-authorizations': ['READ'] }), ['ci'])
  assert.deepEqual(await offer({ enabled: false }), ['ci', 'cd'])
})

test('a user whom fiat forgets has no accounts', async (t) => {
  const { alice } = await start(t, knows({}, { 'GET /authorize/alice': new Reply(404) }), {
    settings: { fiat: { 'session-filter': { enabled: false } } },
  })
  assert.deepEqual((await alice.user())?.['allowedAccounts'], [])
})
