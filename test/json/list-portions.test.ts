/** Long lists are parsed in portions, with the same result as at once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatJson, parseJson, UnsafeJsonError } from '../../packages/base/json/json.ts'
import { parseInPortions } from '../../packages/base/json/list-portions.ts'
import { countTurns } from '../support/turns.ts'

const filler = 'x'.repeat(200)
const listOf = (entries: readonly string[]) => ` [${entries.join(' ,\n')}] `

test('a long list leaves other work its turn', async () => {
  const entries = Array.from(
    { length: 3000 },
    (_, id) => `{"id":${id}, "big":12345678901234567890, "text":"${filler}]\\","}`,
  )
  const { result, turns } = await countTurns(() => parseInPortions(listOf(entries)))
  assert.equal(formatJson(result), formatJson(parseJson(listOf(entries))))
  assert.ok(turns >= 8, `${turns} turns`)
})

test('short lists and other documents are parsed at once', async () => {
  for (const text of ['[1, 2]', '{"a": 1}', `"${'x'.repeat(300_000)}"`, '7', 'null']) {
    assert.deepEqual(await parseInPortions(text), parseJson(text))
  }
})

test('malformed and unsafe lists are rejected', async () => {
  const long = `"${'x'.repeat(300_000)}"`
  for (const text of [`[${long}`, `[${long},]`, `[${long}] 1`, `[${long} 1]`, '']) {
    await assert.rejects(parseInPortions(text), SyntaxError)
  }
  await assert.rejects(parseInPortions(`[${long}, {"__proto__": 1}]`), UnsafeJsonError)
})
