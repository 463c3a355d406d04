/** Texts of executions that lists keep: never older than their version, and never too many. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeptTexts } from '../../../packages/engine/orchestration/routes/kept-texts.ts'

function open() {
  const texts = new KeptTexts()
  const written: string[] = []
  const get = (key: string, version: string, json: string | undefined = key) =>
    texts.get(key, version, () => {
      written.push(`${key} ${version}`)
      return json
    })
  return { get, written }
}

test('a text is written once for each version', () => {
  const { get, written } = open()
  assert.equal(get('a', '1', 'one'), 'one')
  assert.equal(get('a', '1', 'other'), 'one')
  assert.equal(get('a', '2', 'two'), 'two')
  assert.equal(get('a', '2'), 'two')
  assert.equal(get('b', '2', 'b'), 'b')
  assert.deepEqual(written, ['a 1', 'a 2', 'b 2'])
})

test('a record that is gone leaves nothing', () => {
  const { get, written } = open()
  get('a', '1', 'one')
  const texts = new KeptTexts()
  assert.equal(
    texts.get('a', '2', () => undefined),
    undefined,
  )
  assert.equal(get('a', '3', 'three'), 'three')
  assert.deepEqual(written, ['a 1', 'a 3'])
})

test('the texts used longest ago make room', () => {
  const { get, written } = open()
  const large = 'x'.repeat(100_000)
  for (let index = 0; index < 100; index++) {
    get(`${index}`, '1', large)
    get('0', '1', large)
  }
  written.length = 0
  for (const key of ['0', '99', '50']) get(key, '1', large)
  assert.deepEqual(written, ['50 1'])
  get('huge', '1', 'x'.repeat(1_000_000))
  get('huge', '1', 'x'.repeat(1_000_000))
  assert.deepEqual(written, ['50 1', 'huge 1', 'huge 1'])
})
