/** What an order signs: the request for a certificate, and the certificate of a TLS-ALPN-01 challenge. */
import { createHash, generateKeyPairSync, type KeyObject, webcrypto } from 'node:crypto'

/** Loaded with the first order: it takes longer than all else here. */
async function loadX509() {
  await import('reflect-metadata')
  const { default: x509 } = await import('@peculiar/x509')
  return x509
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const dayMs = 86_400_000

interface CertificateWithKey {
  /** PEM; the certificate of the server comes first. */
  readonly certificate: string
  /** PKCS #8, PEM. */
  readonly key: string
}

/** An ECDSA P-256 key, PKCS #8 in PEM. */
export function createKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** @returns DER */
export async function createCertificateRequest(
  hosts: readonly string[],
  key: KeyObject,
): Promise<Buffer> {
  const { Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } = await loadX509()
  const request = await Pkcs10CertificateRequestGenerator.create({
    // Names longer than 64 characters do not fit into a common name, and no authority needs one.
    name: '',
    keys: await toCryptoKeys(key),
    signingAlgorithm: algorithm,
    extensions: [new SubjectAlternativeNameExtension(hosts.map(toName))],
  })
  return Buffer.from(request.rawData)
}

const acmeIdentifier = '1.3.6.1.5.5.7.1.31'
const octetString = 0x04

/** @see RFC 8737, section 3 */
export async function createAlpnCertificate(
  host: string,
  keyAuthorization: string,
  now: number,
): Promise<CertificateWithKey> {
  const { Extension, SubjectAlternativeNameExtension, X509CertificateGenerator } = await loadX509()
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const digest = createHash('sha256').update(keyAuthorization).digest()
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=ACME challenge',
    notBefore: new Date(now - dayMs),
    notAfter: new Date(now + 7 * dayMs),
    keys: await toCryptoKeys(privateKey),
    signingAlgorithm: algorithm,
    extensions: [
      new SubjectAlternativeNameExtension([toName(host)]),
      new Extension(acmeIdentifier, true, Buffer.from([octetString, digest.length, ...digest])),
    ],
  })
  return {
    certificate: certificate.toString('pem'),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

function toName(value: string): { type: 'dns'; value: string } {
  return { type: 'dns', value }
}

async function toCryptoKeys(key: KeyObject): Promise<webcrypto.CryptoKeyPair> {
  const jwk = key.export({ format: 'jwk' })
  const { d: _, ...open } = jwk
  const { subtle } = webcrypto
  const [privateKey, publicKey] = await Promise.all([
    subtle.importKey('jwk', jwk, algorithm, true, ['sign']),
    subtle.importKey('jwk', open, algorithm, true, ['verify']),
  ])
  return { privateKey, publicKey }
}
