/** Settings of an application as the console edits them: permissions as rows, and edits above what is stored. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { conflictsOf, edit, isSame, withEdits } from '../../console/src/model/edits.ts'
import {
  isOpen,
  lostRights,
  toPermissions,
  toRoleRights,
  unheldRights,
} from '../../console/src/model/permissions.ts'

test('permissions survive the way to rows and back', () => {
  const permissions = { READ: ['dev', 'ops'], WRITE: ['ops'], CREATE: ['boss'] }
  const rows = toRoleRights(permissions)
  assert.deepEqual(rows, [
    { role: 'dev', has: ['READ'] },
    { role: 'ops', has: ['READ', 'WRITE'] },
  ])
  assert.deepEqual(toPermissions(rows, permissions), {
    CREATE: ['boss'],
    READ: ['dev', 'ops'],
    WRITE: ['ops'],
  })
})

test('rows without a role or a right give no permission', () => {
  const rows = [
    { role: ' ', has: ['READ', 'WRITE'] },
    { role: 'dev', has: [] },
    { role: 'ops ', has: ['READ'] },
    { role: 'ops', has: ['READ'] },
  ] as const
  assert.deepEqual(toPermissions(rows, null), { READ: ['ops'] })
})

test('malformed permissions are no rows', () => {
  for (const malformed of [null, undefined, 'READ', [], { READ: 'dev' }, { READ: [3, ''] }]) {
    assert.deepEqual(toRoleRights(malformed), [])
  }
})

test('one role closes an application to all others', () => {
  const rows = toRoleRights({ READ: ['Ops', 'dev'], WRITE: ['Ops'] })
  assert.deepEqual(lostRights(rows, ['dev']), ['WRITE'])
  assert.deepEqual(lostRights(rows, ['guest']), ['READ', 'EXECUTE', 'WRITE'])
  assert.deepEqual(lostRights(rows, ['ops']), [])
  assert.deepEqual(unheldRights(rows), [], 'who may read may start')
  assert.deepEqual(unheldRights(toRoleRights({ WRITE: ['ops'] })), ['READ', 'EXECUTE'])
})

test('an application without roles is open to all', () => {
  assert.deepEqual([isOpen([]), lostRights([], ['dev']), unheldRights([])], [true, [], []])
  assert.equal(isOpen([{ role: ' ', has: ['READ'] }]), true)
})

test('an edit that leads back is none', () => {
  const stored = { email: 'a@example.org', description: null }
  const edits = edit(edit({}, stored, 'email', 'b@example.org'), stored, 'description', '')
  assert.deepEqual(edits, { email: { from: 'a@example.org', to: 'b@example.org' } })
  assert.deepEqual(withEdits(stored, edits), { email: 'b@example.org', description: null })
  assert.deepEqual(edit(edits, { email: 'c@example.org' }, 'email', 'a@example.org'), {})
})

test('a value that another user changed is a conflict', () => {
  const edits = edit({}, { email: 'a', guards: [{ account: 'dev' }] }, 'email', 'b')
  assert.deepEqual(conflictsOf(edits, { email: 'a' }), [])
  assert.deepEqual(conflictsOf(edits, { email: 'c' }), ['email'])
  assert.deepEqual(conflictsOf(edits, { email: 'b' }), [], 'both want the same')
})

test('missing, null and empty values are the same', () => {
  assert.ok(isSame({ a: null, b: [], c: 1 }, { c: 1 }))
  assert.ok(isSame({ a: { b: 1, c: 2 } }, { a: { c: 2, b: 1 } }))
  assert.ok(!isSame([1, 2], [2, 1]))
  assert.ok(!isSame(false, undefined))
})
