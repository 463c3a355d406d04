/** Faults of the machine, each with what clients see and how it ends by itself. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import test from 'node:test'
import { Browser } from '../login/browser.ts'
import { runGateway } from '../support/gateway.ts'
import { startInstance } from '../support/instance.ts'
import { program } from '../support/program.ts'
import { openRawConnection } from '../support/raw-connection.ts'
import { startUpstream } from '../support/upstream.ts'
import { waitUntil } from '../support/wait-until.ts'

test('exhausted descriptors refuse new connections until some are free', async (t) => {
  const clouddriver = await startUpstream(t, { 'GET /networks': { aws: [] } })
  const { url, port } = await startInstance(t, {
    command: `ulimit -n 150; exec '${process.execPath}' '${program}' serve`,
    cwd: process.cwd(),
    env: {
      ANONYMOUS_ENABLED: 'true',
      SERVICES_CLOUDDRIVER_BASEURL: clouddriver.url,
      ...Object.fromEntries(
        ['ECHO', 'FIAT', 'FRONT50', 'IGOR', 'ORCA', 'ROSCO'].map((name) => [`SERVICES_${name}_ENABLED`, 'false']),
      ),
    },
  })
  const kept = await openRawConnection(t, url)
  const ask = async (path: string) => {
    kept.send(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`)
    return (await kept.next()).status
  }
  assert.equal(await ask('/networks'), 200)

  let refused = 0
  const crowd = Array.from({ length: 250 }, () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {}).once('close', () => refused++)
    return socket
  })
  await waitUntil(() => refused > 0, 'a refused connection')
  assert.equal(await ask('/health'), 200)
  assert.equal(await ask('/networks'), 200)
  for (const socket of crowd) socket.destroy()
  await waitUntil(async () => {
    const answer = await fetch(`${url}/networks`, { headers: { connection: 'close' } }).catch(() => undefined)
    await answer?.arrayBuffer()
    return answer?.status === 200
  }, 'a new connection')
})

test('a clock that jumps ends no session early or late', async (t) => {
  const minuteMs = 60_000
  let nowMs = Date.now()
  const password = 'battery staple'
  const clouddriver = await startUpstream(t, { 'GET /networks': { aws: [] } })
  const { url } = await runGateway(
    t,
    { fairlead: { admin: { password } }, services: { clouddriver: { baseUrl: clouddriver.url } } },
    { now: () => nowMs },
  )
  const admin = new Browser(url)
  await admin.login('admin', password)
  const status = async () => (await admin.visit('/networks')).status
  assert.equal(await status(), 200)
  nowMs -= 24 * 60 * minuteMs
  assert.equal(await status(), 200)
  nowMs += 24 * 60 * minuteMs
  assert.equal(await status(), 200)
  nowMs += 10 * minuteMs
  assert.equal(await status(), 200)
  nowMs += 24 * 60 * minuteMs
  assert.notEqual(await status(), 200)
  await admin.login('admin', password)
  assert.equal(await status(), 200)
})
