/** Owners of resources: what the provider says decides, and not what a name parses to. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fieldAt, fieldOf, type JsonObject, objectsOf } from '../../../packages/base/json/values.ts'
import { createInfrastructureBackend } from '../../../packages/providers/infrastructure/infrastructure.ts'
import type { OperationType } from '../../../packages/providers/infrastructure/operation-type.ts'
import { type Backends, startBackends } from '../../support/backends.ts'
import { createFakeProvider } from '../../support/fake-provider.ts'
import { waitFor } from '../../support/wait-until.ts'

const writes = (name: string) => ({ name, authorizations: ['READ', 'WRITE', 'EXECUTE'] })
/** Names of resources parse to these, and nothing belongs to them. */
const parsed = [
  'service web',
  'service',
  'deployment a',
  'deployment',
  'job a',
  'pod a',
  'configMap a',
  'networkPolicy a',
]

/** Ann has rights on the owner, Eve on what the names parse to; both on the account. */
const views: Record<string, JsonObject> = {
  ann: { accounts: [writes('lab')], applications: [writes('shop')] },
  eve: { accounts: [writes('lab')], applications: parsed.map(writes) },
  zoe: { accounts: [writes('lab')], applications: ['shop', ...parsed].map(writes) },
  both: { accounts: [writes('lab')], applications: [writes('shop'), writes('vault')] },
  max: { accounts: [writes('lab')], applications: [] },
}

async function startFake(t: TestContext, operations?: Readonly<Record<string, OperationType>>) {
  const backends = await startBackends(
    t,
    [createInfrastructureBackend([createFakeProvider(operations)])],
    {
      settings: {
        authorization: true,
        infrastructure: {
          challengedEnvironments: [],
          primaryAccountTypes: [],
          providers: { fake: { application: 'shop' } },
        },
      },
      others: async (_service, { path }) => ({
        status: 200,
        body: views[path.split('/').at(-1) ?? ''] ?? [],
      }),
    },
  )
  const ask = (user: string, path: string, method = 'GET', body?: unknown) =>
    backends.ask('clouddriver', method, path, body, { 'x-spinnaker-user': user })
  return { backends, ask }
}

const guarded: Record<string, string> = {
  'a server group': '/serverGroups/lab/hall/deployment%20a-b',
  'an instance': '/instances/lab/hall/pod%20a-b',
  'the output of an instance': '/instances/lab/hall/pod%20a-b/console?provider=fake',
  'the output of a job': '/instances/lab/hall/job%20a-b/console?provider=fake',
  'a load balancer': '/fake/loadBalancers/service%20web',
  'a job': '/applications/shop/jobs/lab/hall/job%20a-b',
  'a manifest': '/manifests/lab/hall/configMap%20a-b',
  'server group managers': '/applications/shop/serverGroupManagers',
  'raw resources': '/applications/shop/rawResources',
}

test('the owner of a resource decides who reads it', async (t) => {
  const { ask } = await startFake(t)
  for (const [what, path] of Object.entries(guarded)) {
    assert.equal((await ask('ann', path)).status, 200, `${what} for its owner`)
    assert.notEqual((await ask('eve', path)).status, 200, `${what} for another`)
  }
})

test('the owner of a resource decides who finds it', async (t) => {
  const { ask } = await startFake(t)
  const queries = {
    clusters: 'shop',
    serverGroups: 'a-b',
    instances: 'a-b',
    loadBalancers: 'web',
    securityGroups: 'a-b',
    configMaps: 'a-b',
  }
  for (const [type, query] of Object.entries(queries)) {
    const found = async (user: string) =>
      fieldOf(
        objectsOf((await ask(user, `/search?q=${query}&type=${type}`)).body)[0],
        'totalMatches',
      )
    assert.deepEqual([await found('ann'), await found('eve')], [1, 0], type)
  }
  assert.equal(objectsOf((await ask('ann', '/fake/loadBalancers')).body).length, 1)
  assert.equal(objectsOf((await ask('eve', '/fake/loadBalancers')).body).length, 0)
})

test('a load balancer shows server groups of other applications to their readers only', async (t) => {
  const { ask } = await startFake(t)
  const cluster = '/applications/shop/clusters/lab/cluster%20of%20shop'
  const paths = [
    '/applications/shop/loadBalancers',
    '/fake/loadBalancers/lab/hall/service%20web',
    `${cluster}/fake/loadBalancers`,
  ]
  for (const path of paths) {
    for (const [user, instances] of [
      ['ann', ['pod of shop']],
      ['both', ['pod of shop', 'pod of vault']],
    ] as const)
      assert.deepEqual(objectsOf((await ask(user, path)).body)[0]?.['instances'], instances, path)
  }
  const [whole] = objectsOf((await ask('ann', cluster)).body)
  assert.deepEqual(fieldAt(objectsOf(whole?.['loadBalancers'])[0], 'serverGroups', '1'), undefined)
})

test('views name the owner and the fields of the provider', async (t) => {
  const { ask } = await startFake(t)
  const [group] = objectsOf((await ask('ann', '/applications/shop/serverGroups')).body)
  assert.equal(fieldAt(group, 'moniker', 'app'), 'shop')
  assert.deepEqual(group?.['serverGroupManagers'], [
    { account: 'lab', location: 'hall', name: 'a' },
  ])
  assert.deepEqual(group?.['capacity'], { min: null, max: null, desired: 1, pinned: false })
  assert.equal(group?.['kind'], 'deployment')
  const [balancer] = objectsOf((await ask('ann', '/applications/shop/loadBalancers')).body)
  assert.equal(fieldAt(balancer, 'moniker', 'app'), 'shop')
  const { body } = await ask('ann', '/securityGroups/lab/fake/hall/networkPolicy%20a-b')
  assert.deepEqual(
    [fieldOf(body, 'application'), fieldAt(body, 'moniker', 'app')],
    ['shop', 'shop'],
  )
  assert.deepEqual((await ask('ann', '/instances/lab/hall/pod%20a-b/console?provider=fake')).body, {
    output: [{ name: 'main', output: 'hello' }],
  })
  assert.deepEqual((await ask('ann', '/subnets/fake')).body, [], 'a provider without subnets')
})

test('the owner decides who changes a resource', async (t) => {
  const { ask } = await startFake(t)
  const touch = [{ touch: { credentials: 'lab', name: 'deployment a-b' } }]
  assert.equal((await ask('ann', '/fake/ops', 'POST', touch)).status, 200)
  const { status, body } = await ask('eve', '/fake/ops', 'POST', touch)
  assert.deepEqual([status, fieldOf(body, 'errors')], [400, ['Access denied to application shop']])
  const job = '/applications/shop/jobs/lab/hall/job%20a-b'
  assert.equal((await ask('eve', job, 'DELETE')).status, 403)
  assert.equal((await ask('ann', job, 'DELETE')).status, 200)
})

test('entity tags belong to the owner of their entity', async (t) => {
  const { ask } = await startFake(t)
  const entityRef = {
    cloudProvider: 'fake',
    entityType: 'servergroup',
    entityId: 'deployment a-b',
    account: 'lab',
  }
  const tag = [{ upsertEntityTags: { entityRef, tags: [{ name: 'note', value: 'x' }] } }]
  assert.equal((await ask('eve', '/ops', 'POST', tag)).status, 400)
  assert.equal((await ask('ann', '/ops', 'POST', tag)).status, 200)
  await waitFor(
    async () => (objectsOf((await ask('ann', '/tags')).body).length === 1 ? true : undefined),
    'the tag',
  )
  assert.deepEqual((await ask('eve', '/tags')).body, [])
  const both = { ...entityRef, application: 'service' }
  assert.equal(
    (
      await ask('zoe', '/ops', 'POST', [
        { upsertEntityTags: { entityRef: both, tags: [{ name: 'other', value: 'x' }] } },
      ])
    ).status,
    200,
  )
  await waitFor(
    async () => (objectsOf((await ask('zoe', '/tags')).body).length === 1 ? true : undefined),
    'the tag of both',
  )
  for (const user of ['ann', 'eve']) assert.deepEqual((await ask(user, '/tags')).body, [], user)
})

test('a task is read by its user and by readers of what it names', async (t) => {
  const { ask } = await startFake(t)
  const { body } = await ask('ann', '/fake/ops', 'POST', [
    { touch: { credentials: 'lab', name: 'deployment a-b' } },
  ])
  const path = `/task/${String(fieldOf(body, 'id'))}`
  const statuses = await Promise.all(
    ['ann', 'zoe', 'eve', 'max'].map(async (user) => (await ask(user, path)).status),
  )
  assert.deepEqual(statuses, [200, 200, 403, 403])
})

async function statusOf(backends: Backends, id: unknown): Promise<unknown> {
  const { body } = await backends.ask('clouddriver', 'GET', `/task/${String(id)}`, undefined, {
    'x-spinnaker-user': 'ann',
  })
  return fieldAt(body, 'status', 'completed')
}

test('an operation that waits holds up its application only if it says so', async (t) => {
  const held = Promise.withResolvers<void>()
  const wait: OperationType = {
    check: () => [],
    applications: () => ['shop'],
    run: async (_description, run) => run.releaseWhile(() => held.promise),
  }
  const touch: OperationType = {
    check: () => [],
    applications: () => ['shop'],
    run: async (_description, run) => run.note('touched'),
  }
  const { backends, ask } = await startFake(t, {
    touch,
    waitFreely: { ...wait, order: () => [] },
    waitInOrder: wait,
  })
  const submit = async (name: string) => {
    const { body } = await ask('ann', '/fake/ops', 'POST', [{ [name]: { credentials: 'lab' } }])
    return fieldOf(body, 'id')
  }
  const free = await submit('waitFreely')
  const first = await submit('touch')
  await waitFor(
    async () => ((await statusOf(backends, first)) === true ? true : undefined),
    'the operation beside it',
  )
  assert.equal(await statusOf(backends, free), false)

  const ordered = await submit('waitInOrder')
  const second = await submit('touch')
  const third = await ask('ann', '/fake/ops', 'POST', [{ waitFreely: { credentials: 'lab' } }])
  assert.deepEqual(
    [await statusOf(backends, ordered), await statusOf(backends, second)],
    [false, false],
  )
  held.resolve()
  for (const id of [free, ordered, second, fieldOf(third.body, 'id')]) {
    await waitFor(
      async () => ((await statusOf(backends, id)) === true ? true : undefined),
      'the end of all',
    )
  }
})
