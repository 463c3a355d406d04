/** Names that are suggested, and how far one word is from another. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { editDistance, nearestName } from '../../packages/base/names/edit-distance.ts'

const words = [
  '',
  'wait',
  'wiat',
  'waits',
  'deploy',
  'deplyo',
  'credentials',
  'credentails',
  'accounnt',
  'account',
  'cluster',
]

test('a bounded distance is the distance, or infinite beyond the bound', () => {
  for (const from of words) {
    for (const to of words) {
      const distance = editDistance(from, to)
      for (const most of [0, 1, 2, 5]) {
        const expected = distance <= most ? distance : Number.POSITIVE_INFINITY
        assert.equal(editDistance(from, to, most), expected, `${from} ${to} ${most}`)
      }
    }
  }
})

test('the nearest name is the first of those with the fewest wrong letters', () => {
  assert.equal(nearestName(words, 'waist'), 'wait')
  assert.equal(nearestName(words, 'Deploy'), 'deploy')
  assert.equal(nearestName(words, 'credentialz', 1), 'credentials')
  assert.equal(nearestName(words, 'crdentialz', 1), undefined)
  assert.equal(nearestName(words, 'x'.repeat(1_000_000)), undefined)
})
