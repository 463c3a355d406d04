/** Deployments of a folder that fail, are slow or cancelled: the version before serves, and the reason is named. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { get, request } from 'node:http'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { type CliRun, runCli } from '../support/cli.ts'
import { type Group, startDeployments } from '../support/deployments.ts'
import { freePort } from '../support/free-port.ts'
import { mountSmallDisk } from '../support/small-disk.ts'
import { createFolder, removeFolder } from '../support/temporary-folder.ts'
import { runInTerminal } from '../support/terminal.ts'
import { startUserProxy } from '../support/user-proxy.ts'
import { waitFor, waitUntil } from '../support/wait-until.ts'

/** Says its name, and echoes it to WebSockets. */
const program = (name: string, { port = 'process.env.PORT', status = 200, delayMs = 0 } = {}) => `
const server = require('node:http').createServer((request, response) => {
  response.writeHead(${status}, { location: 'https://elsewhere.example/' }).end('${name}')
})
server.on('upgrade', (request, socket) => {
  const accept = require('node:crypto').hash('sha1', request.headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11', 'base64')
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nupgrade: websocket\\r\\nconnection: Upgrade\\r\\nsec-websocket-accept: ' + accept + '\\r\\n\\r\\n')
  socket.on('data', () => socket.write(Buffer.concat([Buffer.from([0x81, ${name.length}]), Buffer.from('${name}')])))
  socket.on('end', () => socket.end()).on('error', () => {})
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
  const write = (server: string, { start = '12s', status = 200, more = '' } = {}) => {
    const health = `{ path: /, status: ${status}, interval: 1s, start: ${start} }`
    const service = `{ hosts: [site.example], health: ${health} }`
    const file = `application: site\naccount: dev\nservices:\n  web: ${service}\n${more}`
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

  await t.test('app-scenario 49: a full disk is named, and room lets it deploy', async (outer) => {
    write(program('slow'))
    writeFileSync(join(folder, 'large'), randomBytes(500_000))
    const sources = join(fairlead.dataDir, 'builds', 'sources')
    await outer.test('while the disk is full', async (inner) => {
      if (mountSmallDisk(inner, '300k', sources) === undefined) return
      const { code, stderr } = await cli('deploy')
      assert.notEqual(code, 0, stderr)
      assert.match(stderr, /disk of the data directory is full/)
      assert.equal(await page(), 'slow')
    })
    const { code, stderr } = await cli('deploy')
    assert.equal(code, 0, stderr)
    assert.equal(await page(), 'slow')
    removeFolder(join(folder, 'large'))
  })

  await t.test(
    'app-scenario 47: Ctrl C asks, and a cancelled deployment leaves nothing half done',
    async () => {
      write(program('never', { delayMs: 600_000 }), { start: '10m' })
      const groups = () => fairlead.read<Group[]>('/applications/site/serverGroups')
      const before = (await groups()).map(({ name }) => name)
      const terminal = runInTerminal(['deploy'], { env, cwd: folder })
      // Steps are shown once Ctrl C is heard.
      await terminal.read(/Deploy web/)
      const started = await waitFor(
        async () =>
          (await groups()).find(
            ({ name, instances }) => !before.includes(name) && instances.length > 0,
          ),
        () => `a new server group after:\n${terminal.shown()}`,
      )
      terminal.type('\u0003')
      await terminal.read(/cancel it/)
      terminal.type('\r')
      assert.equal(await terminal.ended, 1, terminal.shown())
      assert.match(terminal.shown(), /was canceled\./)
      const ids = started.instances.map(({ id }) => id)
      let latest: unknown
      await waitUntil(
        async () => {
          const names = (await groups()).map(({ name }) => name)
          const processes = fairlead.processes().map(({ instanceId }) => instanceId)
          latest = { names, processes }
          return !names.includes(started.name) && !processes.some((id) => ids.includes(id))
        },
        () => `the end of ${started.name}, ${ids}: ${JSON.stringify(latest)}`,
      )
      assert.equal(await page(), 'slow')
    },
  )

  /** An open WebSocket of the site. */
  async function connect() {
    const key = randomBytes(16).toString('base64')
    const headers = {
      ...{ host: 'site.example', connection: 'Upgrade', upgrade: 'websocket' },
      ...{ 'sec-websocket-key': key, 'sec-websocket-version': '13' },
    }
    const asked = request({ host: '127.0.0.1', port, headers, agent: false }).end()
    const [, socket] = (await once(asked, 'upgrade')) as [unknown, Socket]
    t.after(() => socket.destroy())
    let heard = ''
    socket.on('data', (piece: Buffer) => {
      heard += piece.toString('latin1')
    })
    socket.on('error', () => {})
    const echo = async () => {
      heard = ''
      socket.write(Buffer.from([0x81, 0x80, 0, 0, 0, 0]))
      await waitUntil(
        () => heard.length > 2 || socket.closed,
        () => `an answer of the WebSocket instead of ${JSON.stringify(heard)}`,
      )
      return heard.slice(2)
    }
    return { socket, echo }
  }

  await t.test('app-scenario 92: a WebSocket lives through a deployment', async () => {
    const { socket, echo } = await connect()
    assert.equal(await echo(), 'slow')
    write(program('new'), { start: '60s' })
    const { code, stderr } = await cli('deploy')
    assert.equal(code, 0, stderr)
    assert.equal(await page(), 'new')
    assert.equal(await echo(), 'slow')
    socket.destroy()
  })

  await t.test('app-scenario 92: it is closed by the limit of a former version', async () => {
    const { socket, echo } = await connect()
    assert.equal(await echo(), 'new')
    write(program('newer'), { start: '60s', more: 'limits: { drain: 3s }\n' })
    const { code, stderr } = await cli('deploy')
    assert.equal(code, 0, stderr)
    await waitUntil(() => socket.closed, 'the end of the WebSocket')
    assert.equal(await page(), 'newer')
  })
})
