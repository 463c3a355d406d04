/** Long lists are filtered in portions, with the same result as at once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { filterInPortions } from '../../../packages/gateway/operations/serving/send-answer.ts'
import { countTurns } from '../../support/turns.ts'

interface Entry {
  readonly id: number
  readonly results?: readonly number[]
}

const filter = {
  rights: 'r',
  apply: (answer: unknown) => (answer as readonly unknown[]).flatMap(applyToEntry),
}

function applyToEntry(entry: unknown): unknown[] {
  if (typeof entry !== 'object' || entry === null) return entry === 'gone' ? [] : [entry]
  const { id, results } = entry as Entry
  if (results !== undefined) return [{ ...entry, results: results.slice(1) }]
  return id % 3 === 0 ? [] : [entry]
}

test('entries that stay keep their text, in portions', async () => {
  const entries = Array.from(
    { length: 3000 },
    (_, id) => `{ "id": ${id}, "big": 12345678901234567890, "text": "${'x'.repeat(100)}]," }`,
  )
  const { result, turns } = await countTurns(() =>
    filterInPortions(`[ ${entries.join(', ')}]`, filter),
  )
  const { text } = result

  assert.ok(text === `[${entries.filter((_, id) => id % 3 !== 0).join(',')}]`, text.slice(0, 300))
  assert.ok(turns > 3, `${turns} turns`)
})

test('entries that the filter changes are written anew', async () => {
  const { text } = await filterInPortions(
    '["a","gone","a",7,{"id":3,"results":[1,2]},null]',
    filter,
  )
  assert.equal(text, '["a","a",7,{"id":3,"results":[2]},null]')
})

test('what is no list is rejected', async () => {
  for (const text of ['', '{}', '[1', '[1,]', '[{"a":}]', '[1] 2', 'null']) {
    await assert.rejects(filterInPortions(text, filter), text)
  }
  assert.equal((await filterInPortions('[]', filter)).text, '[]')
})
