/** Documents beside pipelines as teams have them are kept; what does not work here is named. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { startGateway } from '../support/gateway.ts'
import { documents } from './documents.ts'
import { prepareCorpus } from './try-definitions.ts'
import { tryDocuments } from './try-documents.ts'

test('canary configurations, strategies, templates and notifications are kept, and none is silently false', async (t) => {
  assert.ok(documents.length >= 35)
  const url = await startGateway(t, {}, { embedded: true })
  await prepareCorpus(url)

  const tried = await tryDocuments(url, documents)

  const faults = tried.flatMap(({ name, faults }) => faults.map((fault) => `${name}: ${fault}`))
  assert.deepEqual(faults, [])
})
