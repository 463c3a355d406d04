/** Revoked certificates: revocation lists (CRL) and the operator's block list. */
import { type KeyObject, verify } from 'node:crypto'
import { nameKey, parseName } from '../names/distinguished-name.ts'
import { type Certificate, strongSignatures } from './certificate.ts'
import {
  childAt,
  type Der,
  DerError,
  derTag,
  readChildren,
  readDer,
  readInteger,
  readOid,
  readTime,
} from './der.ts'
import { pemBlocks } from './pem.ts'
import { readName } from './read-name.ts'

/** Issuer and serial number, which together name a certificate. */
type CertificateKey = string

export interface RevocationList {
  readonly pem: string
  readonly issuerKey: string
  /** Milliseconds since the epoch. */
  readonly thisUpdateMs: number
  /** Milliseconds since the epoch; undefined when the list does not say. */
  readonly nextUpdateMs: number | undefined
  readonly revoked: ReadonlySet<CertificateKey>
  isSignedBy(key: KeyObject): boolean
}

function certificateKey(issuerKey: string, serial: bigint): CertificateKey {
  return `${serial} ${issuerKey}`
}

/** All lists of a file, PEM or DER. @throws {DerError} */
export function readRevocationLists(file: Buffer): RevocationList[] {
  const blocks = pemBlocks(file.toString('latin1'), /^X509 CRL$/)
  if (blocks.length === 0) return [readRevocationList(file)]
  return blocks.map((block) =>
    readRevocationList(Buffer.from(block.replaceAll(/-----[^-]+-----/g, ''), 'base64')),
  )
}

function readRevocationList(bytes: Buffer): RevocationList {
  const [signed, algorithm, signature] = readChildren(readDer(bytes), derTag.sequence)
  if (signed === undefined || algorithm === undefined || signature === undefined)
    throw new DerError('it is incomplete')
  const fields = readChildren(signed, derTag.sequence)
  const first = fields[0]?.tag === derTag.integer ? 1 : 0
  const issuerKey = nameKey(readName(childAt(fields, first + 1)))
  const rest = fields.slice(first + 3)
  const nextUpdate = rest[0] !== undefined && isTime(rest[0]) ? rest.shift() : undefined
  const entries = rest[0]?.tag === derTag.sequence ? readChildren(rest[0]) : []
  const extensions = rest.find(({ tag }) => tag === 0xa0)
  if (extensions !== undefined) refuseCritical(childAt(readChildren(extensions), 0))
  const oid = readOid(childAt(readChildren(algorithm), 0))
  return {
    pem: `-----BEGIN X509 CRL-----\n${bytes.toString('base64').replaceAll(/.{64}/g, '$&\n').trim()}\n-----END X509 CRL-----\n`,
    issuerKey,
    thisUpdateMs: readTime(childAt(fields, first + 2)),
    nextUpdateMs: nextUpdate && readTime(nextUpdate),
    revoked: new Set(entries.map((entry) => certificateKey(issuerKey, readEntry(entry)))),
    isSignedBy: (key) => isSigned(oid, signed.bytes, key, signature.content.subarray(1)),
  }
}

function readEntry(entry: Der): bigint {
  const fields = readChildren(entry, derTag.sequence)
  if (fields[2] !== undefined) refuseCritical(fields[2])
  return readInteger(childAt(fields, 0))
}

/** A list for a part of the certificates, or with changes only, says so in a critical extension. */
function refuseCritical(extensions: Der): void {
  for (const extension of readChildren(extensions, derTag.sequence)) {
    const [oid, critical] = readChildren(extension, derTag.sequence)
    if (oid === undefined || critical?.tag !== derTag.boolean || critical.content[0] === 0) continue
    throw new DerError(
      `it needs the extension ${readOid(oid)}; use a complete list for all certificates of the issuer`,
    )
  }
}

function isTime({ tag }: Der): boolean {
  return tag === 0x17 || tag === 0x18
}

function isSigned(algorithm: string, bytes: Buffer, key: KeyObject, signature: Buffer): boolean {
  const digest = strongSignatures.get(algorithm)
  if (digest === undefined) return false
  try {
    return verify(digest, bytes, key, signature)
  } catch {
    return false
  }
}

/**
 * Reads the block list, a line for each certificate: `<issuer>:::<serial number>`; `#` begins a comment.
 *
 * @throws {DerError} with the number of the first line that is neither: skipping it could admit a revoked certificate
 */
export function parseBlocklist(text: string): Set<CertificateKey> {
  const blocked = new Set<CertificateKey>()
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '' || line.trimStart().startsWith('#')) continue
    const divide = line.lastIndexOf(':::')
    const serial = line.slice(divide + ':::'.length).trim()
    const name = parseName(line.slice(0, Math.max(0, divide)).trim())
    const isKnown = name?.flat().every(({ type }) => /^\d/.test(type))
    if (name === undefined || !isKnown || !/^\d{1,60}$/.test(serial)) {
      throw new DerError(
        `line ${index + 1} is not of the form CN=The issuer,O=Organisation:::1234567890`,
      )
    }
    blocked.add(certificateKey(nameKey(name), BigInt(serial)))
  }
  return blocked
}

export interface Revocations {
  readonly lists: readonly RevocationList[]
  readonly blocked: ReadonlySet<CertificateKey>
}

/**
 * Where there are revocation lists, the issuer has to have a current one: what cannot be checked does not count. TLS looks at
 * that in the handshake only, and connections last.
 *
 * @param key Of the issuer; checks that the list is signed with it; left out where TLS has done so
 */
export function findListObjection(
  { issuerKey }: Certificate,
  { lists }: Pick<Revocations, 'lists'>,
  now: number,
  key?: KeyObject,
): string | undefined {
  if (lists.length === 0) return undefined
  const own = lists.filter(
    (list) => list.issuerKey === issuerKey && (key === undefined || list.isSignedBy(key)),
  )
  if (own.length === 0) return 'there is no revocation list of the issuer'
  const current = own.some(
    ({ thisUpdateMs, nextUpdateMs = Number.POSITIVE_INFINITY }) =>
      thisUpdateMs <= now && now <= nextUpdateMs,
  )
  return current ? undefined : 'the revocation list of the issuer is out of date'
}

/** Why a certificate no longer counts; undefined when nothing speaks against it. */
export function findRevocation(
  { lists, blocked }: Revocations,
  certificate: Certificate,
): string | undefined {
  const key = certificateKey(certificate.issuerKey, certificate.serial)
  if (blocked.has(key)) return 'the certificate is on the block list'
  return lists.some(({ revoked }) => revoked.has(key)) ? 'the certificate is revoked' : undefined
}
