/** Definitions found by name or by id, with the embedded store. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGateway } from '../../support/gateway.ts'

test('definitions-scenario 30: a definition is found by name and id', async (t) => {
  const gateway = await startGateway(t, {}, { embedded: true })
  const saved = await fetch(`${gateway}/pipelines`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ application: 'demo', name: 'build', stages: [] }),
  })
  assert.equal(saved.status, 200)

  const byName = await fetch(`${gateway}/applications/demo/pipelineConfigs/build`)
  assert.equal(byName.status, 200)
  const { id, name } = (await byName.json()) as { id: string; name: string }
  assert.equal(name, 'build')

  const byId = await fetch(`${gateway}/applications/demo/pipelineConfigs/${id}`)
  assert.equal(byId.status, 200)
  assert.equal(((await byId.json()) as { id: string }).id, id)

  assert.equal((await fetch(`${gateway}/applications/demo/pipelineConfigs/nope`)).status, 404)
})
