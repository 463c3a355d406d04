/**
 * Validates a client certificate that came in a header, by the rules of OpenSSL for connections. These are, at the security level
 * 2 of Node.js: chain, validity, purpose, critical extensions, strength, revocation lists.
 */

import { nameKey } from '@fairlead/base/names/distinguished-name.ts'
import type { Certificate } from '@fairlead/base/tls/certificate.ts'
import {
  DerError,
  derTag,
  readChildren,
  readDer,
  readInteger,
  readOid,
} from '@fairlead/base/tls/der.ts'
import {
  findListObjection,
  findRevocation,
  type Revocations,
} from '@fairlead/base/tls/revocation.ts'

export interface CertificateTrust {
  /** Up to the roots; only these are trusted by themselves. */
  readonly authorities: readonly Certificate[]
  readonly revocations: Revocations
}

const oid = {
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  nameConstraints: '2.5.29.30',
  crlDistributionPoints: '2.5.29.31',
  certificatePolicies: '2.5.29.32',
  extendedKeyUsage: '2.5.29.37',
  netscapeType: '2.16.840.1.113730.1.1',
  clientAuthentication: '1.3.6.1.5.5.7.3.2',
} as const

/** Any other critical extension is unknown and rejects the certificate. */
const understood = new Set<string>([
  oid.keyUsage,
  oid.subjectAltName,
  oid.basicConstraints,
  oid.crlDistributionPoints,
  oid.certificatePolicies,
  oid.extendedKeyUsage,
  oid.netscapeType,
])

/** Bits of RFC 5280, section 4.2.1.3, in the order of their octet. */
const usage = { digitalSignature: 0x80, keyAgreement: 0x08, listSigning: 0x02 } as const
const netscapeClient = 0x80

/** 112 bits of security. */
const minBits: Readonly<Record<string, number>> = {
  rsa: 2048,
  'rsa-pss': 2048,
  ec: 224,
  ed25519: 0,
  ed448: 0,
}
/** Between the certificate and the root. */
const maxDepth = 10

/**
 * Why a certificate does not count; undefined when nothing speaks against it.
 *
 * @param now Milliseconds since the epoch
 * @throws {DerError} when an extension is malformed
 * @see RFC 5280, section 6.1
 */
export function findObjection(
  certificate: Certificate,
  trust: CertificateTrust,
  now: number,
): string | undefined {
  if (now < certificate.notBeforeMs) return 'the certificate is not valid yet'
  if (now > certificate.notAfterMs) return 'the certificate has expired'
  if (certificate.x509.ca) return 'the certificate is that of an authority'
  if (!isForClients(certificate)) return 'the certificate is not meant for clients'
  const chain = findChain(certificate, trust.authorities, now)
  if (chain === undefined) return 'no trusted authority has issued the certificate'
  const weakness = findWeakness(certificate, chain)
  return weakness ?? findWithdrawal([certificate, ...chain], trust.revocations, now)
}

/** The authorities above, the root last. */
function findChain(
  certificate: Certificate,
  authorities: readonly Certificate[],
  now: number,
  below = 0,
): Certificate[] | undefined {
  if (below > maxDepth) return undefined
  for (const authority of authorities) {
    if (!hasIssued(authority, certificate, now) || below > pathLengthOf(authority)) continue
    if (hasIssued(authority, authority, now)) return [authority]
    const above = findChain(authority, authorities, now, below + 1)
    if (above !== undefined) return [authority, ...above]
  }
  return undefined
}

function hasIssued(authority: Certificate, certificate: Certificate, now: number): boolean {
  if (nameKey(authority.subject) !== certificate.issuerKey || !authority.x509.ca) return false
  if (now < authority.notBeforeMs || now > authority.notAfterMs) return false
  return (
    certificate.x509.checkIssued(authority.x509) &&
    certificate.x509.verify(authority.x509.publicKey)
  )
}

function pathLengthOf({ extensions }: Certificate): number {
  const value = extensions.get(oid.basicConstraints)
  const length =
    value && readChildren(readDer(value), derTag.sequence).find(({ tag }) => tag === derTag.integer)
  return length === undefined ? Number.POSITIVE_INFINITY : Number(readInteger(length))
}

function isForClients(certificate: Certificate): boolean {
  const bits = bitsOf(certificate, oid.keyUsage)
  const netscape = bitsOf(certificate, oid.netscapeType)
  return (
    allowsClients(certificate) &&
    (bits === undefined || (bits & (usage.digitalSignature | usage.keyAgreement)) !== 0) &&
    (netscape === undefined || (netscape & netscapeClient) !== 0)
  )
}

/** Authorities are checked, too: one for servers issues no certificates for clients. */
function allowsClients({ extensions }: Certificate): boolean {
  const value = extensions.get(oid.extendedKeyUsage)
  return (
    value === undefined ||
    readChildren(readDer(value), derTag.sequence).map(readOid).includes(oid.clientAuthentication)
  )
}

function bitsOf({ extensions }: Certificate, type: string): number | undefined {
  const value = extensions.get(type)
  if (value === undefined) return undefined
  const bits = readDer(value)
  if (bits.tag !== derTag.bitString) throw new DerError('a usage is no list of bits')
  return bits.content[1] ?? 0
}

function findWeakness(certificate: Certificate, chain: readonly Certificate[]): string | undefined {
  for (const [index, one] of [certificate, ...chain].entries()) {
    const whose =
      index === 0
        ? 'the certificate'
        : `the certificate of the authority ${one.x509.subject.replaceAll('\n', ', ')}`
    const unknown = [...one.critical].find((type) => !understood.has(type))
    if (one.extensions.has(oid.nameConstraints))
      return `${whose} limits names, which is checked on TLS connections only`
    if (unknown !== undefined)
      return `${whose} has the critical extension ${unknown}, which is not understood`
    if (!hasStrongKey(one)) return `${whose} has a key that is too weak`
    // Only the trust store vouches for the last one.
    if (index < chain.length && !one.hasStrongSignature)
      return `${whose} has a signature that is too weak`
    if (!allowsClients(one)) return `${whose} is not meant for clients`
  }
  return undefined
}

function hasStrongKey({ x509 }: Certificate): boolean {
  const { asymmetricKeyType = '', asymmetricKeyDetails } = x509.publicKey
  const least = minBits[asymmetricKeyType]
  const bits = asymmetricKeyDetails?.modulusLength ?? curveBits(asymmetricKeyDetails?.namedCurve)
  return least !== undefined && (least === 0 || bits >= least)
}

/** The number in the name of the curve: `prime256v1`, `secp384r1`, `brainpoolP256r1`. */
function curveBits(curve = ''): number {
  return Number(/\d{3}/.exec(curve)?.[0] ?? 0)
}

/** Where there are lists, every issuer has to have a current one, as in TLS: what cannot be checked does not count. */
function findWithdrawal(
  chain: readonly Certificate[],
  revocations: Revocations,
  now: number,
): string | undefined {
  for (const [index, certificate] of chain.entries()) {
    const issuer = chain[index + 1] ?? certificate
    const bits = bitsOf(issuer, oid.keyUsage)
    if (revocations.lists.length > 0 && bits !== undefined && (bits & usage.listSigning) === 0) {
      return 'the issuer may not sign revocation lists'
    }
    const objection =
      findListObjection(certificate, revocations, now, issuer.x509.publicKey) ??
      findRevocation(revocations, certificate)
    if (objection !== undefined) return objection
  }
  return undefined
}
