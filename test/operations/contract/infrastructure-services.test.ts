/** Promises of the gateway about reads of an external infrastructure, by the numbers of their scenarios. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freePort } from '../../support/free-port.ts'
import { startGateway } from '../../support/gateway.ts'
import { Reply } from '../../support/upstream.ts'
import { annMayLogIn, asAnn, startServices, toCall } from './contract.ts'

const target = '/applications/shop/clusters/dev/m/aws/east/serverGroups/target/current'

const reads: [scenario: number, title: string, ask: string, call: string][] = [
  [
    46,
    'a missing provider is aws',
    '/applications/shop/clusters/dev/m/serverGroups/m-v0/scalingActivities?region=east',
    '/applications/shop/clusters/dev/m/aws/serverGroups/m-v0/scalingActivities?region=east',
  ],
  [72, 'a target without options has none', target, target],
  [
    72,
    'an option of a target is passed on as it is',
    `${target}?onlyEnabled=true`,
    `${target}?onlyEnabled=true`,
  ],
  [
    83,
    'filters of an image search are passed on without the provider',
    '/images/find?q=abc&tag:stage=prod&owner=x&provider=aws',
    '/aws/images/find?tag%3Astage=prod&owner=x&q=abc',
  ],
  [
    116,
    'a missing network of a security group stays missing',
    '/securityGroups/dev/east/web',
    '/securityGroups/dev/aws/east/web',
  ],
  [
    116,
    'the network of a security group is passed on',
    '/securityGroups/dev/east/web?vpcId=v1',
    '/securityGroups/dev/aws/east/web?vpcId=v1',
  ],
]

const refusals: [scenario: number, ask: string, status: number][] = [
  [46, '/applications/shop/clusters/dev/m/serverGroups/m-v0/scalingActivities', 400],
  [84, '/images/find?q=ab', 400],
  [126, '/applications/shop/clusters/dev', 503],
]

test('reads reach an external infrastructure as its contract has them', async (t) => {
  const platform = await startServices(t, {})
  for (const [scenario, title, ask, call] of reads) {
    await t.test(`infrastructure-scenario ${scenario}: ${title}`, async () => {
      platform.next()
      await platform.ask(`GET ${ask}`)
      assert.deepEqual(platform.calls(), [`clouddriver GET ${call}`])
    })
  }

  await t.test(
    'infrastructure-scenario 108: a search names account and region, and not allowShortQuery',
    async () => {
      platform.next()
      await platform.ask(
        'GET /search?q=abc&type=instances&account=dev&region=east&allowShortQuery=true',
      )
      const [call = ''] = platform.calls()
      assert.match(call, /^clouddriver GET \/search\?/)
      assert.deepEqual(
        ['account', 'region', 'allowShortQuery'].map((name) =>
          new URLSearchParams(call.split('?')[1]).get(name),
        ),
        ['dev', 'east', null],
      )
    },
  )

  await t.test(
    'infrastructure-scenario 124: a history of snapshots has 20 entries unless asked otherwise',
    async () => {
      platform.next({ 'front50 GET /snapshots/shop-dev/history': [] })
      assert.equal((await platform.ask('GET /applications/shop/snapshots/dev/history')).status, 200)
      assert.deepEqual(platform.calls(), ['front50 GET /snapshots/shop-dev/history?limit=20'])
    },
  )

  await t.test(
    'infrastructure-scenario 131: the details of a task are those of the infrastructure',
    async () => {
      const details = {
        id: 'D',
        status: { completed: true, failed: false },
        history: [],
        resultObjects: [{ a: 1 }],
      }
      platform.next({
        'clouddriver GET /task/D': details,
        'orca GET /tasks/T': { id: 'T', application: 'shop' },
      })
      assert.deepEqual((await platform.ask('GET /tasks/T/details/D')).body, details)
    },
  )

  for (const [scenario, ask, status] of refusals) {
    await t.test(
      `infrastructure-scenario ${scenario}: ${status} of the infrastructure is passed on`,
      async () => {
        platform.upstream.answer(() => new Reply(status, { message: 'not like this' }))
        const answer = await platform.ask(`GET ${ask}`)
        assert.equal(answer.status, status)
        assert.match((answer.body as { message: string }).message, /not like this/)
      },
    )
  }
})

test('infrastructure-scenario 127: an infrastructure that cannot be reached is a 502 that names it', async (t) => {
  const url = await startGateway(t, {
    services: { clouddriver: { baseUrl: `http://127.0.0.1:${await freePort()}` } },
  })
  const answer = await fetch(`${url}/networks`)
  const { status, message } = (await answer.json()) as { status: number; message: string }
  assert.equal(answer.status, 502)
  assert.equal(status, 502)
  assert.match(message, /^clouddriver could not be reached/)
})

test('infrastructure-scenarios 128, 129: reads carry the name and the accounts of the session, whatever the client says', async (t) => {
  const platform = await startServices(t, { 'clouddriver GET /networks/aws': [] }, annMayLogIn)
  await platform.ask('GET /networks/aws', undefined, {
    ...asAnn,
    'x-spinnaker-user': 'alice',
    'x-spinnaker-accounts': 'secret',
  })
  const asked = platform.upstream.requests.find(
    (request) => toCall(request) === 'clouddriver GET /networks/aws',
  )
  assert.equal(asked?.headers['x-spinnaker-user'], 'ann')
  assert.notEqual(asked?.headers['x-spinnaker-accounts'], 'secret')
})
