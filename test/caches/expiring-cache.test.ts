/** Caches whose entries expire. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCache, loadOnce } from '../../packages/base/caches/expiring-cache.ts'

test('an entry expires when it has lived that long', () => {
  let nowMs = 0
  const cache = createCache<string>({ maxSize: 2, ttlMs: 1000, now: () => nowMs })
  cache.set('a', 'kept')

  nowMs = 999
  assert.equal(cache.get('a'), 'kept')
  nowMs = 1000
  assert.equal(cache.get('a'), undefined)
  assert.equal(cache.peek('a', { allowStale: true }), 'kept')
})

test('an entry from before the clock was set back has expired', () => {
  let nowMs = 3_600_000
  const cache = createCache<string>({ maxSize: 2, ttlMs: 1000, now: () => nowMs })
  cache.set('a', 'old')

  nowMs = 0
  assert.equal(cache.get('a'), undefined)
  cache.set('a', 'new')
  assert.equal(cache.get('a'), 'new')
})

test('the entry that was used longest ago gives way', () => {
  const cache = createCache<number>({ maxSize: 2, ttlMs: 1000, now: () => 0 })
  for (const [index, key] of ['a', 'b', 'c'].entries()) cache.set(key, index)
  assert.deepEqual([cache.get('a'), cache.get('b'), cache.get('c')], [undefined, 1, 2])
})

test('requests that come together share one load, and a failure is not cached', async () => {
  const cache = createCache<Promise<number>>({ maxSize: 2, ttlMs: 1000, now: () => 0 })
  let loads = 0
  const load = async () => {
    loads++
    if (loads === 1) throw new Error('unreachable')
    return loads
  }
  const together = [loadOnce(cache, 'a', load), loadOnce(cache, 'a', load)]
  for (const one of together) await assert.rejects(one, /unreachable/)
  assert.deepEqual([await loadOnce(cache, 'a', load), await loadOnce(cache, 'a', load)], [2, 2])
})

test('an entry that has no time left expires at once', async () => {
  const cache = createCache<Promise<number>>({ maxSize: 2, ttlMs: 1000, now: () => 0 })
  await loadOnce(cache, 'a', async () => 1, -5)
  assert.equal(await loadOnce(cache, 'a', async () => 2), 2)
})

test('a cache of no length finds nothing again', async () => {
  const cache = createCache<Promise<number>>({ maxSize: 2, ttlMs: 0, now: () => 7 })
  cache.set('a', Promise.resolve(1))
  assert.equal(cache.get('a'), undefined)
  assert.deepEqual(
    [await loadOnce(cache, 'b', async () => 1), await loadOnce(cache, 'b', async () => 2)],
    [1, 2],
  )
})
