/** The content of sessions as text: between versions, and against everything that is not a session. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { formatSession, parseSession } from '../../packages/gateway/sessions/session.ts'
import { alice } from './alice.ts'

const key = 'a'.repeat(64)

test('sessions of other versions or users are invalid', () => {
  const { user } = alice
  for (const text of [
    '',
    'null',
    '1',
    '{}',
    '{"version":1}',
    '{"version":1,"user":{}}',
    '{"version":1,"savedPath":"/credentials"}',
    JSON.stringify({ user }),
    JSON.stringify({ version: '1', user }),
    JSON.stringify({ version: 2, user }),
  ]) {
    assert.equal(parseSession(key, text), undefined, text)
  }
  assert.deepEqual(parseSession(key, formatSession(key, alice)), alice)
})

/** What a gateway of a later version might write, of which this one knows a part only. */
const later = {
  ...alice,
  version: 3,
  readableFrom: 1,
  assurance: 'two factors',
  user: { ...alice.user, pronoun: 'she' },
}

test('a newer session is read if it permits that', () => {
  assert.deepEqual(parseSession(key, JSON.stringify(later)), alice, 'what this version knows of it')
  assert.equal(parseSession(key, JSON.stringify({ ...later, readableFrom: 2 })), undefined)
  assert.equal(parseSession(key, JSON.stringify({ ...later, readableFrom: 'x' })), undefined)
})

test('a session is readable under its own key only', () => {
  assert.equal(parseSession(`b${key.slice(1)}`, formatSession(key, alice)), undefined)
})
