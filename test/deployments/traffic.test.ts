/**
 * Requests through a load balancer while everything behind it changes and dies. `DEPLOYMENT_LOAD=500` sends as many a second, and
 * `DEPLOYMENT_SIZE=4` deploys larger server groups.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { receivedNumbers } from '../support/deployments.ts'
import { startTraffic, trafficChanges, untilSettled } from '../support/traffic-changes.ts'

const rate = Number(process.env['DEPLOYMENT_LOAD'] ?? 100)
const size = Number(process.env['DEPLOYMENT_SIZE'] ?? 2)

test('no idempotent request is lost, and no other is done twice', async (t) => {
  const traffic = await startTraffic(t, { rate, size })
  const [gets, puts, posts] = traffic.loads
  for (const [name, change] of trafficChanges) {
    await t.test(`${name} loses no request`, async () => {
      await change(traffic)
      await untilSettled(traffic)
      assert.deepEqual([...gets.counts.failures, ...puts.counts.failures], [])
    })
  }
  await Promise.all(traffic.loads.map((load) => load.stop()))
  assert.deepEqual([...gets.counts.failures, ...puts.counts.failures], [])
  const times = Map.groupBy(receivedNumbers(traffic.fleet.dataDir), (number) => number)
  assert.deepEqual(
    [...posts.counts.succeeded].filter((number) => times.get(number)?.length !== 1),
    [],
  )
  assert.deepEqual(
    [...times].filter(([, { length }]) => length > 1).map(([number]) => number),
    [],
  )
  // 503 promises that no instance has seen the request.
  const refused = posts.counts.failures.filter(({ status }) => status === 503)
  assert.deepEqual(
    refused.filter(({ number }) => times.has(number)),
    [],
  )
  const sent = traffic.loads.map(({ counts }) => counts.sent).join(', ')
  t.diagnostic(
    `GET, PUT, POST sent: ${sent}; POST failed: ${JSON.stringify(posts.counts.failures)}`,
  )
})
