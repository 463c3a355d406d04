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

/** Reads twice on one client with a pause beyond the keep-alive of the service, answers with a prepared head, and does what is done for memory. */
const program = `
  import { setTimeout as sleep } from 'node:timers/promises'
  import pino from ${JSON.stringify(import.meta.resolve('pino'))}
  import { declareHeaders, SingleClient } from ${urlOf('runtime/undici-client.ts')}
  import { writeLine } from ${urlOf('runtime/log-line.ts')}
  import http from 'node:http'
  import { collectGarbage, dropProgramPages, trimMalloc } from ${urlOf('runtime/memory.ts')}
  import { prepareHead, responseOptions } from ${urlOf('runtime/response-head.ts')}
  import { keepTickShape } from ${urlOf('runtime/ticks.ts')}
  import { allocateYoung, setServerOptions } from ${urlOf('runtime/v8-options.ts')}
  allocateYoung()
  keepTickShape()
  setServerOptions()
  const server = http.createServer(responseOptions, (_request, response) => {
    prepareHead(response, { pragma: 'no-cache', expires: '0' })
    prepareHead(response, { 'x-frame-options': 'DENY' })
    response.writeHead(201, ['vary', 'Origin', 'vary', 'Accept-Encoding', 'content-length', '0']).end()
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { status, headers } = await fetch('http://127.0.0.1:' + server.address().port)
  const head = [status, ...[...headers].filter(([name]) => !['date', 'connection', 'keep-alive'].includes(name)).flat()]
  server.close()
  server.closeAllConnections()
  const client = new SingleClient(process.argv[1], {})
  declareHeaders(['X-NAME'])
  const read = async () => (await client.request({ path: '/', method: 'GET', headers: ['X-NAME', 'sent'] })).body.text()
  const lines = []
  const log = pino({ base: { worker: 2 }, timestamp: () => ',"time":"noon"', level: 'info' }, { write: (line) => lines.push(line) })
  const fields = { path: '/"quoted"', missing: undefined, status: 200, calls: ['front50 200'] }
  for (const one of [log, log.child({ replica: 1 })]) {
    one.info(fields, 'request')
    writeLine(one, 'info', fields, 'request')
    writeLine(one, 'debug', fields, 'nobody reads this')
  }
  const first = await read()
  collectGarbage()
  dropProgramPages()
  trimMalloc()
  await sleep(1200)
  console.log(JSON.stringify([first, await read(), head, lines, client.maxIdleMs]))
  await client.close()`

async function run(without: string): Promise<unknown[]> {
  const service = createServer(({ rawHeaders }, response) => response.end(`answer to ${rawHeaders.slice(-2).join(' ')}`))
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

const fields = [
  'content-length',
  '0',
  'expires',
  '0',
  'pragma',
  'no-cache',
  'vary',
  'Origin, Accept-Encoding',
  'x-frame-options',
  'DENY',
]
const line = '"path":"/\\"quoted\\"","status":200,"calls":["front50 200"],"msg":"request"}\n'
const lines = ['"worker":2', '"worker":2,"replica":1'].map((bound) => `{"level":30,"time":"noon",${bound},${line}`)
const answers = ['answer to X-NAME sent', 'answer to X-NAME sent', [201, ...fields], lines.flatMap((each) => [each, each])]

test('with everything on, the owner of a client learns how long it may idle', async () => {
  const [first, second, head, written, maxIdleMs] = await run('')
  assert.deepEqual([first, second, head, written], answers)
  assert.ok(typeof maxIdleMs === 'number' && maxIdleMs < 5000)
})

for (const name of [...switches, switches.join(',')]) {
  test(`answers are the same without ${name}`, async () => {
    assert.deepEqual((await run(name)).slice(0, 4), answers)
  })
}
