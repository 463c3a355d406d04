/** What GET /auth/explain says about oneself and, for administrators, about others. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { openUsers } from '../../packages/gateway/login/form/users.ts'
import { askEvents } from '../audit/support.ts'
import { basic } from '../login/support.ts'
import { runGateway } from '../support/gateway.ts'
import { Reply, startUpstream } from '../support/upstream.ts'
import { startSeeded } from './support.ts'

const password = 'battery staple'

interface Explanation {
  status: number
  operation: string
  request: string
  known: boolean
  admin: boolean
  decision: string
  reasons: { need: string; allowed: boolean; rule: string }[]
  open: string[]
  optional: string[]
  roles: { name: string; source: string; from: string }[]
  enforcement?: { by: string; note: string }
  resources?: { kind: string; name: string; permissions: Record<string, string[]> }[]
  message: string
}

const view = {
  admin: false,
  accounts: [{ name: 'prod', authorizations: ['READ'] }],
  applications: [{ name: 'web', authorizations: ['READ', 'WRITE'] }],
  buildServices: [{ name: 'jenkins', authorizations: ['READ'] }],
  serviceAccounts: [{ name: 'deployer', memberOf: ['ops'] }],
  roles: [
    { name: 'dev', source: 'EXTERNAL' },
    { name: 'ops', source: 'FILE' },
    { name: 'staff', source: 'LDAP' },
    { name: 'mail', source: 'GOOGLE_GROUPS' },
    { name: 'team', source: 'GITHUB_TEAMS' },
    { name: 'new', source: 'SOMETHING_NEW' },
  ],
}

/** A gateway in front of Spinnaker's services, with the users admin, alice and bob; fiat knows alice and the administrator. */
async function startInFront(t: test.TestContext, permissions: Record<string, unknown> = {}) {
  const fiat = await startUpstream(t, {
    'GET /authorize/alice': { name: 'alice', ...view },
    'GET /authorize/admin': { name: 'admin', ...view, admin: true },
    'PUT /roles/alice': new Reply(200),
    'PUT /roles/admin': new Reply(200),
    'POST /authorize/alice/applications/create': new Reply(404),
  })
  const front50 = await startUpstream(t, {
    'GET /v2/applications/web': { name: 'web' },
    'GET /permissions/applications/web': {
      name: 'web',
      permissions: { READ: ['dev'], WRITE: ['ops'] },
    },
    'GET /serviceAccounts': [{ name: 'deployer', memberOf: ['ops'] }],
  })
  const clouddriver = await startUpstream(t, {
    'GET /credentials?expand=true': [
      { name: 'prod', permissions: { WRITE: ['ops'] } },
      { name: 'old', requiredGroupMembership: ['dev'] },
    ],
  })
  const igor = await startUpstream(t, {
    'GET /buildServices': [{ name: 'jenkins', permissions: { READ: ['dev'] } }],
  })
  const { url, dataDir } = await runGateway(t, {
    fairlead: { admin: { password } },
    'api-tokens': { enabled: true, 'allowed-minting-roles': ['dev'] },
    permissions,
    services: {
      fiat: { baseUrl: fiat.url },
      front50: { baseUrl: front50.url },
      clouddriver: { baseUrl: clouddriver.url },
      igor: { baseUrl: igor.url },
      orca: { baseUrl: igor.url },
    },
  })
  const users = openUsers(dataDir)
  for (const name of ['alice', 'bob']) await users.add(name, password, [])
  users.close()
  const explain = async (
    query: Record<string, string>,
    headers: Record<string, string> = basic('alice', password),
  ): Promise<Explanation> => {
    const answer = await fetch(`${url}/auth/explain?${new URLSearchParams(query)}`, {
      headers,
      redirect: 'manual',
    })
    return { status: answer.status, ...((await answer.json()) as object) } as Explanation
  }
  return { url, explain, fiat }
}

const root = basic('admin', password)

test('a decision is explained by rule, permissions and roles', async (t) => {
  const { ask, add, createApplication } = await startSeeded(t)
  await add('rita', ['readers'])
  await createApplication('web', { READ: ['readers'], WRITE: ['writers'] })
  const explain = async (username: string, query: string) => {
    const answer = await ask(username, `GET /auth/explain?${query}`)
    return { ...(answer.json() as Explanation), status: answer.status }
  }

  const denied = await explain('rita', 'operation=savePipelineUsingPOST&application=web')
  assert.equal(denied.status, 200)
  assert.equal(denied.decision, 'denied')
  assert.deepEqual(denied.reasons, [
    {
      need: 'WRITE on the application web',
      allowed: false,
      rule: 'no role of the user has WRITE on the application',
    },
  ])
  assert.deepEqual(denied.roles, [
    { name: 'readers', source: 'EXTERNAL', from: 'the last login, by form' },
  ])
  assert.deepEqual(denied.enforcement, {
    by: 'gateway',
    note: 'the gateway refuses it before anything is passed on',
  })
  assert.equal(denied.resources, undefined)

  assert.equal(
    (await explain('rita', 'operation=getApplicationUsingGET&application=WEB')).decision,
    'allowed',
  )
  assert.equal((await explain('rita', 'operation=getApplicationUsingGET')).decision, 'depends')

  const other = await explain(
    'admin',
    'operation=savePipelineUsingPOST&application=web&username=rita',
  )
  assert.equal(other.decision, 'denied')
  assert.deepEqual(other.resources, [
    { kind: 'application', name: 'web', permissions: { READ: ['readers'], WRITE: ['writers'] } },
  ])
  assert.equal(
    (await explain('admin', 'operation=savePipelineUsingPOST&application=web')).decision,
    'allowed',
  )

  const save = 'operation=savePipelineUsingPOST&application=web'
  const supposed = await explain('admin', `${save}&username=newcomer&roles=Writers,other`)
  assert.deepEqual(
    [supposed.decision, supposed.roles[0]],
    ['allowed', { name: 'writers', source: 'SUPPOSED', from: 'the question' }],
  )
  assert.equal(
    (await explain('admin', `${save}&username=newcomer&roles=readers`)).decision,
    'denied',
  )
  assert.equal((await explain('admin', `${save}&username=newcomer`)).known, false)
  assert.equal((await explain('rita', `${save}&roles=writers`)).status, 403)
})

test('several questions are answered at once, and none is a change', async (t) => {
  const { url } = await startInFront(t)
  const ask = async (questions: unknown, headers = basic('alice', password)) => {
    const init = {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ questions }),
    }
    const answer = await fetch(`${url}/auth/explain`, init)
    return {
      status: answer.status,
      body: (await answer.json()) as { explanations: Explanation[]; message: string },
    }
  }
  const { status, body } = await ask([
    { operation: 'getApplicationUsingGET', application: 'web' },
    { operation: 'POST /pipelines', application: 'other' },
    { operation: 'getAccountUsingGET', account: 'prod' },
  ])
  assert.equal(status, 200)
  assert.deepEqual(
    body.explanations.map(({ operation, decision }) => [operation, decision]),
    [
      ['getApplicationUsingGET', 'allowed'],
      ['savePipelineUsingPOST', 'denied'],
      ['getAccountUsingGET', 'allowed'],
    ],
  )
  assert.equal((await ask([{ operation: 'getApplicationUsingGET', username: 'bob' }])).status, 403)
  assert.equal((await ask([{ operation: 'nonsense' }])).status, 404)
  assert.equal((await ask([])).status, 400)
  assert.equal(
    (await ask(Array.from({ length: 51 }, () => ({ operation: 'getApplicationUsingGET' })))).status,
    400,
  )

  const { events } = await askEvents(url, 'operation=explainAccessesUsingPOST', root)
  assert.deepEqual(
    events.map(({ kind, status: answered }) => [kind, answered]),
    [['refusal', 403]],
  )
  const issued = await fetch(`${url}/auth/apiTokens`, {
    method: 'POST',
    headers: { ...basic('alice', password), 'content-type': 'application/json' },
    body: '{"name":"console","readOnly":true}',
  })
  const { token } = (await issued.json()) as { token: string }
  const withToken = { 'x-spinnaker-token': token, authorization: '' }
  assert.equal(
    (await ask([{ operation: 'getApplicationUsingGET', application: 'web' }], withToken)).status,
    200,
  )
})

test('each role is told with where it comes from', async (t) => {
  const { explain } = await startInFront(t)
  const { roles } = await explain({ operation: 'getApplicationUsingGET', application: 'web' })
  assert.deepEqual(Object.fromEntries(roles.map(({ name, from }) => [name, from])), {
    dev: 'the last login, by form',
    ops: 'the role file',
    staff: 'the directory',
    mail: 'Google Groups',
    team: 'GitHub teams',
    new: 'the role provider SOMETHING_NEW',
  })
})

test('an operation is found by id or request', async (t) => {
  const { explain } = await startInFront(t)
  for (const operation of [
    'getApplicationUsingGET',
    'GETAPPLICATIONUSINGGET',
    'GET /applications/{application}',
    'get /applications/web',
    'HEAD /applications/web?expand=false',
  ]) {
    const explained = await explain({ operation, application: 'web' })
    assert.deepEqual(
      [explained.operation, explained.request, explained.decision],
      ['getApplicationUsingGET', 'GET /applications/{application}', 'allowed'],
      operation,
    )
  }
  assert.equal((await explain({ operation: 'GET /applications/web' })).decision, 'allowed')
  assert.equal(
    (await explain({ operation: 'GET /applications/web', application: 'other' })).decision,
    'denied',
  )
})

test('an unknown operation is answered with the nearest', async (t) => {
  const { explain } = await startInFront(t)
  const byId = await explain({ operation: 'savePipeline' })
  assert.equal(byId.status, 404)
  assert.match(
    byId.message,
    /There is no operation "savePipeline"\. Did you mean .*savePipelineUsingPOST \(POST \/pipelines\)/,
  )
  assert.match((await explain({ operation: 'GET /aplications' })).message, /GET \/applications\)/)
  assert.equal((await explain({ operation: '__proto__' })).status, 404)
  assert.equal((await explain({ operation: 'x'.repeat(5000) })).status, 404)
})

test('creating an application needs the right to create', async (t) => {
  const { explain, fiat } = await startInFront(t)
  const fresh = { operation: 'POST /tasks', application: 'fresh' }
  const denied = await explain(fresh)
  assert.deepEqual(
    [denied.decision, denied.reasons[0]?.need],
    ['denied', 'CREATE for the application fresh'],
  )
  assert.match(
    String(denied.reasons[0]?.rule),
    /creation is restricted, and no role of the user has CREATE/,
  )
  assert.equal(
    (await explain({ ...fresh, application: 'web' })).reasons[0]?.need,
    'WRITE on the application web',
  )
  assert.equal((await explain(fresh, root)).decision, 'allowed')
  fiat.answer({
    'GET /authorize/alice': { name: 'alice', ...view },
    'POST /authorize/alice/applications/create': new Reply(200),
  })
  assert.equal((await explain(fresh)).decision, 'allowed')
})

test('an incomplete question names what is missing', async (t) => {
  const { explain } = await startInFront(t)
  const tasks = await explain({ operation: 'POST /tasks' })
  assert.equal(tasks.decision, 'depends')
  assert.deepEqual(tasks.open, ['application=NAME: the application of the jobs'])
  assert.deepEqual(tasks.optional, [
    'account=NAME: an account that a job names',
    'serviceAccount=NAME: a service account that a trigger of a definition runs as',
  ])
  const execution = await explain({ operation: 'GET /pipelines/{id}' })
  assert.deepEqual(execution.open, ['application=NAME: the application of the execution'])
  const clusters = await explain({
    operation: 'GET /applications/{application}/clusters/{account}',
  })
  assert.deepEqual(clusters.open, [
    'application=NAME: the application in the path',
    'account=NAME: the account',
  ])
  const builds = await explain({ operation: 'GET /v3/builds/{buildMaster}/jobs' })
  assert.deepEqual(builds.open, ['buildService=NAME: the build service'])
  const jobs = await explain({ operation: 'GET /v3/builds/jenkins/jobs' })
  assert.deepEqual(
    [jobs.decision, jobs.reasons[0]?.need],
    ['allowed', 'READ on the build service jenkins'],
  )
})

test('accounts and services are judged too', async (t) => {
  const { explain } = await startInFront(t)
  const task = {
    operation: 'POST /tasks',
    application: 'web',
    account: 'prod',
    serviceAccount: 'deployer',
  }
  const denied = await explain(task)
  assert.deepEqual(
    denied.reasons.map(({ need, allowed }) => `${need} ${allowed}`),
    [
      'WRITE on the application web true',
      'WRITE on the account prod false',
      'the service account deployer true',
    ],
  )
  const { resources } = await explain({ ...task, buildService: 'jenkins', username: 'alice' }, root)
  assert.deepEqual(resources, [
    { kind: 'application', name: 'web', permissions: { READ: ['dev'], WRITE: ['ops'] } },
    { kind: 'account', name: 'prod', permissions: { WRITE: ['ops'] } },
    { kind: 'build service', name: 'jenkins', permissions: { READ: ['dev'] } },
    { kind: 'service account', name: 'deployer', permissions: { USE: ['ops'] } },
  ])
  const old = await explain({ operation: 'POST /tasks', account: 'OLD', username: 'alice' }, root)
  assert.deepEqual(old.resources, [
    { kind: 'account', name: 'old', permissions: { READ: ['dev'], WRITE: ['dev'] } },
  ])
})

for (const [enforce, by, note] of [
  ['services', 'services', /front50 has the last word/],
  ['gateway', 'gateway', /the gateway refuses it before anything is passed on/],
  ['both', 'both', /the gateway refuses it, and so may front50/],
] as const) {
  test(`with permissions.enforce ${enforce} the explanation says who has the last word`, async (t) => {
    const { explain } = await startInFront(t, { enforce })
    const { enforcement } = await explain({
      operation: 'getPipelineConfigsForApplicationUsingGET',
      application: 'web',
    })
    assert.equal(enforcement?.by, by)
    assert.match(String(enforcement?.note), note)
  })
}

test('a token learns what it may not do', async (t) => {
  const { url, explain } = await startInFront(t)
  const create = async (limits: Record<string, unknown>) => {
    const answer = await fetch(`${url}/auth/apiTokens`, {
      method: 'POST',
      headers: { ...basic('alice', password), 'content-type': 'application/json' },
      body: JSON.stringify({ name: Object.keys(limits).join(' and '), ...limits }),
    })
    assert.equal(answer.status, 201, await answer.clone().text())
    return { 'x-spinnaker-token': ((await answer.json()) as { token: string }).token }
  }
  const save = { operation: 'POST /pipelines', application: 'web' }
  const readOnly = await explain(save, await create({ readOnly: true }))
  assert.equal(readOnly.decision, 'denied')
  assert.deepEqual(readOnly.reasons.at(-1), {
    need: 'an API token that is meant for it',
    allowed: false,
    rule: 'of the token with which you ask: it may only read',
  })
  const limited = await explain(
    save,
    await create({ applications: ['other'], operations: ['getApplicationUsingGET'] }),
  )
  assert.equal(limited.reasons.filter(({ allowed }) => !allowed).length, 2)
  assert.equal((await explain(save, await create({ applications: ['web'] }))).decision, 'allowed')
})

test('a limited token of an administrator tells nothing of others, nor who has permissions', async (t) => {
  const { url, explain } = await startInFront(t)
  const create = async (limits: Record<string, unknown>) => {
    const answer = await fetch(`${url}/auth/apiTokens`, {
      method: 'POST',
      headers: { ...root, 'content-type': 'application/json' },
      body: JSON.stringify({ name: Object.keys(limits).join(' and '), ...limits }),
    })
    return { 'x-spinnaker-token': ((await answer.json()) as { token: string }).token }
  }
  const own = { operation: 'POST /pipelines', application: 'web' }
  const other = { ...own, username: 'alice' }
  for (const limits of [{ applications: ['shop'] }, { operations: ['getApplicationUsingGET'] }]) {
    const token = await create(limits)
    const { status, message } = await explain(other, token)
    assert.deepEqual([status, /limited in use/.test(message)], [403, true])
    assert.equal((await explain(own, token)).resources, undefined)
    assert.equal((await explain({ ...own, roles: 'writers' }, token)).status, 403)
  }
  for (const limits of [
    { readOnly: true },
    { readOnly: true, operations: ['explainAccessUsingGET'] },
  ]) {
    assert.equal((await explain(other, await create(limits))).resources?.length, 1)
  }
})

test('only administrators ask about others, and nobody else learns who exists', async (t) => {
  const { url, explain } = await startInFront(t)
  const question = { operation: 'POST /pipelines', application: 'web' }
  const refusals = []
  for (const username of ['bob', 'admin', 'nobody-at-all']) {
    const { status, message } = await explain({ ...question, username })
    refusals.push([status, message])
  }
  assert.deepEqual(refusals[0]?.[0], 403)
  assert.deepEqual(refusals[1], refusals[0])
  assert.deepEqual(refusals[2], refusals[0])
  assert.equal((await explain({ ...question, username: 'ALICE' })).status, 200)

  await fetch(`${url}/login`, {
    method: 'POST',
    body: new URLSearchParams({ username: 'alice', password }),
    redirect: 'manual',
  })
  const aboutAlice = await explain({ ...question, username: 'alice' }, root)
  assert.equal(aboutAlice.roles[0]?.from, 'the last login, by form')
  const aboutStranger = await explain({ ...question, username: 'nobody-at-all' }, root)
  assert.deepEqual([aboutStranger.known, aboutStranger.decision], [false, 'denied'])
  assert.equal(aboutStranger.reasons[0]?.rule, 'the permission service does not know the user')
  assert.equal(
    (await explain({ ...question, username: 'nobody-at-all', roles: 'dev' }, root)).status,
    400,
  )
})

test('while the permission service does not answer, nothing is explained', async (t) => {
  const { explain, fiat } = await startInFront(t, { lookupTimeoutMs: 1000 })
  assert.equal(
    (await explain({ operation: 'POST /pipelines', username: 'alice' }, root)).status,
    200,
  )
  fiat.answer({
    'GET /authorize/admin': { name: 'admin', ...view, admin: true },
    'GET /authorize/bob': new Reply(500),
  })
  const { status, message } = await explain({ operation: 'POST /pipelines', username: 'bob' }, root)
  assert.equal(status, 503)
  assert.match(message, /The permission service does not answer/)
})

test('what demands nothing says why', async (t) => {
  const { explain } = await startInFront(t)
  const { decision, reasons, enforcement } = await explain({ operation: 'GET /auth/user' })
  assert.deepEqual([decision, enforcement], ['allowed', undefined])
  assert.deepEqual(reasons, [
    { need: 'nothing', allowed: true, rule: 'it shows the caller and what the caller may do' },
  ])
})
