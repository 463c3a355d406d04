/** The working copy of a pipeline: its graph, its undo, its problems, and what a save changes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listChanges, mergeDefinitions } from '../../console/src/editor/changes.ts'
import { Draft } from '../../console/src/editor/draft.ts'
import { withValueAt } from '../../console/src/editor/json-path.ts'
import { toProblem } from '../../console/src/editor/problems.ts'
import {
  addStage,
  copyStage,
  inRunOrder,
  removeStage,
  requisitesOf,
  setRequisites,
  stagesOf,
  toNodes,
} from '../../console/src/editor/stages.ts'
import type { JsonObject } from '../../packages/base/json/values.ts'

function stage(
  refId: string,
  requires: readonly string[] = [],
  fields: JsonObject = {},
): JsonObject {
  return { refId, requisiteStageRefIds: requires, type: 'wait', name: `stage ${refId}`, ...fields }
}

/** 1 before 2 and 3, which are both before 4. */
const diamond: JsonObject = {
  application: 'web',
  name: 'diamond',
  custom: { kept: true },
  stages: [stage('1'), stage('2', ['1']), stage('3', ['1']), stage('4', ['2', '3'])],
}

function edges(definition: JsonObject): string {
  return stagesOf(definition)
    .map((each) => `${each['refId']}:${requisitesOf(each).join('+')}`)
    .join(' ')
}

test('a new stage takes its place in the graph', () => {
  const wait = { type: 'wait' }
  assert.equal(edges(addStage(diamond, wait).definition), '1: 2:1 3:1 4:2+3 5:4')
  assert.equal(
    edges(addStage(diamond, wait, { of: '1', position: 'after' }).definition),
    '1: 5:1 2:5 3:5 4:2+3',
  )
  assert.equal(
    edges(addStage(diamond, wait, { of: '4', position: 'before' }).definition),
    '1: 2:1 3:1 5:2+3 4:5',
  )
  assert.equal(
    edges(addStage(diamond, wait, { of: '2', position: 'parallel' }).definition),
    '1: 2:1 5:1 3:1 4:2+3',
  )
})

test('a stage beside one without reference gives that one a reference', () => {
  const definition = { stages: [{ type: 'wait' }, stage('7')] }
  assert.equal(
    edges(addStage(definition, { type: 'noop' }, { of: '#1', position: 'after' }).definition),
    '8: 9:8 7:',
  )
})

test('followers of a removed stage require what it required', () => {
  assert.equal(edges(removeStage(diamond, '1')), '2: 3: 4:2+3')
  assert.equal(edges(removeStage(diamond, '2')), '1: 3:1 4:1+3')
})

test('a copy runs beside its original', () => {
  const copied = copyStage(diamond, '2', 'again')
  assert.equal(edges(copied?.definition ?? {}), '1: 2:1 5:1 3:1 4:2+3')
  assert.equal(stagesOf(copied?.definition ?? {})[2]?.['name'], 'again')
})

test('a circle and an unknown requisite are drawn as far as possible', () => {
  const circle = setRequisites(
    { stages: [stage('1', ['2']), stage('2', ['1']), stage('3', ['nowhere'])] },
    '1',
    ['2'],
  )
  assert.deepEqual(
    inRunOrder(toNodes(circle)).map(({ key }) => key),
    ['3', '1', '2'],
  )
})

test('findings of the server stand at their stage until what they name changes', () => {
  const draft = new Draft('web', {
    stored: undefined,
    definition: { ...diamond, name: '', triggers: [{ type: 'cron' }] },
  })
  const judged = draft.definition.peek()
  const found = [
    'stages[1].waitTime',
    'stages[3].clusters[0].capacity.max',
    'stages',
    'triggers[0].type',
  ]
  draft.findings.value = found.map((place) =>
    toProblem({ place, severity: 'warning', message: place }, judged),
  )
  const shown = () =>
    draft.problems.value.map(({ stage: key, path, severity, isMissing }) =>
      [key, path.join('.'), severity, isMissing].join(' '),
    )
  const atName = ' name error true'
  const atTrigger = ' triggers.0.type warning false'
  assert.deepEqual(shown(), [
    atName,
    '2 stages.1.waitTime warning true',
    '4 stages.3.clusters.0.capacity.max warning true',
    ' stages warning false',
    atTrigger,
  ])
  draft.set(['stages', 1, 'waitTime'], 5, 'Change Wait time')
  assert.deepEqual(shown(), [atName, '4 stages.3.clusters.0.capacity.max warning true', atTrigger])
  draft.change('Remove stage 1', (definition) => removeStage(definition, '1'))
  assert.deepEqual(shown(), [atName, atTrigger])
  draft.undo()
  draft.set(['name'], 'named', 'Rename')
  assert.deepEqual(shown(), ['4 stages.3.clusters.0.capacity.max warning true', atTrigger])
})

test('undo goes back step by step, and typing is one step', () => {
  const draft = new Draft('web', { stored: diamond, definition: diamond })
  for (const name of ['d', 'de', 'dep']) draft.set(['name'], name, 'Rename')
  draft.change('Remove stage 1', (definition) => removeStage(definition, '1'))
  assert.deepEqual([draft.isDirty.value, draft.undoLabel.value], [true, 'Remove stage 1'])
  draft.undo()
  assert.equal(draft.definition.value['name'], 'dep')
  draft.undo()
  assert.deepEqual(
    [draft.isDirty.value, draft.undoLabel.value, draft.redoLabel.value],
    [false, undefined, 'Rename'],
  )
  draft.redo()
  assert.equal(draft.definition.value['name'], 'dep')
  draft.set(['name'], undefined, 'Rename')
  assert.equal(draft.redoLabel.value, undefined)
  assert.deepEqual(draft.definition.value['custom'], { kept: true })
})

test('a field keeps its place, and a key may have any name', () => {
  const changed = withValueAt(
    JSON.parse('{"a": 1, "__proto__": {"b": 2}, "c": 3}') as JsonObject,
    ['__proto__', 'b'],
    4,
  )
  assert.equal(JSON.stringify(changed), '{"a":1,"__proto__":{"b":4},"c":3}')
  assert.equal(
    JSON.stringify(withValueAt({ list: [1, 2] }, ['list', 0], undefined)),
    '{"list":[2]}',
  )
  assert.equal(JSON.stringify(withValueAt({}, ['a', 0, 'b'], true)), '{"a":[{"b":true}]}')
})

test('a stored version that comes later is not undone', () => {
  const draft = new Draft('web', { stored: diamond, definition: diamond })
  draft.set(['stages', 1, 'waitTime'], 2, 'Change Wait time')
  const theirs = { ...withValueAt(diamond, ['stages', 0, 'waitTime'], 1), updateTs: '9' }
  draft.rebase(diamond, theirs)
  assert.deepEqual([draft.stored.value?.['updateTs'], draft.changes.value.length], ['9', 1])
  draft.undo()
  assert.deepEqual(
    [stagesOf(draft.definition.value)[0]?.['waitTime'], draft.isDirty.value],
    [1, false],
  )
})

test('a new pipeline that was kept still differs from how it began', () => {
  const draft = new Draft('web', { stored: undefined, definition: diamond })
  assert.equal(draft.isDirty.value, false)
  draft.set(['name'], 'other', 'Rename')
  assert.equal(new Draft('web', draft.toKept()).isDirty.value, true)
})

test('a locked pipeline is changed once it is unlocked', () => {
  const locked = {
    ...diamond,
    locked: { ui: true, allowUnlockUi: true, description: 'written by Terraform' },
  }
  const draft = new Draft('web', { stored: locked, definition: locked })
  draft.set(['name'], 'other', 'Rename')
  assert.equal(draft.definition.value['name'], 'diamond')
  assert.match(draft.readOnly.value ?? '', /written by Terraform/)
  draft.unlock()
  draft.set(['name'], 'other', 'Rename')
  assert.deepEqual(
    [draft.definition.value['name'], draft.definition.value['locked']],
    ['other', undefined],
  )
})

test('changes name stages by reference, whatever their place', () => {
  const moved = {
    ...diamond,
    stages: [stage('9'), ...stagesOf(withValueAt(diamond, ['stages', 1, 'waitTime'], 5))],
  }
  assert.deepEqual(listChanges(diamond, moved), [
    { path: ['stages', '9'], before: undefined, after: stage('9') },
    { path: ['stages', '2', 'waitTime'], before: undefined, after: 5 },
  ])
})

test('changes of two people merge, except for one field', () => {
  const mine = withValueAt(
    withValueAt(diamond, ['stages', 0, 'waitTime'], 1),
    ['stages', 1, 'waitTime'],
    2,
  )
  const theirs = addStage(withValueAt(diamond, ['stages', 1, 'waitTime'], 3), {
    type: 'noop',
  }).definition
  const merge = mergeDefinitions(diamond, mine, theirs)
  assert.equal(edges(merge.definition), '1: 2:1 3:1 4:2+3 5:4')
  assert.deepEqual(merge.conflicts, [
    { path: ['stages', '2', 'waitTime'], base: undefined, mine: 2, theirs: 3 },
  ])
  assert.deepEqual(merge.taken, [['stages', '5']])
  const values = (definition: JsonObject) => stagesOf(definition).map((each) => each['waitTime'])
  assert.deepEqual(values(merge.definition), [1, 2, undefined, undefined, undefined])
  assert.deepEqual(
    values(mergeDefinitions(diamond, mine, theirs, () => 'theirs').definition).slice(0, 2),
    [1, 3],
  )
})

test('a stage that one removes and another changes is a choice', () => {
  const mine = removeStage(diamond, '4')
  const theirs = withValueAt(diamond, ['stages', 3, 'waitTime'], 3)
  const { conflicts } = mergeDefinitions(diamond, mine, theirs)
  assert.deepEqual(
    conflicts.map(({ path, mine: own }) => [path, own]),
    [[['stages', '4'], undefined]],
  )
  assert.equal(
    edges(mergeDefinitions(diamond, mine, theirs, () => 'theirs').definition),
    '1: 2:1 3:1 4:2+3',
  )
})
