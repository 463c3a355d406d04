/** Documents that never change. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { parseJson } from '../../packages/base/json/json.ts'
import { keptDocumentOf } from '../../packages/gateway/http/kept-documents.ts'

const shared = { name: 'Größe', note: '€ 🎉' }

function documentOf(value: object) {
  const document = keptDocumentOf(Object.freeze(value))
  assert.ok(document)
  return document
}

test('a kept document is the JSON of its value', async () => {
  const exact = parseJson('[{"id":12345678901234567890}]') as object
  for (const value of [
    [],
    [shared, null, 1, 'x', [shared]],
    { a: [shared], b: undefined },
    [undefined],
    exact,
  ]) {
    const document = documentOf(value)
    assert.equal(document.bytes().toString(), JSON.stringify(value))
    assert.deepEqual(gunzipSync(await document.gzipped()), document.bytes())
  }
})

test('lists with equal entries share validator and compressed bytes', async () => {
  const [one, other] = [documentOf([shared, { a: 1 }]), documentOf([shared, { a: 1 }])]
  assert.equal(one.tag, other.tag)
  assert.equal(await one.gzipped(), await other.gzipped())
  for (const different of [
    [shared],
    [{ a: 1 }, shared],
    [shared, { a: 2 }],
    [[shared, { a: 1 }]],
    [],
    {},
  ]) {
    assert.notEqual(documentOf(different).tag, one.tag)
  }
})

test('an object and a list of it alone are two documents', async () => {
  const entry = Object.freeze({ name: 'x'.repeat(3000) })
  const [list, object] = [documentOf([entry]), documentOf(entry)]
  assert.notEqual(list.tag, object.tag)
  assert.deepEqual(JSON.parse(gunzipSync(await list.gzipped()).toString()), [entry])
  assert.deepEqual(JSON.parse(gunzipSync(await object.gzipped()).toString()), entry)
})

test('a value that may change is not kept', () => {
  assert.equal(keptDocumentOf([shared]), undefined)
  assert.equal(keptDocumentOf('text'), undefined)
  assert.equal(keptDocumentOf(null), undefined)
})
