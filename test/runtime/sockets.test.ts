import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { dropBody, dropRequests } from '../../packages/base/runtime/drop-input.ts'
import {
  carrierOf,
  descriptorOf,
  screenData,
  unsentBytes,
} from '../../packages/base/runtime/sockets.ts'

async function openPair(t: TestContext): Promise<{ server: Server; here: Socket; there: Socket }> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const here = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [there] = (await once(server, 'connection')) as [Socket]
  t.after(() => {
    here.destroy()
    there.destroy()
    server.close()
  })
  return { server, here, there }
}

/** As of a Node that lacks the property. */
function without<T extends object>(value: T, name: string): T {
  return new Proxy(value, {
    get: (target, key) => (key === name ? undefined : Reflect.get(target, key, target)),
  })
}

test('unsent bytes are those that the system has not taken', async (t) => {
  const { here, there } = await openPair(t)
  here.pause()
  there.write(Buffer.alloc(50_000_000))
  const { bytes, isExact } = unsentBytes(there, there)
  assert.ok(isExact && bytes > 0)
})

test('without its count, unsent bytes are those that the socket holds', async (t) => {
  const { here, there } = await openPair(t)
  here.pause()
  there.write(Buffer.alloc(50_000_000))
  assert.deepEqual(unsentBytes(there, without(there, '_handle')), {
    bytes: there.writableLength,
    isExact: false,
  })
})

test('the socket beneath TLS is found by its address where Node does not name it', async (t) => {
  const { here, there } = await openPair(t)
  const encrypted = {
    remoteAddress: there.remoteAddress,
    remotePort: there.remotePort,
  } as TLSSocket
  assert.equal(carrierOf({ ...encrypted, _parent: here } as unknown as TLSSocket, [there]), here)
  assert.equal(carrierOf(encrypted, [here, there]), there)
  assert.equal(carrierOf(encrypted), undefined)
})

test('a port has a descriptor, and none where Node does not tell', async (t) => {
  const { server } = await openPair(t)
  assert.ok(Number(descriptorOf(server)) > 2)
  assert.equal(descriptorOf(without(server, '_handle')), undefined)
})

test('a socket without a parser keeps its input', async (t) => {
  const { here, there } = await openPair(t)
  const data = once(there, 'data')
  dropBody(there)
  dropRequests(there)
  here.write('still here')
  assert.equal(String((await data)[0]), 'still here')
})

test('data is screened before its listeners, and a fault ends the connection', async (t) => {
  const { here, there } = await openPair(t)
  const faults: string[] = []
  const seen: string[] = []
  const take = function* (data: Buffer): Iterable<Buffer> {
    yield data.subarray(0, 2)
    if (data.includes('x')) throw new Error('not that')
  }
  screenData(there, take, ({ message }) => void faults.push(message))
  there.on('data', (data) => void seen.push(String(data)))
  there.on('error', () => {})
  const closed = once(there, 'close')
  here.write('abc')
  await once(there, 'data')
  here.write('dex')
  await closed.catch(() => {})
  assert.deepEqual([seen, faults], [['ab', 'de'], ['not that']])
})
