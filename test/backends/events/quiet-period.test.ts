/** The quiet period as an operator configures it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGateway } from '../../support/gateway.ts'

test('a configured quiet period reaches the embedded event service', async (t) => {
  const span = { 'start-iso': '2000-01-01T00:00:00Z', 'end-iso': '2999-01-01T00:00:00Z' }
  const url = await startGateway(
    t,
    { 'quiet-period': { enabled: true, ...span } },
    { embedded: true },
  )

  const answer = await fetch(`${url}/capabilities/quietPeriod`)

  const state = (await answer.json()) as { enabled: boolean; inQuietPeriod: boolean }
  assert.deepEqual([state.enabled, state.inQuietPeriod], [true, true])
})
