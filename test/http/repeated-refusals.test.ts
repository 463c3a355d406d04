/** Refusals that repeat themselves cost one record and a count, whoever sends them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditEvent } from '../../packages/gateway/audit/event.ts'
import { RepeatedRefusals } from '../../packages/gateway/http/repeated-refusals.ts'

function refusal(more: Partial<AuditEvent> = {}): AuditEvent {
  return {
    kind: 'refusal',
    decision: 'refused',
    atMs: 0,
    address: '10.0.0.1',
    operation: 'list',
    error: 'X',
    requestId: 'r',
    ...more,
  }
}

test('repeated refusals are counted after the first', () => {
  const repeated = new RepeatedRefusals()
  assert.deepEqual(
    [0, 1, 59_999].map((atMs) => repeated.absorbs(refusal({ atMs, requestId: `r${atMs}` }))),
    [false, true, true],
  )
  assert.deepEqual(repeated.take(59_999), [])
  const { requestId: _, ...common } = refusal()
  assert.deepEqual(repeated.take(60_000), [{ ...common, atMs: 59_999, repeated: 2 }])
  assert.equal(repeated.absorbs(refusal({ atMs: 60_000 })), false)
  assert.deepEqual(repeated.take(), [])
})

test('refusals are grouped by caller, operation and reason', () => {
  const repeated = new RepeatedRefusals()
  repeated.absorbs(refusal())
  for (const more of [
    { user: 'bob' },
    { address: '10.0.0.2' },
    { operation: 'other' },
    { error: 'Y' },
    { token: 't' },
    { kind: 'change' },
  ] as const) {
    assert.equal(repeated.absorbs(refusal(more)), false, JSON.stringify(more))
  }
  assert.equal(repeated.absorbs(refusal({ requestId: 'other', resource: { id: '7' } })), true)
  repeated.absorbs(refusal({ address: '2001:db8::1' }))
  assert.equal(repeated.absorbs(refusal({ address: '2001:db8::2' })), true)
})

test('changes of users have records of their own', () => {
  const repeated = new RepeatedRefusals()
  assert.deepEqual(
    [1, 2].map(() => repeated.absorbs(refusal({ change: 'c' }))),
    [false, false],
  )
  for (const decision of ['allowed', 'failed', 'begun'] as const) {
    for (const who of [{ user: 'bob' }, { token: 't' }]) {
      const change = refusal({ kind: 'change', decision, ...who })
      assert.deepEqual([repeated.absorbs(change), repeated.absorbs(change)], [false, false])
    }
  }
})

test('logins that nobody can judge at present are counted, too', () => {
  const repeated = new RepeatedRefusals()
  const failed = (kind: AuditEvent['kind']) =>
    repeated.absorbs(refusal({ kind, decision: 'failed' }))
  assert.deepEqual(
    [failed('login'), failed('login'), failed('refusal'), failed('refusal')],
    [false, true, false, true],
  )
})

test('beyond two hundred callers, refusals are counted together', () => {
  const repeated = new RepeatedRefusals()
  const absorbed = Array.from({ length: 5000 }, (_, index) =>
    repeated.absorbs(refusal({ address: `10.0.${index >> 8}.${index & 255}` })),
  )
  assert.equal(absorbed.filter((one) => !one).length, 200)
  const reason = 'too many different ones to be listed'
  assert.deepEqual(repeated.take(), [
    { kind: 'refusal', decision: 'refused', atMs: 0, error: 'X', reason, repeated: 4800 },
  ])
})

test('a clock that is set back ends the count', () => {
  const repeated = new RepeatedRefusals()
  repeated.absorbs(refusal({ atMs: 1_000_000 }))
  repeated.absorbs(refusal({ atMs: 1_000_000 }))
  assert.equal(repeated.take(5000).length, 1)
})

test('changes without login have sixty records a minute', () => {
  const repeated = new RepeatedRefusals()
  const change = (more: Partial<AuditEvent>) =>
    repeated.absorbs(refusal({ kind: 'change', decision: 'allowed', ...more }))
  const recorded = (count: number, more: Partial<AuditEvent> = {}) =>
    Array.from({ length: count }, () => change(more)).filter((isCounted) => !isCounted).length
  // The first of those that are counted has a record, too.
  assert.equal(recorded(500), 61)
  assert.equal(recorded(500, { address: '10.0.0.2' }), 61)
  assert.equal(recorded(500, { decision: 'failed' }), 1)
  assert.deepEqual(
    repeated.take(60_000).map((event) => event.repeated),
    [439, 439, 499],
  )
  assert.equal(recorded(60, { atMs: 60_000 }), 60)
})

test('a crowd without login shares its records', () => {
  const repeated = new RepeatedRefusals()
  let records = 0
  for (let index = 0; index < 20_000; index++) {
    const address = `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`
    if (!repeated.absorbs(refusal({ kind: 'change', decision: 'allowed', address }))) records++
  }
  assert.ok(records <= 460, `${records} records`)
})
