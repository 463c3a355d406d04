/** Definitions as teams have them are kept, planned and edited; what does not do all that it says has a finding. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { startGateway } from '../support/gateway.ts'
import { definitions } from './definitions.ts'
import { prepareCorpus, tryDefinitions } from './try-definitions.ts'

test('300 definitions are kept, and none is refused or silently false', async (t) => {
  assert.ok(definitions.length >= 300)
  const url = await startGateway(t, {}, { embedded: true })
  await prepareCorpus(url)

  const tried = await tryDefinitions(url, definitions)

  const faults = tried.flatMap(({ name, faults }) => faults.map((fault) => `${name}: ${fault}`))
  assert.deepEqual(faults, [])
})
