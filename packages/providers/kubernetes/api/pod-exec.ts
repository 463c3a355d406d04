/** Programs in containers: the exec endpoint of the API server, over a WebSocket. */

import type { Duplex } from 'node:stream'
import { fieldAt, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import type {
  ExecConnection,
  ExecInput,
  ExecOutput,
  ExecRequest,
} from '@fairlead/base/net/exec-frames.ts'
import { WebSocketClient } from './web-socket.ts'

/** @see https://kubernetes.io/blog/2024/08/20/websockets-transition/ */
export const execProtocol = 'v5.channel.k8s.io'

const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const
const pieceBytes = 32 * 1024

export function execQuery(container: string, { command, terminal }: ExecRequest): string {
  const usual = terminal === undefined ? ['/bin/sh'] : ['/bin/sh', '-i']
  const given = command.length === 0 ? usual : command
  const hasTerminal = terminal !== undefined
  return new URLSearchParams([
    ['container', container],
    ['stdin', 'true'],
    ['stdout', 'true'],
    // A terminal has one stream.
    ['stderr', String(!hasTerminal)],
    ['tty', String(hasTerminal)],
    ...given.map((word) => ['command', word]),
  ]).toString()
}

export function toExecConnection(connection: Duplex, { terminal }: ExecRequest): ExecConnection {
  const socket = new WebSocketClient(connection)
  const send = (input: ExecInput) => sendInput(socket, input)
  if (terminal !== undefined) void send({ kind: 'resize', size: terminal })
  return { output: readOutput(socket), send, close: () => socket.close() }
}

async function* readOutput(socket: WebSocketClient): AsyncGenerator<ExecOutput> {
  for await (const message of socket.messages()) {
    const [channel] = message
    const bytes = message.subarray(1)
    if (channel === channels.stdout && bytes.length > 0) yield { kind: 'stdout', bytes }
    if (channel === channels.stderr && bytes.length > 0) yield { kind: 'stderr', bytes }
    if (channel !== channels.error) continue
    yield toExit(JSON.parse(String(bytes)))
    socket.close()
    return
  }
}

function toExit(status: unknown): Extract<ExecOutput, { kind: 'exit' }> {
  if (fieldAt(status, 'status') === 'Success') return { kind: 'exit', code: 0 }
  const causes = objectsOf(fieldAt(status, 'details', 'causes'))
  const code = causes.find(({ reason }) => reason === 'ExitCode')?.['message']
  if (code !== undefined) return { kind: 'exit', code: Number(code) }
  const reason = textOf(fieldAt(status, 'message')) ?? 'The program could not be run.'
  if (/not found|no such file/i.test(reason)) return { kind: 'exit', code: 127, reason }
  return { kind: 'exit', code: /permission denied/i.test(reason) ? 126 : 125, reason }
}

async function sendInput(socket: WebSocketClient, input: ExecInput): Promise<void> {
  switch (input.kind) {
    case 'stdin':
      for (let at = 0; at < input.bytes.length; at += pieceBytes)
        await send(socket, channels.stdin, input.bytes.subarray(at, at + pieceBytes))
      return
    case 'end':
      return send(socket, channels.close, Buffer.from([channels.stdin]))
    case 'resize': {
      const { rows, columns } = input.size
      return send(
        socket,
        channels.resize,
        Buffer.from(JSON.stringify({ Width: columns, Height: rows })),
      )
    }
    case 'signal':
      // The API server passes none on: the end of the connection ends the program.
      return socket.close()
  }
}

function send(socket: WebSocketClient, channel: number, bytes: Buffer): Promise<void> {
  return socket.send(Buffer.concat([Buffer.from([channel]), bytes]))
}
