/** Figures of delivery in front of the services of a Spinnaker. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Reply } from '../../support/upstream.ts'
import { startPlatform } from './platform.ts'

const hourMs = 3_600_000

const view = {
  name: 'ann',
  admin: false,
  accounts: ['staging', 'prod'].map((name) => ({ name, authorizations: ['READ'] })),
  applications: ['shop', 'plain', 'busy'].map((name) => ({ name, authorizations: ['READ'] })),
  roles: [],
}
const settings = {
  security: { basicform: { enabled: true } },
  spring: { security: { user: { name: 'ann', password: 'correct horse battery' } } },
}
const asAnn = {
  authorization: `Basic ${Buffer.from('ann:correct horse battery').toString('base64')}`,
}

function deployed(id: string, account: string, version: string, hoursAgo: number) {
  const atMs = Date.now() - hoursAgo * hourMs
  const commit = {
    sha1: `sha-${version}`,
    branch: 'main',
    timestamp: new Date(atMs - 2 * hourMs).toISOString(),
  }
  return {
    ...{
      id,
      name: 'release',
      application: 'shop',
      status: 'SUCCEEDED',
      authentication: { user: 'bob' },
    },
    trigger: {
      type: 'jenkins',
      master: 'ci',
      job: 'shop',
      buildInfo: { number: 7, scm: [commit] },
    },
    stages: [
      {
        ...{ id: `${id}-s`, type: 'createServerGroup', status: 'SUCCEEDED', endTime: atMs },
        context: {
          account,
          imageId: `shop:${version}`,
          'deploy.server.groups': { east: ['shop-web-v001'] },
        },
      },
    ],
  }
}

const runs = [
  deployed('r2', 'prod', '2', 10),
  deployed('r1', 'prod', '1', 30),
  deployed('r0', 'hidden', '0', 40),
]
const waiting = {
  id: 'w',
  name: 'wait',
  status: 'SUCCEEDED',
  stages: [{ type: 'wait', status: 'SUCCEEDED' }],
}

const oldestMs = Date.now() - hourMs

const undone = {
  ...{ id: 't1', name: 'Rollback', status: 'SUCCEEDED', startTime: Date.now() - 8 * hourMs },
  execution: {
    stages: [
      {
        ...{ type: 'rollbackServerGroup', status: 'SUCCEEDED', endTime: Date.now() - 7 * hourMs },
        context: {
          credentials: 'prod',
          region: 'east',
          rollbackContext: { rollbackServerGroupName: 'shop-web-v001' },
        },
      },
    ],
  },
}

const answers: Readonly<Record<string, unknown>> = {
  '/fiat/authorize/ann': view,
  '/clouddriver/credentials': ['staging', 'prod', 'hidden'].map((name) => ({ name })),
  '/front50/v2/applications/shop': {
    name: 'SHOP',
    environments: [
      { name: 'staging', accounts: ['staging'] },
      { name: 'production', accounts: ['prod', 'hidden'] },
    ],
  },
  '/orca/applications/shop/pipelines/search': [...runs, waiting].map((run) => ({
    ...run,
    stages: run.stages.map(({ type, status }) => ({ type, status, context: {} })),
  })),
  '/front50/v2/applications/busy': { name: 'BUSY' },
  '/orca/applications/busy/pipelines/search': Array.from({ length: 50 }, (_, index) => {
    return { ...waiting, id: `w${index}`, buildTime: oldestMs + 49 - index }
  }),
  '/orca/applications/shop/tasks': [undone],
  '/orca/pipelines': runs,
}

function answerOf(path: string): unknown {
  const [bare = ''] = path.split('?')
  return answers[bare] ?? (bare.startsWith('/front50/v2/applications/') ? new Reply(404) : [])
}

interface Answer {
  readonly environment: string | null
  readonly environments: readonly string[]
  readonly complete: boolean
  readonly sinceMs: number
  readonly message?: string
  readonly figures: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly weeks: readonly Readonly<Record<'deployments' | 'failed' | 'leadMs', number | null>>[]
  readonly changes: readonly Readonly<Record<string, unknown>>[]
}

test('figures of delivery of an application', async (t) => {
  const platform = await startPlatform(t, {
    off: [],
    settings,
    answers: ({ path }) => answerOf(path),
  })
  const read = async (query = '', application = 'shop') => {
    const { status, body } = await platform.ask(
      `GET /applications/${application}/delivery${query}`,
      undefined,
      asAnn,
    )
    return { status, body: body as Answer }
  }

  await t.test('they are those of production, each with its definition', async () => {
    const { status, body } = await read()
    assert.equal(status, 200)
    assert.deepEqual(
      [body.environment, body.environments, body.complete],
      ['production', ['staging', 'production'], true],
    )
    const { definition, ...frequency } = body.figures['deploymentFrequency'] ?? {}
    assert.deepEqual(frequency, {
      perDay: 0.07,
      deployments: 2,
      title: 'Deployments',
      text: '2, 0.07 a day',
    })
    assert.match(String(definition), /Runs that have deployed to the environment/)
    const [lead, failures, restores] = ['leadTime', 'changeFailureRate', 'timeToRestore'].map(
      (name) => body.figures[name],
    )
    assert.deepEqual(
      [lead?.['medianMs'], lead?.['of'], lead?.['text']],
      [2 * hourMs, 2, '2 h, the median of 2'],
    )
    assert.deepEqual(
      [failures?.['share'], failures?.['failed'], failures?.['text']],
      [0.5, 1, '1 of 2'],
    )
    assert.ok(Math.abs(Number(restores?.['medianMs']) - 3 * hourMs) < 60_000)
    assert.deepEqual(
      [body.weeks.length, body.weeks.flatMap(({ leadMs }) => leadMs ?? [])],
      [5, [2 * hourMs]],
    )
  })

  await t.test(
    'the deployments behind them name run, version, commit and what went wrong',
    async () => {
      const { body } = await read()
      const [latest, ...others] = body.changes
      const { atMs: _at, restoredAtMs: _restored, commit, build, ...rest } = latest ?? {}
      assert.deepEqual(rest, {
        ...{
          kind: 'deployment',
          clusters: ['shop-web'],
          images: ['shop:2'],
          labels: ['2'],
          leadMs: 2 * hourMs,
        },
        ...{ failure: 'It was rolled back.', run: { id: 'r2', pipeline: 'release', user: 'bob' } },
      })
      assert.deepEqual(
        [(commit as { sha: string }).sha, (build as { number: number }).number],
        ['sha-2', 7],
      )
      // The account of the third run is hidden from the caller.
      assert.deepEqual(
        others.map(({ images }) => images),
        [['shop:1']],
      )
    },
  )

  await t.test(
    'runs that have ended are read once, and only those that may have deployed',
    async () => {
      const asked = platform.calls().filter((call) => call.startsWith('orca GET /pipelines?'))
      assert.deepEqual(asked, ['orca GET /pipelines?executionIds=r2%2Cr1%2Cr0&expand=true'])
    },
  )

  await t.test('another time and another environment may be asked for', async () => {
    const { body } = await read(`?since=${Date.now() - 20 * hourMs}&environment=Production`)
    assert.equal(body.figures['deploymentFrequency']?.['deployments'], 1)
    assert.equal((await read('?environment=staging')).body.changes.length, 0)
    const { status, body: refusal } = await read('?environment=qa')
    assert.equal(status, 404)
    assert.match(refusal.message ?? '', /has no environment "qa", only staging, production/)
  })

  await t.test(
    'of more runs than are read, the time of the figures begins with the oldest',
    async () => {
      const { body } = await read('', 'busy')
      assert.deepEqual([body.complete, body.sinceMs], [false, oldestMs])
      const listings = () =>
        platform
          .calls()
          .filter((call) => call.startsWith('orca GET /applications/busy/pipelines/search')).length
      const before = listings()
      assert.equal((await read('', 'busy')).status, 200)
      assert.equal(listings(), before, 'a list that took long is kept for a while')
    },
  )

  await t.test('an application that no service knows is 404', async () => {
    assert.equal((await read('', 'plain')).status, 404)
  })
})
