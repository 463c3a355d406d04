import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { ServiceConnections } from '../../src/upstreams/connections.ts'
import { askWhole } from '../../src/upstreams/whole-answer.ts'

for (const [said, maxIdleMs] of [
  ['timeout=5', 3000],
  [undefined, 8000],
] as const) {
  test(`with keep-alive ${said ?? 'as configured'}, a connection is used for ${maxIdleMs} ms`, async (t) => {
    const service = createServer((_request, response) => {
      response.writeHead(200, { connection: 'keep-alive', ...(said !== undefined && { 'keep-alive': said }) }).end('[]')
    })
    service.keepAliveTimeout = 0
    await once(service.listen(0, '127.0.0.1'), 'listening')
    t.after(() => service.close())
    let nowMs = 1000
    const origin = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
    const connections = new ServiceConnections(origin, { keepAliveTimeout: 8000 }, () => nowMs)
    t.after(() => connections.destroy())
    const ask = async () => {
      const connection = connections.take()
      await askWhole(connection, { path: '/', method: 'GET' })
      connections.giveBack(connection)
      return connection
    }

    const first = await ask()
    nowMs += maxIdleMs - 1
    const second = await ask()
    nowMs += maxIdleMs
    const third = await ask()

    assert.equal(second, first)
    assert.notEqual(third, second)
    assert.equal(second.closed, true)
  })
}
