/** Fields of an X.509 certificate: owner, issuer, validity, addresses, extensions. */
import { X509Certificate } from 'node:crypto'
import { type DistinguishedName, nameKey } from '../names/distinguished-name.ts'
import {
  childAt,
  type Der,
  DerError,
  derTag,
  readChildren,
  readDer,
  readInner,
  readInteger,
  readOid,
  readTime,
} from './der.ts'
import { readName } from './read-name.ts'

export interface Certificate {
  readonly x509: X509Certificate
  readonly subject: DistinguishedName
  readonly issuer: DistinguishedName
  /** Equal for equal issuers; see `nameKey`. */
  readonly issuerKey: string
  readonly serial: bigint
  /** Milliseconds since the epoch; both included. */
  readonly notBeforeMs: number
  readonly notAfterMs: number
  /** Each rfc822Name of the subjectAltName extension. */
  readonly emails: readonly string[]
  /** The encoded value of each extension by its identifier. */
  readonly extensions: ReadonlyMap<string, Buffer>
  /** Identifiers of the extensions without which the certificate must not be used. */
  readonly critical: ReadonlySet<string>
  /** Whether the issuer has signed a hash of 112 bits of security or more. */
  readonly hasStrongSignature: boolean
}

const subjectAltName = '2.5.29.17'
const rfc822Name = 0x81
const version = 0xa0
const extensions = 0xa3

/** @param input PEM or DER @throws {DerError} when it is no certificate */
export function readCertificate(input: X509Certificate | Buffer | string): Certificate {
  const x509 = toX509(input)
  const [signed, algorithm] = [0, 1].map((index) =>
    childAt(readChildren(readDer(x509.raw), derTag.sequence), index),
  ) as [Der, Der]
  const fields = readChildren(signed, derTag.sequence)
  const first = fields[0]?.tag === version ? 1 : 0
  const issuer = readName(childAt(fields, first + 2))
  const [notBefore, notAfter] = readChildren(childAt(fields, first + 3, derTag.sequence)).map(
    readTime,
  )
  if (notBefore === undefined || notAfter === undefined)
    throw new DerError('the validity is incomplete')
  const known = readExtensions(fields.find(({ tag }) => tag === extensions))
  return {
    x509,
    subject: readName(childAt(fields, first + 4)),
    issuer,
    issuerKey: nameKey(issuer),
    serial: readInteger(childAt(fields, first)),
    notBeforeMs: notBefore,
    notAfterMs: notAfter,
    emails: readEmails(known.values.get(subjectAltName)),
    extensions: known.values,
    critical: known.critical,
    hasStrongSignature: isStrong(algorithm),
  }
}

function toX509(input: X509Certificate | Buffer | string): X509Certificate {
  if (input instanceof X509Certificate) return input
  try {
    return new X509Certificate(input)
  } catch (error) {
    throw new DerError('it is no certificate', { cause: error })
  }
}

/** @throws {DerError} also when an extension stands there twice */
function readExtensions(tagged: Der | undefined): {
  values: Map<string, Buffer>
  critical: Set<string>
} {
  const values = new Map<string, Buffer>()
  const critical = new Set<string>()
  if (tagged === undefined) return { values, critical }
  for (const extension of readChildren(readInner(tagged), derTag.sequence)) {
    const parts = readChildren(extension, derTag.sequence)
    const oid = readOid(childAt(parts, 0))
    if (values.has(oid)) throw new DerError(`the extension ${oid} is repeated`)
    if (parts[1]?.tag === derTag.boolean && parts[1].content[0] !== 0) critical.add(oid)
    values.set(oid, childAt(parts, parts.length - 1, derTag.octetString).content)
  }
  return { values, critical }
}

/**
 * Digests by the identifier of the signature algorithm; null: the key itself says. SHA-224 and better with RSA and ECDSA, and the
 * Edwards curves; MD5 and SHA-1 can be forged.
 */
export const strongSignatures: ReadonlyMap<string, string | null> = new Map([
  ['1.2.840.113549.1.1.11', 'sha256'],
  ['1.2.840.113549.1.1.12', 'sha384'],
  ['1.2.840.113549.1.1.13', 'sha512'],
  ['1.2.840.113549.1.1.14', 'sha224'],
  ['1.2.840.10045.4.3.1', 'sha224'],
  ['1.2.840.10045.4.3.2', 'sha256'],
  ['1.2.840.10045.4.3.3', 'sha384'],
  ['1.2.840.10045.4.3.4', 'sha512'],
  ['1.3.101.112', null],
  ['1.3.101.113', null],
])
const rsaPss = '1.2.840.113549.1.1.10'
const sha2 = /^2\.16\.840\.1\.101\.3\.4\.2\.[1-4]$/

/** @see RFC 4055, section 3.1: the hash of RSASSA-PSS is in its parameters, and is SHA-1 unless it does */
function isStrong(algorithm: Der): boolean {
  const [type, parameters] = readChildren(algorithm, derTag.sequence)
  if (type === undefined) return false
  const oid = readOid(type)
  if (oid !== rsaPss) return strongSignatures.has(oid)
  const hash = parameters && readChildren(parameters).find(({ tag }) => tag === 0xa0)
  return (
    hash !== undefined &&
    sha2.test(readOid(childAt(readChildren(readInner(hash), derTag.sequence), 0)))
  )
}

function readEmails(value: Buffer | undefined): string[] {
  if (value === undefined) return []
  return readChildren(readDer(value), derTag.sequence)
    .filter(({ tag }) => tag === rfc822Name)
    .map(({ content }) => content.toString('latin1'))
}
