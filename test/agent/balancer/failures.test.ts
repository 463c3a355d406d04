import assert from 'node:assert/strict'
import { Agent, type IncomingMessage, request as nodeRequest } from 'node:http'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../../support/free-port.ts'
import { openRawConnection } from '../../support/raw-connection.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { openRig, startInstance, startProcess, startRawInstance } from './support.ts'

const tcpCheck = { kind: 'tcp', intervalMs: 60_000 } as const

/** As long as the slowest machine needs to start a process. */
const longOutage = { outageMs: 600_000 }

for (const keepAlive of [true, false]) {
  test(`no idempotent request fails while instances are killed, ${keepAlive ? 'with' : 'without'} keep-alive`, async (t) => {
    const names = ['one', 'other']
    const processes = await Promise.all(names.map((name) => startProcess(t, name)))
    const rig = await openRig(t, { members: processes.map(({ member }) => member) }, longOutage)
    await rig.untilUp(...names)
    const agent = new Agent({ keepAlive })
    t.after(() => agent.destroy())
    const answered = new Map<string, number>()
    let isOver = false
    const ask = async () => {
      while (!isOver) {
        const name = await askOnce(rig.url, agent)
        answered.set(name, (answered.get(name) ?? 0) + 1)
        // Instances that start need the processor, too.
        await pause(3)
      }
    }
    const load = Promise.all(Array.from({ length: 12 }, ask))

    for (const killed of [[0], [1], [0, 1]]) {
      const before = new Map(answered)
      const hasAnswered = (name: string) => (answered.get(name) ?? 0) > (before.get(name) ?? 0) + 20
      await waitUntil(() => names.every(hasAnswered), 'the instances to answer under load')
      await Promise.all(killed.map((index) => processes[index]?.kill()))
      for (const index of killed) {
        processes[index] = await startProcess(
          t,
          names[index] as string,
          processes[index]?.member.port,
        )
      }
    }

    await rig.untilUp(...names)
    isOver = true
    await load
  })
}

/** Rejects for every answer but 200. */
function askOnce(url: string, agent: Agent): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const sent = nodeRequest(url, { agent }, (answer: IncomingMessage) => {
    answer.toArray().then((pieces) => {
      if (answer.statusCode === 200) resolve(Buffer.concat(pieces).toString())
      else reject(new Error(`${answer.statusCode}: ${Buffer.concat(pieces)}`))
    }, reject)
  })
  sent.on('error', reject)
  sent.end()
  return promise
}

/** An instance that closes its connections at the first request. */
const hangUp = (requests: string[]) => (socket: Socket) => {
  socket.on('data', (chunk: Buffer) => {
    requests.push(chunk.toString().split(' ')[0] ?? '')
    socket.destroy()
  })
}

const methods: [method: string, body: string | undefined, status: number][] = [
  ['GET', undefined, 200],
  ['HEAD', undefined, 200],
  ['DELETE', undefined, 200],
  ['PUT', 'small', 200],
  ['POST', 'small', 502],
  ['PATCH', undefined, 502],
]
for (const [method, body, status] of methods) {
  test(`${method} to an instance that hangs up ends with ${status}`, async (t) => {
    const requests: string[] = []
    const broken = await startRawInstance(t, 'broken', hangUp(requests))
    const sound = await startInstance(
      t,
      'sound',
      (request, response) => void request.pipe(response),
    )
    const rig = await openRig(t, { members: [sound.member, broken.member], healthCheck: tcpCheck })
    await rig.untilUp('broken', 'sound')

    for (let count = 0; requests.length === 0; count++) {
      assert.ok(count < 4)
      const answer = await fetch(rig.url, { method, ...(body !== undefined && { body }) })
      const text = await answer.text()
      assert.equal(answer.status, requests.length === 0 ? 200 : status)
      if (answer.status === 200 && method !== 'HEAD') assert.equal(text, body ?? '')
    }

    assert.deepEqual(requests, [method])
  })
}

test('after a refused connection another instance gets the request', async (t) => {
  const gone = await startProcess(t, 'gone')
  const sound = await startInstance(t, 'sound', (request, response) => void request.pipe(response))
  const rig = await openRig(t, {
    members: [sound.member, gone.member],
    healthCheck: { intervalMs: 60_000, healthyThreshold: 10 },
  })
  await rig.untilUp('gone', 'sound')
  await gone.kill()

  for (let count = 0; count < 3; count++) {
    const answer = await fetch(rig.url, {
      method: 'POST',
      body: new Blob(['posted']).stream(),
      duplex: 'half',
    })
    assert.equal(await answer.text(), 'posted')
  }

  assert.equal(rig.member('gone')?.health, 'down')
  assert.match(rig.member('gone')?.reason ?? '', /nothing listens/)
  await startProcess(t, 'gone', gone.member.port)
  await rig.untilUp('gone', 'sound')
})

test('a request that reaches no instance ends with 503, whatever its method', async (t) => {
  const gone = await startProcess(t, 'gone')
  const rig = await openRig(t, { members: [gone.member], healthCheck: { intervalMs: 60_000 } })
  await rig.untilUp('gone')
  await gone.kill()

  const answer = await fetch(rig.url, { method: 'POST', body: 'x' })

  assert.equal(answer.status, 503)
  assert.equal(answer.headers.get('retry-after'), '30')
})

test('a kept connection that the instance closes costs no request', async (t) => {
  let count = 0
  const instance = await startRawInstance(t, 'a', (socket) => {
    socket.once('data', () => {
      count++
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na')
      // The next request on this connection meets an end.
      socket.once('data', () => socket.destroy())
    })
  })
  const rig = await openRig(t, { members: [instance.member], healthCheck: tcpCheck })
  await rig.untilUp('a')

  for (let sent = 1; sent <= 5; sent++) {
    assert.equal(await (await fetch(rig.url)).text(), 'a')
    assert.equal(count, sent)
  }
})

test('a request that must not be repeated takes no old connection', async (t) => {
  const instance = await startInstance(
    t,
    'a',
    (request, response) => void request.resume().on('end', () => response.end()),
  )
  const rig = await openRig(
    t,
    { members: [instance.member], healthCheck: tcpCheck },
    { freshMs: -1 },
  )
  await rig.untilUp('a')
  await (await fetch(rig.url)).text()
  const before = instance.connections()

  await (await fetch(rig.url, { method: 'POST' })).text()

  assert.equal(instance.connections(), before + 1)
})

test('attempts are bounded', async (t) => {
  const requests: string[] = []
  const broken = await Promise.all(
    ['a', 'b', 'c', 'd'].map((name) => startRawInstance(t, name, hangUp(requests))),
  )
  const rig = await openRig(
    t,
    { members: broken.map(({ member }) => member), healthCheck: tcpCheck },
    { maxAttempts: 3 },
  )
  await rig.untilUp('a', 'b', 'c', 'd')

  const answer = await fetch(rig.url)

  assert.equal(answer.status, 502)
  assert.match(await answer.text(), /closed the connection before it answered/)
  assert.equal(requests.length, 3)
})

test('a response that is cut off does not look complete', async (t) => {
  const heads = ['Content-Length: 100000\r\n\r\n', 'Transfer-Encoding: chunked\r\n\r\n5\r\n']
  for (const [index, head] of heads.entries()) {
    const instance = await startRawInstance(t, 'a', (socket) => {
      socket.once(
        'data',
        () => void socket.write(`HTTP/1.1 200 OK\r\n${head}start`, () => socket.destroy()),
      )
    })
    const rig = await openRig(t, {
      id: `lb-${index}`,
      members: [instance.member],
      healthCheck: tcpCheck,
    })
    await rig.untilUp('a')
    const answer = await fetch(rig.url)
    await assert.rejects(answer.text())
    await waitUntil(() => rig.member('a')?.inFlight === 0, 'the request to end')
  }
})

for (const [method, status] of [
  ['GET', 200],
  ['POST', undefined],
] as const) {
  test(`${method}: a small response that is cut off ${status === 200 ? 'comes from another instance' : 'stays cut off'}`, async (t) => {
    const broken = await startRawInstance(t, 'broken', (socket) => {
      socket.once(
        'data',
        () =>
          void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbeg', () =>
            socket.destroy(),
          ),
      )
    })
    const sound = await startInstance(t, 'sound')
    const rig = await openRig(t, { members: [broken.member, sound.member], healthCheck: tcpCheck })
    await rig.untilUp('broken', 'sound')

    const answers = await Promise.all(
      [1, 2].map(async () => (await fetch(rig.url, { method })).text().catch(() => 'cut off')),
    )

    assert.equal(answers.filter((answer) => answer === 'sound').length, status === 200 ? 2 : 1)
  })
}

test('a body that was partly passed on goes to another instance', async (t) => {
  let lost = ''
  const broken = await startRawInstance(t, 'broken', (socket) => {
    socket.on('data', (piece: Buffer) => {
      lost += piece.toString()
      if (!lost.includes('first')) return
      broken.server.close()
      socket.destroy()
    })
  })
  const sound = await startInstance(t, 'sound', (request, response) => void request.pipe(response))
  const members = [broken.member, { ...sound.member, inService: false }]
  const rig = await openRig(t, { members, healthCheck: tcpCheck }, longOutage)
  await rig.untilUp('broken')
  const connection = await openRawConnection(t, rig.url)

  connection.send('PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n')
  await waitUntil(() => lost.includes('first'), 'the beginning at the instance')
  rig.apply({ members: [sound.member], healthCheck: tcpCheck })
  connection.send('7\r\n second\r\n0\r\n\r\n')

  assert.equal((await connection.next()).body, 'first second')
})

test('the only instance gets a request again that it has lost', async (t) => {
  let count = 0
  const instance = await startRawInstance(t, 'a', (socket) => {
    socket.once('data', () => {
      if (++count < 3) socket.destroy()
      else socket.end('HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na')
    })
  })
  const rig = await openRig(
    t,
    { members: [instance.member], healthCheck: tcpCheck },
    { firstRepeatMs: 1 },
  )
  await rig.untilUp('a')

  assert.equal(await (await fetch(rig.url)).text(), 'a')
  assert.equal(count, 3)
})

test('more refusals than attempts cost no request', async (t) => {
  const gone = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => startInstance(t, name)))
  const sound = await startInstance(t, 'sound', (request, response) => void request.pipe(response))
  const members = [...gone, sound].map(({ member }) => member)
  const rig = await openRig(t, { members, healthCheck: tcpCheck }, { maxAttempts: 2 })
  await rig.untilUp(...members.map(({ instanceId }) => instanceId))
  for (const { server } of gone) {
    server.close()
    server.closeAllConnections()
  }

  const answers = await Promise.all(
    ['GET', 'PUT', 'POST'].map((method) =>
      fetch(rig.url, { method, ...(method !== 'GET' && { body: method }) }),
    ),
  )

  assert.deepEqual(await Promise.all(answers.map((answer) => answer.text())), ['', 'PUT', 'POST'])
})

test('requests wait while there is no healthy instance', async (t) => {
  const gone = await startProcess(t, 'a')
  const rig = await openRig(t, { members: [gone.member] }, longOutage)
  await rig.untilUp('a')
  await gone.kill()
  const bodies = [() => undefined, () => 'small', () => new Blob(['streamed']).stream()]
  const requests = ['PUT', 'POST', 'DELETE'].flatMap((method) =>
    bodies.map((body): RequestInit => ({ method, duplex: 'half', body: body() ?? null })),
  )

  // More than take their turn at once.
  const waiting = [...requests, ...Array.from({ length: 100 }, () => ({}))].map((init) =>
    fetch(rig.url, init),
  )
  await waitUntil(() => rig.member('a')?.health === 'down', 'the refusal to be noted')
  await startProcess(t, 'a', gone.member.port)

  const answers = await Promise.all(waiting)
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
})

test('requests of clients that have gone away do not wait', async (t) => {
  const port = await freePort()
  const members = [{ instanceId: 'a', host: '127.0.0.1', port, inService: true }]
  const rig = await openRig(t, { members }, longOutage)
  const left = await openRawConnection(t, rig.url)
  left.send('GET /left HTTP/1.1\r\nHost: a\r\n\r\n')
  const waits = fetch(`${rig.url}/waits`)
  const later = await openRawConnection(t, rig.url)
  later.send('GET nothing HTTP/1.1\r\nHost: a\r\n\r\n')
  assert.equal((await later.next()).status, 400)
  left.socket.destroy()
  await left.ended
  const instance = await startInstance(t, 'a', undefined, port)

  assert.equal(await (await waits).text(), 'a')
  await (await fetch(rig.url)).text()
  assert.ok(!instance.paths.includes('/left'))
})

const ends: [name: string, bounds: object, apply: object | undefined][] = [
  ['an outage that lasts', { outageMs: 300 }, undefined],
  ['too many that wait', { ...longOutage, maxWaiting: 0 }, undefined],
  ['a load balancer without instances', longOutage, { members: [] }],
]
for (const [name, bounds, wish] of ends) {
  test(`${name} ends waiting requests with 503`, async (t) => {
    const members = [
      { instanceId: 'a', host: '127.0.0.1', port: await freePort(), inService: true },
    ]
    const rig = await openRig(t, { members }, bounds)
    const waiting = ['GET', 'POST'].map((method) =>
      fetch(rig.url, { method, ...(method === 'POST' && { body: 'x' }) }),
    )
    await waitUntil(
      () => rig.member('a')?.reason?.includes('nothing listens') === true,
      'a health check',
    )
    if (wish !== undefined) rig.apply({ members: [] })

    assert.deepEqual(
      (await Promise.all(waiting)).map(({ status }) => status),
      [503, 503],
    )
  })
}

test('without a healthy instance, those get requests that fail their health checks', async (t) => {
  const [one, other] = await Promise.all(['one', 'other'].map((name) => startInstance(t, name)))
  const failing = new Set([one, other])
  for (const instance of [one, other]) {
    instance!.server.removeAllListeners('request').on('request', (request, response) => {
      response
        .writeHead(request.url === '/health' && failing.has(instance) ? 500 : 200)
        .end(instance!.member.instanceId)
    })
  }
  failing.clear()
  const rig = await openRig(t, { members: [one!.member, other!.member] })
  await rig.untilUp('one', 'other')
  const answers = async () => {
    const texts = await Promise.all([1, 2, 3, 4].map(async () => (await fetch(rig.url)).text()))
    return [...new Set(texts)].sort().join()
  }

  failing.add(one)
  await rig.untilUp('other')
  assert.equal(await answers(), 'other')
  failing.add(other)
  await waitUntil(() => rig.member('other')?.health === 'down', 'the last one to be down')
  assert.equal(await answers(), 'one,other')
  failing.delete(one)
  await rig.untilUp('one')
  assert.equal(await answers(), 'one')
})

test('an instance that is silent is given up with 504', async (t) => {
  const instance = await startInstance(t, 'a', () => {})
  const rig = await openRig(t, { members: [instance.member] }, { instanceStallMs: 100 })
  await rig.untilUp('a')

  const answer = await fetch(rig.url)

  assert.equal(answer.status, 504)
  assert.equal(instance.paths.length, 1)
  assert.equal(rig.member('a')?.inFlight, 0)
})

const slowClients: [name: string, text: string, status: number][] = [
  ['headers', 'GET / HTTP/1.1\r\nHost: a\r\nX-Slow', 408],
  ['a small body', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab', 408],
  [
    'a streamed body',
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n',
    408,
  ],
]
for (const [name, text, status] of slowClients) {
  test(`a client that does not finish ${name} is given up`, async (t) => {
    const instance = await startInstance(
      t,
      'a',
      (request, response) => void request.resume().on('end', () => response.end()),
    )
    const rig = await openRig(
      t,
      { members: [instance.member] },
      { clientStallMs: 100, headersMs: 100 },
    )
    await rig.untilUp('a')
    const connection = await openRawConnection(t, rig.url)

    connection.send(text)

    assert.equal((await connection.next()).status, status)
    await connection.ended
    await waitUntil(() => rig.member('a')?.inFlight === 0, 'the instance to be released')
  })
}

test('a client that does not read its response is given up', async (t) => {
  const instance = await startInstance(
    t,
    'a',
    (_request, response) => void response.end(Buffer.alloc(32 * 1024 * 1024)),
  )
  const rig = await openRig(t, { members: [instance.member] }, { clientStallMs: 200 })
  await rig.untilUp('a')
  const connection = await openRawConnection(t, rig.url)
  connection.socket.pause()

  connection.send('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await waitUntil(() => instance.paths.length === 1, 'the request')

  await waitUntil(() => rig.member('a')?.inFlight === 0, 'the instance to be released')
  connection.socket.resume()
  await connection.ended
})

test('bodies beyond the bound for replay are streamed', async (t) => {
  const sizes: number[] = []
  const instance = await startInstance(t, 'a', (request, response) => {
    request.once('data', (piece: Buffer) => void sizes.push(piece.length))
    request.on('end', () => response.end())
  })
  const rig = await openRig(t, { members: [instance.member] }, { maxReplayTotalBytes: 4 })
  await rig.untilUp('a')
  const connection = await openRawConnection(t, rig.url)

  connection.send('PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\nabcd')
  await waitUntil(() => sizes.length === 1, 'the first half at the instance')
  connection.send('efgh')

  assert.equal((await connection.next()).status, 200)
  assert.deepEqual(sizes, [4])
})

const checks = [
  ['unhealthyThreshold', { unhealthyThreshold: 3, healthyThreshold: 1 }, 3],
  ['healthyThreshold', { unhealthyThreshold: 1, healthyThreshold: 4 }, 4],
] as const
for (const [name, thresholds, count] of checks) {
  test(`${name} counts consecutive checks`, async (t) => {
    const isRise = name === 'healthyThreshold'
    let isHealthy = true
    let checksSince = 0
    const instance = await startInstance(t, 'a')
    instance.server.removeAllListeners('request').on('request', (_request, response) => {
      checksSince++
      response.writeHead(isHealthy ? 200 : 500).end()
    })
    const rig = await openRig(t, { members: [instance.member], healthCheck: thresholds })
    await rig.untilUp('a')
    const goTo = async (healthy: boolean) => {
      isHealthy = healthy
      checksSince = 0
      await waitUntil(
        () => rig.member('a')?.health === (healthy ? 'up' : 'down'),
        'the health to change',
      )
      return checksSince
    }

    let checksNeeded = await goTo(false)
    assert.match(rig.member('a')?.reason ?? '', /status 500/)
    if (isRise) checksNeeded = await goTo(true)

    // One more check may have begun before the state was looked at.
    assert.ok(checksNeeded >= count, `${checksNeeded} checks`)
  })
}

test('a new instance is down, with a reason, until one success', async (t) => {
  const port = await freePort()
  const member = { instanceId: 'a', host: '127.0.0.1', port, inService: true }
  const rig = await openRig(t, {
    members: [member],
    healthCheck: { intervalMs: 60_000, healthyThreshold: 10 },
  })
  await waitUntil(() => /nothing listens/.test(rig.member('a')?.reason ?? ''), 'a reason')
  assert.equal(rig.member('a')?.health, 'starting')

  await startProcess(t, 'a', port)

  await rig.untilUp('a')
  assert.equal(rig.member('a')?.reason, undefined)
})
