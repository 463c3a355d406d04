import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatJson, isRawNumber, maxJsonDepth, parseJson, UnsafeJsonError } from '../../src/http/json.ts'

const keptTexts = [
  '{"id":12345678901234567890}',
  '[9007199254740993,-9007199254740993,18446744073709551616]',
  '{"price":1e400,"n":{"m":[-1e999]}}',
  '{"text":"12345678901234567890","plain":1234567890123456}',
  '{"constructor":{"prototype":{"x":1}}}',
  '{"value":"__proto__"}',
  '{"\\u0000":null,"":[]}',
]
for (const text of keptTexts) {
  test(`${text} is written back as it was read`, () => {
    assert.equal(formatJson(parseJson(text)), text)
  })
}

test('a number that fits stays a plain number, beside one that does not', () => {
  const parsed = parseJson('{"small":7,"fraction":0.5,"big":12345678901234567890}') as Record<string, unknown>
  assert.equal(parsed['small'], 7)
  assert.equal(parsed['fraction'], 0.5)
  assert.equal(isRawNumber(parsed['big']), true)
  assert.equal(isRawNumber(parsed['small']), false)
})

for (const text of ['{"__proto__":{}}', '[{"a":{"__proto__":1}}]', '{"\\u005f_proto__":{}}', '{"__proto\\u005F\\u005f":{}}']) {
  test(`the document ${text} is refused for its key`, () => {
    assert.throws(
      () => parseJson(text),
      (error) => error instanceof UnsafeJsonError && error.code === 'JSON_PROTO_KEY',
    )
    assert.equal(({} as Record<string, unknown>)['x'], undefined)
  })
}

test('a document may be as deep as the limit, and no deeper', () => {
  const nested = (depth: number) => `${'['.repeat(depth)}"${'[\\"'.repeat(2000)}"${']'.repeat(depth)}`
  assert.equal(formatJson(parseJson(nested(maxJsonDepth))), nested(maxJsonDepth))
  assert.throws(
    () => parseJson(nested(maxJsonDepth + 1)),
    (error) => error instanceof UnsafeJsonError && error.code === 'JSON_TOO_DEEP',
  )
  assert.throws(() => parseJson('{"a":'.repeat(200_000)), UnsafeJsonError)
})

test('text that is not JSON throws a SyntaxError, however odd', () => {
  for (const text of ['', '{', '{"a":"', '"\\', 'nul', `{"a":"${'x'.repeat(5000)}\\`, ']'.repeat(5000)]) {
    assert.throws(() => parseJson(text), SyntaxError)
  }
})

test('undefined is written as null', () => {
  assert.equal(formatJson(undefined), 'null')
  assert.equal(formatJson({ a: undefined }), '{}')
})
