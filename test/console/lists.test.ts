/** Lists that change while they are read, where their rows lead, and names in them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findRevision, toRevisions } from '../../console/src/editor/history.ts'
import { auditTargetOf } from '../../console/src/model/audit-target.ts'
import { holdRows } from '../../console/src/model/held-rows.ts'
import { cutMiddle, showDisguised, showHidden } from '../../console/src/model/names.ts'

const keyOf = (row: string) => row.charAt(0)
/** What is shown, with `-` after what is gone, and how many wait. */
function hold(shown: string[] | undefined, current: string[]): [string, number] {
  const { rows, waiting } = holdRows(shown, current, keyOf)
  return [rows.map(({ item, isGone }) => item + (isGone ? '-' : '')).join(' '), waiting]
}

test('rows under the eyes keep their places, with new values', () => {
  assert.deepEqual(hold(undefined, ['b', 'a']), ['b a', 0], 'nobody reads')
  assert.deepEqual(hold(['a1', 'b1'], ['c1', 'a2', 'b1']), ['a2 b1', 1], 'one more on top waits')
  assert.deepEqual(hold(['a1', 'b1'], ['c1', 'b2', 'd1']), ['a1- b2 d1', 1], 'below the last nothing moves')
  assert.deepEqual(hold(['a', 'b', 'c'], ['c', 'b', 'a']), ['a b c', 0], 'another order waits, too')
  assert.deepEqual(hold(['a'], ['b', 'c']), ['a-', 2])
  assert.deepEqual(hold(['a'], []), ['a-', 0])
  assert.deepEqual(hold([], ['b']), ['b', 0])
})

const saved = {
  at: '2026-11-22T16:12:45.868Z',
  decision: 'allowed',
  kind: 'change',
  operation: 'savePipelineUsingPOST',
  resource: { application: 'web', id: 'p1', name: 'release' },
}

test('a record of the audit log leads to what it changed', () => {
  const atMs = Date.parse(saved.at)
  assert.deepEqual(auditTargetOf(saved), { kind: 'revision', application: 'web', id: 'p1', atMs })
  assert.deepEqual(auditTargetOf({ ...saved, resource: { application: 'web', name: 'release' } }), {
    kind: 'pipelines',
    application: 'web',
    name: 'release',
  })
  assert.equal(auditTargetOf({ ...saved, decision: 'refused' }), undefined)
  assert.equal(auditTargetOf({ ...saved, operation: 'deletePipelineUsingDELETE' }), undefined)
  assert.deepEqual(auditTargetOf({ ...saved, operation: 'restartStageUsingPUT', resource: { id: '01' } }), {
    kind: 'execution',
    id: '01',
  })
})

test('a revision is found by the time of its save', () => {
  const revisions = toRevisions([{ updateTs: '300' }, { updateTs: '200' }, { updateTs: '100' }])
  const found = (id: string | undefined, untilMs: number | undefined) => findRevision(revisions, id, untilMs)?.id
  assert.deepEqual(
    [found(undefined, undefined), found(undefined, 250), found('100', 250), found(undefined, 99), found('101', undefined)],
    ['300', '200', '100', undefined, undefined],
  )
})

test('a name hides and reorders nothing', () => {
  assert.equal(showHidden('a\u202eb\u0007c\r\nd\n'), 'a␣202eb␣0007c ↵ d')
  assert.equal(showDisguised('Start \u2066x\u202e?\n  second line'), 'Start ␣2066x␣202e?\n  second line')
  assert.equal(showDisguised('👩\u200d🚢'), '👩\u200d🚢')
  assert.equal([...cutMiddle('x'.repeat(10_000), 80)].length, 80)
})
