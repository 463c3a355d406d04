/** Deployments of a folder that fail, are slow, or are cancelled: the version before serves, and the reason is named. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { get, request } from 'node:http'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { type CliRun, runCli } from '../support/cli.ts'
import { startDeployments } from '../support/deployments.ts'
import { freePort } from '../support/free-port.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { runInTerminal } from '../support/terminal.ts'
import { startUserProxy } from '../support/user-proxy.ts'
import { waitUntil } from '../support/wait-until.ts'

/** Says its name; a WebSocket echoes, and the program waits for it when it ends. */
const program = (name: string, { port = 'process.env.PORT', status = 200, delayMs = 0 } = {}) => `
const { createHash } = require('node:crypto')
const server = require('node:http').createServer((request, response) => {
  response.writeHead(${status}, { location: 'https://elsewhere.example/' }).end('${name}')
})
server.on('upgrade', (request, socket) => {
  const accept = createHash('sha1').update(request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64')
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nupgrade: websocket\\r\\nconnection: Upgrade\\r\\nsec-websocket-accept: ' + accept + '\\r\\n\\r\\n')
  socket.on('data', () => socket.write(Buffer.concat([Buffer.from([0x81, ${name.length}]), Buffer.from('${name}')])))
  socket.on('end', () => socket.end())
  socket.on('error', () => {})
})
setTimeout(() => server.listen(${port}, process.env.HOST), ${delayMs})
process.on('SIGTERM', () => server.close(() => process.exit(0)))
`

test('deployments that fail', async (t) => {
  const port = await freePort()
  const front = { http: port, https: await freePort() }
  const fairlead = await startDeployments(t, { hasThread: true, front })
  const folder = createFolder('app')
  t.after(() => removeFolder(folder))
  mkdirSync(join(folder, '.fairlead'))
  const write = (server: string, { start = '4s', status = 200 } = {}) => {
    const health = `{ path: /, status: ${status}, interval: 1s, start: ${start} }`
    const service = `{ hosts: [site.example], health: ${health} }`
    const file = `application: site\naccount: dev\nservices:\n  web: ${service}\n`
    writeFileSync(join(folder, '.fairlead/app.yml'), file)
    writeFileSync(join(folder, 'server.js'), server)
  }
  writeFileSync(join(folder, 'package.json'), '{"scripts":{"start":"node server.js"}}')
  const env = { FAIRLEAD_URL: await startUserProxy(t, fairlead.url()), FAIRLEAD_TOKEN: 'alice' }
  const cli = (...args: string[]): Promise<CliRun> => runCli(args, { env, cwd: folder })
  const page = async () => {
    const asked = get({ host: '127.0.0.1', port, headers: { host: 'site.example' }, agent: false })
    const answer = await new Promise<Parameters<typeof text>[0]>((resolve, reject) =>
      asked.on('response', resolve).on('error', reject),
    )
    return text(answer)
  }
  async function fails(server: string, reason: RegExp, options = {}): Promise<void> {
    write(server, options)
    const { code, stderr } = await cli('deploy')
    assert.equal(code, 1, stderr)
    assert.match(stderr, reason)
    assert.equal(await page(), 'slow')
  }

  await t.test(
    'app-scenario 44: a slow start succeeds within its time, and fails after it',
    async () => {
      write(program('slow', { delayMs: 1500 }), { start: '60s' })
      const { code, stderr } = await cli('deploy')
      assert.equal(code, 0, stderr)
      assert.equal(await page(), 'slow')
      await fails(
        program('late', { delayMs: 600_000 }),
        /health: \{start: 120s\}|nothing listens/,
        {
          start: '2s',
        },
      )
    },
  )

  await t.test('app-scenario 42: the port that a program opens instead is named', async () => {
    const other = await freePort()
    await fails(
      program('other', { port: String(other) }),
      new RegExp(`PORT, which was \\d+; it opened ${other}`),
    )
  })

  for (const [status, words] of [
    [301, /answered 301 with "Host: site\.example".*plain HTTP/],
    [404, /answered 404 with "Host: site\.example"/],
    [400, /answered 400 with "Host: site\.example".*ALLOWED_HOSTS/],
  ] as const)
    await t.test(
      `app-scenario 43: a health check with status ${status} is named with its host`,
      () => fails(program('wrong', { status }), words),
    )

  await t.test(
    'app-scenario 47: Ctrl C asks, and a cancelled deployment leaves nothing half done',
    async () => {
      write(program('never', { delayMs: 600_000 }), { start: '10m' })
      const before = fairlead.processes().length
      const terminal = runInTerminal(['deploy'], { env, cwd: folder })
      await waitUntil(() => fairlead.processes().length > before, 'the new instance')
      terminal.type('\u0003')
      await terminal.read(/cancel it/)
      terminal.type('\r')
      assert.equal(await terminal.ended, 1, terminal.shown())
      assert.match(terminal.shown(), /was canceled/)
      await waitUntil(() => fairlead.processes().length === before, 'the end of the new instance')
      assert.equal(await page(), 'slow')
    },
  )

  await t.test('app-scenario 92: a WebSocket lives through a deployment', async () => {
    write(program('new'), { start: '60s' })
    const key = randomBytes(16).toString('base64')
    const headers = {
      ...{ host: 'site.example', connection: 'Upgrade', upgrade: 'websocket' },
      ...{ 'sec-websocket-key': key, 'sec-websocket-version': '13' },
    }
    const asked = request({ host: '127.0.0.1', port, headers, agent: false }).end()
    const [answer, socket] = await new Promise<
      [{ headers: NodeJS.Dict<string | string[]> }, Socket]
    >((resolve, reject) =>
      asked.on('upgrade', (...upgraded) => resolve([upgraded[0], upgraded[1]])).on('error', reject),
    )
    t.after(() => socket.destroy())
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    assert.equal(answer.headers['sec-websocket-accept'], accept.digest('base64'))
    let heard = ''
    socket.on('data', (piece: Buffer) => {
      heard += piece.toString('latin1')
    })
    const echo = async () => {
      heard = ''
      socket.write(Buffer.from([0x81, 0x80, 0, 0, 0, 0]))
      await waitUntil(() => heard !== '', 'an answer of the WebSocket')
      return heard.slice(2)
    }
    assert.equal(await echo(), 'slow')
    const { code, stderr } = await cli('deploy')
    assert.equal(code, 0, stderr)
    assert.equal(await page(), 'new')
    assert.equal(await echo(), 'slow')
    socket.end()
  })
})
