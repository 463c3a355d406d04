import assert from 'node:assert/strict'
import { test } from 'node:test'
import pino from 'pino'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { describeUnsatisfied } from '../../../packages/engine/events/constraints.ts'
import { createPatterns } from '../../../packages/engine/events/event-patterns.ts'

const patterns = createPatterns({ log: pino({ level: 'silent' }) })
const body = {
  a: { b: [{ c: 'x1' }, { c: 'y2' }] },
  n: 7,
  off: false,
  nothing: null,
  list: ['red', 'blue'],
  'a.b': 'flat',
}

for (const [constraints, holds] of [
  [{ n: '^7$' }, true],
  [{ off: 'false' }, true],
  [{ list: 'blue' }, true],
  [{ '$.list[*]': '^blue$' }, true],
  [{ '$.list[*]': '^lue$' }, false],
  [{ "$['a']['b'][1].c": 'y2' }, true],
  [{ '$.a.b[-1].c': 'y2' }, true],
  [{ '$..c': '^x1$' }, true],
  [{ 'a.b': 'flat' }, true],
  [{ '$.a': '.*' }, false],
  [{ '$.unknown': '.*' }, false],
  [{ '$.a[?(@.b)]': '.*' }, false],
  [{ '$.constructor': '.*' }, false],
  [{ __proto__x: '.*' }, false],
  [{ n: '(' }, false],
  [{ n: null }, true],
  [{ nothing: null }, false],
  [{ n: '(?i)7' }, true],
  [{}, true],
  [{ list: { red: 1 } }, false],
  [{ n: ['7'] }, false],
  [[{ key: 'n', value: '7' }], false],
  ['n=7', false],
] as [JsonObject, boolean][]) {
  test(`the constraints ${JSON.stringify(constraints)} ${holds ? 'hold' : 'do not hold'}`, () => {
    assert.equal(
      describeUnsatisfied(constraints, body, { paths: true, patterns }) === undefined,
      holds,
    )
  })
}

test('events without a whole document match by their own fields', () => {
  assert.equal(describeUnsatisfied({ n: '7' }, body, { paths: false, patterns }), undefined)
  assert.match(
    describeUnsatisfied({ '$.n': '7' }, body, { paths: false, patterns }) ?? '',
    /constraint "\$\.n" is not satisfied/,
  )
  assert.equal(describeUnsatisfied(undefined, body, { paths: false, patterns }), undefined)
})
