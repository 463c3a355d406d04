import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGateway } from '../support/gateway.ts'

test('app-scenario 72: the schema of app files is served without login', async (t) => {
  const gateway = await startGateway(t, {})
  const answer = await fetch(`${gateway}/apps/schema`)
  assert.equal(answer.status, 200)
  const { title, properties } = (await answer.json()) as { title: string; properties: object }
  assert.equal(title, 'Fairlead app file')
  assert.ok('services' in properties)
})
