/** A Redis that lies: clients never get an answer that belongs to somebody else, and everything is as before afterwards. */
import assert from 'node:assert/strict'
import { connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startGuarded } from '../login/support.ts'
import { createClock } from '../sessions/support.ts'
import { startRedis } from '../support/redis.ts'
import { waitUntil } from '../support/wait-until.ts'

/** What becomes of an answer of the server. It may end or keep the connection as it likes. */
type Lie = (client: Socket, answer: Buffer) => void

const lies: Record<string, Lie> = {
  garbage: (client) => client.write(Buffer.from([0, 255, 42, 13, 10, 7])),
  'numbers for everything': (client, answer) => client.write(forEach(answer, ':42\r\n')),
  'texts for everything': (client, answer) => client.write(forEach(answer, '+OK\r\n')),
  'lists for everything': (client, answer) => client.write(forEach(answer, '*1\r\n$1\r\nx\r\n')),
  'nothing for everything': (client, answer) => client.write(forEach(answer, '$-1\r\n')),
  'errors for everything': (client, answer) =>
    client.write(forEach(answer, '-OOM command not allowed\r\n')),
  'half an answer, then the end': (client, answer) =>
    client.end(answer.subarray(0, Math.ceil(answer.length / 2))),
  'half an answer, then silence': (client, answer) =>
    client.write(answer.subarray(0, Math.ceil(answer.length / 2))),
  'an endless length': (client) => client.write('$999999999999\r\n'),
  'the end of every connection': (client) => client.destroy(),
}

/** As many replies as there were: every one of them begins a line in the answers that the tests cause. */
function forEach(answer: Buffer, reply: string): string {
  const replies = answer.toString('latin1').match(/^[+\-:$*_#,%~(]/gm) ?? []
  return reply.repeat(Math.max(1, replies.length))
}

async function startProxy(t: TestContext, port: number) {
  let lie: Lie | undefined
  const clients = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    clients.add(client)
    for (const socket of [client, upstream]) socket.on('error', () => {})
    client.on('data', (chunk) => upstream.write(chunk)).on('close', () => upstream.destroy())
    upstream.on('close', () => client.destroy())
    upstream.on('data', (chunk: Buffer) =>
      lie === undefined ? client.write(chunk) : lie(client, chunk),
    )
    client.on('close', () => clients.delete(client))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    for (const client of clients) client.destroy()
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    tell(next: Lie | undefined): void {
      lie = next
      // What was told is not taken back on connections that are out of step.
      if (next === undefined) for (const client of clients) client.destroy()
    },
  }
}

test('whatever Redis says, no request fails otherwise than with 503 or a login', {
  timeout: 300_000,
}, async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const proxy = await startProxy(t, redis.port)
  const clock = createClock(Date.now())
  const gateway = await startGuarded(
    t,
    {
      redis: {
        connection: `redis://127.0.0.1:${proxy.port}`,
        timeout: 500,
        useRelaxedHealthIndicator: true,
      },
      'rate-limit': { enabled: true, capacity: 1_000_000 },
    },
    { now: clock.now },
  )
  const browser = gateway.open()
  await browser.login('admin', 'secret')
  for (const [name, lie] of Object.entries(lies)) {
    proxy.tell(lie)
    // Nothing is cached any more.
    clock.nowMs += 4000
    for (const path of ['/auth/user', '/banners', '/version']) {
      const { status } = await browser.visit(path)
      assert.ok([200, 302, 401, 503].includes(status), `${name}: ${status} for ${path}`)
    }
    const stranger = await gateway
      .open()
      .visit('/auth/user', { headers: { cookie: 'SESSION=abc' } })
    assert.ok(
      [200, 401, 503].includes(stranger.status) && !stranger.text.includes('admin'),
      `${name}: ${stranger.text}`,
    )
    assert.equal((await browser.visit('/livez')).status, 200, name)
    proxy.tell(undefined)
    await waitUntil(async () => {
      clock.nowMs += 4000
      const fresh = gateway.open()
      return (
        (await fresh.login('admin', 'secret').catch(() => undefined)) !== undefined &&
        (await fresh.user()) !== undefined
      )
    }, `a login after ${name}`)
  }
})

test('an answer that belongs to another session logs no one in', async (t) => {
  const redis = await startRedis(t)
  if (redis === undefined) return
  const clock = createClock(Date.now())
  const gateway = await startGuarded(
    t,
    { redis: { connection: redis.url, timeout: 3000 } },
    { now: clock.now },
  )
  const [first, second] = [gateway.open(), gateway.open()]
  await first.login('admin', 'secret')
  const [mine] = (await redis.ask('keys', 'spring:session:fairlead:[^o]*')) as string[]
  await second.login('admin', 'secret')
  const other = ((await redis.ask('keys', 'spring:session:fairlead:[^o]*')) as string[]).find(
    (key) => key !== mine,
  )
  await redis.ask('copy', String(mine), String(other), 'replace')
  clock.nowMs += 4000
  assert.equal((await first.user())?.['username'], 'admin')
  assert.equal(await second.user(), undefined)
})
