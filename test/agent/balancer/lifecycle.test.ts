import assert from 'node:assert/strict'
import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { type PeerCertificate, type TLSSocket, connect as tlsConnect } from 'node:tls'
import { Agent } from 'undici'
import { freePort } from '../../support/free-port.ts'
import { openRawConnection } from '../../support/raw-connection.ts'
import { keyPairOf } from '../../support/self-signed.ts'
import { createFolder } from '../../support/temporary-folder.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { openRig, startInstance } from './support.ts'

test('an instance out of service drains and gets no new requests', async (t) => {
  const held: (() => void)[] = []
  const leaving = await startInstance(
    t,
    'leaving',
    (_request, response) => void held.push(() => response.end('late')),
  )
  const rig = await openRig(t, { members: [leaving.member] })
  await rig.untilUp('leaving')
  const running = fetch(rig.url)
  await waitUntil(() => held.length === 1, 'the request')
  const other = await startInstance(t, 'other')

  rig.apply({ members: [{ ...leaving.member, inService: false }, other.member] })
  await rig.untilUp('other')
  assert.equal(await (await fetch(rig.url)).text(), 'other')

  assert.deepEqual(rig.member('leaving'), {
    instanceId: 'leaving',
    health: 'up',
    inService: false,
    inFlight: 1,
    reason: undefined,
  })
  const before = rig.changes()
  held[0]?.()
  assert.equal(await (await running).text(), 'late')
  await waitUntil(() => rig.member('leaving')?.inFlight === 0, 'the request to end')
  assert.ok(rig.changes() > before, 'the end of the last request is reported')
  rig.apply({ members: [leaving.member] })
  await rig.untilUp('leaving')
})

test('a removed instance is listed until its requests end', async (t) => {
  const held: (() => void)[] = []
  const instance = await startInstance(
    t,
    'a',
    (_request, response) => void held.push(() => response.end('late')),
  )
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  const running = fetch(rig.url)
  await waitUntil(() => held.length === 1, 'the request')

  rig.apply({ members: [] })

  assert.equal(rig.member('a')?.inService, false)
  assert.equal(rig.member('a')?.inFlight, 1)
  held[0]?.()
  assert.equal(await (await running).text(), 'late')
  await waitUntil(() => rig.member('a') === undefined, 'the instance to be forgotten')
})

test('requests longer than the drain time are cut off', async (t) => {
  const instance = await startInstance(t, 'a', () => {})
  const rig = await openRig(t, { members: [instance.member] }, { drainMs: 100 })
  await rig.untilUp('a')
  const running = assert.rejects(fetch(rig.url))
  await waitUntil(() => instance.paths.length === 1, 'the request')

  rig.apply({ members: [{ ...instance.member, inService: false }] })

  await running
  await waitUntil(() => rig.member('a')?.inFlight === 0, 'the instance to be released')
})

test('an unchanged listener keeps its connections', async (t) => {
  const instance = await startInstance(t, 'a')
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  const connection = await openRawConnection(t, rig.url)
  connection.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await connection.next()

  for (const id of ['dev:east:shop-front', 'dev:east:another']) {
    rig.apply({ id, members: [instance.member] })
    await rig.untilUp('a')
    connection.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    assert.equal((await connection.next()).body, 'a')
  }
})

test('a removed listener closes its port and drains its requests', async (t) => {
  const held: (() => void)[] = []
  const instance = await startInstance(
    t,
    'a',
    (_request, response) => void held.push(() => response.end('late')),
  )
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  const idle = await openRawConnection(t, rig.url)
  const busy = await openRawConnection(t, rig.url)
  busy.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await waitUntil(() => held.length === 1, 'the request')

  rig.apply({ listeners: [], members: [instance.member] })

  const server = createServer().listen(rig.port, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  await idle.ended
  held[0]?.()
  const answer = await busy.next()
  assert.equal(answer.body, 'late')
  assert.equal(answer.headers['connection'], 'close')
  await busy.ended
})

test('a port in use is reported and opened later', async (t) => {
  const port = await freePort()
  const squatter = createServer().listen(port, '127.0.0.1')
  await once(squatter, 'listening')
  const rig = await openRig(t, { listeners: [{ port }], members: [] }, { firstReopenMs: 20 })
  const [listener] = rig.balancers.observe()[0]?.listeners ?? []
  assert.deepEqual(listener, {
    port,
    open: false,
    reason: `Port ${port} is in use by another program. Stop that, or choose another port.`,
  })

  squatter.close()

  await waitUntil(() => rig.balancers.observe()[0]?.listeners[0]?.open === true, 'the port to open')
  assert.equal(rig.balancers.observe()[0]?.listeners[0]?.reason, undefined)
  assert.equal(rig.lines.filter((line) => line.startsWith('a listener cannot be opened')).length, 1)
})

test('a port belongs to one load balancer', async (t) => {
  const instance = await startInstance(t, 'a')
  const rig = await openRig(t, { members: [instance.member] })
  rig.apply({ members: [instance.member] }, { id: 'second', members: [] })
  await rig.untilUp('a')

  const [first, second] = rig.balancers.observe()

  assert.equal(first?.listeners[0]?.open, true)
  assert.equal(
    second?.listeners[0]?.reason,
    `Port ${rig.port} belongs to the load balancer dev:east:shop-front.`,
  )
  assert.equal(await (await fetch(rig.url)).text(), 'a')
})

const faults: [name: string, listener: object, reason: RegExp][] = [
  [
    'an address that the machine does not have',
    { host: '192.0.2.1' },
    /does not have the address 192\.0\.2\.1/,
  ],
  ['a network that is none', { allowedSources: ['10.0.0.0/33'] }, /10\.0\.0\.0\/33 is no network/],
  ['TLS without a certificate', { protocol: 'https' }, /needs a certificate/],
  [
    'certificate files that are missing',
    {
      protocol: 'https',
      certificate: { certificateFile: '/no/such.pem', keyFile: '/no/such.key' },
    },
    /the file \/no\/such\.pem does not exist/,
  ],
]
for (const [name, listener, reason] of faults) {
  test(`${name} keeps a port closed, with a reason`, async (t) => {
    const rig = await openRig(t, { listeners: [listener], members: [] })

    const [observed] = rig.balancers.observe()[0]?.listeners ?? []

    assert.equal(observed?.open, false)
    assert.match(observed?.reason ?? '', reason)
  })
}

test('only allowed sources may connect', async (t) => {
  const instance = await startInstance(t, 'a')
  const members = [instance.member]
  const rig = await openRig(t, {
    listeners: [{ host: '::', allowedSources: ['127.0.0.0/30', '2001:db8::/32'] }],
    members,
  })
  await rig.untilUp('a')
  const allowed = await openRawConnection(t, rig.url)
  allowed.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  assert.equal((await allowed.next()).status, 200)
  for (const localAddress of ['127.0.0.9', '::1']) {
    const refused = connect({
      port: rig.port,
      host: localAddress === '::1' ? '::1' : '127.0.0.1',
      localAddress,
    })
    refused.on('error', () => {})
    refused.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    refused.on('data', () => assert.fail('a refused source is answered'))
    await once(refused, 'close')
  }

  rig.apply({ listeners: [{ host: '::', allowedSources: ['::1/128'] }], members })

  await allowed.ended
  const now = connect({ port: rig.port, host: '::1' })
  t.after(() => now.destroy())
  now.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(now, 'data')
})

test('connections of a listener are bounded', async (t) => {
  const instance = await startInstance(t, 'a')
  const rig = await openRig(t, { members: [instance.member] }, { maxConnections: 2 })
  await rig.untilUp('a')
  const first = await openRawConnection(t, rig.url)
  const second = await openRawConnection(t, rig.url)
  for (const connection of [first, second]) {
    connection.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await connection.next()
  }

  const third = await openRawConnection(t, rig.url)
  third.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const refused = await third.next()
  assert.equal(refused.status, 503)
  assert.equal(refused.headers['retry-after'], '1')
  await third.ended

  first.socket.destroy()
  await waitUntil(
    async () => (await fetch(rig.url).catch(() => undefined))?.status === 200,
    'room for another connection',
  )
})

test('a certificate is read again when it changes', async (t) => {
  const folder = createFolder('balancer-tls')
  const certificate = {
    certificateFile: join(folder, 'certificate.pem'),
    keyFile: join(folder, 'key.pem'),
  }
  const write = (name: string) => {
    const pair = keyPairOf(name, 'ec')
    for (const [file, text] of [
      [certificate.certificateFile, pair.certificate],
      [certificate.keyFile, pair.keyPem],
    ] as const) {
      writeFileSync(`${file}.new`, text)
      renameSync(`${file}.new`, file)
    }
  }
  write('first')
  const instance = await startInstance(t, 'a', (request, response) =>
    response.end(request.headers['x-forwarded-proto']),
  )
  const listeners = [{ protocol: 'https' as const, certificate }]
  const rig = await openRig(
    t,
    { listeners, members: [instance.member] },
    { certificateCheckMs: 20 },
  )
  await rig.untilUp('a')
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false } })
  t.after(() => dispatcher.destroy())
  const url = rig.url.replace('http:', 'https:')
  const init = { dispatcher } as RequestInit
  assert.equal(await (await fetch(url, init)).text(), 'https')
  assert.equal(await subjectOf(rig.port), 'first')

  writeFileSync(certificate.keyFile, 'no key')
  await waitUntil(
    () => /cannot be used/.test(rig.balancers.observe()[0]?.listeners[0]?.reason ?? ''),
    'the fault to be reported',
  )
  assert.equal(await subjectOf(rig.port), 'first')

  write('second')
  await waitUntil(async () => (await subjectOf(rig.port)) === 'second', 'the new certificate')
  assert.equal(rig.balancers.observe()[0]?.listeners[0]?.reason, undefined)
  assert.equal(await (await fetch(url, init)).text(), 'https')
})

async function subjectOf(port: number): Promise<PeerCertificate['subject']['CN']> {
  const socket: TLSSocket = tlsConnect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { subject } = socket.getPeerCertificate()
  socket.destroy()
  return subject.CN
}

test('nothing is left after close', async (t) => {
  const sockets = new Set<Socket>()
  const instance = await startInstance(t, 'a')
  instance.server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  const rig = await openRig(t, { members: [instance.member] })
  await rig.untilUp('a')
  await (await fetch(rig.url)).text()
  const idle = await openRawConnection(t, rig.url)

  await rig.balancers.close()

  await idle.ended
  await waitUntil(() => sockets.size === 0, 'the connections to the instance to end')
  await assert.rejects(fetch(rig.url))
  assert.deepEqual(rig.balancers.observe(), [])
})
