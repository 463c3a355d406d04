/** The commands of the guide about event streams. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import test, { type TestContext } from 'node:test'
import { liveSettings } from '../../packages/gateway/live/settings.ts'
import { runGateway } from '../support/gateway.ts'
import { blocksOf, readGuide } from '../support/guide.ts'
import { waitFor } from '../support/wait-until.ts'

const guide = readGuide('live-data')

/** Runs a command until the test ends; its output so far. */
function follow(t: TestContext, command: string, env: Record<string, string>): () => string {
  const child = spawn('bash', ['-c', `exec ${command}`], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  t.after(() => child.kill())
  return () => output
}

test('the commands of the guide follow executions', async (t) => {
  const { url } = await runGateway(t, {}, { embedded: true })
  const [listen = '', proceed = ''] = blocksOf(guide, 'bash')
  const first = follow(t, listen.trim(), { GATE: url })
  const id = await waitFor(
    () => /^id: (\S+)\nevent: ready\ndata: \{.*\}$/m.exec(first())?.[1],
    () => `ready: ${first()}`,
  )
  const ready = /^event: ready\ndata: .*$/m
  assert.equal(ready.exec(first())?.[0], ready.exec(guide)?.[0])
  const stages = [{ refId: '1', type: 'wait', waitTime: 0, requisiteStageRefIds: [] }]
  await fetch(`${url}/pipelines/start`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ application: 'web', name: 'deploy', stages }),
  })
  const second = follow(t, proceed.trim(), { GATE: url, LAST: id })
  for (const output of [first, second]) {
    const data = await waitFor(
      () => /^event: execution\ndata: (.*"status":"SUCCEEDED".*)$/m.exec(output())?.[1],
      output,
    )
    for (const field of Object.keys(JSON.parse(data) as object))
      assert.ok(guide.includes(`\`${field}\``), field)
  }
})

test('the guide names the defaults', () => {
  const { maxAgeMs, heartbeatMs } = liveSettings.read(liveSettings.keys.parse({}))
  assert.equal(maxAgeMs, 15 * 60_000)
  assert.equal(heartbeatMs, 25_000)
})
