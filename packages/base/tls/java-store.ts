/** Opens JKS key stores, the older format of Java. */
import {
  createPrivateKey,
  hash,
  type KeyObject,
  timingSafeEqual,
  X509Certificate,
} from 'node:crypto'
import { childAt, DerError, derTag, readChildren, readDer } from './der.ts'
import type { KeyStore } from './pkcs12.ts'

const magic = 0xfeedfeed
const digestBytes = 20
const entryKind = { key: 1, certificate: 2 } as const

export function isJks(bytes: Buffer): boolean {
  return bytes.length >= 4 && bytes.readUInt32BE() === magic
}

/**
 * @param password That of the store; an empty one leaves it unchecked, as Java does for trust stores.
 * @param keyPassword That of the entries; undefined where only certificates are wanted.
 * @throws {DerError} with what is wrong: damaged, or a wrong password
 */
export function readJks(file: Buffer, password: string, keyPassword: string | undefined): KeyStore {
  const body = file.subarray(0, file.length - digestBytes)
  const digest = sha1(toBytes(password), Buffer.from('Mighty Aphrodite'), body)
  if (password !== '' && !timingSafeEqual(digest, file.subarray(-digestBytes)))
    throw new DerError('the password does not open it, or it is damaged')
  const reader = new StoreReader(body)
  const [, version, count] = [reader.integer(), reader.integer(), reader.integer()]
  const keys: { key: KeyObject; alias: string }[] = []
  const certificates: X509Certificate[] = []
  for (let entry = 0; entry < count; entry++) {
    const kind = reader.integer()
    const alias = reader.text()
    reader.skip(8)
    if (kind !== entryKind.key && kind !== entryKind.certificate)
      throw new DerError('an entry has an unknown kind')
    const key = kind === entryKind.key ? reader.bytes() : undefined
    if (key !== undefined && keyPassword !== undefined)
      keys.push({ key: openKey(key, keyPassword), alias })
    const chain = kind === entryKind.key ? reader.integer() : 1
    for (let index = 0; index < chain; index++) {
      if (version === 2) reader.text()
      certificates.push(new X509Certificate(reader.bytes()))
    }
  }
  return { keys, certificates }
}

/** A stream of SHA-1 over password and salt, and a checksum behind it. @see KeyProtector of the JDK */
function openKey(info: Buffer, password: string): KeyObject {
  const sealed = childAt(
    readChildren(readDer(info), derTag.sequence),
    1,
    derTag.octetString,
  ).content
  const secret = toBytes(password)
  const encrypted = sealed.subarray(digestBytes, -digestBytes)
  const plain = Buffer.alloc(encrypted.length)
  let block = sealed.subarray(0, digestBytes)
  for (let at = 0; at < plain.length; at++) {
    if (at % digestBytes === 0) block = sha1(secret, block)
    plain[at] = (encrypted[at] as number) ^ (block[at % digestBytes] as number)
  }
  if (!timingSafeEqual(sha1(secret, plain), sealed.subarray(-digestBytes)))
    throw new DerError('the password does not open its key')
  return createPrivateKey({ key: plain, format: 'der', type: 'pkcs8' })
}

function sha1(...parts: Buffer[]): Buffer {
  return hash('sha1', Buffer.concat(parts), 'buffer')
}

/** Characters of Java, high octet first. */
function toBytes(password: string): Buffer {
  return Buffer.from(password, 'utf16le').swap16()
}

class StoreReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  integer(): number {
    return this.#take(4).readUInt32BE()
  }

  bytes(): Buffer {
    return this.#take(this.integer())
  }

  text(): string {
    return this.#take(this.#take(2).readUInt16BE()).toString('utf8')
  }

  skip(length: number): void {
    this.#take(length)
  }

  #take(length: number): Buffer {
    const end = this.#at + length
    if (end > this.#bytes.length) throw new DerError('it breaks off')
    const taken = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return taken
  }
}
