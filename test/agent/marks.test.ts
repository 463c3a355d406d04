/** Processes that claim to belong to an instance: only those that it has started do. */

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { markOfDataDir } from '../../packages/base/storage/socket-path.ts'
import { openTestAgent, type TestAgent, toInstance } from '../support/agent.ts'
import { waitUntil } from '../support/wait-until.ts'

const isRoot = process.getuid?.() === 0
const [owner, stranger] = [65_533, 65_534]

async function claim(t: TestContext, mark: string, uid?: number): Promise<ChildProcess> {
  const child = spawn('sleep', ['1000'], {
    env: { FAIRLEAD_PROCESS: mark },
    detached: true,
    ...(uid !== undefined && { uid }),
  })
  t.after(() => child.kill('SIGKILL'))
  await once(child, 'spawn')
  return child
}

const markIn = (pid: number | undefined) =>
  /FAIRLEAD_PROCESS=([^\0]*)/.exec(readFileSync(`/proc/${pid}/environ`, 'utf8'))?.[1] ?? ''

/** Every process of an instance is ended with it, so one that is left belonged to none. */
async function assertSpared(agent: TestAgent, child: ChildProcess): Promise<void> {
  await agent.desire([])
  await waitUntil(() => agent.client.observed()?.instances.length === 0, 'the removal of all')
  assert.deepEqual([child.exitCode, child.signalCode], [null, null])
}

test('a process with a guessed mark belongs to no instance', async (t) => {
  const agent = openTestAgent(t)
  await agent.desire([toInstance('web', ['sleep', '1000'])])
  await agent.until('web', ({ phase }) => phase === 'ready')
  const child = await claim(t, `${markOfDataDir(agent.dataDir)}:web:0123456789ab`)
  await assertSpared(agent, child)
})

test('a process of another user belongs to no instance', {
  skip: !isRoot && 'needs root',
}, async (t) => {
  const agent = openTestAgent(t)
  await agent.desire([
    toInstance('web', ['sleep', '1000'], { program: { user: { uid: owner, gid: owner } } }),
  ])
  const { pid } = await agent.until('web', ({ phase }) => phase === 'ready')
  const child = await claim(t, markIn(pid), stranger)
  await assertSpared(agent, child)
})

test('a later process with a recorded process id belongs to no instance', async (t) => {
  const { dataDir, client, until, desire, kill, instance, processes } = openTestAgent(t)
  await desire([toInstance('web', ['sleep', '1000'])])
  await until('web', ({ phase }) => phase === 'ready')
  await client.close()
  await kill()
  const child = await claim(t, '')
  const file = join(dataDir, 'instances', 'web', 'record.json')
  const record = JSON.parse(readFileSync(file, 'utf8')) as {
    run: { pid: number; pump: { pid: number } }
  }
  for (const { pid } of processes()) process.kill(pid, 'SIGKILL')
  Object.assign(record.run, { pid: child.pid, pump: { ...record.run.pump, pid: child.pid } })
  writeFileSync(file, JSON.stringify(record))

  const next = openTestAgent(t, { dataDir })
  await next.desire([toInstance('web', ['sleep', '1000'])])
  const { events } = await next.until(
    'web',
    ({ phase, restarts }) => phase === 'ready' && restarts === 1,
  )
  assert.ok(
    events.every(({ text }) => !text.startsWith('Adopted')),
    JSON.stringify([events, instance('web')]),
  )
  await assertSpared(next, child)
})

test('the key of the marks is for the agent alone, and stays', async (t) => {
  const agent = openTestAgent(t)
  await agent.desire([toInstance('web', ['sleep', '1000'])])
  await agent.until('web', ({ phase }) => phase === 'ready')
  const file = join(agent.dataDir, 'agent.key')
  const key = readFileSync(file, 'utf8')
  assert.equal(statSync(file).mode & 0o777, 0o600)
  await agent.kill()
  await agent.until('web', ({ events }) =>
    events.some(({ text }) => text.startsWith('Adopted process')),
  )
  assert.equal(readFileSync(file, 'utf8'), key)
})
