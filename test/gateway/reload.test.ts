import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createHome, startServe } from '../support/serve.ts'
import { waitFor, waitUntil } from '../support/wait-until.ts'

const off = Object.fromEntries(
  ['clouddriver', 'front50', 'orca', 'echo', 'igor', 'rosco', 'fiat'].map((name) => [
    name,
    { enabled: false },
  ]),
)

test('SIGHUP applies what it can and names the rest; an invalid configuration changes nothing', async (t) => {
  const home = createHome(t)
  const serve = startServe(t, { server: { workers: 4 } }, { home })
  const url = await serve.listening
  await waitUntil(async () => (await fetch(`${url}/livez`)).ok, 'the start')
  const logged = (message: RegExp) =>
    waitFor(
      () => serve.log().find(({ msg }) => message.test(String(msg))),
      () => `${message} in ${JSON.stringify(serve.log().slice(-10))}`,
    )
  await logged(/server\.workers/)
  /** Over what `startServe` has written for the same home. */
  const reload = (settings: object) => {
    const server = { port: 0, address: '127.0.0.1', 'drain-ms': 0 }
    const written = { anonymous: { enabled: true }, services: off, server, ...settings }
    writeFileSync(join(home, 'gate-under-test.yml'), JSON.stringify(written))
    serve.signal('SIGHUP')
  }

  reload({ 'rate-limit': { enabled: true, capacity: 'many' } })
  const { reason } = await logged(/the configuration cannot be used, so nothing changes/)
  assert.match(String(reason), /rate-limit\.capacity/)

  reload({ 'rate-limit': { enabled: true, capacity: 1234 }, logging: { level: { root: 'debug' } } })
  const { settings } = await logged(/changed settings of these parts count after a restart/)
  assert.deepEqual(settings, ['rate limits'])
  await (await fetch(`${url}/livez`)).text()
  await logged(/^request$/)
})
