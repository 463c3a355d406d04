import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitJsonList } from '../../packages/base/json/split-list.ts'

const split = (text: string) => [...splitJsonList(text)]

test('a list is split into its entries, whatever they hold', () => {
  const entries = [
    '{"a":"x,]}[{"}',
    '[1,[2,{"b":[]}]]',
    '"\\\\"',
    '"\\"],["',
    '-1.50',
    'null',
    '{}',
  ]
  assert.deepEqual(split(`[${entries.join(',')}]`), entries)
  assert.deepEqual(
    split(` [ ${entries.join(' ,\n ')} ] \n`).map((entry) => entry.trim()),
    entries,
  )
  assert.deepEqual(split('[]'), [])
  assert.deepEqual(split('\t[ ]'), [])
})

test('what is no list is an error, or an entry that does not parse', () => {
  for (const text of [
    '',
    'null',
    '{}',
    '[',
    '[1',
    '[1,',
    '["a',
    '["a\\"',
    '[{"a":1]',
    '[1]2',
    '[1],[2]',
    '[[1]',
    '<html>',
  ]) {
    const parse = () => split(text).map((entry) => JSON.parse(entry) as unknown)
    assert.throws(parse, SyntaxError, text)
  }
  for (const text of ['[,]', '[1,]', '[1,,2]', '[1 2]', '[}', '[{]}]', '[a]']) {
    assert.throws(() => split(text).map((entry) => JSON.parse(entry) as unknown), SyntaxError, text)
  }
})
