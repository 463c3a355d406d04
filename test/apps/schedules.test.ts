/** Services that run at the times of a schedule. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { JsonObject } from '../../packages/base/json/values.ts'
import { startDeployments } from '../support/deployments.ts'
import { waitFor, waitUntil } from '../support/wait-until.ts'

test('schedules', async (t) => {
  const fairlead = await startDeployments(t)
  const ticks = join(fairlead.dataDir, 'ticks')
  const count = () => (existsSync(ticks) ? readFileSync(ticks, 'utf8').split('\n').length - 1 : 0)
  const file = `application: shop
account: dev
services:
  web: { health: { path: /health, interval: 1s } }
  tick: { command: sh -c "echo tick >> ${ticks}; sleep 70", schedule: "* * * * *", timezone: Europe/Berlin }
`
  const order = { file, image: 'shop:1.0.0' }
  const { status, body } = await fairlead.ask('POST', '/apps/shop/deployments', order)
  assert.equal(status, 202, JSON.stringify(body))
  await fairlead.ends(String((body as JsonObject)['id']), 'SUCCEEDED', 'pipelines')
  const runs = async () =>
    (await fairlead.read<JsonObject[]>('/applications/shop/pipelines?limit=50')).filter(
      ({ name }) => name === 'tick production',
    )

  await t.test('app-scenario 69: a time that overlaps the run before is skipped', async () => {
    const skipped = await waitFor(
      async () => (await runs()).find((run) => run['status'] === 'CANCELED'),
      () => `a time that is skipped, after ${count()} that ran`,
    )
    assert.match(String(skipped['cancellationReason']), /skips times that overlap/)
    await waitUntil(() => count() > 0, 'the first time')
    assert.equal(count(), 1)
  })

  await t.test('app-scenario 70: a schedule goes on when permissions are set', async () => {
    const permissions = { READ: ['ops'], EXECUTE: ['ops'], WRITE: ['ops'] }
    await fairlead.run({ type: 'updateApplication', application: { name: 'shop', permissions } })
    const refused = await fairlead.ask('GET', '/apps/shop', undefined, 'bob')
    assert.equal(refused.status, 403)
    const before = count()
    const next = await waitFor(
      () => (count() > before ? count() : undefined),
      () => 'the next time of the schedule',
    )
    assert.equal(next, before + 1)
  })
})
