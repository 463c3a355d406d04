/** Reaches into sockets and servers of Node: what no public property tells, or no public method does. */
import type { IncomingMessage } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

type Inside = {
  readonly _handle?: { readonly writeQueueSize?: number; readonly fd?: number } | null
}

/**
 * Bytes of an answer that the system has not taken yet: a large answer with TLS is one write, which moves although the socket notices nothing.
 * Node's own time-outs of connections without TLS go by the same figure.
 *
 * @param carrier The socket beneath TLS; the same without.
 * @returns with `isExact` false where Node does not tell: then what the socket holds, which stands still during a write
 */
export function unsentBytes(socket: Socket, carrier: Socket): { bytes: number; isExact: boolean } {
  const queued = (carrier as Inside)._handle?.writeQueueSize
  return queued === undefined
    ? { bytes: socket.writableLength, isExact: false }
    : { bytes: queued, isExact: true }
}

/**
 * The socket beneath TLS, which alone knows its address once TLS has ended the connection.
 *
 * @param among Where Node does not tell, it is looked for by address and port; undefined if that fails, too.
 */
export function carrierOf(socket: TLSSocket, among: Iterable<Socket> = []): Socket | undefined {
  const {
    _parent: parent,
    remoteAddress,
    remotePort,
  } = socket as TLSSocket & { readonly _parent?: Socket }
  if (parent !== undefined) return parent
  if (remotePort === undefined) return undefined
  for (const one of among)
    if (one.remotePort === remotePort && one.remoteAddress === remoteAddress) return one
  return undefined
}

/** The descriptor of a listening socket, for a process that inherits it; undefined where Node does not tell: the port is opened again then. */
export function descriptorOf(server: NetServer): number | undefined {
  return (server as Inside)._handle?.fd
}

/**
 * Accepts no more connections. Unlike `close` of HTTP servers, this leaves idle ones, on which a request may be under way. It is the method of
 * the class that they extend, so it cannot be missing; a Node whose HTTP servers extend another class would throw.
 */
export function stopAccepting(server: NetServer, onClosed?: () => void): void {
  NetServer.prototype.close.call(server, onClosed)
}

/** Calls `end` where Node would end a connection after its last answer. Should Node end it otherwise, a client that still sends is reset. */
export function replaceEnd(socket: Socket, end: (destroySoon: () => void) => void): void {
  const destroySoon = socket.destroySoon.bind(socket)
  const replaced = () => end(destroySoon)
  socket.destroySoon = replaced
}

/**
 * Shows each chunk of a body as the parser finds it, before any reader has its turn. Should Node no longer call `push`, all chunks are accepted.
 *
 * @param accepts Whether the reader gets the chunk.
 */
export function filterChunks(request: IncomingMessage, accepts: (chunk: Buffer) => boolean): void {
  const push = request.push.bind(request)
  const filtered = (chunk: Buffer | null, encoding?: BufferEncoding) =>
    chunk === null || accepts(chunk) ? push(chunk, encoding) : true
  request.push = filtered
}

/**
 * Shows data before its listeners, which get what `take` returns; what that throws ends the connection. Should Node no longer call `emit` for
 * data, nothing is screened: the listeners get all of it.
 */
export function screenData(
  socket: Socket,
  take: (data: Buffer) => Iterable<Buffer>,
  onFault: (error: Error) => void,
): void {
  const emit = socket.emit.bind(socket) as (event: string | symbol, ...values: unknown[]) => boolean
  const screened = (event: string | symbol, ...values: unknown[]): boolean => {
    if (event !== 'data') return emit(event, ...values)
    try {
      for (const part of take(values[0] as Buffer)) if (!socket.destroyed) emit('data', part)
    } catch (error) {
      onFault(error as Error)
      socket.destroy(error as Error)
    }
    return true
  }
  socket.emit = screened
}
