/** Logs of pods, and programs in their containers. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { KubeClient } from '../../../../packages/providers/kubernetes/api/client.ts'
import { startFakeKubernetes } from '../../../support/fake-kubernetes.ts'
import { startKubernetesInfrastructure } from '../../../support/kubernetes-infrastructure.ts'
import { ownedBy, pod, workload } from '../../../support/kubernetes-objects.ts'

test('logs of the pods of a service (app-scenario 135)', async (t) => {
  const fake = await startFakeKubernetes(t)
  const { backends } = await startKubernetesInfrastructure(t, {
    accounts: [{ name: 'k8s', kubeconfigContents: fake.kubeconfig() }],
  })
  const group = fake.objects.put(
    workload('ReplicaSet', 'shop-web-v000', {
      annotations: ownedBy('shop', 'replicaSet shop-web'),
    }),
  )
  for (const name of ['one', 'two'])
    fake.objects.put(pod(name, group, { annotations: ownedBy('shop', 'replicaSet shop-web') }))
  const time = (second: number) => `2026-01-01T00:00:0${second}.123456789Z`
  fake.logs.set('n1/one/main', `${time(1)} first\n${time(3)} third\n`)
  fake.logs.set('n1/two/main', `${time(2)} second\n`)

  const answer = await fetch(`${backends.url('clouddriver')}/apps/shop/logs?service=web&grep=ir`)
  const lines = (await answer.text()).split('\n').filter(Boolean)

  assert.equal(answer.status, 200, lines.join('\n'))
  assert.deepEqual(
    lines.map((line) => {
      const { at, instance, text } = JSON.parse(line) as Record<string, string>
      return [at, instance, text]
    }),
    [
      ['2026-01-01T00:00:01.123Z', 'pod one', 'first'],
      ['2026-01-01T00:00:03.123Z', 'pod one', 'third'],
    ],
  )
})

test('programs in containers over a WebSocket (app-scenario 135)', async (t) => {
  const { url, asked } = await startExecServer(t)
  const login = { kind: 'none' } as const
  const client = new KubeClient({ server: url, login, namespace: 'default' } as never)
  t.after(() => client.close())
  const run = async (command: readonly string[], input = Buffer.alloc(0)) => {
    const connection = await client.exec({ namespace: 'n1', name: 'one' }, 'main', { command })
    const pieces: Buffer[] = []
    let exit: unknown
    const reading = (async () => {
      for await (const output of connection.output) {
        if (output.kind === 'exit') exit = output.code
        else pieces.push(output.bytes)
      }
    })()
    await connection.send({ kind: 'stdin', bytes: input })
    await connection.send({ kind: 'end' })
    await reading
    return { exit, output: Buffer.concat(pieces) }
  }

  const bytes = randomBytes(300_000)
  const cat = await run(['cat'], bytes)
  assert.deepEqual([cat.exit, cat.output.equals(bytes)], [0, true])
  assert.equal((await run(['sh', '-c', 'exit 7'])).exit, 7)
  assert.match(
    asked[0] ?? '',
    /^\/api\/v1\/namespaces\/n1\/pods\/one\/exec\?container=main&stdin=true&stdout=true&stderr=true&tty=false&command=cat$/,
  )
})

/** The exec endpoint of an API server as its protocol v5 is, with processes of this machine. */
async function startExecServer(t: TestContext) {
  const asked: string[] = []
  const server = createServer()
  server.on('upgrade', (request, socket) => {
    asked.push(request.url ?? '')
    const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
    const accept = createHash('sha1').update(key).digest('base64')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n`,
    )
    const [program = '', ...args] = new URL(request.url ?? '', url).searchParams.getAll('command')
    const child = spawn(program, args)
    child.stdout.on('data', (bytes: Buffer) => send(socket, 1, bytes))
    child.stderr.on('data', (bytes: Buffer) => send(socket, 2, bytes))
    child.on('close', (code) => {
      const failure = {
        status: 'Failure',
        details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
      }
      send(socket, 3, Buffer.from(JSON.stringify(code === 0 ? { status: 'Success' } : failure)))
    })
    void (async () => {
      for await (const [channel, ...content] of messages(socket)) {
        if (channel === 0) child.stdin.write(Buffer.from(content))
        else if (channel === 255 && content[0] === 0) child.stdin.end()
      }
    })().catch(() => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close().closeAllConnections())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, asked }
}

function send(socket: Duplex, channel: number, bytes: Buffer): void {
  const { length } = bytes
  const head = Buffer.alloc(10)
  head.writeUInt8(0x82)
  head.writeUInt8(127, 1)
  head.writeBigUInt64BE(BigInt(length + 1), 2)
  socket.write(Buffer.concat([head, Buffer.from([channel]), bytes]))
}

/** Of a client, which masks them. */
async function* messages(socket: Duplex): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const piece of socket as AsyncIterable<Buffer>) {
    rest = Buffer.concat([rest, piece])
    for (;;) {
      const short = (rest[1] ?? 0) & 0x7f
      const headBytes = short === 126 ? 4 : short === 127 ? 10 : 2
      if (rest.length < headBytes + 4) break
      const size =
        short === 126
          ? rest.readUInt16BE(2)
          : short === 127
            ? Number(rest.readBigUInt64BE(2))
            : short
      const end = headBytes + 4 + size
      if (rest.length < end) break
      const mask = rest.subarray(headBytes, headBytes + 4)
      const payload = rest
        .subarray(headBytes + 4, end)
        .map((byte, at) => byte ^ (mask[at & 3] ?? 0))
      if (((rest[0] ?? 0) & 0x0f) === 2) yield Buffer.from(payload)
      rest = rest.subarray(end)
    }
  }
}
