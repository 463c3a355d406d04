/** The client certificate of a TLS connection, verified by the handshake. */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { type Certificate, readCertificate } from './certificate.ts'
import { DerError } from './der.ts'

export type ConnectionCertificate =
  | { kind: 'none' }
  | { kind: 'refused'; reason: string }
  | { kind: 'verified'; certificate: Certificate }

/** A connection keeps its certificate, so that it is read once. */
const known = new WeakMap<Socket, ConnectionCertificate>()

export function clientCertificateOf(raw: Pick<IncomingMessage, 'socket'>): ConnectionCertificate {
  const cached = known.get(raw.socket)
  if (cached !== undefined) return cached
  const found = readFrom(raw.socket as Socket & Partial<TLSSocket>)
  known.set(raw.socket, found)
  return found
}

function readFrom(socket: Socket & Partial<TLSSocket>): ConnectionCertificate {
  const x509 = socket.encrypted === true ? socket.getPeerX509Certificate?.() : undefined
  if (x509 === undefined) return { kind: 'none' }
  // An untrusted certificate shows an owner as well: only these two say whether the authorities stand behind it.
  if (socket.authorized !== true || socket.authorizationError != null) {
    return { kind: 'refused', reason: `TLS refused the certificate: ${String(socket.authorizationError)}` }
  }
  try {
    return { kind: 'verified', certificate: readCertificate(x509) }
  } catch (error) {
    if (!(error instanceof DerError)) throw error
    return { kind: 'refused', reason: `the certificate is malformed: ${error.message}` }
  }
}
