/** Streams whose clients leave before they begin, and whose source loses count. */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import test from 'node:test'
import { fastify } from 'fastify'
import pino from 'pino'
import { ExecutionChanges } from '../../packages/engine/orchestration/changes.ts'
import type { Engine } from '../../packages/engine/orchestration/engine.ts'
import { changeRoutes } from '../../packages/engine/orchestration/routes/changes.ts'
import { EventStreams, type StreamClient } from '../../packages/gateway/live/event-streams.ts'
import { PollingSource } from '../../packages/gateway/live/polling-source.ts'
import { liveSettings } from '../../packages/gateway/live/settings.ts'
import type { RunChange, Snapshot, Watcher } from '../../packages/gateway/live/source.ts'
import type { Upstreams } from '../../packages/gateway/upstreams/upstreams.ts'

const log = pino({ level: 'silent' })
const settings = liveSettings.read(liveSettings.keys.parse({}))

class Client extends EventEmitter {
  destroyed = false
  text = ''
  writeHead(): void {}
  flushHeaders(): void {}
  end(text: string): void {
    this.write(text)
  }
  write(text: string): boolean {
    this.text += text
    return true
  }
  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
}

function open(streams: EventStreams, client: Client): Promise<void> {
  const listener: StreamClient = {
    subject: { kind: 'application', name: 'web' },
    client: client as unknown as ServerResponse,
    lastEventId: undefined,
    caller: 'user alice',
    identity: {},
    checkRights: async () => {},
    onWrite: () => {},
    begin: async () => ({}),
  }
  return streams.open(listener)
}

test('a client that leaves before an external orchestrator has answered is not waited for', async (t) => {
  const upstreams = { call: () => new Promise(() => {}) } as unknown as Upstreams
  const source = new PollingSource({ upstreams, settings, log })
  const streams = new EventStreams({
    source,
    settings,
    log,
    rightsVersion: () => 1,
    onChanged: () => {},
  })
  t.after(() => streams.close())
  const client = new Client()
  const opening = open(streams, client)
  client.destroy()
  await assert.rejects(opening, /no listener/)
  const waiting = open(streams, new Client())
  streams.close()
  await assert.rejects(waiting, /This replica is stopping/)
})

test('a late snapshot brings no state that is older than one sent', async (t) => {
  const watchers: Watcher[] = []
  const snapshots: ((snapshot: Snapshot) => void)[] = []
  const asked: (string | undefined)[] = []
  let nowMs = 0
  const source = {
    parts: [],
    watch(_subject: unknown, watcher: Watcher) {
      watchers.push(watcher)
      const snapshot = (since: string | undefined) => {
        asked.push(since)
        return new Promise<Snapshot>((resolve) => void snapshots.push(resolve))
      }
      return { snapshot, close: () => {} }
    },
    close: () => {},
  }
  const streams = new EventStreams({
    source,
    settings,
    log,
    rightsVersion: () => 1,
    onChanged: () => {},
    now: () => nowMs,
  })
  t.after(() => streams.close())
  const client = new Client()
  const opening = open(streams, client)
  const [watcher] = watchers as [Watcher]
  const state = (id: string, sequence: number): RunChange => ({
    id,
    version: `e.${sequence}`,
    summary: `"${id}${sequence}"`,
  })
  const changed = (change: RunChange) => {
    nowMs += 1000
    watcher.changed(change)
  }
  snapshots[0]?.({ version: 'e.1', isComplete: true, changes: [] })
  await opening
  watcher.lost()
  changed(state('a', 5))
  watcher.lost()
  changed(state('a', 6))
  nowMs += 1000
  snapshots[2]?.({ version: 'e.4', isComplete: true, changes: [state('b', 2), state('a', 4)] })
  await new Promise(setImmediate)
  snapshots[1]?.({ version: 'e.4', isComplete: true, changes: [state('b', 2), state('a', 4)] })
  await new Promise(setImmediate)
  assert.deepEqual(client.text.match(/"[ab]\d"/g), ['"a5"', '"a6"', '"b2"'])
  watcher.lost()
  assert.deepEqual(asked, [undefined, 'e.1', 'e.1', 'e.6'])
})

test('a feed of changes is not kept for a closed connection', async (t) => {
  const changes = new ExecutionChanges()
  let listeners = 0
  const listen: ExecutionChanges['listen'] = () => {
    listeners += 1
    return () => {}
  }
  const engine = {
    changes: Object.assign(changes, { listen }),
    options: { store: {} },
  } as unknown as Engine
  const app = fastify()
  t.after(() => app.close())
  const reached = Promise.withResolvers<void>()
  app.addHook('preHandler', async (_request, { raw }) => {
    raw.destroy()
    setImmediate(reached.resolve)
  })
  changeRoutes(app, engine)
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  await assert.rejects(fetch(`${address}/changes/feed`))
  await reached.promise
  assert.equal(listeners, 0)
})
