/** The one feed of the embedded engine: a snapshot is asked for only while the feed is open. */
import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import test from 'node:test'
import pino from 'pino'
import { EmbeddedSource } from '../../packages/gateway/live/embedded-source.ts'
import { Upstreams } from '../../packages/gateway/upstreams/upstreams.ts'
import { waitUntil } from '../support/wait-until.ts'

const watcher = {
  changed() {},
  tasksChanged() {},
  lost() {},
  stale() {},
  refused() {},
  identity: () => ({}),
}
const subject = { kind: 'execution', name: 'e1' } as const

test('after a close, a snapshot waits for the feed that follows', async (t) => {
  const feeds: ServerResponse[] = []
  let snapshots = 0
  const server = createServer((request, response) => {
    if (request.url?.endsWith('/changes/feed')) feeds.push(response)
    else {
      snapshots++
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ version: 'a.1', isComplete: true, changes: [] }))
    }
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const upstreams = new Upstreams({
    services: { orca: { kind: 'external', baseUrl } },
    bounds: { connectTimeoutMs: 30_000, readTimeoutMs: 30_000, maxConnections: 5, maxWaiting: 5 },
    keepAliveMs: 30_000,
    maxAnswerBytes: 1_000_000,
  })
  const source = new EmbeddedSource({ upstreams, log: pino({ level: 'silent' }) })
  t.after(async () => {
    source.close()
    await upstreams.close()
    server.closeAllConnections()
    server.close()
  })
  const open = async (index: number) => {
    await waitUntil(() => feeds.length > index, `feed ${index}`)
    feeds[index]?.write('{"open":true}\n')
  }

  const first = source.watch(subject, watcher)
  const before = first.snapshot(undefined)
  await open(0)
  await before
  assert.equal(snapshots, 1)

  source.close()
  const second = source.watch(subject, watcher).snapshot(undefined)
  await waitUntil(() => feeds.length > 1, 'the second feed')
  assert.equal(snapshots, 1, 'no snapshot before the second feed is open')
  await open(1)
  await second
  assert.equal(snapshots, 2)
})
