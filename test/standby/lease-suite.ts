/** What every store of the lease of the back ends has to do; used by the tests of each. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import pino from 'pino'
import {
  Lease,
  LeaseHeld,
  type LeaseStore,
  type LeaseTimes,
} from '../../packages/app/standby/lease.ts'
import { waitUntil } from '../support/wait-until.ts'

const times: LeaseTimes = { freeMs: 2500, holdMs: 1800, renewMs: 100, pollMs: 20 }

export interface LeaseStores {
  /** Another connection to the same store. */
  open(): Promise<LeaseStore>
  /** The store loses what it has. */
  forget(): Promise<unknown>
}

/** An engine that has a directory of its own, and stands by for the lease. */
export async function standBy(t: TestContext, store: LeaseStore, name: string) {
  const owner = { id: `directory-of-${name}`, holder: name }
  const lease = new Lease({ store, owner, log: pino({ level: 'silent' }), times })
  const stopping = new AbortController()
  const lost: string[] = []
  t.after(async () => {
    stopping.abort()
    await lease.release()
  })
  return {
    lease,
    lost,
    take: async (waits = true) => {
      const taken = await lease.take({ waits, signal: stopping.signal })
      lease.keep((reason) => lost.push(reason))
      return taken
    },
  }
}

export async function checkLease(t: TestContext, { open, forget }: LeaseStores): Promise<void> {
  const [a, b, again] = [
    await standBy(t, await open(), 'a'),
    await standBy(t, await open(), 'b'),
    await standBy(t, await open(), 'a'),
  ]
  assert.deepEqual(await a.take(), { term: 1, before: undefined })
  await a.lease.note({ written: 1, copy: 'first' })
  await assert.rejects(
    b.take(false),
    (error) => error instanceof LeaseHeld && /on a, holds the lease, term 1/.test(error.message),
  )

  await forget()
  const waiting = b.take()
  const { record } = a.lease
  await waitUntil(
    async () => (await (await open()).read())?.record.term === 1,
    'the record that the holder writes again',
  )
  assert.deepEqual([a.lost, a.lease.record, b.lease.record], [[], record, undefined])

  // As after kill -9: nothing is released, nothing renewed.
  const endedAtMs = performance.now()
  a.lease.abandon()
  const taken = await waiting
  assert.ok(
    performance.now() - endedAtMs > times.freeMs - 500,
    'a standby waits until the former holder has noticed',
  )
  assert.equal(taken?.term, 2)
  assert.equal(taken.before?.holder, 'a')
  assert.deepEqual([taken.before?.written, taken.before?.copy], [1, 'first'])

  await b.lease.release()
  const releasedAtMs = performance.now()
  assert.equal((await again.take())?.term, 3)
  assert.ok(
    performance.now() - releasedAtMs < times.freeMs,
    'a lease that was released is free at once',
  )
  again.lease.abandon()
  const restarted = await standBy(t, await open(), 'a')
  assert.equal((await restarted.take())?.term, 3)
}
