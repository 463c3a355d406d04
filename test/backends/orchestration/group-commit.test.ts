/** What a step says is told and acted upon once it is on disk, and not before. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { defaultOutsideSettings } from '../../../packages/base/outside/settings.ts'
import { orchestrationBackend } from '../../../packages/engine/orchestration-backend.ts'
import { startBackends } from '../../support/backends.ts'
import { waitUntil } from '../../support/wait-until.ts'

/** Enough for everything that does not wait for the disk. */
async function manyTurns(): Promise<void> {
  for (let count = 0; count < 200; count++) await turn()
}

test('neither an answer, nor a line of the feed, an event or the call of a stage comes before the disk has what it says', async (t) => {
  const told: string[] = []
  const outside = createServer((_request, response) => {
    told.push('call')
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(outside, 'listening')
  t.after(() => outside.close())
  const waiting: (() => void)[] = []
  let isHeld = false
  const backends = await startBackends(t, [orchestrationBackend], {
    settings: { outside: { ...defaultOutsideSettings, allowed: ['127.0.0.1'] } },
    sync: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      if (isHeld) waiting.push(resolve)
      else resolve()
      return promise
    },
    others: async (service, { path }) => {
      if (service === 'echo' && path === '/') told.push('event')
      return { status: service === 'echo' ? 200 : 404, body: undefined }
    },
  })
  t.after(() => {
    isHeld = false
    for (const release of waiting) release()
  })
  const feed = await fetch(`${backends.url('orca')}/changes/feed`)
  const lines = feed.body!.pipeThrough(new TextDecoderStream()).getReader()
  await lines.read()
  t.after(() => lines.cancel())

  isHeld = true
  const { port } = outside.address() as AddressInfo
  const answer = backends.ask('orca', 'POST', '/orchestrate', {
    application: 'app',
    name: 'p',
    stages: [
      { refId: '1', type: 'webhook', url: `http://127.0.0.1:${port}/`, requisiteStageRefIds: [] },
    ],
  })
  void answer.then(() => told.push('answer'))
  void lines.read().then(() => told.push('line'))
  await waitUntil(() => waiting.length > 0, 'no sync')
  await manyTurns()
  const read = backends.ask('orca', 'GET', '/executions/activeByInstance')
  void read.then(() => told.push('read'))
  await manyTurns()
  assert.equal(told.join(), '')

  isHeld = false
  for (const release of waiting.splice(0)) release()
  const { ref } = (await answer).body as { ref: string }
  await read
  await waitUntil(async () => {
    const { body } = await backends.ask('orca', 'GET', ref)
    return (body as { status: string }).status === 'SUCCEEDED'
  }, 'the run does not end')
  for (const what of ['answer', 'line', 'event', 'call', 'read'])
    assert.ok(told.includes(what), what)
})
