/** The guide about limits, followed literally: its configurations, its headers and its table of costs. */
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { parse } from 'yaml'
import { allOperations } from '../../packages/gateway/operations/all.ts'
import { type GatewaySettings, startGateway } from '../support/gateway.ts'
import { blocksOf, readGuide } from '../support/guide.ts'
import { startUpstream } from '../support/upstream.ts'

const guide = readGuide('limits')
const [learn, refuse, some, overrides] = blocksOf(guide, 'yaml').map(
  (yaml) => parse(yaml) as GatewaySettings,
)

/** Asks as a program of the given name, in a gateway where nobody logs in, and says what the answers were. */
async function start(t: TestContext, settings: GatewaySettings | undefined) {
  const orca = await startUpstream(t, () => ({}))
  const now = () => Date.UTC(2026, 6, 1, 12)
  const url = await startGateway(
    t,
    { ...settings, services: { orca: { baseUrl: orca.url } } },
    { now },
  )
  return {
    metrics: async () => (await fetch(`${url}/spectator/metrics`)).text(),
    ask: async (app: string, times: number) => {
      let answer = new Response()
      for (let time = 0; time < times; time++) {
        answer = await fetch(`${url}/pipelines/1`, { headers: { 'x-ratelimit-app': app } })
        await answer.arrayBuffer()
      }
      const label = (name: string) => answer.headers.get(`x-ratelimit-${name}`)
      return [
        answer.status,
        label('capacity'),
        label('remaining'),
        label('reset'),
        label('learning'),
      ]
    },
  }
}

const reset = 'Wed, 01 Jul 2026 12:00:10 GMT'

test('the first configuration of the guide labels responses', async (t) => {
  const { ask, metrics } = await start(t, learn)

  assert.deepEqual(await ask('alice', 18), [200, '60', '42', reset, 'true'])
  assert.deepEqual(await ask('alice', 43), [200, '60', '0', reset, 'true'])
  assert.match(await metrics(), /^fairlead_rate_limited_total\{kind="app",enforced="false"\} 1$/m)
})

test('with the second, requests beyond the limit are refused', async (t) => {
  const { ask } = await start(t, refuse)

  assert.deepEqual(await ask('alice', 60), [200, '60', '0', reset, 'false'])
  assert.deepEqual(await ask('alice', 1), [429, '60', '0', reset, 'false'])
})

test('the third configuration limits those who are enforced', async (t) => {
  const { ask } = await start(t, some)

  for (const app of ['mallory', 'nightly-report'])
    assert.deepEqual(await ask(app, 61), [429, '60', '0', reset, 'false'])
  for (const app of ['alice', 'release-robot'])
    assert.deepEqual(await ask(app, 61), [200, '60', '0', reset, 'true'])
})

test('the fourth configuration sets capacities by user and program', async (t) => {
  const { ask } = await start(t, overrides)

  assert.deepEqual(await ask('release-robot', 1), [
    200,
    '600',
    '599',
    'Wed, 01 Jul 2026 12:01:00 GMT',
    'false',
  ])
  assert.deepEqual(await ask('nightly-report', 21), [429, '20', '0', reset, 'false'])
  assert.deepEqual(await ask('alice', 1), [200, '60', '59', reset, 'false'])
})

test('the guide lists every operation with its cost', () => {
  const told = [...guide.matchAll(/^\| (\d+): [^|]*\| (.*) \|$/gm)].flatMap(([, cost, ids = '']) =>
    [...ids.matchAll(/`(\w+)`/g)].map(([, id]) => `${cost} ${id}`),
  )
  const declared = allOperations
    .filter(({ cost = 1 }) => cost !== 1)
    .map(({ cost, id }) => `${cost} ${id}`)

  assert.deepEqual(told.sort(), declared.sort())
})
