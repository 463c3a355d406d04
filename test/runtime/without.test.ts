/** What is switched off in `src/runtime/` changes no answer. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { switches } from '../../src/runtime/without.ts'

const urlOf = (file: string) => JSON.stringify(new URL(`../../src/${file}`, import.meta.url).href)

/** Reads twice on one client with a pause beyond the keep-alive of the service, and does what is done for memory. */
const program = `
  import { setTimeout as sleep } from 'node:timers/promises'
  import { SingleClient } from ${urlOf('runtime/undici-client.ts')}
  import { http } from ${urlOf('runtime/node-http.ts')}
  import { collectGarbage, trimMalloc } from ${urlOf('runtime/memory.ts')}
  import { allocateYoung, growWithLoad } from ${urlOf('runtime/v8-options.ts')}
  allocateYoung()
  growWithLoad()
  const client = new SingleClient(process.argv[1], {})
  const read = async () => (await client.request({ path: '/', method: 'GET' })).body.text()
  const first = await read()
  collectGarbage()
  trimMalloc()
  await sleep(1200)
  console.log(JSON.stringify([first, await read(), typeof http.createServer, client.maxIdleMs]))
  await client.close()`

async function run(without: string): Promise<unknown[]> {
  const service = createServer((_request, response) => response.end('answer'))
  service.keepAliveTimeout = 1000
  service.listen(0, '127.0.0.1')
  await once(service, 'listening')
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
  try {
    const child = spawn(process.execPath, ['--input-type=module', '-e', program, url], {
      env: { ...process.env, RUNTIME_WITHOUT: without },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    return JSON.parse(await text(child.stdout)) as unknown[]
  } finally {
    service.closeAllConnections()
    service.close()
  }
}

test('with everything on, the owner of a client learns how long it may idle', async () => {
  const [first, second, created, maxIdleMs] = await run('')
  assert.deepEqual([first, second, created], ['answer', 'answer', 'function'])
  assert.ok(typeof maxIdleMs === 'number' && maxIdleMs < 5000)
})

for (const name of [...switches, switches.join(',')]) {
  test(`answers are the same without ${name}`, async () => {
    assert.deepEqual((await run(name)).slice(0, 3), ['answer', 'answer', 'function'])
  })
}
