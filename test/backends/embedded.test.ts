/** Questions to a worker that hangs. */
import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { test } from 'node:test'
import pino from 'pino'
import { startEmbedded } from '../../packages/app/hosting/embedded.ts'
import type { WorkerOrder } from '../../packages/app/hosting/worker.ts'
import type { BackendSettings } from '../../packages/ports/backend.ts'

test('a worker that hangs is asked for its state once', async () => {
  const orders: WorkerOrder[] = []
  const postMessage = (order: WorkerOrder) => void orders.push(order)
  const thread = Object.assign(new EventEmitter(), {
    threadId: 1,
    postMessage,
    terminate: async () => 0,
  })
  const embedded = startEmbedded({
    dataDir: '',
    socketPath: '',
    embedded: [],
    services: {},
    settings: {} as BackendSettings,
    traces: false,
    log: pino({ level: 'silent' }),
    startThread: () => thread,
  })
  thread.emit('message', { kind: 'listening' })
  const states = Promise.all([embedded.observe(), embedded.observe()])
  assert.deepEqual(orders, ['observe'])
  thread.emit('message', { kind: 'observed', state: undefined })
  assert.deepEqual(await states, [undefined, undefined])
  const later = embedded.observe()
  assert.deepEqual(orders, ['observe', 'observe'])
  thread.emit('exit', 1)
  await later
  thread.threadId = -1
  await embedded.close()
})
