import assert from 'node:assert/strict'
import test from 'node:test'
import { sharedWork } from '../../packages/base/concurrency/shared-work.ts'

test('who asks while it runs shares the result; the next one has it done anew', async () => {
  let runs = 0
  const ends: PromiseWithResolvers<number>[] = []
  const run = sharedWork(() => {
    ends[runs] = Promise.withResolvers()
    return (ends[runs++] as PromiseWithResolvers<number>).promise
  })
  const both = Promise.all([run(), run()])
  ends[0]?.resolve(1)
  assert.deepEqual(await both, [1, 1])
  const later = run()
  ends[1]?.resolve(2)
  assert.equal(await later, 2)
  assert.equal(runs, 2)
})

test('a failure reaches all who wait, and is not kept', async () => {
  const outcomes = [Promise.reject(new Error('gone')), Promise.resolve('here')]
  const run = sharedWork(() => outcomes.shift() as Promise<string>)
  const [first, second] = await Promise.allSettled([run(), run()])
  assert.equal(first.status, 'rejected')
  assert.equal(second.status, 'rejected')
  assert.equal(await run(), 'here')
})
