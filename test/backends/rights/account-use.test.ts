/** Who may use the operator's accounts at services outside: each kind of account, by each of its doors. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { joinUsers } from '../../../packages/base/names/acting-users.ts'
import { defaultOutsideSettings } from '../../../packages/base/outside/settings.ts'
import { canariesBackend } from '../../../packages/engine/canaries/canaries.ts'
import { infrastructureBackend } from '../../../packages/providers/infrastructure/infrastructure.ts'
import {
  InfrastructureKeys,
  toInfrastructureSettings,
} from '../../../packages/providers/infrastructure/setting-keys.ts'
import { startBackends } from '../../support/backends.ts'
import { Reply, startUpstream } from '../../support/upstream.ts'

const application = (name: string, ...authorizations: string[]) => ({ name, authorizations })
/** Of all applications, each user may read "shop". */
const views: Record<string, JsonObject> = {
  admin: { admin: true, applications: [] },
  bank: { roles: [{ name: 'Bank' }], applications: [application('shop', 'READ')] },
  runner: { applications: [application('shop', 'READ', 'EXECUTE'), application('vault')] },
  reader: { applications: [application('shop', 'READ')] },
  guest: {
    applications: [application('shop', 'READ')],
    allowAccessToUnknownApplications: true,
    readsOnly: true,
  },
  maker: { applications: [application('shop', 'READ')], allowAccessToUnknownApplications: true },
}

const permissions = { READ: ['bank'] }
const forms = {
  open: {},
  restricted: { permissions },
  older: { requiredGroupMembership: ['bank'] },
  closed: { permissions: { EXECUTE: ['bank'] } },
}
type Form = keyof typeof forms

async function startAll(t: TestContext) {
  const source = await startUpstream(t, ({ path }) => {
    if (path.endsWith('index.yaml'))
      return new Reply(200, 'entries: {web: [{name: web, version: 1.0.0}]}', {})
    if (path.startsWith('/api/v1/label')) return { status: 'success', data: ['latency'] }
    return { status: 'success', data: { resultType: 'matrix', result: [] } }
  })
  const named = Object.entries(forms).map(([name, form]) => ({ name, ...form }))
  const report = {
    problem: (key: string, text: string) => assert.fail(`${key}: ${text}`),
    notice: () => {},
    isSet: () => false,
  }
  const infrastructure = toInfrastructureSettings(
    InfrastructureKeys.parse({
      'artifacts.http.enabled': true,
      'artifacts.http.accounts': named,
      'artifacts.helm.enabled': true,
      'artifacts.helm.accounts': named.map((each) => ({
        ...each,
        name: `${each.name}-charts`,
        repository: source.url,
      })),
    }),
    report,
  )
  const endpoint = { baseUrl: source.url }
  const backends = await startBackends(t, [infrastructureBackend, canariesBackend], {
    settings: {
      authorization: true,
      infrastructure: { ...infrastructure, providers: {} },
      canaries: {
        keptDays: 1,
        accounts: { prometheus: named.map((each) => ({ ...each, endpoint })) },
      },
      outside: { ...defaultOutsideSettings, allowed: ['127.0.0.1/32'] },
    },
    others: async (_service, { path }) => {
      const view = views[decodeURIComponent(path.split('/').at(-1) ?? '')]
      return view === undefined ? { status: 404, body: {} } : { status: 200, body: view }
    },
  })
  return { ...backends, source }
}

const scope = {
  scope: 'web',
  location: 'x',
  start: '2026-01-31T08:00:00Z',
  end: '2026-01-31T08:30:00Z',
  step: 60,
}
const canaryConfig = {
  name: 'golden',
  applications: ['shop'],
  judge: { name: 'NetflixACAJudge-v1.0', judgeConfigurations: {} },
  metrics: [
    {
      name: 'latency',
      groups: ['all'],
      scopeName: 'default',
      analysisConfigurations: { canary: { direction: 'increase' } },
      query: { type: 'prometheus', metricName: 'latency', customInlineTemplate: 'PromQL:latency' },
    },
  ],
  classifier: { groupWeights: { all: 100 }, scoreThresholds: { pass: 95, marginal: 75 } },
}
const executionRequest = { scopes: { default: { controlScope: scope, experimentScope: scope } } }

type Started = Awaited<ReturnType<typeof startAll>>
type Door = (
  started: Started,
  account: string,
  headers: Record<string, string>,
) => ReturnType<Started['ask']>

const doors: Record<string, Door> = {
  'an artifact': ({ ask, source }, account, headers) => {
    const artifact = {
      type: 'http/file',
      artifactAccount: account,
      reference: `${source.url}/secret.yml`,
    }
    return ask('clouddriver', 'PUT', '/artifacts/fetch', artifact, headers)
  },
  'names of charts': ({ ask }, account, headers) => {
    return ask(
      'clouddriver',
      'GET',
      `/artifacts/account/${account}-charts/names`,
      undefined,
      headers,
    )
  },
  'versions of a chart': ({ ask }, account, headers) => {
    return ask(
      'clouddriver',
      'GET',
      `/artifacts/account/${account}-charts/versions?artifactName=web`,
      undefined,
      headers,
    )
  },
  'names of metrics': ({ ask }, account, headers) => {
    return ask(
      'kayenta',
      'GET',
      `/metadata/metricsService?metricsAccountName=${account}`,
      undefined,
      headers,
    )
  },
  'an analysis': ({ ask }, account, headers) => {
    return ask(
      'kayenta',
      'POST',
      `/canary?metricsAccountName=${account}`,
      { canaryConfig: { ...canaryConfig, applications: [] }, executionRequest },
      headers,
    )
  },
}

const allowed: Record<Form, readonly string[]> = {
  open: ['admin', 'runner', 'maker'],
  restricted: ['admin', 'bank'],
  older: ['admin', 'bank'],
  closed: ['admin'],
}

for (const [what, open] of Object.entries(doors)) {
  test(`${what} comes from accounts that the user may use`, async (t) => {
    const started = await startAll(t)
    for (const [form, users] of Object.entries(allowed)) {
      for (const user of [...Object.keys(views), 'unknown']) {
        const { status, body } = await open(started, form, { 'x-spinnaker-user': user })
        assert.equal(
          status,
          users.includes(user) ? 200 : 403,
          `${user} with ${form}: ${JSON.stringify(body)}`,
        )
        if (status !== 403) continue
        const { message, exception } = body as { message: string; exception: string }
        assert.match(message, new RegExp(`"${form}(-charts)?": ${user} has n`))
        assert.equal(exception, 'AccessDenied')
      }
    }
    const together = async (...users: string[]) =>
      (await open(started, 'restricted', { 'x-spinnaker-user': joinUsers(users) })).status
    assert.deepEqual(
      [await together('bank', 'runner'), await together('bank', 'admin')],
      [403, 200],
    )
  })
}

test('a refused use calls nothing outside', async (t) => {
  const started = await startAll(t)
  for (const open of Object.values(doors))
    await open(started, 'open', { 'x-spinnaker-user': 'reader' })
  assert.deepEqual(started.source.requests, [])
})

test('lists of accounts and advice have those that the user may use', async (t) => {
  const { ask } = await startAll(t)
  const all = Object.keys(forms)
  const usable = (user: string) => all.filter((form) => allowed[form as Form].includes(user))
  for (const user of Object.keys(views)) {
    const headers = { 'x-spinnaker-user': user }
    const namesAt = async (service: 'clouddriver' | 'kayenta', path: string) =>
      ((await ask(service, 'GET', path, undefined, headers)).body as { name: string }[]).map(
        ({ name }) => name,
      )
    const metrics = await namesAt('kayenta', '/credentials')
    assert.deepEqual(metrics, ['fairlead', 'server-groups', ...usable(user)])
    const artifacts = await namesAt('clouddriver', '/artifacts/credentials')
    assert.deepEqual(
      artifacts.filter((name) => all.includes(name)),
      usable(user),
    )
    const wrong = { type: 'http/file', artifactAccount: 'missing', reference: 'http://127.0.0.1/' }
    const { body } = await ask('clouddriver', 'PUT', '/artifacts/fetch', wrong, headers)
    const { message } = body as { message: string }
    assert.deepEqual(
      all.filter((name) => new RegExp(`\\b${name}\\b`).test(message)),
      usable(user),
      message,
    )
  }
})

test('an analysis needs READ on all applications of its own configuration', async (t) => {
  const { ask } = await startAll(t)
  const start = (...applications: string[]) => {
    const body = { canaryConfig: { ...canaryConfig, applications }, executionRequest }
    return ask('kayenta', 'POST', '/canary?metricsAccountName=open', body, {
      'x-spinnaker-user': 'runner',
    })
  }
  assert.deepEqual(
    [
      (await start('shop')).status,
      (await start('vault')).status,
      (await start('shop', 'vault')).status,
    ],
    [200, 403, 403],
  )
})
