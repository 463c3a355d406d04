import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type GatewaySettings, runGateway } from '../support/gateway.ts'
import { createFolder } from '../support/temporary-folder.ts'
import { brokenOff, Reply, silence, startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

type Line = Record<string, unknown>

async function startLogged(t: Parameters<typeof runGateway>[0], settings: GatewaySettings) {
  const lines: Line[] = []
  const { url } = await runGateway(t, settings, { log: (line) => void lines.push(line) })
  return { url, lines, requests: () => lines.filter(({ msg }) => msg === 'request') }
}

test('every request is one log line', async (t) => {
  const clouddriver = await startUpstream(t, {
    'GET /networks': '{"aws":[]}',
    'GET /instanceTypes': new Reply(404),
  })
  const { url, requests } = await startLogged(t, {
    services: { clouddriver: { baseUrl: clouddriver.url } },
  })
  for (const path of ['/networks', '/instanceTypes', '/nothing']) {
    await (
      await fetch(url + path, { headers: { 'x-spinnaker-request-id': `id-${path.slice(1)}` } })
    ).text()
  }
  await waitUntil(() => requests().length === 3, 'three lines')
  const [good, failed, none] = requests() as [Line, Line, Line]
  const { time: _, level: __, pid: ___, hostname: ____, durationMs, upstream, ...rest } = good
  assert.deepEqual(rest, {
    msg: 'request',
    requestId: 'id-networks',
    method: 'GET',
    path: '/networks',
    status: 200,
    bytes: 10,
    operation: 'allUsingGET',
    user: 'anonymous',
    address: '127.0.0.1',
  })
  assert.equal(typeof durationMs, 'number')
  assert.match(String((upstream as string[])[0]), /^clouddriver 200 \d+ms$/)
  assert.equal(failed['status'], 404)
  assert.match(String((failed['upstream'] as string[])[0]), /^clouddriver 404 /)
  assert.equal(none['operation'], undefined)
  assert.equal(none['status'], 404)
})

test('own responses are logged with their size', async (t) => {
  const { url, requests } = await startLogged(t, {})
  const text = await (await fetch(`${url}/version`)).text()
  while (requests().length === 0) await pause(10)
  assert.equal(requests()[0]?.['bytes'], text.length)
})

test('a client that leaves is logged as such', async (t) => {
  const clouddriver = await startUpstream(t, { 'GET /networks': silence })
  const { url, lines, requests } = await startLogged(t, {
    services: { clouddriver: { baseUrl: clouddriver.url } },
  })
  const sent = get(`${url}/networks`).on('error', () => {})
  while (clouddriver.requests.length === 0) await pause(10)
  sent.destroy()
  while (requests().length === 0) await pause(10)
  await pause(50)
  assert.equal(requests()[0]?.['status'], 499)
  assert.equal(requests()[0]?.['brokenOff'], true)
  assert.deepEqual(
    lines.filter(({ code }) => code === 'UPSTREAM_UNREACHABLE'),
    [],
  )
})

test('no password, cookie, token or query value stands in the log', async (t) => {
  const clouddriver = await startUpstream(t, {
    'GET /networks': brokenOff,
    'GET /instanceTypes': new Reply(500, '{"message":"no"}'),
  })
  const settings = {
    services: { clouddriver: { baseUrl: clouddriver.url } },
    security: { user: { name: 'me', password: 'secret-password' } },
  }
  const { url, lines, requests } = await startLogged(t, settings)
  const basic = (password: string) => `Basic ${Buffer.from(`me:${password}`).toString('base64')}`
  const login = await fetch(`${url}/login`, {
    method: 'POST',
    body: new URLSearchParams({ username: 'me', password: 'secret-password' }),
    redirect: 'manual',
  })
  const session = /^SESSION=([^;]+)/.exec(login.headers.getSetCookie()[0] ?? '')?.[1] ?? ''
  assert.ok(session.length > 20)
  const credentials: Record<string, string>[] = [
    { authorization: basic('secret-password') },
    { authorization: basic('secret-wrong') },
    { authorization: 'Bearer secret-bearer' },
    { cookie: `SESSION=${session}; other=secret-cookie` },
    { cookie: 'SESSION=secret-session' },
    { 'x-spinnaker-token': 'secret-token' },
  ]
  for (const headers of credentials) {
    for (const path of ['/networks', '/instanceTypes', '/tasks?limit=secret-limit', '/pipelines']) {
      const query = path.includes('?') ? '' : '?token=secret-query'
      const method = path === '/pipelines' ? 'POST' : 'GET'
      const body = method === 'POST' ? '{"password":"secret-body", broken' : undefined
      await fetch(url + path + query, { method, body, headers, redirect: 'manual' })
    }
  }
  await waitUntil(
    () => requests().length === 1 + 4 * credentials.length,
    'the lines of all requests',
  )
  const log = JSON.stringify(lines)
  const found = log.match(/.{0,60}secret-\w+.{0,40}/)
  assert.equal(found, null)
  for (const hidden of [session, basic('secret-password').slice(6), basic('secret-wrong').slice(6)])
    assert.ok(!log.includes(hidden), hidden)
})

test('operator errors are logged with cause and request id', async (t) => {
  const { url, lines } = await startLogged(t, {
    services: { clouddriver: { baseUrl: 'http://127.0.0.1:1' } },
  })
  const answer = await fetch(`${url}/networks`, {
    headers: { 'x-spinnaker-request-id': 'find-me' },
  })
  assert.equal(answer.status, 502)
  const line = lines.find(
    ({ requestId, code }) => requestId === 'find-me' && code === 'UPSTREAM_UNREACHABLE',
  )
  assert.deepEqual(line?.['upstream'], { service: 'clouddriver' })
  assert.match(JSON.stringify(line?.['err']), /ECONNREFUSED/)
  assert.ok(!(await answer.text()).includes('ECONNREFUSED'))
})

test('errors of clients are no errors of the log', async (t) => {
  const { url, lines } = await startLogged(t, {})
  await fetch(`${url}/nothing`)
  await fetch(`${url}/pipelines`, { method: 'POST', body: '{' })
  await pause(20)
  assert.deepEqual(
    lines
      .filter(({ level }) => Number(level) >= 40 && Number(level) < 100)
      .filter(({ requestId }) => requestId !== undefined),
    [],
  )
})

test('every line about one request names it in the same field', async (t) => {
  const { url, lines, requests } = await startLogged(t, {
    anonymous: { enabled: false },
    security: { basicform: { enabled: true } },
  })
  const authorization = `Basic ${Buffer.from('nobody:wrong-password').toString('base64')}`
  await (
    await fetch(`${url}/applications`, {
      headers: { authorization, 'x-spinnaker-request-id': 'asked' },
    })
  ).text()
  while (requests().length === 0) await pause(10)
  const refused = lines.find(({ msg }) => msg === 'credentials were refused')
  assert.deepEqual([refused?.['requestId'], requests()[0]?.['requestId']], ['asked', 'asked'])
  assert.ok(lines.every((line) => !('reqId' in line)))
})

test('successful probes and scrapes are logged at level debug', async (t) => {
  const lines: Line[] = []
  const settings = { server: { 'drain-ms': '1h' } }
  const { url, gateway } = await runGateway(t, settings, { log: (line) => void lines.push(line) })
  const linesOf = (path: string) =>
    lines.filter((line) => line['msg'] === 'request' && line['path'] === path)
  const levelsOf = (path: string) =>
    linesOf(path).map(({ level }) => (level === 20 ? 'debug' : 'info'))
  for (const path of ['/readyz', '/health', '/spectator/metrics', '/version'])
    await (await fetch(url + path)).text()
  await gateway.drain(AbortSignal.abort())
  await (await fetch(`${url}/readyz`)).text()
  await waitUntil(() => levelsOf('/readyz').length === 2, 'the last line')

  assert.deepEqual(levelsOf('/readyz'), ['debug', 'info'])
  assert.deepEqual(
    [levelsOf('/health'), levelsOf('/spectator/metrics'), levelsOf('/version')],
    [['debug'], ['debug'], ['info']],
  )
})

test('a crash loses no line of the log', async () => {
  const file = JSON.stringify(new URL('../../packages/base/telemetry/log.ts', import.meta.url).href)
  const program = `import { openLog } from ${file}; openLog('info').log.info('the last words'); throw new Error('crash')`
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  })
  assert.equal(status, 1)
  assert.equal((JSON.parse(stdout) as Line)['msg'], 'the last words')
})

test('what a client sends is escaped in its line', async (t) => {
  const { url, requests } = await startLogged(t, {})
  await (await fetch(`${url}/version`, { headers: { 'x-spinnaker-request-id': 'a"b\\' } })).text()
  await waitUntil(() => requests().length === 1, 'the line')
  assert.equal(requests()[0]?.['requestId'], 'a"b\\')
})

test('lines of any length are written once and in order', () => {
  const file = JSON.stringify(new URL('../../packages/base/telemetry/log.ts', import.meta.url).href)
  const lengths = [1, 20_000, 3, 9_000, 9_000, 100_000, 5, 40_000]
  const program = `import { openLog } from ${file}; const { log } = openLog('info'); for (const length of ${JSON.stringify(lengths)}) log.info('ü'.repeat(length))`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  })
  const messages = stdout.trimEnd().split('\n')
  assert.deepEqual(
    messages.map((line) => (JSON.parse(line) as Line)['msg']),
    lengths.map((length) => 'ü'.repeat(length)),
  )
})

/** Logs 200 lines of 50 KB each, one per turn of the event loop, and says so on standard error. */
const floodProgram = `
import { openLog } from ${JSON.stringify(new URL('../../packages/base/telemetry/log.ts', import.meta.url).href)}
const { log, missing } = openLog('info')
for (let number = 0; number < 200; number++) {
  log.info({ number, text: 'x'.repeat(50_000) })
  await new Promise(setImmediate)
}
process.stderr.write(\`logged, \${missing().output > 0 ? 'some' : 'none'} dropped\\n\`)
process.stdin.once('data', () => {
  process.stderr.write(String(missing().output))
  process.exit()
})`

function startFlood(t: TestContext, stdout: 'pipe' | number, program = floodProgram) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['pipe', stdout, 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  const said = (child.stderr as Readable)
    .setEncoding('utf8')
    [Symbol.asyncIterator]() as AsyncIterator<string>
  return { child, next: async () => (await said.next()).value as string }
}

test('a reader that does not read delays nothing, and learns what is missing', async (t) => {
  const { child, next } = startFlood(t, 'pipe')
  // Nothing has been read until here: the pipe is full.
  assert.equal(await next(), 'logged, some dropped\n')
  let text = ''
  let missing: number | undefined
  for await (const piece of child.stdout as Readable) {
    text += piece
    const notice = /^.*"lines":(\d+),"msg":"lines of the log were dropped.*$/m.exec(text)
    if (notice === null || missing !== undefined) continue
    missing = Number(notice[1])
    child.stdin?.write('end')
  }
  const numbers = text
    .trimEnd()
    .split('\n')
    .flatMap((line) => (JSON.parse(line) as { number?: number }).number ?? [])
  assert.deepEqual(
    numbers,
    numbers.toSorted((a, b) => a - b),
  )
  assert.equal(numbers.length + (missing ?? 0), 200)
  assert.equal(await next(), String(missing))
})

test('a pipe that another program makes wait delays nothing', async (t) => {
  const path = join(createFolder('fifo'), 'fifo')
  assert.equal(spawnSync('mkfifo', [path]).status, 0)
  const fifo = openSync(path, 'r+')
  t.after(() => closeSync(fifo))
  const shares = `import { spawnSync } from 'node:child_process'
    ${floodProgram.replace(/^const .*$/m, "$&\nspawnSync('true', { stdio: ['ignore', 'inherit', 'ignore'] })")}`

  const { next } = startFlood(t, fifo, shares)

  assert.equal(await next(), 'logged, some dropped\n')
})

test('a reader that reads slowly gets every line at the end', async (t) => {
  const program = floodProgram.replace('200', '40').replace(/process\.stdin.*/s, 'process.exit()')
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  let text = ''
  for await (const piece of child.stdout) {
    text += piece
    await pause(5)
  }
  assert.equal(text.trimEnd().split('\n').length, 40)
})

test('no reader and a full disk end nothing', async (t) => {
  const deserted = startFlood(t, 'pipe')
  deserted.child.stdout?.destroy()
  const full = openSync('/dev/full', 'w')
  t.after(() => closeSync(full))
  for (const { child, next } of [deserted, startFlood(t, full)]) {
    assert.equal(await next(), 'logged, some dropped\n')
    child.stdin?.write('end')
    assert.notEqual(await next(), '0')
    assert.equal(await new Promise((resolve) => child.once('exit', resolve)), 0)
  }
})

test('lines that are alike are counted beyond six hundred', () => {
  const file = JSON.stringify(new URL('../../packages/base/telemetry/log.ts', import.meta.url).href)
  const program = `import { openLog } from ${file}; const { log } = openLog('info'); for (let n = 0; n < 5000; n++) log.warn({ n }, 'down'); log.info('up')`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  })
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
  assert.equal(lines.filter(({ msg }) => msg === 'down').length, 600)
  assert.equal(lines.filter(({ msg }) => msg === 'up').length, 1)
  assert.deepEqual([lines.at(-1)?.['like'], lines.at(-1)?.['lines']], ['down', 4400])
})

test('requests without login have a bounded number of lines', async (t) => {
  const lines: Line[] = []
  const settings = {
    anonymous: { enabled: false },
    security: { basicform: { enabled: true } },
    logging: { withoutLogin: { perAddress: 3 } },
  }
  const { url, gateway } = await runGateway(t, settings, { log: (line) => void lines.push(line) })
  for (let count = 0; count < 10; count++)
    assert.equal((await fetch(`${url}/applications`)).status, 401)
  const metrics = await (await fetch(`${url}/spectator/metrics`)).text()
  assert.match(metrics, /^fairlead_log_lines_missing_total\{reason="without-login"\} 7$/m)
  await gateway.close()
  assert.equal(lines.filter(({ path }) => path === '/applications').length, 3)
  assert.deepEqual(lines.find(({ requests }) => requests !== undefined)?.['requests'], 7)
})
