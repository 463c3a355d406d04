/** The agent keeps programs running, runs commands once, and says in words what became of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTestAgent, toInstance } from '../support/agent.ts'
import { waitFor, waitUntil } from '../support/wait-until.ts'

test('a program runs until it is no longer desired', async (t) => {
  const agent = openTestAgent(t)
  await agent.desire([toInstance('greeter', ['sh', '-c', 'echo hello; exec sleep 1000'])])
  const { pid } = await agent.until('greeter', ({ phase }) => phase === 'ready')
  assert.deepEqual(
    agent.processes().map((entry) => entry.pid),
    [pid],
  )
  const text = await waitFor(async () => (await agent.client.console('greeter', 1000)) || undefined, 'the console')
  assert.equal(text, 'hello\n')

  await agent.desire([])
  await waitUntil(() => agent.instance('greeter') === undefined, 'the removal of the instance')
  assert.deepEqual(agent.processes(), [])
})

test('programs survive the end of their agent, and the next one adopts them', async (t) => {
  const agent = openTestAgent(t)
  await agent.desire([toInstance('writer', ['sh', '-c', 'while :; do echo line; sleep 0.02; done'])])
  const before = await agent.until('writer', ({ phase }) => phase === 'ready')
  await agent.kill()
  const after = await agent.until('writer', ({ events }) => events.some(({ text }) => text.startsWith('Adopted')))
  assert.equal(after.pid, before.pid)
  assert.equal(after.restarts, 0)
  const lines = async () => (await agent.client.console('writer', 60_000))?.length ?? 0
  const count = await lines()
  await waitUntil(async () => (await lines()) > count, 'more output')
})
