/** A thread for work aside: order, bounds, and what happens when a job ends it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SideThread, type SideThreadError } from '../../packages/base/concurrency/side-thread.ts'

const options = {
  name: 'test',
  file: new URL('../fixtures/side-thread-program.ts', import.meta.url),
  maxOldGenerationSizeMb: 32,
  maxJobMs: 60_000,
  maxWaiting: 3,
}
type Job = 'echo' | 'forever' | 'greedy'

const reasonOf = (running: Promise<unknown>) =>
  running.then(
    (reply) => reply,
    (error: unknown) => (error as SideThreadError).reason,
  )

test('jobs of the first rank overtake those that wait', async () => {
  const thread = new SideThread<Job, number>(options)
  const order: string[] = []
  const run = (name: string, rank: 'first' | 'second') =>
    thread.run('echo', rank).then(() => order.push(name))
  await Promise.all([
    run('a', 'second'),
    run('b', 'second'),
    run('c', 'second'),
    run('d', 'first'),
    run('e', 'first'),
  ])
  assert.deepEqual(order, ['a', 'd', 'e', 'b', 'c'])
})

test('a job too many is refused, of either rank by itself', async () => {
  const thread = new SideThread<Job, number>(options)
  const running = Array.from({ length: 4 }, () => thread.run('echo', 'second'))
  assert.throws(() => thread.run('echo', 'second'), { reason: 'full' })
  running.push(thread.run('echo', 'first'))
  assert.equal((await Promise.all(running)).length, 5)
})

test('a job that ends the thread harms no other', async () => {
  const impatient = new SideThread<Job, number>({ ...options, maxJobMs: 3000 })
  const outcomes = [impatient.run('forever'), impatient.run('echo')].map(reasonOf)
  const thread = new SideThread<Job, number>(options)
  outcomes.push(...[thread.run('echo'), thread.run('greedy'), thread.run('echo')].map(reasonOf))
  assert.deepEqual(await Promise.all(outcomes), ['time', 1, 1, 'failed', 1])
})

test('a program that is gone is told, and not as a lack of time or memory', async () => {
  const file = new URL('../fixtures/gone.ts', import.meta.url)
  await assert.rejects(new SideThread<Job, number>({ ...options, file }).run('echo'), {
    name: 'Error',
    message: /were replaced while it runs\. Restart it\./,
  })
})

test('an idle thread keeps no process from ending', async () => {
  const ports = () =>
    process.getActiveResourcesInfo().filter((name) => name === 'MessagePort').length
  const before = ports()
  const thread = new SideThread<Job, number>(options)
  assert.equal(await thread.run('echo'), 1)
  assert.ok(ports() <= before)
})
