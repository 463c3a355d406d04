/** Programs in containers for tests, beside an API server. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { request as passOn } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TestContext } from 'node:test'

interface Behind {
  readonly server: string
  /** PEM file. */
  readonly caFile: string
}

/**
 * The exec endpoint of an API server as its protocol v5 is, with processes of this machine: kubelets speak SPDY, and there is none.
 *
 * @param behind An API server that answers everything else
 */
export async function startExecServer(t: TestContext, behind?: Behind) {
  const asked: string[] = []
  const ca = behind === undefined ? undefined : readFileSync(behind.caFile)
  const server = createServer((request, response) => {
    if (behind === undefined) return response.writeHead(404).end()
    const { method, headers } = request
    const passed = passOn(`${behind.server}${request.url}`, { method, headers, ca }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      // Watches begin with their headers.
      response.flushHeaders()
      answer.pipe(response)
    })
    passed.on('error', () => response.destroy())
    response.on('close', () => passed.destroy())
    return request.pipe(passed)
  })
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
