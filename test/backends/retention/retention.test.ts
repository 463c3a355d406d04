import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { loadConfig } from '../../../packages/app/config/config.ts'
import { objectsOf } from '../../../packages/base/json/values.ts'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import { orchestrationBackend } from '../../../packages/engine/orchestration-backend.ts'
import type { RetentionSettings } from '../../../packages/engine/retention/settings.ts'
import { oldImages } from '../../../packages/providers/local/pulled-images.ts'
import { defaults } from '../../support/backend-settings.ts'
import { type Backends, startBackends } from '../../support/backends.ts'
import { waitUntil } from '../../support/wait-until.ts'

const dayMs = 24 * 60 * 60_000
const start = 1_800_000_000_000

interface Instance extends Backends {
  /** Runs a pipeline to its end, so many days after the start. */
  run(day: number, id: string, more?: object): Promise<string>
  /** Names of the runs that are kept, once one sweep is over at that day. */
  keptAt(day: number): Promise<string[]>
}

async function startEngine(
  t: TestContext,
  retention: Partial<RetentionSettings>,
  dataDir?: string,
): Promise<Instance> {
  let now = start
  const settings = { retention: { ...defaults.retention, intervalMs: 1000, ...retention } }
  const backends = await startBackends(t, [definitionsBackend, orchestrationBackend], {
    now: () => now,
    settings,
    ...(dataDir && { dataDir }),
  })
  const names = async () => {
    const { body } = await backends.ask(
      'orca',
      'GET',
      '/applications/web/pipelines/search?size=100&expand=true',
    )
    return objectsOf(body).map(({ name }) => String(name))
  }
  return {
    ...backends,
    run: async (day, id, more = {}) => {
      now = start + day * dayMs
      const body = {
        application: 'web',
        id,
        name: `${id} ${day}`,
        stages: [{ refId: '1', type: 'evaluateVariables', name: 'v', variables: [] }],
        ...more,
      }
      const { body: answer, status } = await backends.ask('orca', 'POST', '/orchestrate', body)
      assert.equal(status, 200, JSON.stringify(answer))
      const ref = (answer as { ref: string }).ref
      const isOver = async () => {
        const { body } = await backends.ask('orca', 'GET', ref)
        const { status } = body as { status: string }
        return (
          ['SUCCEEDED', 'TERMINAL'].includes(status) || (more as { waits?: boolean }).waits === true
        )
      }
      await waitUntil(isOver, `the end of ${ref}`)
      return ref
    },
    keptAt: async (day) => {
      now = start + day * dayMs
      const seen = backends.observe()?.storedBytes
      // Two sweeps: one may have begun before.
      await waitUntil(() => backends.observe()?.storedBytes !== seen, 'a sweep')
      const next = backends.observe()?.storedBytes
      await waitUntil(() => backends.observe()?.storedBytes !== next, 'another sweep')
      return (await names()).sort()
    },
  }
}

const rules: [name: string, rule: Partial<RetentionSettings>, kept: string[]][] = [
  [
    'the newest ones, whatever their age',
    { executions: { days: 30, kept: 3 } },
    ['p 1', 'p 2', 'p 3'],
  ],
  ['the young ones, whatever their number', { executions: { days: 98, kept: 0 } }, ['p 2', 'p 3']],
  [
    "by Orca's rule, some of the old ones besides",
    { executions: { days: 98, kept: 1, countsOldOnly: true } },
    ['p 1', 'p 2', 'p 3'],
  ],
  [
    'all of an application that says so',
    { executions: { days: 30, kept: 0, exceptions: { WEB: 0 } } },
    ['p 0', 'p 1', 'p 2', 'p 3'],
  ],
  ['everything without a rule', { executions: undefined }, ['p 0', 'p 1', 'p 2', 'p 3']],
  [
    'everything when it is off',
    { enabled: false, executions: { days: 1, kept: 0 } },
    ['p 0', 'p 1', 'p 2', 'p 3'],
  ],
  // The last that succeeded gives later runs its artifacts.
  ['the last one that succeeded', { executions: { days: 1, kept: 0 } }, ['p 3']],
]

for (const [name, rule, kept] of rules) {
  test(`retention keeps ${name}`, async (t) => {
    const engine = await startEngine(t, rule)
    for (const day of [0, 1, 2, 3]) await engine.run(day, 'p')
    assert.deepEqual(await engine.keptAt(100), kept)
  })
}

test('what waits stays, with the runs that it follows from', async (t) => {
  const engine = await startEngine(t, { executions: { days: 1, kept: 0 } })
  const judged = [
    {
      refId: '1',
      type: 'manualJudgment',
      name: 'j',
      overrideTimeout: true,
      stageTimeoutMs: 1000 * dayMs,
    },
  ]
  await engine.run(0, 'p', { stages: judged, waits: true })
  await engine.run(1, 'p')
  await engine.run(2, 'p')
  assert.deepEqual(await engine.keptAt(100), ['p 0', 'p 2'])
})

test('an application says itself how long its runs are kept', async (t) => {
  const engine = await startEngine(t, { executions: { days: 30, kept: 0 } })
  const save = async (retention: unknown) =>
    (
      await engine.ask('front50', 'POST', '/v2/applications', {
        name: 'web',
        email: 'a@example.com',
        retention,
      })
    ).status
  for (const wrong of ['ten', { retentionDays: '99d' }, { kept: -1 }, { days: 99 }])
    assert.equal(await save(wrong), 400)
  assert.equal(await save({ retentionDays: 99, kept: 0 }), 200)
  for (const day of [0, 2, 3]) await engine.run(day, 'p')
  assert.deepEqual(await engine.keptAt(100), ['p 2', 'p 3'])
})

test('images stay while they are young, few, used or named', async () => {
  const image = (name: string, day: number) => ({
    id: `${name}:${day}`,
    name,
    digest: `sha256:${name}${day}`,
    createdMs: start + day * dayMs,
    accounts: ['local'],
  })
  const all = ['web', 'api'].flatMap((name) => [4, 3, 2, 1, 0].map((day) => image(name, day)))
  const removed: string[] = []
  const groups = [{ account: 'local', name: 'web-v000', image: { id: 'web:1' } }]
  const parts = {
    images: { all: () => all, remove: ({ id }: { id: string }) => removed.push(id) },
    desired: { all: (kind: string) => (kind === 'groups' ? groups : []) },
    context: { now: () => start + 10 * dayMs },
  }
  const { sweep } = oldImages(parts as unknown as Parameters<typeof oldImages>[0])
  const isMentioned = (text: string) => text === 'api:0' || text === 'sha256:api1'
  const turn = async () => {}
  const count = await sweep(
    { turn, chunkSize: 1, ruleFor: (rule) => rule, isMentioned },
    { days: 7, kept: 1 },
  )
  assert.deepEqual([count, removed], [3, ['web:2', 'web:0', 'api:2']])
})

test('deleted runs give their space back', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'fairlead-retention-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  const engine = await startEngine(t, { executions: { days: 1, kept: 0 } }, dataDir)
  const note = 'x'.repeat(300_000)
  for (let day = 0; day < 12; day++)
    await engine.run(day, 'p', {
      stages: [
        { refId: '1', type: 'evaluateVariables', name: 'v', comments: note + day, variables: [] },
      ],
    })
  const pages = () => {
    const db = new DatabaseSync(join(dataDir, 'backends.db'), { readOnly: true })
    const count = Number(db.prepare('PRAGMA page_count').get()?.['page_count'])
    db.close()
    return count
  }
  const before = pages()
  assert.deepEqual(await engine.keptAt(100), ['p 11'])
  assert.ok(pages() < before / 3, `${before} pages before, ${pages()} after`)
})

test('data of an older version keeps everything until its operator chooses', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'fairlead-retention-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  const rule = { executions: { days: 1, kept: 0 } }
  const first = await startEngine(t, { ...rule, enabled: false }, dataDir)
  for (const day of [0, 1]) await first.run(day, 'p')
  await first.stop()
  const db = new DatabaseSync(join(dataDir, 'backends.db'))
  db.exec('DROP TABLE instance_defaults')
  db.close()
  const older = await startEngine(t, rule, dataDir)
  assert.deepEqual(await older.keptAt(100), ['p 0', 'p 1'])
  await older.stop()
  const chosen = await startEngine(t, { ...rule, enabled: true }, dataDir)
  assert.deepEqual(await chosen.keptAt(100), ['p 1'])
})

test("Orca's keys are read, and count as a choice", async () => {
  const read = async (settings: Record<string, unknown>) =>
    (await loadConfig({ cwd: '/', settings })).config.backends.retention
  const set = await read({
    'pollers.oldPipelineCleanup.enabled': true,
    'pollers.oldPipelineCleanup.thresholdDays': 14,
    'pollers.topApplicationExecutionCleanup.enabled': true,
    'pollers.topApplicationExecutionCleanup.intervalMs': 60_000,
    'pollers.topApplicationExecutionCleanup.chunkSize': 7,
    'pollers.someOther.enabled': true,
  })
  assert.deepEqual(set?.executions, { days: 14, kept: 5, countsOldOnly: true, exceptions: {} })
  assert.deepEqual(
    [set?.tasks, set?.enabled, set?.chunkSize, set?.intervalMs],
    [{ days: undefined, kept: 2500 }, true, 1, 60_000],
  )
  assert.equal((await read({ 'pollers.oldPipelineCleanup.enabled': false }))?.executions, undefined)
  assert.deepEqual((await read({}))?.executions, { days: 90, kept: 100 })
})
