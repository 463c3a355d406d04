/** Identifiers for requests. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { createRequestId } from '../../src/http/request-id.ts'

test('request identifiers are random UUIDs, none of them twice', () => {
  const ids = Array.from({ length: 1000 }, createRequestId)
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  assert.equal(new Set(ids).size, ids.length)
  // Each digit takes many values where it is random.
  for (let place = 0; place < 36; place++) {
    const values = new Set(ids.map((id) => id[place]))
    assert.equal(values.size, place === 14 || [8, 13, 18, 23].includes(place) ? 1 : place === 19 ? 4 : 16, `place ${place}`)
  }
})
