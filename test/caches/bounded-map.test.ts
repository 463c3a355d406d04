import assert from 'node:assert/strict'
import test from 'node:test'
import { BoundedMap } from '../../packages/base/caches/bounded-map.ts'

test('the entry that was written longest ago makes room', () => {
  const map = new BoundedMap<string, number>(2)
  map.set('a', 1).set('b', 2).set('a', 3).set('c', 4)
  assert.deepEqual(
    [...map],
    [
      ['a', 3],
      ['c', 4],
    ],
  )
})
