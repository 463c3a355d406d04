/** Life and end of sessions, in time and against everything that is not a session. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import test from 'node:test'
import { GatewayError } from '../../src/errors.ts'
import {
  emptySession,
  formatSession,
  parseSession,
  type SessionContent,
  withoutPendingLogin,
  withPendingLogin,
} from '../../src/sessions/session.ts'
import { createClock, openTestSessions, temporaryDirectory } from './support.ts'

const alice: SessionContent = {
  version: 1,
  user: {
    username: 'alice',
    email: null,
    firstName: null,
    lastName: null,
    roles: ['dev'],
    allowedAccounts: ['prod'],
    method: 'form',
  },
  loggedInAtMs: 1_700_000_000_000,
  credentialStamp: '7',
}

const minuteMs = 60_000

test('a session is found by its cookie and only by its cookie', async (t) => {
  const sessions = openTestSessions(t, temporaryDirectory(t), createClock())
  const { id, session } = await sessions.start(alice)

  assert.deepEqual((await sessions.find(`x=1; SESSION=${id}`))?.content, alice)
  assert.equal(await sessions.find(`SESSION=${session.key}`), undefined)
  assert.equal(await sessions.find(undefined), undefined)
})

test('auth-scenario 76: the file holds neither the identifier of a session nor anything that opens it', async (t) => {
  const dataDir = temporaryDirectory(t)
  const sessions = openTestSessions(t, dataDir, createClock())
  const { id } = await sessions.start(alice)

  const bytes = ['', '-wal'].map((suffix) => readFileSync(join(dataDir, `sessions.db${suffix}`)).toString('latin1')).join('')

  assert.ok(bytes.includes(createHash('sha256').update(id).digest('hex')))
  assert.ok(!bytes.includes(id))
})

test('auth-scenario 3: a session ends when it is not used for the idle limit', async (t) => {
  const clock = createClock()
  const sessions = openTestSessions(t, temporaryDirectory(t), clock, { idleMs: 10 * minuteMs })
  const { id } = await sessions.start(alice)

  clock.nowMs += 10 * minuteMs + 1

  assert.equal(await sessions.find(`SESSION=${id}`), undefined)
})

test('auth-scenario 75: every use moves the end of a session, in memory and in the store', async (t) => {
  const dataDir = temporaryDirectory(t)
  const clock = createClock()
  const sessions = openTestSessions(t, dataDir, clock, { idleMs: 2000 })
  const other = openTestSessions(t, dataDir, clock, { idleMs: 2000 })
  const { id } = await sessions.start(alice)

  for (let second = 0; second < 5; second++) {
    clock.nowMs += 1000
    assert.ok(await sessions.find(`SESSION=${id}`))
  }
  clock.nowMs += 1000
  assert.ok(await other.find(`SESSION=${id}`))
  clock.nowMs += 3000
  assert.equal(await sessions.find(`SESSION=${id}`), undefined)
  assert.equal(await other.find(`SESSION=${id}`), undefined)
})

test('a busy session ends at the absolute limit after the login', async (t) => {
  const clock = createClock()
  const sessions = openTestSessions(t, temporaryDirectory(t), clock, { idleMs: 60 * minuteMs, absoluteMs: 100 * minuteMs })
  const { id } = await sessions.start(alice)

  clock.nowMs += 50 * minuteMs
  assert.ok(await sessions.find(`SESSION=${id}`))
  clock.nowMs += 49 * minuteMs
  assert.ok(await sessions.find(`SESSION=${id}`))
  clock.nowMs += 2 * minuteMs
  assert.equal(await sessions.find(`SESSION=${id}`), undefined)
})

test('auth-scenario 66: a login gives a session another identifier, and the old one opens nothing', async (t) => {
  const sessions = openTestSessions(t, temporaryDirectory(t), createClock())
  const before = await sessions.start({ ...emptySession, savedPath: '/credentials' })

  const after = await sessions.replace(before.session, alice)

  assert.notEqual(after.id, before.id)
  assert.equal(await sessions.find(`SESSION=${before.id}`), undefined)
  assert.deepEqual((await sessions.find(`SESSION=${after.id}`))?.content, alice)
})

test('auth-scenario 246: a session that was ended is brought back neither by a change nor by a late reader', async (t) => {
  const sessions = openTestSessions(t, temporaryDirectory(t), createClock())
  const { id, session } = await sessions.start(alice)
  const reading = sessions.find(`SESSION=${id}`)

  await sessions.end(session)
  await reading

  assert.equal(await sessions.change(session, (content) => ({ ...content, savedPath: '/late' })), undefined)
  assert.equal(await sessions.find(`SESSION=${id}`), undefined)
})

test('auth-scenario 70: a session that one process started is known to another with the same file', async (t) => {
  const dataDir = temporaryDirectory(t)
  const clock = createClock()
  const one = openTestSessions(t, dataDir, clock)
  const other = openTestSessions(t, dataDir, clock)
  const { id, session } = await one.start(alice)
  assert.deepEqual((await other.find(`SESSION=${id}`))?.content, alice)

  await one.end(session)
  clock.nowMs += 3001

  assert.equal(await other.find(`SESSION=${id}`), undefined)
})

test('auth-scenario 31: ending all sessions ends every one of them at once', async (t) => {
  const sessions = openTestSessions(t, temporaryDirectory(t), createClock())
  const ids = await Promise.all([alice, alice, emptySession].map(async (content) => (await sessions.start(content)).id))

  assert.equal(await sessions.endAll(), 3)

  for (const id of ids) assert.equal(await sessions.find(`SESSION=${id}`), undefined)
})

test('ten thousand corrupted and foreign values are no session and no error', async (t) => {
  const dataDir = temporaryDirectory(t)
  const sessions = openTestSessions(t, dataDir, createClock())
  const { id } = await sessions.start(alice)
  const good = formatSession(alice)
  const db = new DatabaseSync(join(dataDir, 'sessions.db'))
  db.exec('BEGIN')
  const insert = db.prepare('INSERT INTO sessions_2 (key, content, expires_at_ms, owner) VALUES (?, ?, ?, NULL)')
  const foreign = Array.from({ length: 5000 }, (_, index) => {
    const cookie = randomBytes(32).toString('base64url')
    insert.run(createHash('sha256').update(cookie).digest('hex'), corrupt(good, index), 9_999_999_999_999)
    return `SESSION=${cookie}`
  })
  db.exec('COMMIT')
  db.close()
  const noise = Array.from({ length: 5000 }, (_, index) => corrupt(`SESSION=${id}; a=b; SESSION=${id.slice(1)}`, index))

  for (const header of foreign) assert.equal(await sessions.find(header), undefined)
  for (const header of noise) {
    const found = await sessions.find(header)
    assert.ok(found === undefined || found.content.user?.username === 'alice')
  }
})

/** Damages a text in one of many ways, repeatably; the result is never the text itself. */
function corrupt(text: string, index: number): string {
  const at = (index * 7919) % text.length
  const ways = [
    () => text.slice(0, at),
    () => `${text.slice(0, at)}\u0000${text.slice(at)}`,
    () => text.replace('"version":1', `"version":${index + 2}`).replace('SESSION=', 'SESSION=%'),
    () => text.replace('"alice"', '{"__proto__":{}}').replace('SESSION', 'session'),
    () => text.split('').reverse().join(''),
    () => '\u00ac\u00ed\u0000\u0005sr\u0000org.springframework.security',
    () => '[]'.repeat((index % 50) + 1),
    () => `{"version":1,"user":${JSON.stringify(index)}}`,
  ]
  return (ways[index % ways.length] as () => string)()
}

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

test('a store that cannot be asked is SESSIONS_UNAVAILABLE, and works again when it is back', async (t) => {
  const dataDir = temporaryDirectory(t)
  const clock = createClock()
  const sessions = openTestSessions(t, dataDir, clock)
  const { id, session } = await sessions.start(alice)
  clock.nowMs += 4000
  const db = new DatabaseSync(join(dataDir, 'sessions.db'))
  db.exec('ALTER TABLE sessions_2 RENAME TO gone')

  const refusals = [sessions.find(`SESSION=${id}`), sessions.start(alice), sessions.end(session), sessions.endAll()]
  for (const refusal of refusals) {
    await assert.rejects(refusal, (error) => error instanceof GatewayError && error.code === 'SESSIONS_UNAVAILABLE')
  }
  assert.equal(await sessions.find(undefined), undefined)

  db.exec('ALTER TABLE gone RENAME TO sessions_2')
  db.close()
  assert.deepEqual((await sessions.find(`SESSION=${id}`))?.content, alice)
})

test('a session file that is no database is put aside, and the gateway starts with an empty one', async (t) => {
  const dataDir = temporaryDirectory(t)
  writeFileSync(join(dataDir, 'sessions.db'), 'This is not a database, although it is long enough to look like one. '.repeat(50))

  const sessions = openTestSessions(t, dataDir, createClock())

  const { id } = await sessions.start(alice)
  assert.ok(await sessions.find(`SESSION=${id}`))
  assert.match(readFileSync(join(dataDir, 'sessions.db.unreadable'), 'utf8'), /not a database/)
})

test('the sessions of a user can be listed and ended, and nothing listed opens one', async (t) => {
  const clock = createClock()
  const sessions = openTestSessions(t, temporaryDirectory(t), clock)
  const first = await sessions.start(alice)
  clock.nowMs += 5 * minuteMs
  const second = await sessions.start({ ...alice, loggedInAtMs: clock.nowMs })
  await sessions.start(emptySession)

  const listed = await sessions.listOf('alice')
  assert.deepEqual(
    listed.map(({ key, lastUseMs }) => [key, lastUseMs]),
    [
      [second.session.key, clock.nowMs],
      [first.session.key, clock.nowMs - 5 * minuteMs],
    ],
  )
  for (const { id } of listed) assert.equal(await sessions.find(`SESSION=${id}`), undefined)

  assert.equal(await sessions.endOf('alice', ({ key }) => key !== second.session.key), 1)
  assert.equal(await sessions.find(`SESSION=${first.id}`), undefined)
  assert.ok(await sessions.find(`SESSION=${second.id}`))
})
