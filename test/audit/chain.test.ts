import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chainStart, sealEvents } from '../../packages/gateway/audit/chain.ts'
import { verifyChain } from '../../packages/gateway/audit/verify.ts'
import { eventsOf } from './support.ts'

const lines = sealEvents(chainStart, eventsOf(6)).map(({ line }) => line)
const at = (index: number) => lines[index] as string

test('an unaltered chain verifies and reports its end', async () => {
  const { breaks, records, first, last, incomplete } = await verifyChain(lines)
  assert.deepEqual([breaks, records, first, last?.sequence, incomplete], [[], 6, 1, 6, false])
  assert.match(last?.hash ?? '', /^[0-9a-f]{64}$/)
})

const forged = sealEvents(chainStart, eventsOf(6, 'mallory')).map(({ line }) => line)

for (const [what, changed, expected] of [
  ['an altered user', lines.with(2, at(2).replace('alice', 'mallory')), [3, /^was altered/]],
  ['an added member', lines.with(2, at(2).replace('{', '{"aaa":1,')), [3, /^was altered/]],
  [
    'a member given twice',
    lines.with(2, at(2).replace('{', '{"user":"mallory",')),
    [3, /^was altered/],
  ],
  ['another time', lines.with(4, at(4).replace('1970', '1980')), [5, /^was altered/]],
  ['a missing line', lines.toSpliced(3, 1), [4, /record 4 is missing/]],
  ['a line given twice', lines.toSpliced(3, 0, at(2)), [4, /holds record 3/]],
  [
    'two lines that changed places',
    lines.with(1, at(2)).with(2, at(1)),
    [2, /record 2 is missing/],
  ],
  ['a record of another chain', lines.with(2, forged[2] as string), [3, /that one was replaced/]],
  [
    'a first record of another chain',
    lines.with(0, forged[0] as string),
    [2, /that one was replaced/],
  ],
  ['something that is no record', lines.with(2, '{"sequence":3}'), [3, /is not a record/]],
  ['part of a record in the middle', lines.with(2, at(2).slice(0, 40)), [3, /is not a record/]],
  ['rubbish at the end', [...lines, '{}'], [7, /is not a record/]],
] as const) {
  test(`${what} shows, with its line`, async () => {
    const [first] = (await verifyChain(changed)).breaks
    assert.equal(first?.line, expected[0])
    assert.match(first?.problem ?? '', expected[1])
  })
}

test('a partial last record is reported and is no break', async () => {
  const { breaks, incomplete } = await verifyChain([...lines, at(5).slice(0, 50)])
  assert.deepEqual([breaks, incomplete], [[], true])
})

test('a chain without its oldest records reports the first', async () => {
  const { breaks, first } = await verifyChain(lines.slice(2))
  assert.deepEqual([breaks, first], [[], 3])
})
