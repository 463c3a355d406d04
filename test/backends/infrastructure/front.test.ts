/** Hosts of load balancers: they belong to the first application that claims them, as far as the operator lets it. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { freePort } from '../../support/free-port.ts'
import {
  followTask,
  startInfrastructure,
  type TestInfrastructure,
} from '../../support/infrastructure.ts'

const place = { credentials: 'staging', region: 'east', cloudProvider: 'local' }

/** Eve reads and changes all but the application vault, Pat the vault alone. */
async function startFronts(t: TestContext): Promise<TestInfrastructure> {
  const writes = (name: string) => ({ name, authorizations: ['READ', 'WRITE'] })
  const accounts = [writes('staging')]
  const views: Record<string, JsonObject> = {
    eve: { accounts, applications: ['shop', 'blog'].map(writes), roles: [{ name: 'web' }] },
    pat: { accounts, applications: [writes('vault')] },
    anonymous: { admin: true },
  }
  const front = { http: await freePort(), https: await freePort() }
  return startInfrastructure(t, {
    local: {
      accounts: [{ name: 'staging', ports: '64150-64159', regions: [{ name: 'east' }], front }],
      'front.hosts': [
        { pattern: '*.reserved.example', applications: ['blog'] },
        { pattern: '*.open.example', roles: ['web'] },
        { pattern: 'never.example' },
      ],
    },
    authorization: true,
    others: async (_service, { path }) => ({
      status: 200,
      body: views[path.split('/').at(-1) ?? ''],
    }),
  })
}

async function claim(infra: TestInfrastructure, name: string, hosts: unknown[], user = 'eve') {
  const operation = { upsertLoadBalancer: { ...place, name, hosts } }
  const { status, body } = await infra.ask('POST', '/ops', [operation], user)
  assert.equal(status, 200, JSON.stringify(body))
  return followTask((path) => infra.read(path), String((body as JsonObject)['id']))
}

test('app-scenario 87: a host is taken once, and its owner is named only to readers', async (t) => {
  const infra = await startFronts(t)
  const text = (task: unknown) => JSON.stringify(task)
  await claim(infra, 'shop-web', ['Shop.example', { host: 'shop.example/api/', strip: true }])
  await claim(infra, 'vault-web', ['vault.example'], 'pat')

  assert.match(
    text(await claim(infra, 'blog-web', ['shop.example.'])),
    /belongs to the application shop/,
  )
  const hidden = text(await claim(infra, 'blog-web', ['vault.example']))
  assert.match(hidden, /vault\.example belongs to another application/)
  assert.doesNotMatch(hidden, /the application vault/)
  for (const [hosts, problem] of [
    [['shop.example:80'], /has a port/],
    [['shop.example:80?'], /has a path, a query/],
    [['shop%2eexample'], /a percent code/],
    [['127.0.0.1'], /is an address/],
    [['a.*.example'], /has a star in another place/],
  ] as const) {
    const errors = await infra.preview(
      [{ upsertLoadBalancer: { ...place, name: 'shop-x', hosts } }],
      'eve',
    )
    assert.match(text(errors), problem)
  }

  assert.match(text(await claim(infra, 'blog-web', ['localhost'])), /reach Fairlead itself/)
  await claim(infra, 'shop-web', ['www.shop.example'])
  const later = await claim(infra, 'blog-web', ['shop.example'])
  assert.doesNotMatch(text(later), /belongs to/)
})

test('app-scenario 88: of two claims of one host at a time, one wins', async (t) => {
  const infra = await startFronts(t)

  const ends = await Promise.all([
    claim(infra, 'shop-web', ['one.example']),
    claim(infra, 'blog-web', ['one.example']),
  ])

  const lost = ends.filter((task) => JSON.stringify(task).includes('belongs to the application'))
  assert.equal(lost.length, 1)
})

test('app-scenario 91: the operator reserves hosts and allows wildcards', async (t) => {
  const infra = await startFronts(t)
  const rows = [
    ['shop-a', 'x.reserved.example', /is reserved by the operator/],
    ['blog-a', 'x.reserved.example', undefined],
    ['shop-b', '*.shop.example', /is a wildcard, which the operator has to allow/],
    ['shop-c', '*.open.example', undefined],
    ['blog-b', 'under.open.example', undefined],
    ['shop-d', 'never.example', /is reserved by the operator/],
  ] as const
  for (const [name, host, problem] of rows) {
    const said = JSON.stringify(await claim(infra, name, [host]))
    if (problem === undefined) assert.doesNotMatch(said, /The host/, name)
    else assert.match(said, problem, name)
  }
})
