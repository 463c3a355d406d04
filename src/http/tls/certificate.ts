/** What the gateway reads from a certificate: owner, issuer, number, validity, e-mail addresses, extensions. */
import { X509Certificate } from 'node:crypto'
import { type DistinguishedName, nameKey } from '../../distinguished-name.ts'
import { childAt, type Der, DerError, derTag, readChildren, readDer, readInner, readInteger, readOid, readTime } from './der.ts'
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
  /** rfc822Names of the subjectAltName extension. */
  readonly emails: readonly string[]
  /** The encoded value of each extension by its identifier. */
  readonly extensions: ReadonlyMap<string, Buffer>
}

const subjectAltName = '2.5.29.17'
const rfc822Name = 0x81
const version = 0xa0
const extensions = 0xa3

/** @param input PEM or DER @throws {DerError} when it is no certificate */
export function readCertificate(input: X509Certificate | Buffer | string): Certificate {
  const x509 = toX509(input)
  const fields = readChildren(childAt(readChildren(readDer(x509.raw), derTag.sequence), 0), derTag.sequence)
  const first = fields[0]?.tag === version ? 1 : 0
  const issuer = readName(childAt(fields, first + 2))
  const [notBefore, notAfter] = readChildren(childAt(fields, first + 3, derTag.sequence)).map(readTime)
  if (notBefore === undefined || notAfter === undefined) throw new DerError('the validity is incomplete')
  const known = readExtensions(fields.find(({ tag }) => tag === extensions))
  return {
    x509,
    subject: readName(childAt(fields, first + 4)),
    issuer,
    issuerKey: nameKey(issuer),
    serial: readInteger(childAt(fields, first)),
    notBeforeMs: notBefore,
    notAfterMs: notAfter,
    emails: readEmails(known.get(subjectAltName)),
    extensions: known,
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
function readExtensions(tagged: Der | undefined): Map<string, Buffer> {
  const found = new Map<string, Buffer>()
  if (tagged === undefined) return found
  for (const extension of readChildren(readInner(tagged), derTag.sequence)) {
    const parts = readChildren(extension, derTag.sequence)
    const oid = readOid(childAt(parts, 0))
    if (found.has(oid)) throw new DerError(`the extension ${oid} stands there twice`)
    found.set(oid, childAt(parts, parts.length - 1, derTag.octetString).content)
  }
  return found
}

function readEmails(value: Buffer | undefined): string[] {
  if (value === undefined) return []
  return readChildren(readDer(value), derTag.sequence)
    .filter(({ tag }) => tag === rfc822Name)
    .map(({ content }) => content.toString('latin1'))
}
