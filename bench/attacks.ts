/**
 * Attacks a gateway without a session, on many connections: `attacks.ts PORT TLS_PORT CONNECTIONS SECONDS [KIND...]`, one kind after the other. Prints
 * what it sent.
 */
import { connect, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { type AttackKind, attackKinds } from './attack-kinds.ts'

export interface AttackedPorts {
  readonly plain: number
  readonly tls: number
}

const patienceMs = 2000

/** Resolves with the first bytes of the response or the end of the connection, or after two seconds. */
export async function attackOnce(kind: AttackKind, ports: AttackedPorts): Promise<void> {
  const socket = open(kind, ports)
  const { promise, resolve } = Promise.withResolvers<void>()
  const limit = setTimeout(resolve, patienceMs)
  socket.once('data', resolve).once('error', resolve).once('close', resolve)
  socket.write(kind.bytes())
  await promise
  clearTimeout(limit)
  socket.destroy()
}

function open(kind: AttackKind, ports: AttackedPorts): Socket {
  const host = '127.0.0.1'
  if (kind.tls !== undefined) {
    const own = kind.tls === true ? {} : kind.tls
    const socket = connectTls({ host, port: ports.tls, rejectUnauthorized: false, ...own })
    if (kind.renegotiates === true) socket.once('secureConnect', () => renegotiate(socket))
    return socket
  }
  return connect(kind.isHandshake === true ? ports.tls : ports.plain, host)
}

function renegotiate(socket: TLSSocket): void {
  socket.renegotiate({}, (error) => {
    if (error === null) renegotiate(socket)
    else socket.destroy()
  })
}

interface Attackers {
  readonly kinds: readonly AttackKind[]
  readonly ports: AttackedPorts
  readonly endsMs: number
}

async function attack({ kinds, ports, endsMs }: Attackers, first: number): Promise<number> {
  let sent = 0
  for (; performance.now() < endsMs; sent++)
    await attackOnce(kinds[(first + sent) % kinds.length] as AttackKind, ports)
  return sent
}

if (import.meta.main) {
  const [plain = 0, tls = 0, connections = 0, seconds = 0] = process.argv.slice(2).map(Number)
  const endsMs = performance.now() + seconds * 1000
  const names = process.argv.slice(6)
  const kinds = attackKinds.filter(({ name }) => names.length === 0 || names.includes(name))
  const sent = await Promise.all(
    Array.from({ length: connections }, (_, index) =>
      attack({ kinds, ports: { plain, tls }, endsMs }, index),
    ),
  )
  console.log(sent.reduce((sum, count) => sum + count, 0))
}
