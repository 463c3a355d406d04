/** `fairlead stop` ends the server, and with `--all` what it has deployed. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { packageVersion } from '../../bin/version.ts'
import { openTestAgent, toInstance } from '../support/agent.ts'
import { program } from '../support/program.ts'
import { createHome, startServe } from '../support/serve.ts'
import { createFolder } from '../support/temporary-folder.ts'
import { waitUntil } from '../support/wait-until.ts'

const run = promisify(execFile)

test('stopping ends the server first, and everything with --all', async (t) => {
  const home = createHome(t)
  const dataDir = join(home, 'data')
  const agent = openTestAgent(t, { dataDir })
  const stop = async (...options: string[]) => {
    const env = { PATH: process.env['PATH'], HOME: home, FAIRLEAD_DATA_DIR: dataDir }
    return (await run(process.execPath, [program, 'stop', ...options], { cwd: home, env })).stdout
  }
  await agent.desire([toInstance('one', ['sleep', '1000'])])
  await agent.until('one', ({ phase }) => phase === 'ready')
  const server = startServe(t, {}, { home })
  await server.listening

  await t.test('the server ends, and a deployed program goes on', async () => {
    assert.equal(await stop(), `Fairlead (process ${server.pid}) is stopped.\n`)
    assert.deepEqual(await server.exited, { code: 0, signal: null })
    assert.equal(agent.processes().length, 1)
    assert.equal(await stop(), `No Fairlead runs with the data directory ${dataDir}.\n`)
  })

  await t.test('everything ends, also where the agent has died', async () => {
    await agent.client.close()
    await agent.kill()
    assert.equal(agent.processes().length, 1)
    assert.match(
      await stop('--all'),
      /^No Fairlead .*\nThe deployed programs and load balancers are stopped\.\n$/,
    )
    assert.deepEqual(agent.processes(), [])
    assert.match(await stop('--all'), /\nNo deployed program runs from /)
  })
})

test('the agent runs in the foreground for a service manager', async (t) => {
  const dataDir = createFolder('agent')
  const child = execFile(process.execPath, [program, 'agent'], {
    env: { PATH: process.env['PATH'], FAIRLEAD_DATA_DIR: dataDir },
  })
  t.after(() => child.kill('SIGKILL'))
  const exited = new Promise<number | null>((done) => {
    child.once('exit', done)
  })
  await waitUntil(() => existsSync(join(dataDir, 'agent.sock')), 'the agent')
  const agent = openTestAgent(t, { dataDir, version: packageVersion() })
  await agent.desire([toInstance('one', ['sleep', '1000'])])
  const { pid } = await agent.until('one', ({ phase }) => phase === 'ready')
  assert.equal(agent.client.observed()?.pid, child.pid)
  await agent.client.close()
  child.kill('SIGTERM')
  assert.equal(await exited, 0)
  assert.deepEqual(
    agent.processes().map((entry) => entry.pid),
    [pid],
  )
})
