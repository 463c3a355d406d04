/** Lines of the log are bounded by cause and in total. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LineBudget } from '../../packages/base/telemetry/line-budget.ts'

function open(perCause: number, total: number) {
  const told: [string | undefined, number][] = []
  const budget = new LineBudget({
    perCause,
    total,
    onWithheld: (cause, lines) => told.push([cause, lines]),
  })
  const written = (cause: string, lines: number) =>
    Array.from({ length: lines }, () => budget.allows(cause)).filter(Boolean).length
  return { budget, told, written }
}

test('a cause has its lines, and the rest is told as a number', () => {
  const { budget, told, written } = open(3, 5)
  assert.deepEqual([written('a', 10), written('b', 10), written('c', 1)], [3, 2, 0])
  budget.endPeriod()
  assert.deepEqual(told, [
    ['b', 8],
    ['a', 7],
    ['c', 1],
  ])
  assert.equal(budget.withheld, 16)
  assert.equal(written('a', 10), 3)
  budget.close()
  assert.deepEqual(told.at(-1), ['a', 7])
})

test('a crowd of causes shares its lines, and is told together', () => {
  const { budget, told, written } = open(1, 0)
  let lines = 0
  for (let cause = 0; cause < 5000; cause++) lines += written(`cause ${cause}`, 2)
  assert.equal(lines, 1001)
  budget.close()
  assert.equal(told.length, 21)
  assert.deepEqual(told.at(-1), [undefined, budget.withheld - 20])
})

test('no limit withholds nothing', () => {
  const { budget, told, written } = open(0, 0)
  assert.equal(written('a', 10_000), 10_000)
  budget.close()
  assert.deepEqual(told, [])
})
