import assert from 'node:assert/strict'
import { test } from 'node:test'
import pino from 'pino'
import { openAuditLog } from '../../packages/gateway/audit/audit-log.ts'
import type { AuditEvent } from '../../packages/gateway/audit/event.ts'
import { eventsOf } from './support.ts'

/** A log over a sink that keeps what it is given, and fails while it is told to. */
function createLog() {
  const batches: (readonly AuditEvent[])[] = []
  const lines: string[] = []
  const state = {
    fails: false,
    lost: 0,
    hanging: undefined as Promise<void> | undefined,
    removedBefore: undefined as number | undefined,
    closed: false,
    measured: [] as number[],
    isTooLarge: false,
  }
  const audit = openAuditLog({
    sink: {
      append: async (events) => {
        await state.hanging
        if (state.fails) throw new Error('disk full')
        batches.push(events)
      },
      find: async () => ({ records: [] }),
      since: undefined,
      lines: undefined,
      removeBeyond: async (maxBytes) => {
        state.measured.push(maxBytes)
        return state.isTooLarge
      },
      removeBefore: async (untilMs) => {
        state.removedBefore = untilMs
      },
      close: async () => {
        state.closed = true
      },
    },
    log: pino(
      { level: 'debug' },
      { write: (line: string) => void lines.push((JSON.parse(line) as { msg: string }).msg) },
    ),
    retentionMs: 1000,
    maxBytes: 1_000_000,
    onFailure: (events) => {
      state.lost += events
    },
    now: () => 5000,
  })
  return { audit, batches, state, lines }
}

test('events that come together are written together, in their order', async () => {
  const { audit, batches } = createLog()
  const [noted, ...recorded] = eventsOf(20) as [AuditEvent, ...AuditEvent[]]
  audit.note(noted)
  await Promise.all(recorded.map((event) => audit.record(event)))
  assert.deepEqual(batches, [[noted, ...recorded]])
})

test('accepted events are written before the log is read or closed', async () => {
  const { audit, batches, state } = createLog()
  const [first, second] = eventsOf(2) as [AuditEvent, AuditEvent]
  audit.note(first)
  await audit.find({ limit: 1 })
  assert.deepEqual(batches, [[first]])
  audit.note(second)
  await audit.close()
  assert.deepEqual([batches.length, state.closed], [2, true])
})

test('a gap is followed by its count, and logged once', async () => {
  const { audit, batches, state, lines } = createLog()
  const [event] = eventsOf(1) as [AuditEvent]
  state.fails = true
  for (let time = 0; time < 3; time++) await assert.rejects(audit.record(event), /disk full/)
  audit.note(event)
  await audit.find({ limit: 1 })
  assert.equal(state.lost, 4)
  assert.equal(audit.trouble, 'the audit log cannot be written: 4 events are missing so far')
  state.fails = false
  await audit.record(event)
  await audit.record(event)
  assert.deepEqual(batches, [
    [{ kind: 'audit', decision: 'failed', atMs: 5000, lost: 4 }, event],
    [event],
  ])
  assert.equal(audit.trouble, undefined)
  assert.deepEqual(lines, [
    'the audit log cannot be written: events are lost until it can',
    'the audit log is written again and records how many events are missing',
  ])
})

test('a sink that hangs costs bounded memory; surplus events are counted', async () => {
  const { audit, state } = createLog()
  const [event] = eventsOf(1) as [AuditEvent]
  for (let time = 0; time < 10_050; time++) audit.note(event)
  assert.equal(state.lost, 50)
  await audit.close()
})

test('records that have been kept long enough are removed', async () => {
  const { audit, state } = createLog()
  await audit.sweep()
  assert.equal(state.removedBefore, 4000)
  await audit.close()
})

test('the size of the log is checked at intervals', async () => {
  const { audit, state, lines } = createLog()
  await audit.sweep()
  for (const event of eventsOf(4999)) audit.note(event)
  await audit.find({ limit: 1 })
  assert.deepEqual(state.measured, [1_000_000])
  state.isTooLarge = true
  await audit.record(eventsOf(1)[0] as AuditEvent)
  assert.deepEqual(state.measured, [1_000_000, 1_000_000])
  assert.match(lines.at(-1) ?? '', /larger than audit\.maxMegabytes/)
  await audit.close()
})

test('a closing log waits a bounded time for its sink', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  const { audit, batches, state, lines } = createLog()
  const [first, second] = eventsOf(2) as [AuditEvent, AuditEvent]
  const hanging = Promise.withResolvers<void>()
  state.hanging = hanging.promise
  const waiting = audit.record(first)
  t.mock.timers.tick(5000)
  await assert.rejects(waiting, /not written within 5000 ms/)
  // Whoever comes later does not wait at all.
  await assert.rejects(audit.record(second), /an earlier record is not written yet/)
  assert.equal(audit.trouble, 'the audit log cannot be written: 0 events are missing so far')
  hanging.resolve()
  await audit.find({ limit: 1 })
  assert.deepEqual(batches.flat(), [first, second])
  assert.equal(audit.trouble, undefined)
  await audit.record(first)
  assert.equal(lines.filter((line) => /cannot be written/.test(line)).length, 1)
  await audit.close()
})
