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
  return known.getOrInsertComputed(raw.socket, (socket) =>
    readFrom(socket as Socket & Partial<TLSSocket>),
  )
}

/** What OpenSSL says where there is no certificate, and of an authority of the operator without its own issuer. */
const missing = 'UNABLE_TO_GET_ISSUER_CERT'

function readFrom(socket: Socket & Partial<TLSSocket>): ConnectionCertificate {
  if (socket.encrypted !== true) return { kind: 'none' }
  const { authorized, authorizationError } = socket
  // An untrusted certificate shows an owner as well: only these two say whether the authorities stand behind it.
  const isRefused = authorized !== true || authorizationError != null
  // A stranger may send hundreds of certificates, and reading one copies all of them.
  if (isRefused && authorizationError != null && String(authorizationError) !== missing)
    return refusedFor(authorizationError)
  const x509 = socket.getPeerX509Certificate?.()
  if (x509 === undefined) return { kind: 'none' }
  if (isRefused) return refusedFor(authorizationError)
  try {
    return { kind: 'verified', certificate: readCertificate(x509) }
  } catch (error) {
    if (!(error instanceof DerError)) throw error
    return { kind: 'refused', reason: `the certificate is malformed: ${error.message}` }
  }
}

function refusedFor(reason: Error | string | null | undefined): ConnectionCertificate {
  return { kind: 'refused', reason: `TLS refused the certificate: ${String(reason)}` }
}
