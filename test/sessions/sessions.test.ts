/** Life and end of sessions, in time and against everything that is not a session; the same for every store. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import test from 'node:test'
import { GatewayError } from '../../packages/base/errors.ts'
import { formatSession } from '../../packages/gateway/sessions/session.ts'
import { waitUntil } from '../support/wait-until.ts'
import { alice } from './alice.ts'
import { stores } from './stores.ts'

const minuteMs = 60_000

for (const { name, open } of stores) {
  test(`${name}: a session is found only by its cookie`, async (t) => {
    const place = await open(t)
    if (place === undefined) return
    const sessions = await place.openReplica()
    const { id, session } = await sessions.start(alice)

    assert.deepEqual((await sessions.find(`x=1; SESSION=${id}`))?.content, alice)
    assert.equal(await sessions.find(`SESSION=${session.key}`), undefined)
    assert.equal(await sessions.find(undefined), undefined)
  })

  test(`auth-scenario 76: ${name}: the store holds nothing that opens a session`, async (t) => {
    const place = await open(t)
    if (place === undefined) return
    const sessions = await place.openReplica()
    const { id } = await sessions.start(alice)

    const everything = await place.dump()

    assert.ok(everything.includes(createHash('sha256').update(id).digest('hex')))
    assert.ok(!everything.includes(id))
  })

  test(`auth-scenario 3: ${name}: a session ends after the idle limit`, async (t) => {
    const place = await open(t)
    if (place === undefined) return
    const sessions = await place.openReplica({ idleMs: 10 * minuteMs })
    const { id } = await sessions.start(alice)

    await place.pass(10 * minuteMs + 1)

    assert.equal(await sessions.find(`SESSION=${id}`), undefined)
  })

  test(`auth-scenario 75: ${name}: every use extends a session`, async (t) => {
    const place = await open(t)
    if (place === undefined) return
    // Time passes in Redis on its own, too; so the limit is long enough not to be reached by it.
    const sessions = await place.openReplica({ idleMs: 20 * minuteMs })
    const other = await place.openReplica({ idleMs: 20 * minuteMs })
    const { id } = await sessions.start(alice)

    for (let time = 0; time < 5; time++) {
      await place.pass(10 * minuteMs)
      assert.ok(await sessions.find(`SESSION=${id}`))
    }
    await place.pass(10 * minuteMs)
    assert.ok(await other.find(`SESSION=${id}`))
    await place.pass(30 * minuteMs)
    assert.equal(await sessions.find(`SESSION=${id}`), undefined)
    assert.equal(await other.find(`SESSION=${id}`), undefined)
  })

  test(`${name}: a busy session ends at the absolute limit`, async (t) => {
    const place = await open(t)
    if (place === undefined) return
    const sessions = await place.openReplica({ idleMs: 60 * minuteMs, absoluteMs: 100 * minuteMs })
    const { id } = await sessions.start(alice)

    await place.pass(50 * minuteMs)
    assert.ok(await sessions.find(`SESSION=${id}`))
    await place.pass(49 * minuteMs)
    assert.ok(await sessions.find(`SESSION=${id}`))
    await place.pass(2 * minuteMs)
    assert.equal(await sessions.find(`SESSION=${id}`), undefined)
  })

  test(`auth-scenario 66: ${name}: a login changes the session identifier`, async (t) => {
    const place = await open(t)
    if (place === undefined) return
    const sessions = await place.openReplica()
    const before = await sessions.start({ ...alice, credentialStamp: 'before' })

    const after = await sessions.replace(before.session, alice)

    assert.notEqual(after.id, before.id)
    assert.equal(await sessions.find(`SESSION=${before.id}`), undefined)
    assert.deepEqual((await sessions.find(`SESSION=${after.id}`))?.content, alice)
  })

  test(`auth-scenario 67: ${name}: an identifier that a client chose is never adopted`, async (t) => {
    const place = await open(t)
    if (place === undefined) return
    const sessions = await place.openReplica()
    const chosen = 'A'.repeat(43)

    assert.equal(await sessions.find(`SESSION=${chosen}`), undefined)
    const { id } = await sessions.start(alice)

    assert.notEqual(id, chosen)
    assert.equal(await sessions.find(`SESSION=${chosen}`), undefined)
  })

  test(`auth-scenario 246: ${name}: a late reader does not revive a session`, async (t) => {
    const place = await open(t)
    if (place === undefined) return
    const sessions = await place.openReplica()
    const { id, session } = await sessions.start(alice)
    const reading = sessions.find(`SESSION=${id}`)

    await sessions.end(session)
    await reading

    assert.equal(await sessions.find(`SESSION=${id}`), undefined)
  })

  test(`auth-scenario 70: ${name}: replicas share sessions and their ends`, async (t) => {
    const place = await open(t)
    if (place === undefined) return
    const [one, other] = [await place.openReplica(), await place.openReplica()]
    const { id, session } = await one.start(alice)
    assert.deepEqual((await other.find(`SESSION=${id}`))?.content, alice)

    await one.end(session)
    await place.pass(3001)

    assert.equal(await other.find(`SESSION=${id}`), undefined)
  })

  test(`auth-scenario 31: ${name}: ending all sessions ends every one of them at once`, async (t) => {
    const place = await open(t)
    if (place === undefined) return
    const sessions = await place.openReplica()
    const ids = await Promise.all(
      [alice, alice, alice].map(async (content) => (await sessions.start(content)).id),
    )

    assert.equal(await sessions.endAll(), 3)

    for (const id of ids) assert.equal(await sessions.find(`SESSION=${id}`), undefined)
  })

  test(`${name}: ten thousand invalid values are no session`, async (t) => {
    const place = await open(t)
    if (place === undefined) return
    const sessions = await place.openReplica()
    const { id } = await sessions.start(alice)
    const good = formatSession('', alice)
    const foreign = Array.from({ length: 5000 }, (_, index) => {
      const cookie = randomBytes(32).toString('base64url')
      return {
        cookie,
        key: createHash('sha256').update(cookie).digest('hex'),
        content: corrupt(good, index),
      }
    })
    await place.plant(new Map(foreign.map(({ key, content }) => [key, content])))
    const noise = Array.from({ length: 5000 }, (_, index) =>
      corrupt(`SESSION=${id}; a=b; SESSION=${id.slice(1)}`, index),
    )

    for (const { cookie } of foreign)
      assert.equal(await sessions.find(`SESSION=${cookie}`), undefined)
    for (const header of noise) {
      const found = await sessions.find(header)
      assert.ok(found === undefined || found.content.user?.username === 'alice')
    }
  })

  test(`${name}: an unavailable store is SESSIONS_UNAVAILABLE`, async (t) => {
    const place = await open(t)
    if (place === undefined) return
    const sessions = await place.openReplica()
    const { id, session } = await sessions.start(alice)
    await place.pass(4000)
    await place.breakDown()

    const refusals = [
      sessions.find(`SESSION=${id}`),
      sessions.start(alice),
      sessions.end(session),
      sessions.endAll(),
    ]
    const outcomes = await Promise.allSettled(refusals)
    for (const outcome of outcomes) {
      assert.ok(outcome.status === 'rejected' && outcome.reason instanceof GatewayError)
      assert.equal(outcome.reason.code, 'SESSIONS_UNAVAILABLE')
    }
    assert.equal(await sessions.find(undefined), undefined)

    await place.repair()
    const again = async () => Promise.resolve(sessions.find(`SESSION=${id}`)).catch(() => undefined)
    await waitUntil(async () => (await again()) !== undefined, 'the session')
    assert.deepEqual((await again())?.content, alice)
  })

  test(`${name}: sessions of a user are listed and ended`, async (t) => {
    const place = await open(t)
    if (place === undefined) return
    const sessions = await place.openReplica()
    const first = await sessions.start(alice)
    await place.pass(5 * minuteMs)
    const second = await sessions.start({ ...alice, loggedInAtMs: place.clock.nowMs })
    await sessions.start({ ...alice, user: { ...alice.user, username: 'bob' } })

    const { sessions: listed, next } = await sessions.ofUser('Alice', { offset: 0, limit: 2 })
    assert.equal(next, undefined)
    assert.deepEqual(
      listed.map(({ key, lastUseMs }) => [
        key,
        Math.round((place.clock.nowMs - lastUseMs) / minuteMs),
      ]),
      [
        [second.session.key, 0],
        [first.session.key, 5],
      ],
    )
    for (const { id } of listed) assert.equal(await sessions.find(`SESSION=${id}`), undefined)

    assert.equal(await sessions.endOthers('ALICE', second.session.key), 1)
    assert.equal(await sessions.find(`SESSION=${first.id}`), undefined)
    assert.ok(await sessions.find(`SESSION=${second.id}`))
  })

  test(`${name}: a list of sessions has pages`, async (t) => {
    const place = await open(t)
    if (place === undefined) return
    const sessions = await place.openReplica()
    const keys: string[] = []
    for (let index = 0; index < 5; index++) {
      await place.pass(minuteMs)
      keys.unshift((await sessions.start(alice)).session.key)
    }
    const listed: string[] = []
    const sizes: number[] = []
    for (let offset: number | undefined = 0; offset !== undefined; ) {
      const page = await sessions.ofUser('alice', { offset, limit: 2 })
      listed.push(...page.sessions.map(({ key }) => key))
      sizes.push(page.sessions.length)
      offset = page.next
    }
    assert.deepEqual(listed, keys)
    assert.deepEqual(sizes, [2, 2, 1])
  })

  test(`${name}: one session of a user ends by its id`, async (t) => {
    const place = await open(t)
    if (place === undefined) return
    const sessions = await place.openReplica()
    const [mine, kept] = [await sessions.start(alice), await sessions.start(alice)]
    const bob = await sessions.start({ ...alice, user: { ...alice.user, username: 'bob' } })
    const idOf = ({ session }: typeof mine) => session.key.slice(0, 24)

    assert.equal(await sessions.endOne('alice', idOf(bob)), false)
    assert.equal(await sessions.endOne('alice', ''), false)
    assert.equal(await sessions.endOne('alice', idOf(mine).slice(0, 23)), false)
    assert.equal(await sessions.endOne('alice', '%'.repeat(24)), false)
    assert.equal(await sessions.endOne('Alice', idOf(mine)), true)
    assert.equal(await sessions.endOne('alice', idOf(mine)), false)

    assert.equal(await sessions.find(`SESSION=${mine.id}`), undefined)
    for (const { id } of [kept, bob]) assert.ok(await sessions.find(`SESSION=${id}`))
  })

  test(`${name}: a login beyond the limit ends the oldest session`, async (t) => {
    const place = await open(t)
    if (place === undefined) return
    const sessions = await place.openReplica({ maxPerUser: 2 })
    const bob = await sessions.start({ ...alice, user: { ...alice.user, username: 'bob' } })
    const started = []
    for (let index = 0; index < 4; index++) {
      await place.pass(minuteMs)
      started.push(await sessions.start(alice))
    }
    const live = await Promise.all(
      started.map(async ({ id }) => (await sessions.find(`SESSION=${id}`)) !== undefined),
    )
    assert.deepEqual(live, [false, false, true, true])
    assert.ok(await sessions.find(`SESSION=${bob.id}`))
  })

  test(`${name}: a lowered limit ends sessions in portions`, async (t) => {
    const place = await open(t)
    if (place === undefined) return
    const many = await place.openReplica({ maxPerUser: undefined })
    for (let index = 0; index < 601; index++) await many.start(alice)
    const few = await place.openReplica({ maxPerUser: 1 })
    const count = async () =>
      (await few.ofUser('alice', { offset: 0, limit: 1000 })).sessions.length

    await few.start(alice)
    assert.equal(await count(), 102)
    await few.start(alice)
    assert.equal(await count(), 1)
  })

  test(`${name}: more sessions end than one step removes`, async (t) => {
    const place = await open(t)
    if (place === undefined) return
    const sessions = await place.openReplica()
    for (let index = 0; index < 600; index++) await sessions.start(alice)
    const { id, session } = await sessions.start(alice)

    assert.equal(await sessions.endOthers('alice', session.key), 600)
    assert.ok(await sessions.find(`SESSION=${id}`))
  })
}

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
