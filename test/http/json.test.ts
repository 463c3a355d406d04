import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  formatJson,
  isRawNumber,
  JsonScan,
  maxJsonDepth,
  parseJson,
  UnsafeJsonError,
} from '../../packages/base/json/json.ts'

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

const numerals =
  '{"a":[1.0,1e3,1E+2,-0,-0.0,0.10,0.0000001,1.5,7,12345678901234567890,0.1000000000000000055],"1.0":"1.0"}'
test('numerals are kept however the text is split', () => {
  assert.equal(formatJson(parseJson(numerals, { keepsNumerals: true })), numerals)
  for (const top of ['1.0', ' -0 ', '1e3'])
    assert.equal(formatJson(parseJson(top, { keepsNumerals: true })), top.trim())
  const parsed = parseJson('[1.5,7,1.0]', { keepsNumerals: true }) as unknown[]
  assert.deepEqual(parsed.map(isRawNumber), [false, false, true])
  assert.equal(formatJson(parseJson('[1.0]')), '[1]')
  for (let cut = 1; cut < numerals.length; cut++) {
    const scan = new JsonScan({ keepsNumerals: true })
    for (const piece of [numerals.slice(0, cut), numerals.slice(cut)]) scan.feed(piece)
    assert.equal(scan.needsExactNumbers, true)
  }
})

test('a number beyond a double is rejected, in pieces too', () => {
  const digits = '9'.repeat(310)
  for (const pieces of [['1e999'], ['[-1e3', '99]'], [`{"a":${digits}`, '}'], ['[1e40', '0,1']]) {
    const scan = new JsonScan({ keepsNumerals: true })
    assert.throws(
      () => {
        for (const piece of pieces) scan.feed(piece)
        scan.end()
      },
      (error) => error instanceof UnsafeJsonError && error.code === 'JSON_NUMBER_TOO_LARGE',
      pieces.join(),
    )
  }
})

test('a number that fits stays a number', () => {
  const parsed = parseJson('{"small":7,"fraction":0.5,"big":12345678901234567890}') as Record<
    string,
    unknown
  >
  assert.equal(parsed['small'], 7)
  assert.equal(parsed['fraction'], 0.5)
  assert.equal(isRawNumber(parsed['big']), true)
  assert.equal(isRawNumber(parsed['small']), false)
  assert.equal(
    `${parsed['big'] as string} of ${String(parsed['big'])}`,
    '12345678901234567890 of 12345678901234567890',
  )
  assert.ok(Number(parsed['big']) > 1e19)
})

for (const text of [
  '{"__proto__":{}}',
  '[{"a":{"__proto__":1}}]',
  '{"\\u005f_proto__":{}}',
  '{"__proto\\u005F\\u005f":{}}',
]) {
  test(`the document ${text} is refused for its key`, () => {
    assert.throws(
      () => parseJson(text),
      (error) => error instanceof UnsafeJsonError && error.code === 'JSON_PROTO_KEY',
    )
    assert.equal(({} as Record<string, unknown>)['x'], undefined)
  })
}

test('a document may be as deep as the limit', () => {
  const nested = (depth: number) =>
    `${'['.repeat(depth)}"${'[\\"'.repeat(2000)}"${']'.repeat(depth)}`
  assert.equal(formatJson(parseJson(nested(maxJsonDepth))), nested(maxJsonDepth))
  assert.throws(
    () => parseJson(nested(maxJsonDepth + 1)),
    (error) => error instanceof UnsafeJsonError && error.code === 'JSON_TOO_DEEP',
  )
  assert.throws(() => parseJson('{"a":'.repeat(200_000)), UnsafeJsonError)
})

test('text that is not JSON throws a SyntaxError, however odd', () => {
  for (const text of [
    '',
    '{',
    '{"a":"',
    '"\\',
    'nul',
    `{"a":"${'x'.repeat(5000)}\\`,
    ']'.repeat(5000),
  ]) {
    assert.throws(() => parseJson(text), SyntaxError)
  }
})

test('undefined is written as null', () => {
  assert.equal(formatJson(undefined), 'null')
  assert.equal(formatJson({ a: undefined }), '{}')
})

/** Pseudo-random, the same in every run. */
function createDice(seed: number): (sides: number) => number {
  let state = seed
  return (sides) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * sides)
  }
}

function createValue(dice: (sides: number) => number, depth = 0): unknown {
  const kind = dice(depth > 4 ? 4 : 6)
  if (kind === 0) return dice(10_000) / 8 - 500
  if (kind === 1) return 'a"\\,[]{}:\\\\ü\n'.slice(0, dice(12))
  if (kind === 2) return null
  if (kind === 3) return dice(2) === 1
  const inner = Array.from({ length: dice(5) }, () => createValue(dice, depth + 1))
  return kind === 4
    ? inner
    : Object.fromEntries(inner.map((value, index) => [`k"\\${index}`, value]))
}

function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, inner) => sum + countValues(inner), 1)
}

test('values are counted exactly, however a document is cut into pieces', () => {
  const dice = createDice(7)
  for (let run = 0; run < 500; run++) {
    const value = createValue(dice)
    const bytes = Buffer.from(JSON.stringify(value, null, dice(3)))
    const scan = new JsonScan()
    for (let at = 0; at < bytes.length; ) {
      const end = at + 1 + dice(5)
      scan.feed(bytes.subarray(at, end).toString('latin1'))
      at = end
    }
    assert.equal(scan.values, countValues(value), bytes.toString())
  }
})

test('a document is refused at the first value beyond the limit', () => {
  assert.deepEqual(parseJson('[1,{"a":2}]', { maxValues: 4 }), [1, { a: 2 }])
  for (const text of ['[1,{"a":2},3', '[[[[[', '[{},{},{},{', '["a","b","c","d"']) {
    assert.throws(
      () => new JsonScan({ maxValues: 4 }).feed(text),
      (error) => error instanceof UnsafeJsonError && error.code === 'JSON_TOO_MANY_VALUES',
      text,
    )
  }
})

test('a number of over a thousand characters is rejected', () => {
  const digits = '1'.repeat(1001)
  for (const pieces of [
    [`[${digits}`],
    [`[${digits.slice(0, 600)}`, digits.slice(600)],
    [`[0.${'0'.repeat(1000)}`],
  ]) {
    const scan = new JsonScan()
    assert.throws(
      () => {
        for (const piece of pieces) scan.feed(piece)
      },
      (error) => error instanceof UnsafeJsonError && error.code === 'JSON_NUMBER_TOO_LONG',
    )
  }
  assert.equal(formatJson(parseJson(`["${digits}"]`)), `["${digits}"]`)
})
