/** A client that leaves before its stream begins. */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import test from 'node:test'
import pino from 'pino'
import { EventStreams, type Listener } from '../../src/live/event-streams.ts'
import { PollingSource } from '../../src/live/polling-source.ts'
import { LiveKeys, toLiveSettings } from '../../src/live/settings.ts'
import type { Upstreams } from '../../src/upstreams/upstreams.ts'

const log = pino({ level: 'silent' })
const settings = toLiveSettings(LiveKeys.parse({}))

class Client extends EventEmitter {
  destroyed = false
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

test('a client that leaves before an external orchestrator has answered is not waited for', async (t) => {
  const upstreams = { call: () => new Promise(() => {}) } as unknown as Upstreams
  const source = new PollingSource({ upstreams, settings, log })
  const streams = new EventStreams({ source, settings, log, rightsVersion: () => 1, onChanged: () => {} })
  t.after(() => streams.close())
  const client = new Client()
  const opening = open(streams, client)
  client.destroy()
  await assert.rejects(opening, /Nobody listens/)
  const waiting = open(streams, new Client())
  streams.close()
  await assert.rejects(waiting, /This replica is stopping/)
})
