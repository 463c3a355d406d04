/** What the server of the embedded back ends answers, whatever it is asked. */
import assert from 'node:assert/strict'
import { METHODS } from 'node:http'
import test from 'node:test'
import type { Backend } from '../../packages/ports/backend.ts'
import { startBackends } from '../support/backends.ts'
import { openRawConnection } from '../support/raw-connection.ts'

const backend: Backend = {
  service: 'igor',
  migrations: [],
  open: () => ({ routes: (app) => void app.post('/things/:id', () => ({})) }),
}

test('a name of any length is looked for', async (t) => {
  const backends = await startBackends(t, [backend])
  const answer = await fetch(`${backends.url('igor')}/things/${'x'.repeat(20_000)}`, {
    method: 'POST',
  })
  assert.deepEqual([answer.status, await answer.json()], [200, {}])
})

const bodies: readonly [headers: string, body: string][] = [
  ['', ''],
  ['content-length: 1\r\n', '{'],
  ['content-type: ;;\r\ncontent-length: 2\r\n', '{}'],
  ['transfer-encoding: chunked\r\n', '2\r\n{}\r\n0\r\n\r\n'],
]

test('no request is a failure of the embedded back ends', async (t) => {
  const lines: Record<string, unknown>[] = []
  const backends = await startBackends(t, [backend], { log: (line) => lines.push(line) })
  // Whoever wants to tunnel is disconnected.
  for (const method of METHODS.filter((name) => name !== 'CONNECT')) {
    for (const path of [
      '/igor/things/1',
      '/igor/nothing',
      '/igor/things/%zz',
      `/igor/things/${'x'.repeat(5000)}`,
    ]) {
      for (const [headers, body] of bodies) {
        const connection = await openRawConnection(t, backends.url('igor'))
        connection.send(`${method} ${path} HTTP/1.1\r\nhost: back\r\n${headers}\r\n${body}`)
        const answer = await connection.next({ toHead: method === 'HEAD' })
        assert.ok(
          answer.status < 500,
          `${method} ${path} ${headers}: ${answer.status} ${answer.body}`,
        )
        connection.socket.destroy()
      }
    }
  }
  assert.deepEqual(
    lines.filter(({ level }) => Number(level) >= 50),
    [],
  )
})
