/** Client certificates that a trusted proxy hands on in a header, in the spellings that proxies have. */
import type { IncomingMessage } from 'node:http'
import { nameKey } from '../../distinguished-name.ts'
import { type Certificate, readCertificate } from '../../http/tls/certificate.ts'
import type { ConnectionCertificate } from '../../http/tls/client-certificate.ts'
import { DerError } from '../../http/tls/der.ts'
import { findRevocation, type Revocations } from '../../http/tls/revocation.ts'

const envoyHeader = 'x-forwarded-client-cert'
const clientUsages = ['1.3.6.1.5.5.7.3.2', '2.5.29.37.0']

export interface ProxyTrust {
  readonly authorities: readonly Certificate[]
  readonly revocations: Revocations
}

/** @param header In lower case. The caller has made sure that the proxy is trusted. @param now Milliseconds since the epoch */
export function readProxyCertificate(
  raw: Pick<IncomingMessage, 'headers' | 'rawHeaders'>,
  header: string,
  trust: ProxyTrust,
  now: number,
): ConnectionCertificate {
  const values = raw.rawHeaders.filter((_value, index) => index % 2 === 1 && raw.rawHeaders[index - 1]?.toLowerCase() === header)
  const [value = ''] = values
  // A second header is what a client sent and the proxy should have removed.
  if (values.length > 1) return { kind: 'refused', reason: `the header ${header} stands there more than once` }
  if (value === '' || value === '-' || value === '(null)') return { kind: 'none' }
  try {
    const certificate = readCertificate(header === envoyHeader ? decodeEnvoy(value) : decode(value))
    const reason = findObjection(certificate, trust, now)
    return reason === undefined ? { kind: 'verified', certificate } : { kind: 'refused', reason }
  } catch (error) {
    if (!(error instanceof DerError)) throw error
    return { kind: 'refused', reason: `the header ${header} holds no usable certificate: ${error.message}` }
  }
}

/** PEM, with its line ends escaped or folded, or the bare base64 of the first of several certificates. */
function decode(value: string): Buffer {
  const text = value.includes('%') ? decodePercent(value) : value
  const pem = /-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----/.exec(text)?.[1]
  const base64 = (pem ?? text.split(',', 1)[0] ?? '').replaceAll(/\s+/g, '')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) throw new DerError('it is neither PEM nor base64')
  return Buffer.from(base64, 'base64')
}

function decodePercent(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    throw new DerError('its percent encoding is broken')
  }
}

const envoyPair = /([A-Za-z]+)=("(?:[^"\\]|\\.)*"|[^;,"]*)(?:;|$)/y

/** `Hash=…;Cert="…";Subject="…"`, one element for each proxy that the request has passed. */
function decodeEnvoy(value: string): Buffer {
  const certificates: string[] = []
  for (envoyPair.lastIndex = 0; envoyPair.lastIndex < value.length; ) {
    const [, name = '', text = ''] = envoyPair.exec(value) ?? []
    // Earlier elements are what was sent to the proxy; only one that sets the header itself vouches for it.
    if (name === '') throw new DerError('it is not one single element; have the last proxy replace what was there')
    if (name.toLowerCase() === 'cert') certificates.push(text.replaceAll('"', ''))
  }
  const [certificate] = certificates
  if (certificate === undefined || certificates.length > 1) throw new DerError('it has no Cert; have the proxy pass it on')
  return decode(certificate)
}

/**
 * Whether an authority of the trust store issued the certificate directly, and it still counts. Authorities in between
 * belong into the trust store, so that no chain has to be followed here.
 */
export function findObjection(
  certificate: Certificate,
  { authorities, revocations }: ProxyTrust,
  now: number,
): string | undefined {
  const { x509 } = certificate
  if (now < certificate.notBeforeMs) return 'the certificate is not valid yet'
  if (now > certificate.notAfterMs) return 'the certificate has expired'
  if (x509.ca) return 'the certificate is that of an authority'
  if (x509.keyUsage !== undefined && !clientUsages.some((usage) => x509.keyUsage.includes(usage))) {
    return 'the certificate is not meant for clients'
  }
  const issuer = authorities.find((authority) => hasIssued(authority, certificate, now))
  if (issuer === undefined) return 'no trusted authority has issued the certificate'
  return findListObjection(certificate, issuer, revocations, now) ?? findRevocation(revocations, certificate)
}

function hasIssued(authority: Certificate, certificate: Certificate, now: number): boolean {
  if (nameKey(authority.subject) !== certificate.issuerKey || !authority.x509.ca) return false
  if (now < authority.notBeforeMs || now > authority.notAfterMs) return false
  return certificate.x509.checkIssued(authority.x509) && certificate.x509.verify(authority.x509.publicKey)
}

/** Where there are revocation lists, the issuer has to have a current one: what cannot be checked does not count. */
function findListObjection(
  { issuerKey }: Certificate,
  issuer: Certificate,
  { lists }: Revocations,
  now: number,
): string | undefined {
  if (lists.length === 0) return undefined
  const own = lists.filter((list) => list.issuerKey === issuerKey && list.isSignedBy(issuer.x509.publicKey))
  if (own.length === 0) return 'there is no revocation list of the issuer'
  const current = own.some(({ nextUpdateMs = Number.POSITIVE_INFINITY }) => now <= nextUpdateMs)
  return current ? undefined : 'the revocation list of the issuer is out of date'
}
