/** Rights that operations of the provider `local` demand: accounts of images, owners of all resources that a description names. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type JsonObject, objectOf } from '../../../packages/base/json/values.ts'
import {
  followTask,
  packImage,
  startInfrastructure,
  type TestInfrastructure,
} from '../../support/infrastructure.ts'

const place = { credentials: 'staging', region: 'east', cloudProvider: 'local' }
const vault = 'Access denied to application vault'
const prod = 'Access denied to account prod'

/** Eve may change the account staging and the application shop; Ops everything, Pat the account prod. */
async function startShared(t: TestContext): Promise<TestInfrastructure> {
  const account = (name: string, first: number) => ({
    name,
    ports: `${first}-${first + 9}`,
    regions: [{ name: 'east' }],
  })
  const writes = (name: string) => ({ name, authorizations: ['READ', 'WRITE'] })
  const views: Record<string, JsonObject> = {
    eve: {
      accounts: [writes('staging')],
      applications: [writes('shop'), { name: 'vault', authorizations: ['READ'] }],
    },
    pat: { accounts: [writes('prod')], applications: [writes('shop')] },
    anonymous: { admin: true },
  }
  return startInfrastructure(t, {
    local: { accounts: [account('staging', 64_120), account('prod', 64_130)] },
    authorization: true,
    others: async (_service, { path }) => ({
      status: 200,
      body: views[path.split('/').at(-1) ?? ''],
    }),
  })
}

async function judge(
  infra: TestInfrastructure,
  operation: string,
  description: JsonObject,
): Promise<string[]> {
  return (await infra.preview([{ [operation]: { ...place, ...description } }], 'eve')) ?? []
}

const ofGroup = { serverGroupName: 'vault-v000' }
const balanced = { serverGroupName: 'shop-v000', loadBalancerNames: ['shop-web', 'vault-web'] }
const created = { application: 'shop', imageId: 'shop:1' }
const source = (name: string, accountName: string) => ({
  securityGroupIngress: [{ name, accountName }],
})

/** Descriptions that name something of the application vault or the account prod. */
const foreign: Record<string, [description: JsonObject, denied: string][]> = {
  createServerGroup: [
    [{ ...created, application: 'vault' }, vault],
    [{ ...created, loadBalancers: ['vault-web'] }, vault],
    [{ ...created, securityGroups: ['vault'] }, vault],
    [{ ...created, imageAccount: ' prod' }, prod],
  ],
  cloneServerGroup: [
    [{ source: ofGroup }, vault],
    [{ source: { account: 'prod', serverGroupName: 'shop-v000' } }, prod],
    [{ source: { serverGroupName: 'shop-v000' }, loadBalancers: [' vault-web'] }, vault],
    [{ source: { serverGroupName: 'shop-v000' }, securityGroups: ['vault'] }, vault],
  ],
  resizeServerGroup: [[ofGroup, vault]],
  enableServerGroup: [[ofGroup, vault]],
  disableServerGroup: [[ofGroup, vault]],
  destroyServerGroup: [[ofGroup, vault]],
  shareTraffic: [[ofGroup, vault]],
  upsertServerGroupTags: [[ofGroup, vault]],
  mapLoadBalancers: [[balanced, vault]],
  unmapLoadBalancers: [[balanced, vault]],
  upsertScalingPolicy: [[ofGroup, vault]],
  deleteScalingPolicy: [[ofGroup, vault]],
  terminateInstances: [[ofGroup, vault]],
  terminateInstanceAndDecrementServerGroup: [[ofGroup, vault]],
  detachInstances: [[ofGroup, vault]],
  rebootInstances: [[ofGroup, vault]],
  registerInstancesWithLoadBalancer: [[balanced, vault]],
  deregisterInstancesFromLoadBalancer: [[balanced, vault]],
  enableInstancesInDiscovery: [[ofGroup, vault]],
  disableInstancesInDiscovery: [[ofGroup, vault]],
  upsertLoadBalancer: [
    [{ name: 'vault-web' }, vault],
    [{ name: 'shop-web', securityGroups: ['vault'] }, vault],
  ],
  deleteLoadBalancer: [[{ loadBalancerName: 'vault-web' }, vault]],
  upsertSecurityGroup: [
    [{ name: 'vault' }, vault],
    [{ name: 'shop', ...source('vault', 'staging') }, vault],
    [{ name: 'shop', ...source('shop', 'prod') }, prod],
  ],
  deleteVolumes: [[{ cluster: 'vault-web' }, vault]],
  deleteSecurityGroup: [[{ securityGroupName: 'vault' }, vault]],
  runJob: [[{ application: 'vault' }, vault]],
  destroyJob: [[{ application: 'vault', jobName: 'job-1' }, vault]],
  upsertImageTags: [
    [{ imageNames: ['shop-1', 'own:1'], tags: { stage: 'prod' } }, prod],
    [{ imageName: 'shop:1' }, prod],
  ],
  deleteImage: [
    [{ imageId: 'shop:1' }, prod],
    [{ imageId: 'shop-1', imageNames: ['own:1'] }, prod],
  ],
  saveSnapshot: [[{ applicationName: 'vault' }, vault]],
  restoreSnapshot: [[{ applicationName: 'vault' }, vault]],
  deleteSnapshot: [[{ applicationName: 'vault' }, vault]],
}

test('every operation demands rights on all that it names', async (t) => {
  const infra = await startShared(t)
  await infra.putImage('shop', '1')
  await infra.putImage('own', '1', undefined, 'accounts=staging')
  const [unknown = ''] = await judge(infra, 'noSuchOperation', {})
  const known = /Use one of (.*)\.$/.exec(unknown)?.[1]?.split(', ') ?? []
  assert.deepEqual(Object.keys(foreign).sort(), known.sort())
  for (const [operation, descriptions] of Object.entries(foreign)) {
    for (const [description, denied] of descriptions) {
      assert.deepEqual(
        await judge(infra, operation, description),
        [denied],
        `${operation} ${JSON.stringify(description)}`,
      )
    }
  }
  assert.deepEqual(
    await judge(infra, 'upsertImageTags', { imageNames: ['own:1'], tags: { stage: 'test' } }),
    [],
  )
})

test('accounts have images of one name without blocking each other', async (t) => {
  const infra = await startShared(t)
  const push = async (user: string, accounts: string, content: string) => {
    const address = `${infra.backends.url('clouddriver')}/local/images/shop/1.2.0?accounts=${accounts}`
    const headers = { 'content-type': 'application/x-tar', 'x-spinnaker-user': user }
    const { status } = await fetch(address, {
      method: 'PUT',
      body: await packImage(content),
      headers,
    })
    return status
  }
  assert.equal(await push('eve', 'staging', 'evil'), 201)
  assert.equal(await push('pat', 'prod', 'real'), 201)
  assert.equal(await push('pat', 'prod', 'other'), 409)
  assert.equal(await push('anonymous', 'prod,staging', 'real'), 409)

  const details = (account: string) =>
    infra.read<JsonObject[]>(`/local/images/${account}/east/shop:1.2.0`)
  const [ofStaging] = await details('staging')
  const [ofProd] = await details('prod')
  assert.deepEqual([ofStaging?.['accounts'], ofProd?.['accounts']], [['staging'], ['prod']])
  const digestOf = (image: JsonObject | undefined) => objectOf(image?.['attributes'])['digest']
  assert.notEqual(digestOf(ofStaging), digestOf(ofProd))

  const deploy = {
    ...place,
    credentials: 'prod',
    application: 'shop',
    imageId: 'shop:1.2.0',
    capacity: { desired: 0 },
  }
  await infra.succeed({ createServerGroup: deploy })
  const { buildInfo: _, ...group } = await infra.read('/serverGroups/prod/east/shop-v000')
  assert.match(JSON.stringify(group), new RegExp(String(digestOf(ofProd))))

  const listed = await infra.read<JsonObject[]>('/local/images', 'pat')
  assert.deepEqual(listed.map(digestOf), [digestOf(ofProd)])
  assert.equal(digestOf(await infra.read('/local/images/shop/1.2.0', 'pat')), digestOf(ofProd))

  const remove = (user: string, query = '') =>
    infra
      .ask('DELETE', `/local/images/shop/1.2.0${query}`, undefined, user)
      .then(({ status }) => status)
  assert.equal(await remove('eve'), 403)
  assert.equal(await remove('eve', '?accounts=prod'), 403)
  assert.equal(await remove('anonymous', '?accounts=prod'), 409)
  assert.equal(await remove('eve', '?accounts=staging'), 204)
  assert.equal((await details('prod')).length, 1)
  assert.equal((await infra.ask('GET', '/local/images/staging/east/shop:1.2.0')).status, 404)
})

test('a deployment gives its account the image of another one', async (t) => {
  const infra = await startShared(t)
  const push = async (version: string, account: string, content: string) =>
    infra.putImage('shop', version, `command: [echo, ${content}]`, `accounts=${account}`)
  for (const version of ['1', '2']) await push(version, 'staging', 'new')
  await push('2', 'prod', 'other')
  const deploy = { ...place, application: 'shop', imageId: 'shop:1', capacity: { desired: 0 } }
  const refused = async (description: JsonObject) =>
    infra.preview([{ createServerGroup: { ...deploy, credentials: 'prod', ...description } }])
  assert.match(
    JSON.stringify(await refused({})),
    /does not exist for the account prod .* Another account has it/,
  )
  const conflict = await refused({ imageId: 'shop:2', imageAccount: 'staging' })
  assert.match(
    JSON.stringify(conflict),
    /of prod has another content than that of staging: give the new one another version/,
  )

  await infra.succeed({ createServerGroup: deploy })
  const clone = {
    ...place,
    credentials: 'prod',
    source: { account: 'staging', region: 'east', serverGroupName: 'shop-v000' },
  }
  await infra.succeed({ cloneServerGroup: clone })
  assert.deepEqual((await infra.read<JsonObject>('/local/images/shop/1'))['accounts'], [
    'staging',
    'prod',
  ])
  await push('3', 'staging', 'new')
  await infra.succeed({
    createServerGroup: {
      ...deploy,
      credentials: 'prod',
      imageId: 'shop:3',
      imageAccount: 'staging',
    },
  })
  assert.equal((await infra.read<JsonObject[]>('/local/images/prod/east/shop:3')).length, 1)
})

test('images are artifacts for those who may read them', async (t) => {
  const infra = await startShared(t)
  await infra.putImage('shop', '1')
  await infra.putImage('shop', '2')
  await infra.putImage('own', '1', undefined, 'accounts=staging')
  const names = (user: string) =>
    infra.read<string[]>('/artifacts/account/local/names?type=local/image', user)
  assert.deepEqual([await names('eve'), await names('pat')], [['own', 'shop'], ['shop']])
  const versions = '/artifacts/account/local/versions?type=local/image&artifactName=shop'
  assert.deepEqual((await infra.read<string[]>(versions, 'pat')).toSorted(), ['1', '2'])
  const offered = await infra.read<JsonObject[]>('/artifacts/credentials')
  assert.deepEqual(offered.at(-1), { name: 'local', types: ['local/image'] })
  const artifact = { type: 'local/image', reference: 'shop:1', artifactAccount: 'local' }
  const { status, body } = await infra.ask('PUT', '/artifacts/fetch', artifact, 'pat')
  assert.deepEqual(
    [status, /has no content to fetch/.test(String(objectOf(body)['message']))],
    [400, true],
  )
})

test('entity tags are changed with WRITE on application and account of the entity', async (t) => {
  const infra = await startShared(t)
  const change = async (user: string, operation: JsonObject) =>
    (await infra.ask('POST', '/ops', [operation], user)).body as JsonObject
  const tags = [{ name: 'alert', value: 'x' }]
  const on = (account: string) => ({
    entityType: 'servergroup',
    entityId: 'shop-v000',
    application: 'shop',
    account,
    region: 'east',
  })
  const stored = await change('pat', {
    upsertEntityTags: { id: 'kept', entityRef: on('prod'), tags },
  })
  await followTask((path) => infra.read(path), String(stored['id']))
  for (const operation of [
    { upsertEntityTags: { entityRef: on('prod'), tags } },
    {
      upsertEntityTags: { entityRef: { ...on('x'), account: undefined, accountId: 'prod' }, tags },
    },
    { upsertEntityTags: { id: 'kept', entityRef: on('staging'), tags } },
    {
      bulkUpsertEntityTags: {
        entityTags: [
          { entityRef: on('staging'), tags },
          { entityRef: on('prod'), tags },
        ],
      },
    },
    { deleteEntityTags: { id: 'kept', tags: ['alert'] } },
  ]) {
    assert.deepEqual((await change('eve', operation))['errors'], [prod], JSON.stringify(operation))
  }
  assert.equal(
    (await change('eve', { upsertEntityTags: { entityRef: on('staging'), tags } }))['errors'],
    undefined,
  )
})

test('the id of an entity is not taken for the tags of another', async (t) => {
  const infra = await startShared(t)
  const own = {
    cloudProvider: 'local',
    entityType: 'servergroup',
    entityId: 'shop-v000',
    account: 'staging',
    region: 'east',
  }
  const tag = (description: JsonObject) =>
    infra.ask(
      'POST',
      '/ops',
      [{ upsertEntityTags: { tags: [{ name: 'alert', value: 'x' }], ...description } }],
      'eve',
    )
  for (const [description, problem] of [
    [
      { id: 'LOCAL:servergroup:vault-v000:staging:east', entityRef: own },
      /Send local:servergroup:shop-v000:staging:east/,
    ],
    [{ entityRef: { ...own, entityType: 'servergroup ' } }, /entityType: it must be a word/],
    [
      { entityRef: { ...own, cloudProvider: 'local:servergroup' } },
      /cloudProvider: it may not have a colon/,
    ],
    [
      {
        entityRef: {
          ...own,
          entityType: 'loadBalancer',
          entityId: 'vault-web',
          application: 'shop',
        },
      },
      new RegExp(vault),
    ],
  ] as const) {
    assert.match(String(objectOf((await tag(description)).body)['errors']), problem)
  }
  assert.equal(
    (await tag({ id: 'local:servergroup:shop-v000:staging:east', entityRef: own })).status,
    200,
  )
})
