/** Ways around the permissions of services behind the gateway that do not check themselves, while the gateway decides. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { openUsers } from '../../packages/gateway/login/form/users.ts'
import { basic } from '../login/support.ts'
import { runGateway } from '../support/gateway.ts'
import { InTurn, Reply, startUpstream } from '../support/upstream.ts'

const password = 'correct horse'
const all = ['READ', 'WRITE', 'EXECUTE']
const view = {
  name: 'rita',
  admin: false,
  accounts: [{ name: 'test', authorizations: all }],
  applications: [
    { name: 'web', authorizations: all },
    { name: '7', authorizations: [] },
  ],
  serviceAccounts: [],
  roles: [],
  allowAccessToUnknownApplications: false,
}
const tagged = {
  id: 'aws:servergroup:x:prod:eu',
  entityRef: { application: 'web', account: 'prod' },
}
const taggedInTest = {
  id: 'aws:servergroup:y:test:eu',
  entityRef: { application: 'web', account: 'test' },
}
const taggedOfOthers = {
  id: 'aws:servergroup:o:test:eu',
  entityRef: { application: 'secret', account: 'test' },
}
const taggedElsewhere = { id: 'aws:servergroup:secret-z', entityRef: { entityId: 'secret-z' } }
const inBoth = {
  name: 'front',
  accounts: [
    { name: 'test', regions: [] },
    { name: 'prod', regions: [] },
  ],
}
const inProd = { name: 'hidden', accounts: [{ name: 'prod', regions: [] }] }
const places = [
  { name: 'a', account: 'test' },
  { name: 'b', account: 'prod' },
]
const runs = {
  'orca-1': {
    count: 2,
    executions: [
      { id: 'a', application: 'web' },
      { id: 'b', application: 'secret' },
    ],
  },
}

/** What a search for the id of a security group finds. */
function hitIn(account: string) {
  return { results: [{ url: `/securityGroups/${account}/aws/web?region=eu` }] }
}

async function startScene(t: TestContext) {
  const fiat = await startUpstream(t, {
    'GET /authorize/rita': view,
    'PUT /roles/rita': new Reply(200),
  })
  const clouddriver = await startUpstream(t, {
    [`GET /tags/${encodeURIComponent(tagged.id)}`]: tagged,
    [`GET /tags/${encodeURIComponent(taggedInTest.id)}`]: taggedInTest,
    [`GET /tags/${encodeURIComponent(taggedOfOthers.id)}`]: taggedOfOthers,
    'GET /tags': [tagged, taggedInTest, taggedElsewhere],
    'GET /aws/loadBalancers': [inBoth, inProd],
    'GET /aws/loadBalancers/front': inBoth,
    'GET /aws/loadBalancers/hidden': inProd,
    'GET /applications/web/loadBalancers': places,
    'GET /applications/web/serverGroups': places,
    'GET /applications/web/clusters': { test: ['a'], prod: ['b'] },
    'GET /applications/web': {
      name: 'web',
      attributes: { name: 'web' },
      clusters: { test: [{ name: 'a' }], prod: [{ name: 'b' }] },
    },
    'GET /search': new InTurn([hitIn('test')], [hitIn('prod')]),
    'GET /securityGroups': { test: { aws: {} }, prod: { aws: {} } },
    'GET /securityGroups/test/aws/eu/web': { id: 'sg-1', name: 'web', accountName: 'test' },
    'GET /securityGroups/prod/aws/eu/web': { id: 'sg-2', name: 'web', accountName: 'prod' },
  })
  const front50 = await startUpstream(t, {
    'POST /pipelines/move': new Reply(200),
    'POST /notifications/application/web': new Reply(200),
  })
  const orca = await startUpstream(t, {
    'POST /ops': { ref: '/tasks/1' },
    'GET /executions/activeByInstance': runs,
  })
  const own = { id: 'own', applications: ['web'] }
  const theirs = { id: 'theirs', applications: ['web', 'secret'] }
  const kayenta = await startUpstream(t, {
    'GET /canaryConfig': [own, theirs, { id: 'hidden', applications: ['secret'] }],
    'GET /canaryConfig/own': own,
    'GET /canaryConfig/theirs': theirs,
    'GET /canaryConfig/hidden': { id: 'hidden', applications: ['secret'] },
    'GET /canaryConfig/shared': { id: 'shared', applications: [] },
    'POST /canaryConfig': {},
    'PUT /canaryConfig/own': {},
    'DELETE /canaryConfig/own': new Reply(204),
  })
  const { url, dataDir } = await runGateway(t, {
    fairlead: { admin: { password } },
    permissions: { enforce: 'gateway' },
    services: Object.fromEntries(
      Object.entries({ fiat, clouddriver, front50, orca, kayenta }).map(
        ([name, { url: baseUrl }]) => [name, { enabled: true, baseUrl }],
      ),
    ),
  })
  const users = openUsers(dataDir)
  await users.add('rita', password, ['dev'])
  users.close()
  const ask = async (request: string, body?: unknown) => {
    const [method = 'GET', path = '/'] = request.split(' ')
    const headers = { ...basic('rita', password), 'content-type': 'application/json' }
    const answer = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, text: await answer.text() }
  }
  return { ask, orca, front50, kayenta }
}

test('unchecked services are protected by the gateway', async (t) => {
  const { ask, orca, front50, kayenta } = await startScene(t)
  const changes = () =>
    [...orca.requests, ...front50.requests, ...kayenta.requests].filter(
      ({ method }) => method !== 'GET',
    ).length

  await t.test('reads leave out what is in other accounts', async () => {
    const [own] = places
    for (const [path, seen] of [
      ['/tags', [taggedInTest]],
      [`/tags/${taggedInTest.id}`, taggedInTest],
      ['/loadBalancers', [{ ...inBoth, accounts: [{ name: 'test', regions: [] }] }]],
      ['/loadBalancers/front', { ...inBoth, accounts: [{ name: 'test', regions: [] }] }],
      ['/applications/web/loadBalancers', [own]],
      ['/applications/web/serverGroups', [own]],
      ['/applications/web/clusters', { test: ['a'] }],
      [
        '/applications/web',
        {
          name: 'web',
          attributes: { name: 'web', accounts: 'test' },
          clusters: { test: [{ name: 'a' }] },
        },
      ],
    ] as const) {
      const { status, text } = await ask(`GET ${path}`)
      assert.deepEqual([status, JSON.parse(text)], [200, seen], path)
    }
    for (const path of [`/tags/${tagged.id}`, '/loadBalancers/hidden'])
      assert.equal((await ask(`GET ${path}`)).status, 403, path)
  })

  await t.test('tags need WRITE on their entity', async () => {
    const tags = [{ name: 'a', value: 1 }]
    const entity = 'entityId=x&entityType=servergroup&cloudProvider=aws'
    for (const [request, body] of [
      [`POST /tags?${entity}&application=web&account=prod`, tags],
      [`POST /tags?${entity}&account=prod`, tags],
      [
        'POST /batch/tags?application=web',
        [{ entityRef: { application: 'secret', account: 'test' }, tags }],
      ],
      [
        'POST /batch/tags?application=web',
        [{ entityRef: { application: 'web', account: 'prod' }, tags }],
      ],
      [`DELETE /tags/${tagged.id}/a`, undefined],
    ] as const) {
      const { status, text } = await ask(request, body)
      assert.equal(status, 403, `${request}: ${text}`)
    }
    const removal = (id: string) => ({
      application: 'web',
      job: [{ type: 'deleteEntityTags', id, tags: ['a'] }],
    })
    for (const [id, missing] of [
      [tagged.id, 'account prod'],
      // Services keep ids in lower case.
      [taggedOfOthers.id.toUpperCase(), 'application secret'],
      ['aws:servergroup:unknown:prod:eu', 'account prod'],
    ] as const) {
      const { status, text } = await ask('POST /tasks', removal(id))
      assert.equal(status, 403, `${id}: ${text}`)
      assert.match(text, new RegExp(`WRITE on the ${missing}`))
    }
    const own = { application: 'web', account: 'test' }
    for (const entityRef of [
      { ...own, [`\${'account'}`]: 'prod' },
      { ...own, entityId: `\${'x'}` },
    ]) {
      const { status, text } = await ask('POST /batch/tags?application=web', [{ entityRef, tags }])
      assert.match(`${status} ${text}`, /^400 .*holds an expression/)
    }
    assert.equal(changes(), 0)
    assert.equal((await ask(`POST /tags?${entity}&application=web&account=test`, tags)).status, 202)
    assert.equal(changes(), 1)
    for (const id of [taggedInTest.id, 'aws:servergroup:unknown:test:eu']) {
      const { status, text } = await ask('POST /tasks', removal(id))
      assert.equal(status, 200, `${id}: ${text}`)
    }
    assert.equal(changes(), 3)
  })

  await t.test('notifications of all applications need an administrator', async () => {
    const before = changes()
    for (const [request, body] of [
      ['POST /notifications/global/web', {}],
      ['POST /notifications/GLOBAL/web', {}],
      ['DELETE /notifications/global/web', undefined],
    ] as const) {
      const { status, text } = await ask(request, body)
      assert.equal(status, 403, `${request}: ${text}`)
    }
    assert.equal(changes(), before)
    const saved = await ask('POST /notifications/application/web', { slack: [] })
    assert.equal(saved.status, 200, saved.text)
    assert.equal(changes(), before + 1)
  })

  await t.test('a map of lists shows what the caller may read', async () => {
    const { text } = await ask('GET /executions/activeByInstance')
    assert.deepEqual(JSON.parse(text)['orca-1'].executions, [{ id: 'a', application: 'web' }])
  })

  await t.test('canary configurations belong to their applications', async () => {
    const before = changes()
    const config = (...applications: string[]) => ({ name: 'c', applications })
    for (const [request, body] of [
      ['POST /v2/canaryConfig', config('secret')],
      ['POST /v2/canaryConfig', config('web', 'secret')],
      ['POST /v2/canaryConfig', config()],
      ['PUT /v2/canaryConfig/theirs', config('web')],
      ['PUT /v2/canaryConfig/own', config('secret')],
      ['PUT /v2/canaryConfig/shared', config('web')],
      ['DELETE /v2/canaryConfig/theirs', undefined],
      ['GET /v2/canaryConfig/hidden', undefined],
      ['POST /v2/canaries/canary/hidden?application=web', {}],
    ] as const) {
      const { status, text } = await ask(request, body)
      assert.equal(status, 403, `${request}: ${text}`)
    }
    assert.equal(changes(), before)
    assert.doesNotMatch((await ask('GET /v2/canaryConfig')).text, /hidden/)
    for (const [request, body] of [
      ['GET /v2/canaryConfig/theirs', undefined],
      ['POST /v2/canaryConfig', config('web')],
      ['PUT /v2/canaryConfig/own', config('web')],
      ['DELETE /v2/canaryConfig/own', undefined],
    ] as const) {
      const { status, text } = await ask(request, body)
      assert.equal(status, 200, `${request}: ${text}`)
    }
  })

  await t.test('a number is the application that has this name', async () => {
    const before = changes()
    assert.equal(
      (await ask('POST /pipelines/move', { application: 7, from: 'a', to: 'b' })).status,
      403,
    )
    assert.equal((await ask('POST /strategies', { application: 7, name: 'a' })).status, 403)
    assert.equal(changes(), before)
  })
})

test('a security group needs READ on its account', async (t) => {
  const { ask } = await startScene(t)

  assert.deepEqual(JSON.parse((await ask('GET /securityGroups')).text), { test: { aws: {} } })
  assert.deepEqual(JSON.parse((await ask('GET /securityGroups?id=sg-1')).text), {
    id: 'sg-1',
    name: 'web',
    accountName: 'test',
  })
  const { status, text } = await ask('GET /securityGroups?id=sg-2')
  assert.equal(status, 403)
  assert.match(text, /READ on the account prod/)
})
