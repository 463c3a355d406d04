import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { askAgent } from '../../../../packages/agent/agent-request.ts'
import { socketPathFor } from '../../../../packages/base/storage/socket-path.ts'
import { endWithTest } from '../../../support/agent.ts'
import { createHome, type ServeProcess, startServe } from '../../../support/serve.ts'
import { waitFor } from '../../../support/wait-until.ts'

test('builds survive the end of Fairlead by SIGKILL, wherever they are', async (t) => {
  const home = createHome(t)
  const gate = join(home, 'gate/go')
  mkdirSync(join(home, 'gate'))
  const steps = [`echo begins; until [ -e '${gate}' ]; do sleep 0.05; done; echo done > out.txt`]
  const settings = {
    bakery: { local: { enabled: true } },
    builds: {
      local: {
        'max-running': 1,
        readable: [join(home, 'gate')],
        jobs: [{ name: 'app', steps, archive: ['out.txt'] }],
      },
    },
  }
  endWithTest(t, join(home, 'data'), async () => {})
  const ask = askBuilds(t, join(home, 'data'))
  const before = startServe(t, settings, { home, embedded: true })
  assert.deepEqual(await mastersOf(before), ['local'])
  const items = [
    await ask('PUT', '/masters/local/jobs/app?', '1'),
    await ask('PUT', '/masters/local/jobs/app?', '2'),
  ]
  await waitFor(
    async () =>
      JSON.stringify(await ask('GET', '/ci/builds/app-1/output')).includes('begins') || undefined,
    'the log',
  )
  before.signal('SIGKILL')
  await before.exited

  const after = startServe(t, settings, { home, embedded: true })
  assert.deepEqual(await mastersOf(after), ['local'])
  assert.equal(field(await ask('GET', '/builds/status/1/local/app'), 'building'), true)
  assert.deepEqual(await ask('PUT', '/masters/local/jobs/app?', '2'), items[1])
  writeFileSync(gate, '')
  for (const number of [1, 2]) {
    const build = await waitFor(async () => {
      const found = await ask('GET', `/builds/status/${number}/local/app`)
      return field(found, 'building') === false ? found : undefined
    }, `the end of the build ${number}`)
    assert.equal(field(build, 'result'), 'SUCCESS', JSON.stringify(build))
    assert.match(JSON.stringify(build), /out\.txt/)
  }
})

/** Answered once the back ends listen. */
async function mastersOf({ listening }: ServeProcess): Promise<unknown> {
  return (await fetch(`${await listening}/v3/builds`)).json()
}

/** Over the socket of the back ends: the gateway starts builds by pipelines only. */
function askBuilds(t: TestContext, dataDir: string) {
  return async (method: 'GET' | 'PUT', path: string, body?: string): Promise<unknown> => {
    const { text } = await askAgent({
      socketPath: socketPathFor(dataDir, 'backends.sock'),
      method,
      path: `/igor${path}`,
      body,
      signal: t.signal,
    })
    return JSON.parse(text)
  }
}

function field(value: unknown, name: string): unknown {
  return (value as Record<string, unknown>)[name]
}
