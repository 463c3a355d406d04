import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import { test } from 'node:test'
import type { Connection } from '../../packages/proxy/connection.ts'
import { Connections } from '../../packages/proxy/connections.ts'
import { TimeoutSweep } from '../../packages/proxy/sweep.ts'

for (const [said, maxIdleMs] of [
  ['timeout=5', 4000],
  [undefined, 8000],
] as const) {
  test(`with keep-alive ${said ?? 'as configured'}, a connection is used for ${maxIdleMs} ms`, async (t) => {
    const server = createServer((_request, response) => {
      response
        .writeHead(200, {
          connection: 'keep-alive',
          ...(said !== undefined && { 'keep-alive': said }),
        })
        .end('[]')
    })
    server.keepAliveTimeout = 0
    await once(server.listen(0, '127.0.0.1'), 'listening')
    t.after(() => server.close())
    let nowMs = 1000
    const sweep = new TimeoutSweep(1000)
    t.after(() => sweep.close())
    const connections = new Connections({
      target: { place: { host: '127.0.0.1', port: (server.address() as AddressInfo).port } },
      bounds: { connectMs: 0, stallMs: 0, keepAliveMs: 8000 },
      sweep,
      now: () => nowMs,
    })
    t.after(() => connections.close())
    const ask = () => {
      const { promise, resolve, reject } = Promise.withResolvers<Connection>()
      const connection = connections.take()
      connection.send({ method: 'GET', text: 'GET / HTTP/1.1\r\nhost: a\r\n' }, undefined, {
        onInformation() {},
        onHead() {},
        onBody() {},
        onEnd: () => resolve(connection),
        onFailure: ({ error }) => reject(error),
      })
      return promise
    }

    const first = await ask()
    nowMs += maxIdleMs - 1
    const second = await ask()
    nowMs += maxIdleMs
    const third = await ask()

    assert.equal(second, first)
    assert.notEqual(third, second)
    assert.equal(second.socket.destroyed, true)
  })
}

for (const [ending, body, outcome] of [
  ['end', 'x', 'complete'],
  ['resetAndDestroy', 'x', 'failed'],
  ['resetAndDestroy', undefined, 'failed'],
] as const) {
  test(`a response without length that ends by ${ending} is ${outcome}, the request ${body === undefined ? 'without' : 'with'} body`, async (t) => {
    const served = Promise.withResolvers<Socket>()
    const server = createTcpServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\npart')
        served.resolve(socket)
      })
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    t.after(() => server.close())
    const sweep = new TimeoutSweep(1000)
    t.after(() => sweep.close())
    const connections = new Connections({
      target: { place: { host: '127.0.0.1', port: (server.address() as AddressInfo).port } },
      bounds: { connectMs: 0, stallMs: 0, keepAliveMs: 8000 },
      sweep,
    })
    t.after(() => connections.close())
    const read = Promise.withResolvers<string>()
    const over = Promise.withResolvers<string>()
    const text = `POST / HTTP/1.1\r\nhost: a\r\n${body === undefined ? '' : 'content-length: 1\r\n'}`
    connections.take().send({ method: 'POST', text }, body, {
      onInformation() {},
      onHead() {},
      onBody: (piece) => read.resolve(String(piece)),
      onEnd: () => over.resolve('complete'),
      onFailure: () => over.resolve('failed'),
    })

    assert.equal(await read.promise, 'part')
    ;(await served.promise)[ending]()
    assert.equal(await over.promise, outcome)
  })
}
