/** Clients that leave before their stream begins. */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import test from 'node:test'
import pino from 'pino'
import { EventStreams, type Listener } from '../../src/live/event-streams.ts'
import { PollingSource } from '../../src/live/polling-source.ts'
import { LiveKeys, toLiveSettings } from '../../src/live/settings.ts'
import type { ChangeSource } from '../../src/live/source.ts'
import type { Upstreams } from '../../src/upstreams/upstreams.ts'

const log = pino({ level: 'silent' })
const settings = { ...toLiveSettings(LiveKeys.parse({})), maxStreamsPerUser: 1 }

class Client extends EventEmitter {
  destroyed = false
  writeHead(): void {}
  flushHeaders(): void {}
  write(): boolean {
    return true
  }
  end(): void {}
  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
}

function open(streams: EventStreams, client: Client): Promise<void> {
  const listener: Listener = {
    subject: { kind: 'application', name: 'web' },
    client: client as unknown as ServerResponse,
    lastEventId: undefined,
    caller: 'user alice',
    identity: {},
    judge: async () => {},
    onWrite: () => {},
    begin: async () => ({}),
  }
  return streams.open(listener)
}

function createStreams(t: test.TestContext, source: ChangeSource): EventStreams {
  const streams = new EventStreams({ source, settings, log, rightsVersion: () => 1, onChanged: () => {} })
  t.after(() => streams.close())
  return streams
}

test('a client that has left while its rights were judged takes no place', async (t) => {
  const snapshot = async () => ({ version: 'a.1', isComplete: true, changes: [] })
  const streams = createStreams(t, { watch: () => ({ snapshot, close: () => {} }), close: () => {} })
  const left = new Client()
  left.destroy()
  await assert.rejects(open(streams, left), /has left/)
  await open(streams, new Client())
  assert.equal(streams.size, 1)
  await assert.rejects(open(streams, new Client()), /You have 1 event streams open/)
})

test('a client that leaves before an external orchestrator has answered is not waited for', async (t) => {
  const upstreams = { call: () => new Promise(() => {}) } as unknown as Upstreams
  const streams = createStreams(t, new PollingSource({ upstreams, settings, log }))
  const client = new Client()
  const opening = open(streams, client)
  client.destroy()
  await assert.rejects(opening, /Nobody listens/)
  const waiting = open(streams, new Client())
  streams.close()
  await assert.rejects(waiting, /This replica is stopping/)
})
