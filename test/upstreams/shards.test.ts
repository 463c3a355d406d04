import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Criteria,
  createChooser,
  criteriaOf,
  type Shard,
} from '../../packages/gateway/upstreams/shards.ts'
import { startGateway } from '../support/gateway.ts'
import { startUpstream } from '../support/upstream.ts'

const nobody: Criteria = {
  application: undefined,
  user: undefined,
  origin: undefined,
  executionType: undefined,
  location: undefined,
}
const shard = (
  baseUrl: string,
  priority: number,
  selectorClass?: string,
  config: Record<string, unknown> = {},
): Shard => ({
  baseUrl,
  priority,
  config:
    selectorClass === undefined
      ? config
      : { selectorClass: `com.netflix.spinnaker.kork.web.selector.${selectorClass}`, ...config },
})

const choices: {
  rule: string
  special: Shard
  matching: Partial<Criteria>[]
  other: Partial<Criteria>[]
}[] = [
  {
    rule: 'the application, against the whole pattern',
    special: shard('special', 10, 'ByApplicationServiceSelector', { applicationPattern: 'web.*' }),
    matching: [{ application: 'web' }, { application: 'website' }],
    other: [{}, { application: 'my-web' }],
  },
  {
    rule: 'the user, against any of several patterns',
    special: shard('special', 10, 'ByUserServiceSelector', {
      users: { 0: 'ann', 1: '.*@example\\.com' },
    }),
    matching: [{ user: 'ann' }, { user: 'bob@example.com' }],
    other: [{}, { user: 'anna' }, { user: 'bob@exampleXcom' }],
  },
  {
    rule: 'origin and execution type',
    special: shard('special', 10, 'ByOriginServiceSelector', {
      origin: 'deck',
      executionTypes: ['orchestration'],
    }),
    matching: [{ origin: 'deck', executionType: 'orchestration' }],
    other: [
      { origin: 'deck' },
      { origin: 'api', executionType: 'orchestration' },
      { origin: 'deck', executionType: 'pipeline' },
    ],
  },
  {
    rule: 'origin and any execution type',
    special: shard('special', 10, 'ByOriginServiceSelector', { origin: 'deck' }),
    matching: [
      { origin: 'deck', executionType: 'pipeline' },
      { origin: 'deck', executionType: 'orchestration' },
    ],
    other: [{ origin: 'deck' }],
  },
  {
    rule: 'the execution type',
    special: shard('special', 10, 'ByExecutionTypeServiceSelector', {
      executionTypes: 'pipeline, other',
    }),
    matching: [{ executionType: 'pipeline' }, { executionType: 'other' }],
    other: [{}, { executionType: 'orchestration' }],
  },
  {
    rule: 'the origin of the user',
    special: shard('special', 10, 'ByUserOriginSelector', { origin: 'deck' }),
    matching: [{ origin: 'deck' }],
    other: [{}, { origin: 'api' }],
  },
  {
    rule: 'the location',
    special: shard('special', 10, 'ByLocationServiceSelector', {
      locations: { 0: 'eu-west-1', 1: 'EU-north-1' },
    }),
    matching: [{ location: 'eu-west-1' }, { location: 'EU-North-1' }],
    other: [{}, { location: 'us-east-1' }],
  },
  {
    rule: 'an account, which the gateway never knows',
    special: shard('special', 10, 'ByAccountServiceSelector', { accountPattern: '.*' }),
    matching: [],
    other: [{}, { application: 'web', user: 'ann' }],
  },
]
for (const { rule, special, matching, other } of choices) {
  test(`an instance is chosen by ${rule}`, () => {
    const choose = createChooser([shard('default', 1), special])
    for (const criteria of matching)
      assert.equal(choose({ ...nobody, ...criteria }), 'special', JSON.stringify(criteria))
    for (const criteria of other)
      assert.equal(choose({ ...nobody, ...criteria }), 'default', JSON.stringify(criteria))
  })
}

test('the highest priority wins, then the first', () => {
  const choose = createChooser([shard('a', 1), shard('b', 5), shard('c', 5), shard('d', 3)])
  assert.equal(choose(nobody), 'b')
})

test('when nothing matches the first entry is used', () => {
  const never = { executionTypes: ['pipeline'] }
  const choose = createChooser([
    shard('first', 1, 'ByExecutionTypeServiceSelector', never),
    shard('second', 9, 'ByExecutionTypeServiceSelector', never),
  ])
  assert.equal(choose(nobody), 'first')
})

test('unknown selectors and malformed patterns are rejected', () => {
  assert.throws(() => createChooser([shard('x', 1, 'ByMoonPhaseSelector')]), /ByMoonPhaseSelector/)
  assert.throws(() =>
    createChooser([shard('x', 1, 'ByApplicationServiceSelector', { applicationPattern: '(' })]),
  )
})

test('names of applications and types compare in lower case', () => {
  const criteria = criteriaOf({
    'X-SPINNAKER-APPLICATION': 'WEB',
    'X-SPINNAKER-EXECUTION-TYPE': 'PIPELINE',
    'X-SPINNAKER-USER': 'Ann',
  })
  assert.deepEqual(criteria, {
    ...nobody,
    application: 'web',
    executionType: 'pipeline',
    user: 'Ann',
  })
})

test('an application has its instance, others the default', async (t) => {
  const usual = await startUpstream(t, () => [])
  const special = await startUpstream(t, () => [])
  const gateway = await startGateway(t, {
    services: {
      orca: {
        shards: {
          baseUrls: [
            { baseUrl: usual.url, priority: 1 },
            {
              baseUrl: special.url,
              priority: 10,
              config: {
                selectorClass:
                  'com.netflix.spinnaker.kork.web.selector.ByApplicationServiceSelector',
                applicationPattern: 'big',
              },
            },
          ],
        },
      },
    },
  })
  for (const application of ['big', 'Big', 'small'])
    await fetch(`${gateway}/applications/${application}/tasks`)

  assert.equal(special.requests.length, 2)
  assert.equal(usual.requests.length, 1)
  assert.deepEqual(special.background, [])
})

for (const enabled of [true, false]) {
  test(`instances of clouddriver by origin are ${enabled ? 'used with' : 'left out without'} dynamic routing`, async (t) => {
    const usual = await startUpstream(t, () => ({}))
    const forDeck = await startUpstream(t, () => ({}))
    const gateway = await startGateway(t, {
      services: {
        clouddriver: { baseUrl: usual.url, config: { dynamicEndpoints: { deck: forDeck.url } } },
      },
      'dynamic-routing': { enabled: true, clouddriver: { enabled } },
    })
    await fetch(`${gateway}/networks`, { headers: { 'x-ratelimit-app': 'deck' } })
    await fetch(`${gateway}/networks`)
    assert.equal(forDeck.requests.length, enabled ? 1 : 0)
    assert.equal(usual.requests.length, enabled ? 1 : 2)
  })
}

test('the log of a bake comes from its region', async (t) => {
  const usual = await startUpstream(t, () => ({ logsContent: 'usual' }))
  const european = await startUpstream(t, () => ({ logsContent: 'european' }))
  const gateway = await startGateway(t, {
    services: {
      rosco: {
        shards: {
          baseUrls: [
            { baseUrl: usual.url },
            {
              baseUrl: european.url,
              priority: 2,
              config: { selectorClass: 'ByLocationServiceSelector', locations: ['eu-west-1'] },
            },
          ],
        },
      },
    },
  })
  assert.match(await (await fetch(`${gateway}/bakery/logs/eu-west-1/b-1`)).text(), /european/)
  assert.match(await (await fetch(`${gateway}/bakery/logs/us-east-1/b-1`)).text(), /usual/)
})
