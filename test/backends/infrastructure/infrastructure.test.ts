import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { CallService } from '../../../packages/ports/service-call.ts'
import { providerTypes } from '../../../packages/providers/all.ts'
import { providerDeclarations } from '../../../packages/providers/declarations.ts'
import { infrastructureBackend } from '../../../packages/providers/infrastructure/infrastructure.ts'
import { startBackends } from '../../support/backends.ts'
import { startInfrastructure as startWithProvider } from '../../support/infrastructure.ts'
import { waitFor } from '../../support/wait-until.ts'

const front50: CallService = async (_service, { path }) => {
  if (path === '/v2/projects/shop') {
    return {
      status: 200,
      body: {
        name: 'shop',
        config: {
          applications: ['web', 'api'],
          clusters: [
            { account: 'prod', stack: '*', detail: null, applications: null },
            { account: 'test', stack: 'main', detail: '*', applications: ['web'] },
          ],
        },
      },
    }
  }
  if (path === '/v2/applications?restricted=false') {
    return {
      status: 200,
      body: ['WEBSHOP', 'SHOP', 'OTHER'].map((name) => ({ name, email: 'a@b.c' })),
    }
  }
  if (path === '/v2/projects')
    return { status: 200, body: [{ id: 'P', name: 'Shopping', config: { applications: ['api'] } }] }
  return { status: 404, body: {} }
}

async function startInfrastructure(t: TestContext) {
  const backends = await startBackends(t, [infrastructureBackend], { others: front50 })
  return (method: string, path: string, body?: unknown) =>
    backends.ask('clouddriver', method, path, body)
}

const lists = [
  '/applications?expand=true&restricted=false',
  '/credentials?expand=true',
  '/credentials/type/kubernetes?limit=100',
  '/applications/shop/serverGroups?expand=false',
  '/applications/shop/serverGroups?clusters=',
  '/applications/shop/loadBalancers',
  '/applications/shop/jobs',
  '/applications/shop/serverGroupManagers',
  '/applications/shop/rawResources',
  '/applications/shop/functions',
  '/applications/shop/serverGroups/dev/shop-v000/events?region=east&provider=local',
  '/applications/shop/clusters/dev/shop/local/loadBalancers',
  '/functions',
  '/serverGroups?applications=shop',
  '/serverGroups?ids=dev:east:shop-v000',
  '/networks/unknown',
  '/subnets/unknown',
  '/instanceTypes',
  '/keyPairs',
  '/certificates',
  '/certificates/aws',
  '/roles/aws',
  '/storage',
  '/tags?entityType=cluster',
  '/cache/aws/ServerGroup?id=x',
  '/features/stages',
  '/artifacts/account/a/names?type=t',
  '/artifacts/account/a/versions?type=t&artifactName=n',
  '/cloudMetrics/aws/a/east',
  '/servicebroker/a/services?region=r',
  '/ecs/ecsClusters',
  '/ecs/secrets',
  '/securityGroups/dev/aws?region=east',
  '/installedPlugins',
]

const maps = [
  '/networks',
  '/securityGroups',
  '/securityGroups/dev/aws',
  '/applications/none/clusters',
  '/applications/shop/jobs/dev/east/j/out.yml',
]

test('what opens a provider is listed for each that is declared', () => {
  const [declared, opened] = [providerDeclarations, providerTypes].map((all) =>
    all.map(({ id }) => id),
  )
  assert.deepEqual(opened, declared)
})

test('an installation without accounts answers every list with nothing in it', async (t) => {
  const ask = await startInfrastructure(t)
  for (const path of lists)
    assert.deepEqual(await ask('GET', path), { status: 200, body: [] }, path)
  for (const path of maps) assert.deepEqual(await ask('GET', path), { status: 200, body: {} }, path)
})

/** Path, and what the message of its 404 names. */
const missing: [scenario: string, path: string, named: string][] = [
  ['infrastructure-scenario 7: ', '/credentials/nope', 'nope'],
  ['infrastructure-scenario 8: ', '/credentials/team.dev', 'team.dev'],
  ['infrastructure-scenario 14: ', '/applications/none', 'none'],
  [
    'infrastructure-scenario 23: ',
    '/applications/shop/clusters/west-only-account',
    'west-only-account',
  ],
  ['infrastructure-scenario 25: ', '/applications/shop/clusters/dev/absent', 'absent'],
  [
    'infrastructure-scenario 42: ',
    '/applications/shop/serverGroups/dev/east/shop-main-v999',
    'shop-main-v999',
  ],
  [
    'infrastructure-scenario 68: ',
    '/applications/shop/clusters/dev/shop-main/local/nowhere/serverGroups/target/current',
    'current in local/dev/nowhere/shop-main',
  ],
  ['infrastructure-scenario 76: ', '/instances/dev/east/unknown-id', 'unknown-id'],
  [
    'infrastructure-scenario 79: ',
    '/instances/dev/east/unknown-id/console?provider=local',
    'unknown-id',
  ],
  ['infrastructure-scenario 85: ', '/local/images/dev/east/none', 'local'],
  [
    'infrastructure-scenario 89: ',
    '/applications/shop/jobs/dev/east/none',
    'account: dev, location: east, id: none',
  ],
  ['infrastructure-scenario 114: ', '/securityGroups/dev/local/east/none', 'none'],
  [
    'infrastructure-scenario 130: ',
    '/applications/%3Cscript%3E/serverGroups/dev/east/x-v000',
    'x-v000',
  ],
  ['', '/task/T', 'Task not found (id: T)'],
  ['', '/tags/aws:cluster:a/b:*:*', 'aws:cluster:a/b:*:*'],
  ['', '/manifests/dev/default/deployment%20web', 'deployment web'],
  ['', '/projects/nope/clusters', 'nope'],
  ['', '/unheard/images/find?q=abc', 'unheard'],
  ['', '/artifacts/content-address/shop/abc', 'abc'],
]

for (const [scenario, path, named] of missing) {
  test(`${scenario}GET ${path} is answered 404 and the message names it`, async (t) => {
    const ask = await startInfrastructure(t)
    const { status, body } = await ask('GET', path)
    const { message, error, path: echoed, ...rest } = body as Record<string, unknown>
    assert.equal(status, 404)
    assert.ok(String(message).includes(named), String(message))
    assert.equal(error, 'Not Found')
    assert.equal(rest['status'], 404)
    assert.equal(echoed, undefined)
  })
}

const refused: [scenario: string, method: string, path: string, body: unknown, says: RegExp][] = [
  ['infrastructure-scenario 96: ', 'GET', '/unknown/loadBalancers', undefined, /unknown/],
  ['infrastructure-scenario 104: ', 'GET', '/search?q=shop-main', undefined, /type/],
  ['', 'GET', '/search?q=shop-main&type=', undefined, /type/],
  [
    'infrastructure-scenario 87: ',
    'GET',
    '/local/images/tags?account=dev',
    undefined,
    /repository/,
  ],
  ['', 'GET', '/serverGroups', undefined, /applications.*ids/],
  ['', 'GET', '/serverGroups?applications=a&ids=b:c:d', undefined, /not both/],
  ['', 'GET', '/serverGroups?ids=b:c', undefined, /account:region:name/],
  [
    '',
    'GET',
    '/applications/a/clusters/b/c/aws/serverGroups/d/scalingActivities',
    undefined,
    /region/,
  ],
  [
    '',
    'POST',
    '/aws/ops?clientRequestId=1',
    [{ resizeServerGroup: { credentials: 'prod' } }],
    /"aws" is not known/,
  ],
  ['', 'POST', '/ops', [{ resizeServerGroup: { cloudProvider: 'aws' } }], /"aws" is not known/],
  ['', 'POST', '/ops', [{ upsertEntityTags: { cloudProvider: 'aws' } }], /entityRef/],
  ['', 'POST', '/ops', {}, /list of operations/],
  ['', 'POST', '/ops', [null, 7, {}], /list of operations/],
  ['', 'POST', '/credentials', { name: 'a' }, /cannot be stored/],
  [
    '',
    'PUT',
    '/artifacts/fetch',
    { type: 'http/file', artifactAccount: 'web' },
    /"web" does not exist/,
  ],
]

for (const [scenario, method, path, body, says] of refused) {
  test(`${scenario}${method} ${path} with ${JSON.stringify(body)} is answered 400 and says why`, async (t) => {
    const ask = await startInfrastructure(t)
    const answer = await ask(method, path, body)
    assert.equal(answer.status, 400)
    assert.match(String((answer.body as Record<string, unknown>)['message']), says)
  })
}

test('a cache refresh is done at once and leaves nothing pending', async (t) => {
  const ask = await startInfrastructure(t)
  const answer = await ask('POST', '/cache/aws/ServerGroup', { serverGroupName: 'x' })
  assert.deepEqual(answer, { status: 200, body: { cachedIdentifiersByType: {} } })
})

test('an embedded artifact is its own content', async (t) => {
  const backends = await startBackends(t, [infrastructureBackend])
  const answer = await fetch(`${backends.url('clouddriver')}/artifacts/fetch`, {
    method: 'PUT',
    body: JSON.stringify({
      type: 'embedded/base64',
      reference: Buffer.from('héllo').toString('base64'),
    }),
  })
  assert.equal(answer.status, 200)
  assert.equal(await answer.text(), 'héllo')
})

test('infrastructure-scenario 109: a search finds nothing of a type that does not exist', async (t) => {
  const ask = await startInfrastructure(t)
  for (const type of ['noSuchType', 'serverGroups', 'toString', '__proto__']) {
    assert.deepEqual(await ask('GET', `/search?q=abc&type=${type}&pageSize=500`), {
      status: 200,
      body: [
        { pageNumber: 1, pageSize: 500, query: 'abc', platform: '', totalMatches: 0, results: [] },
      ],
    })
  }
})

test('infrastructure-scenario 105: a search finds applications and projects, the closest match first', async (t) => {
  const ask = await startInfrastructure(t)
  const { body } = await ask('GET', '/search?q=SHOP&type=applications&type=projects&type=clusters')
  const [set] = body as { totalMatches: number; results: Record<string, unknown>[] }[]
  assert.equal(set!.totalMatches, 3)
  assert.deepEqual(
    set!.results.map(({ type, application, name, url }) => [type, application ?? name, url]),
    [
      ['applications', 'shop', '/applications/shop'],
      ['applications', 'webshop', '/applications/webshop'],
      ['projects', 'Shopping', '/projects/P'],
    ],
  )
  const page = await ask('GET', '/search?q=shop&type=applications&pageSize=1&page=2')
  const [second] = page.body as { totalMatches: number; results: Record<string, unknown>[] }[]
  assert.deepEqual(
    [second!.totalMatches, second!.results.map(({ application }) => application)],
    [2, ['webshop']],
  )
})

test('infrastructure-scenario 106: with authorization a search hides unreadable applications', async (t) => {
  const backends = await startBackends(t, [infrastructureBackend], {
    settings: { authorization: true },
    others: async (service, call) => {
      if (service !== 'fiat') return front50(service, call)
      if (call.path !== '/authorize/bob') return { status: 404, body: {} }
      return {
        status: 200,
        body: {
          applications: [{ name: 'Shop', authorizations: [] }],
          allowAccessToUnknownApplications: true,
        },
      }
    },
  })
  const search = async (user: string) => {
    const path = '/search?q=shop&type=applications'
    const { body } = await backends.ask('clouddriver', 'GET', path, undefined, {
      'x-spinnaker-user': user,
    })
    const [set] = body as { totalMatches: number; results: Record<string, unknown>[] }[]
    return [set!.totalMatches, ...set!.results.map(({ application }) => application)]
  }
  assert.deepEqual(await search('bob'), [1, 'webshop'])
  assert.deepEqual(await search('stranger'), [0])
})

test('clusters of a project list applications with zero counts', async (t) => {
  const ask = await startInfrastructure(t)
  const instanceCounts = { total: 0, up: 0, down: 0, unknown: 0, starting: 0, outOfService: 0 }
  const idle = (application: string) => ({ application, lastPush: 0, clusters: [] })
  assert.deepEqual(await ask('GET', '/projects/shop/clusters'), {
    status: 200,
    body: [
      {
        account: 'prod',
        stack: '*',
        detail: null,
        applications: [idle('web'), idle('api')],
        instanceCounts,
      },
      { account: 'test', stack: 'main', detail: '*', applications: [idle('web')], instanceCounts },
    ],
  })
})

test('entity tags need WRITE on the application of the entity', async (t) => {
  const { backends } = await startWithProvider(t, {
    authorization: true,
    others: async (_service, { path }) => {
      const writes = (name: string) => ({ name, authorizations: ['READ', 'WRITE'] })
      const names = path.endsWith('/owner') ? ['mine', 'secret'] : ['mine']
      const hidden = { name: 'secret', authorizations: [] }
      return {
        status: 200,
        body: {
          applications: [...names.map(writes), ...(names.includes('secret') ? [] : [hidden])],
        },
      }
    },
  })
  const upsert = async (
    user: string,
    entityType: string,
    entityId: string,
    application: string,
  ) => {
    const operation = {
      entityRef: { entityType, entityId, application },
      tags: [{ name: 'alert', value: '1' }],
    }
    const body = [{ upsertEntityTags: operation }]
    return (await backends.ask('clouddriver', 'POST', '/ops', body, { 'x-spinnaker-user': user }))
      .status
  }
  assert.equal(await upsert('mallory', 'servergroup', 'mine-v001', 'mine'), 200)
  assert.equal(await upsert('mallory', 'servergroup', 'secret-v001', 'mine'), 400)
  assert.equal(await upsert('owner', 'instance', 'i-1', 'secret'), 200)
  await waitFor(async () => {
    const { body } = await backends.ask('clouddriver', 'GET', '/tags?entityId=i-1', undefined, {
      'x-spinnaker-user': 'owner',
    })
    return (body as unknown[]).length > 0 || undefined
  }, 'the tags of the owner')
  assert.equal(await upsert('mallory', 'instance', 'i-1', 'mine'), 400)
})

test('reads and operations are 503 while the permission service is silent', async (t) => {
  const backends = await startBackends(t, [infrastructureBackend], {
    settings: { authorization: true },
    others: async () => {
      throw new Error('connection refused')
    },
  })
  const operation = {
    entityRef: { entityType: 'cluster', entityId: 'shop' },
    tags: [{ name: 'a', value: '1' }],
  }
  for (const [method, path, body] of [
    ['GET', '/applications/shop/clusters'],
    ['GET', '/search?q=shop&type=serverGroups'],
    ['POST', '/ops', [{ upsertEntityTags: operation }]],
  ] as const) {
    assert.equal((await backends.ask('clouddriver', method, path, body)).status, 503, path)
  }
})
