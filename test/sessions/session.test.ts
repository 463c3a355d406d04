/** The content of sessions as text: between versions, and against everything that is not a session. */
import assert from 'node:assert/strict'
import test from 'node:test'
import {
  emptySession,
  formatSession,
  parseSession,
  type SessionContent,
  userOf,
  withoutPendingLogin,
  withPendingLogin,
} from '../../src/sessions/session.ts'
import { alice } from './alice.ts'

test('a session of another version, or with an unusable user, is no session', () => {
  for (const text of [
    '',
    'null',
    '1',
    '{}',
    '{"version":2}',
    '{"version":"1"}',
    '{"version":1,"user":{}}',
    '{"version":1,"savedPath":"https://evil"}',
  ]) {
    assert.equal(parseSession(text), undefined, text)
  }
  assert.deepEqual(parseSession(formatSession(alice)), alice)
})

test('ten started logins are kept, the oldest gives way, and each is taken out once', () => {
  let content = emptySession
  for (let index = 0; index < 12; index++) {
    content = withPendingLogin(content, `state-${index}`, {
      method: 'oauth2',
      startedAtMs: index,
      values: { nonce: `n${index}` },
    })
  }
  assert.deepEqual(
    Object.keys(content.pendingLogins ?? {}).sort(),
    Array.from({ length: 10 }, (_, index) => `state-${index + 2}`).sort(),
  )
  assert.equal(withoutPendingLogin(content, 'state-5').pendingLogins?.['state-5'], undefined)
})

/** What a gateway of a later version might write, of which this one knows a part only. */
const later = {
  ...alice,
  version: 3,
  readableFrom: 1,
  assurance: 'two factors',
  user: { ...alice.user, pronoun: 'she' },
  pendingLogins: { s1: { method: 'oauth2', startedAtMs: 1, values: { nonce: 'n' }, loginHint: 'a' } },
}

test('a session of a newer version is read when that version says that it can be', () => {
  assert.equal(parseSession(JSON.stringify(later))?.user?.username, 'alice')
  assert.equal(parseSession(JSON.stringify({ ...later, readableFrom: 2 })), undefined)
  assert.equal(parseSession(JSON.stringify({ ...later, readableFrom: 'x' })), undefined)
})

test('what a newer version has added survives at every level when the session is written again', () => {
  const read = parseSession(JSON.stringify(later)) as SessionContent

  const changed = withPendingLogin({ ...read, savedPath: '/x' }, 's2', { method: 'saml', startedAtMs: 2, values: {} })

  assert.deepEqual(JSON.parse(formatSession(changed)), {
    ...later,
    savedPath: '/x',
    pendingLogins: { ...later.pendingLogins, s2: { method: 'saml', startedAtMs: 2, values: {} } },
  })
})

test('the user of a request is what this version knows of the user, whatever a newer one has noted', () => {
  assert.deepEqual(userOf(parseSession(JSON.stringify(later)) as SessionContent), alice.user)
  assert.equal(userOf(emptySession), undefined)
})
