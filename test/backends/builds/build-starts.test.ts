import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { PortError } from '../../../packages/base/port-error.ts'
import { BuildStarts, buildStartMigrations } from '../../../packages/builds/build-starts.ts'

const identity = {
  server: 'ci',
  job: 'app',
  executionId: 'E1',
  startTime: '1000',
  parameters: { A: '1', B: '2' },
}
const minuteMs = 60_000

test('equal starts are recognized after a restart, for ten minutes', async (t) => {
  const db = new DatabaseSync(':memory:')
  t.after(() => db.close())
  for (const script of buildStartMigrations) db.exec(script)
  let now = 0
  let started = 0
  const start = async () => String(++started)
  const failing = (status: number) => async () => {
    throw new PortError(status, 'no')
  }
  const run = (
    change: Partial<typeof identity> = {},
    work: () => Promise<string | undefined> = start,
  ) => new BuildStarts(db, () => now).run({ ...identity, ...change }, work)

  assert.equal(await run(), '1')
  assert.equal(
    await run({ parameters: { B: '2', A: '1' } }),
    '1',
    'the order of parameters does not matter',
  )
  assert.equal(await run(), '2', 'the number was given once more')
  assert.equal(await run({ startTime: '2000' }), '3')
  now = 11 * minuteMs
  assert.equal(await run({ startTime: '2000' }), '4', 'ten minutes are over')

  const other = { executionId: 'E2' }
  await assert.rejects(run(other, failing(400)))
  assert.equal(await run(other), '5', 'a refused start can be repeated')
  const lost = { executionId: 'E3' }
  await assert.rejects(run(lost, failing(504)))
  assert.equal(await run(lost), undefined, 'it may have arrived')
  now = 30 * minuteMs
  assert.equal(await run(lost), undefined, 'a stage may still ask')
  now = 32 * minuteMs
  assert.equal(await run(lost), '6')
  await assert.rejects(run({ executionId: 'E4' }, failing(504)))
  now = 0
  assert.equal(await run({ executionId: 'E4' }), '7', 'the clock was set back')
})
