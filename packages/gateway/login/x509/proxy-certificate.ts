/** Client certificates in headers of trusted proxies. */
import type { IncomingMessage } from 'node:http'
import { readCertificate } from '@fairlead/base/tls/certificate.ts'
import type { ConnectionCertificate } from '@fairlead/base/tls/client-certificate.ts'
import { DerError } from '@fairlead/base/tls/der.ts'
import { type CertificateTrust, findObjection } from './verify-certificate.ts'

const envoyHeader = 'x-forwarded-client-cert'

/** @param header In lower case. The caller has made sure that the proxy is trusted. @param now Milliseconds since the epoch */
export function readProxyCertificate(
  raw: Pick<IncomingMessage, 'headers' | 'rawHeaders'>,
  header: string,
  trust: CertificateTrust,
  now: number,
): ConnectionCertificate {
  const values = raw.rawHeaders.filter(
    (_value, index) => index % 2 === 1 && raw.rawHeaders[index - 1]?.toLowerCase() === header,
  )
  const [value = ''] = values
  // A second header is what a client sent and the proxy should have removed.
  if (values.length > 1) return { kind: 'refused', reason: `the header ${header} is repeated` }
  if (value === '' || value === '-' || value === '(null)') return { kind: 'none' }
  try {
    const certificate = readCertificate(header === envoyHeader ? decodeEnvoy(value) : decode(value))
    const reason = findObjection(certificate, trust, now)
    return reason === undefined ? { kind: 'verified', certificate } : { kind: 'refused', reason }
  } catch (error) {
    if (!(error instanceof DerError)) throw error
    return {
      kind: 'refused',
      reason: `the header ${header} holds no usable certificate: ${error.message}`,
    }
  }
}

/** PEM, with its line ends escaped or folded, or the base64 of the first of several certificates, bare or as RFC 9440 has it. */
function decode(value: string): Buffer {
  const text = value.includes('%') ? decodePercent(value) : value
  const pem = /-----BEGIN CERTIFICATE-----([^-]*)-----END CERTIFICATE-----/.exec(text)?.[1]
  const base64 = (pem ?? text.split(',', 1)[0] ?? '')
    .replaceAll(/\s+/g, '')
    .replace(/^:(.*):$/, '$1')
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
    if (name === '')
      throw new DerError('it is not one single element; have the last proxy replace what was there')
    if (name.toLowerCase() === 'cert') certificates.push(text.replaceAll('"', ''))
  }
  const [certificate] = certificates
  if (certificate === undefined || certificates.length > 1)
    throw new DerError('it has no Cert; have the proxy pass it on')
  return decode(certificate)
}
