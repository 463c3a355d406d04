/** The buffer of one event stream: what a slow client gets, and when its rights are checked. */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import test from 'node:test'
import {
  type Allowance,
  EventStream,
  formatEvent,
} from '../../packages/gateway/live/event-stream.ts'

/** A client that reads when told to. */
class Client extends EventEmitter {
  written = ''
  reads = true
  isDestroyed = false
  /** Before the stream was opened. */
  destroyed = false
  write(text: string): boolean {
    this.written += text
    return this.reads
  }
  end(text: string): void {
    this.written += text
  }
  destroy(): void {
    this.isDestroyed = true
    this.emit('close')
  }
}

function open({ maxHeld = 1_000_000, checkRights = async () => {}, hasLeft = false } = {}) {
  const client = new Client()
  client.destroyed = hasLeft
  const allowance: Allowance = { held: 0, maxHeld }
  const state = { nowMs: 0, rights: 1, checked: 0, closed: 0 }
  const stream = new EventStream({
    client: client as unknown as ServerResponse,
    allowance,
    checkRights: () => {
      state.checked++
      return checkRights()
    },
    rightsVersion: () => state.rights,
    now: () => state.nowMs,
    onWrite: () => {},
    onClose: () => {
      state.closed++
    },
  })
  const push = (run: string, version: number, data = '{}') =>
    stream.push(run, {
      version: `e.${version}`,
      text: formatEvent('execution', data, `e.${version}`),
    })
  return { client, allowance, state, stream, push }
}

const idsIn = (text: string) => [...text.matchAll(/^id: e\.(\d+)$/gm)].map(([, id]) => Number(id))

test('a slow client gets the newest states only, in the order of versions', () => {
  const { client, stream, push } = open()
  client.reads = false
  stream.start([])
  for (let version = 1; version <= 50; version++) push(`run${version % 3}`, version)
  assert.deepEqual(idsIn(client.written), [])
  client.reads = true
  stream.end('age')
  assert.equal(client.isDestroyed, true)
  const other = open()
  other.client.reads = false
  other.stream.start([])
  for (let version = 1; version <= 50; version++) other.push(`run${version % 3}`, version)
  other.client.reads = true
  other.state.nowMs += 1000
  other.client.emit('drain')
  assert.deepEqual(idsIn(other.client.written), [48, 49, 50])
  assert.equal(other.allowance.held, 0)
})

test('a client too far behind has to read the list again', () => {
  for (const [what, maxHeld, data] of [
    ['many runs', 1_000_000, '{}'],
    ['large states', 1_000_000, JSON.stringify({ name: 'x'.repeat(10_000) })],
    ['much that waits for others', 100, '{}'],
  ] as const) {
    const { client, stream, push, state, allowance } = open({ maxHeld })
    client.reads = false
    stream.start([])
    for (let version = 1; version <= 150; version++) push(`run${version}`, version, data)
    assert.ok(allowance.held <= 256 * 1024 + 11_000, what)
    client.reads = true
    state.nowMs += 1000
    client.emit('drain')
    assert.match(client.written, /id: e\.\d+\nevent: resync\ndata: {"reason":"slow"}\n\n/, what)
    assert.ok(idsIn(client.written).length < 110, what)
  }
})

test('a client that takes nothing for half a minute is disconnected', async () => {
  const { client, stream, state } = open()
  client.reads = false
  stream.start([])
  state.nowMs += 29_000
  await stream.check()
  assert.equal(client.isDestroyed, false)
  state.nowMs += 2000
  await stream.check()
  assert.equal(client.isDestroyed, true)
  assert.equal(stream.hasEnded, true)
})

test('states from before the snapshot never follow newer ones', () => {
  const { client, stream, push } = open()
  push('run1', 7)
  push('run2', 8)
  stream.start([
    ['run1', { version: 'e.5', text: formatEvent('execution', '{}', 'e.5') }],
    ['run2', { version: 'e.9', text: formatEvent('execution', '{}', 'e.9') }],
  ])
  assert.deepEqual(idsIn(client.written).toSorted(), [7, 9])
})

test('nothing is sent after rights have changed until they are checked', async () => {
  const rights = { hold: true }
  const { client, stream, push, state } = open({
    checkRights: async () => {
      if (!rights.hold) throw new Error('no right')
    },
  })
  stream.start([])
  state.nowMs += 300
  push('run1', 1, '{"name":"first"}')
  state.nowMs += 300
  push('run1', 2, '{"name":"second"}')
  assert.equal(state.checked, 0)
  state.rights++
  rights.hold = false
  state.nowMs += 300
  push('run1', 3, '{"name":"third"}')
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(state.checked, 1)
  assert.equal(client.written.includes('third'), false)
  assert.match(client.written, /event: end\ndata: {"reason":"access"}\n\n$/)
})

test('an idle stream is checked now and then, and at once when rights change', async () => {
  const { stream, state } = open()
  stream.start([])
  for (let second = 1; second <= 121; second++) {
    state.nowMs += 1000
    await stream.check()
  }
  assert.equal(state.checked, 1)
  state.rights++
  await stream.check()
  assert.equal(state.checked, 2)
})

test('a check is repeated after three seconds', async () => {
  const { stream, push, state, client } = open()
  stream.start([])
  for (let version = 1; version <= 10; version++) {
    state.nowMs += 1000
    push('run1', version)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal(state.checked, 2)
  assert.equal(idsIn(client.written).length, 10)
})

test('a client that had left before its stream began is released', async () => {
  const { state, stream } = open({ hasLeft: true })

  await new Promise(setImmediate)

  assert.equal(stream.hasEnded, true)
  assert.equal(state.closed, 1)
})
