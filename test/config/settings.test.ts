/** One declaration of a setting gives its key, type, default, description, other names, and its place among the values. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inSeconds, off, setting, settings, whole } from '../../packages/base/settings/setting.ts'

const group = settings(
  {
    enabled: setting('bell.enabled', off).describe('Ring.'),
    ringing: {
      periodMs: setting(['bell.period', 'bell.interval'], inSeconds(whole(1).default(5))).describe(
        'Seconds between two rings.',
      ),
    },
  },
  { 'bell.colour': 'Bells have one.' },
)

const read = (given: Record<string, unknown>) => group.read(group.keys.parse(given))

test('values have the names and objects of their declaration', () => {
  assert.deepEqual(read({ 'bell.enabled': true, 'bell.period': 2 }), {
    enabled: true,
    ringing: { periodMs: 2000 },
  })
})

test('another name of a key wins over it', () => {
  assert.deepEqual(read({ 'bell.interval': 3 }).ringing, { periodMs: 3000 })
  assert.deepEqual(read({ 'bell.period': 2, 'bell.interval': 3 }).ringing, { periodMs: 3000 })
})

test('a default counts where neither name is set', () => {
  assert.deepEqual(read({}), { enabled: false, ringing: { periodMs: 5000 } })
})

test('the reference lists all names, and says which wins', () => {
  const shape = group.keys.shape as Record<string, { description?: string }>
  assert.deepEqual(
    Object.entries(shape).map(([key, schema]) => [key, schema.description]),
    [
      ['bell.enabled', 'Ring.'],
      ['bell.period', 'Seconds between two rings.'],
      ['bell.interval', 'Another name of `bell.period`; overrides it.'],
      ['bell.colour', 'Bells have one.'],
    ],
  )
})
