import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../packages/base/json/values.ts'
import { testProgram } from '../../support/program.ts'
import { createFolder } from '../../support/temporary-folder.ts'
import { waitFor } from '../../support/wait-until.ts'
import { startReceiver } from './support.ts'

const definition = {
  application: 'shop',
  name: 'main',
  trigger: { type: 'manual', user: 'ann' },
  stages: [{ type: 'wait', refId: '1', name: 'Pause', waitTime: 0 }],
}

async function startProcess(t: TestContext, dataDir: string, holdsBack = false) {
  const program = testProgram('backends/notifications/notifying-process')
  const child = spawn(process.execPath, [program, dataDir, String(holdsBack)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => kill(child))
  const [base] = (await once(createInterface(child.stdout), 'line')) as [string]
  const ask = async (method: string, path: string, body?: unknown): Promise<JsonObject> => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(base + path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return (await answer.json()) as JsonObject
  }
  return { ask, kill: () => kill(child) }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

test('events-scenario 35: a notification outlives a kill between the end of the run and the outbox', async (t) => {
  const receiver = await startReceiver(t)
  const dataDir = createFolder('notifications')
  const notifications = [{ type: 'webhook', address: receiver.url, when: ['pipeline.complete'] }]
  const first = await startProcess(t, dataDir, true)
  const { ref } = await first.ask('POST', '/orca/orchestrate', { ...definition, notifications })
  const isOver = async () =>
    (await first.ask('GET', `/orca${ref}`))['status'] === 'SUCCEEDED' ? true : undefined
  await waitFor(isOver, 'the end of the run')
  await first.kill()

  await startProcess(t, dataDir)
  await receiver.until(1)

  assert.equal(receiver.received[0]?.body['occasion'], 'pipeline.complete')
})

test('events-scenario 35: a notification outlives a kill between outbox and delivery, under the same id', async (t) => {
  const receiver = await startReceiver(t, (number) => (number === 0 ? undefined : { status: 200 }))
  const dataDir = createFolder('notifications')
  const notifications = [{ type: 'webhook', address: receiver.url, when: ['pipeline.complete'] }]
  const first = await startProcess(t, dataDir)
  const { ref } = await first.ask('POST', '/orca/orchestrate', { ...definition, notifications })
  await receiver.until(1)
  await first.kill()

  const second = await startProcess(t, dataDir)
  await receiver.until(2)
  const delivered = await waitFor(async () => {
    const [delivery] = (await second.ask('GET', `/orca${ref}`))[
      'notificationDeliveries'
    ] as JsonObject[]
    return delivery?.['status'] === 'delivered' ? delivery : undefined
  }, 'the delivery')

  const keys = receiver.received.map(({ headers }) => headers['idempotency-key'])
  assert.equal(new Set(keys).size, 1)
  assert.equal(delivered['id'], keys[0])
})
