/** The other end of `exec.ts`: a program of an agent's instance as streams. */
import type { Duplex } from 'node:stream'
import {
  type ExecConnection,
  type ExecInput,
  type ExecOutput,
  type ExecRequest,
  execProtocol,
  formatFrame,
  formatJsonFrame,
  readFrames,
  written,
} from '@fairlead/base/net/exec-frames.ts'
import { http } from '@fairlead/base/runtime/node-http.ts'

const pieceBytes = 64 * 1024

/** @throws {Error} when no agent answers */
export async function openExec({
  socketPath,
  path,
  request,
}: {
  readonly socketPath: string
  readonly path: string
  readonly request: ExecRequest
}): Promise<ExecConnection> {
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>()
  const headers = { connection: 'Upgrade', upgrade: execProtocol }
  const sent = http.request({ socketPath, method: 'GET', path, headers, agent: false })
  sent.once('error', reject)
  sent.once('response', ({ statusCode }) =>
    reject(new Error(`the agent answers ${path} with ${statusCode}`)),
  )
  sent.once('upgrade', (_answer, connection, head) => {
    if (head.length > 0) connection.unshift(head)
    resolve(connection)
  })
  sent.end()
  const connection = await promise
  connection.on('error', () => connection.destroy())
  connection.write(formatJsonFrame(request))
  return {
    output: readOutput(connection),
    send: (input) => sendInput(connection, input),
    close: () => connection.destroy(),
  }
}

async function* readOutput(connection: Duplex): AsyncGenerator<ExecOutput> {
  for await (const { channel, bytes } of readFrames(connection)) {
    if (channel === 'stdout' || channel === 'stderr') yield { kind: channel, bytes }
    if (channel !== 'json') continue
    const { exit, reason } = JSON.parse(String(bytes)) as { exit: number; reason?: string }
    yield { kind: 'exit', code: exit, reason }
    return
  }
}

async function sendInput(connection: Duplex, input: ExecInput): Promise<void> {
  for (const frame of toFrames(input)) await written(connection, frame)
}

function toFrames(input: ExecInput): Buffer[] {
  switch (input.kind) {
    case 'stdin':
      return Array.from({ length: Math.ceil(input.bytes.length / pieceBytes) }, (_, index) =>
        formatFrame('stdin', input.bytes.subarray(index * pieceBytes, (index + 1) * pieceBytes)),
      )
    case 'end':
      return [formatJsonFrame({ end: true })]
    case 'resize':
      return [formatJsonFrame({ resize: input.size })]
    case 'signal':
      return [formatJsonFrame({ signal: input.name })]
  }
}
