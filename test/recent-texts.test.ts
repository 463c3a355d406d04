/** The cache of values by texts that requests repeat. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import test from 'node:test'
import { RecentTexts } from '../src/recent-texts.ts'

test('a text is found by its characters, whichever object it is', () => {
  const recent = new RecentTexts<number>(8)
  recent.set('SESSION=one', 1)
  assert.equal(recent.get(Buffer.from('SESSION=one').toString('latin1')), 1)
  assert.equal(recent.get('SESSION=two'), undefined)
  assert.equal(recent.get(''), undefined)
})

test('a text that displaces another one is not taken for it', () => {
  const recent = new RecentTexts<number>(1)
  recent.set('one', 1)
  recent.set('two', 2)
  assert.deepEqual([recent.get('one'), recent.get('two')], [undefined, 2])
})

test('texts that differ in their middle only have places of their own', () => {
  const recent = new RecentTexts<number>(4096)
  const texts = Array.from(
    { length: 100 },
    (_, index) => `theme=dark; SESSION=${hash('sha256', String(index), 'base64url')}; lang=en`,
  )
  for (const [index, text] of texts.entries()) recent.set(text, index)
  assert.ok(texts.filter((text, index) => recent.get(text) === index).length > 90)
})
