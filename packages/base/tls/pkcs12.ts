/** Opens PKCS #12 key stores of keytool and openssl. */
import {
  createDecipheriv,
  createPrivateKey,
  hash,
  type KeyObject,
  pbkdf2Sync,
  X509Certificate,
} from 'node:crypto'
import {
  childAt,
  type Der,
  DerError,
  derTag,
  readBer,
  readChildren,
  readInner,
  readInteger,
  readOid,
  readText,
} from './der.ts'

export interface KeyStore {
  readonly keys: readonly { key: KeyObject; alias: string | undefined }[]
  readonly certificates: readonly X509Certificate[]
}

const oids = {
  data: '1.2.840.113549.1.7.1',
  encryptedData: '1.2.840.113549.1.7.6',
  keyBag: '1.2.840.113549.1.12.10.1.1',
  shroudedKeyBag: '1.2.840.113549.1.12.10.1.2',
  certificateBag: '1.2.840.113549.1.12.10.1.3',
  x509: '1.2.840.113549.1.9.22.1',
  friendlyName: '1.2.840.113549.1.9.20',
  pbes2: '1.2.840.113549.1.5.13',
  pbkdf2: '1.2.840.113549.1.5.12',
  sha1TripleDes: '1.2.840.113549.1.12.1.3',
} as const

const ciphers: Readonly<Record<string, { name: string; keyBytes: number }>> = {
  '2.16.840.1.101.3.4.1.2': { name: 'aes-128-cbc', keyBytes: 16 },
  '2.16.840.1.101.3.4.1.22': { name: 'aes-192-cbc', keyBytes: 24 },
  '2.16.840.1.101.3.4.1.42': { name: 'aes-256-cbc', keyBytes: 32 },
  '1.2.840.113549.3.7': { name: 'des-ede3-cbc', keyBytes: 24 },
}
const digests: Readonly<Record<string, string>> = {
  '1.2.840.113549.2.7': 'sha1',
  '1.2.840.113549.2.9': 'sha256',
  '1.2.840.113549.2.10': 'sha384',
  '1.2.840.113549.2.11': 'sha512',
}
/** `[0]` with several octet strings in place of one. */
const constructedContent = 0xa0
/** Guards against files that would keep the start busy for minutes. */
const maxIterations = 5_000_000

/** @throws {DerError} with what is wrong: not a key store, a wrong password, an outdated encryption */
export function readPkcs12(file: Buffer, password: string): KeyStore {
  const keys: { key: KeyObject; alias: string | undefined }[] = []
  const certificates: X509Certificate[] = []
  const outer = childAt(readChildren(readBer(file), derTag.sequence), 1)
  for (const content of readChildren(readBer(openContent(outer, password)), derTag.sequence)) {
    for (const bag of readChildren(readBer(openContent(content, password)), derTag.sequence)) {
      const [type, value, attributes] = readChildren(bag, derTag.sequence)
      if (type === undefined || value === undefined) throw new DerError('an entry is incomplete')
      const kind = readOid(type)
      if (kind === oids.certificateBag) certificates.push(...readCertificateBag(readInner(value)))
      if (kind === oids.keyBag || kind === oids.shroudedKeyBag) {
        keys.push({ key: openKey(readInner(value), password), alias: aliasOf(attributes) })
      }
    }
  }
  return { keys, certificates }
}

/** The bytes of a part, decrypted if need be. */
function openContent(contentInfo: Der, password: string): Buffer {
  const [type, tagged] = readChildren(contentInfo, derTag.sequence)
  if (type === undefined || tagged === undefined) throw new DerError('a part is incomplete')
  const kind = readOid(type)
  const inner = readInner(tagged)
  if (kind === oids.data) return inner.content
  if (kind !== oids.encryptedData)
    throw new DerError('it is protected by a key instead of a password')
  const [, algorithm, encrypted] = readChildren(
    childAt(readChildren(inner, derTag.sequence), 1),
    derTag.sequence,
  )
  if (algorithm === undefined || encrypted === undefined)
    throw new DerError('an encrypted part is incomplete')
  // In pieces where the writer did not know the length.
  const pieces = encrypted.tag === constructedContent ? readChildren(encrypted) : [encrypted]
  return decrypt(algorithm, Buffer.concat(pieces.map((piece) => piece.content)), password)
}

function decrypt(algorithm: Der, encrypted: Buffer, password: string): Buffer {
  const { cipher, key, iv } = decryptionOf(algorithm, password)
  try {
    const decipher = createDecipheriv(cipher, key, iv)
    return Buffer.concat([decipher.update(encrypted), decipher.final()])
  } catch (error) {
    throw wrongPassword(error)
  }
}

interface Decryption {
  readonly cipher: string
  readonly key: Buffer
  readonly iv: Buffer
}

function decryptionOf(algorithm: Der, password: string): Decryption {
  const [scheme, parameters] = readChildren(algorithm, derTag.sequence)
  if (scheme === undefined || parameters === undefined) throw outdated()
  const parts = readChildren(parameters, derTag.sequence)
  const kind = readOid(scheme)
  if (kind === oids.sha1TripleDes) {
    const salt = childAt(parts, 0, derTag.octetString).content
    const iterations = readIterations(childAt(parts, 1))
    const derive = (purpose: Purpose, bytes: number) =>
      deriveOldKey(password, { salt, iterations, purpose }).subarray(0, bytes)
    return { cipher: 'des-ede3-cbc', key: derive(purposes.key, 24), iv: derive(purposes.iv, 8) }
  }
  if (kind !== oids.pbes2) throw outdated()
  const [derivation, encryption] = parts.map((part) => readChildren(part, derTag.sequence))
  const cipher = ciphers[readOid(childAt(encryption ?? [], 0))]
  if (derivation === undefined || encryption === undefined || cipher === undefined) throw outdated()
  if (readOid(childAt(derivation, 0)) !== oids.pbkdf2) throw outdated()
  const key = deriveKey(
    readChildren(childAt(derivation, 1), derTag.sequence),
    password,
    cipher.keyBytes,
  )
  return { cipher: cipher.name, key, iv: childAt(encryption, 1, derTag.octetString).content }
}

function deriveKey(parameters: Der[], password: string, keyBytes: number): Buffer {
  const salt = childAt(parameters, 0, derTag.octetString).content
  const iterations = readIterations(childAt(parameters, 1))
  const prf = parameters.find(({ tag }) => tag === derTag.sequence)
  const digest = prf === undefined ? 'sha1' : digests[readOid(childAt(readChildren(prf), 0))]
  if (digest === undefined) throw outdated()
  return pbkdf2Sync(password, salt, iterations, keyBytes, digest)
}

function readIterations(value: Der): number {
  const iterations = Number(readInteger(value))
  if (iterations < 1 || iterations > maxIterations)
    throw new DerError(`it asks for more than ${maxIterations} iterations, or none`)
  return iterations
}

const purposes = { key: 1, iv: 2 } as const
type Purpose = (typeof purposes)[keyof typeof purposes]

/** Block of SHA-1. */
const blockBytes = 64

/** Two blocks of output, which is more than triple DES needs. @see RFC 7292, appendix B.2 */
function deriveOldKey(
  password: string,
  { salt, iterations, purpose }: { salt: Buffer; iterations: number; purpose: Purpose },
): Buffer {
  const diversifier = Buffer.alloc(blockBytes, purpose)
  const input = Buffer.concat([
    fillBlocks(salt),
    fillBlocks(Buffer.from(`${password}\0`, 'utf16le').swap16()),
  ])
  const first = hashOften(Buffer.concat([diversifier, input]), iterations)
  const addend = BigInt(`0x${fillBlocks(first).toString('hex')}`) + 1n
  for (let at = 0; at < input.length; at += blockBytes) {
    const sum = BigInt.asUintN(
      blockBytes * 8,
      BigInt(`0x${input.toString('hex', at, at + blockBytes)}`) + addend,
    )
    input.write(sum.toString(16).padStart(blockBytes * 2, '0'), at, 'hex')
  }
  return Buffer.concat([first, hashOften(Buffer.concat([diversifier, input]), iterations)])
}

/** Repeated up to the next full block. */
function fillBlocks(bytes: Buffer): Buffer {
  return Buffer.alloc(Math.ceil(bytes.length / blockBytes) * blockBytes, bytes)
}

function hashOften(bytes: Buffer, iterations: number): Buffer {
  let digest = bytes
  for (let round = 0; round < iterations; round++) digest = hash('sha1', digest, 'buffer')
  return digest
}

function readCertificateBag(bag: Der): X509Certificate[] {
  const [type, value] = readChildren(bag, derTag.sequence)
  if (type === undefined || value === undefined || readOid(type) !== oids.x509) return []
  return [new X509Certificate(readInner(value).content)]
}

function openKey(value: Der, password: string): KeyObject {
  try {
    return createPrivateKey({
      key: value.bytes,
      format: 'der',
      type: 'pkcs8',
      passphrase: password,
    })
  } catch (error) {
    throw wrongPassword(error)
  }
}

function aliasOf(attributes: Der | undefined): string | undefined {
  if (attributes === undefined) return undefined
  for (const attribute of readChildren(attributes, derTag.set)) {
    const [type, values] = readChildren(attribute, derTag.sequence)
    if (type === undefined || values === undefined || readOid(type) !== oids.friendlyName) continue
    return readText(childAt(readChildren(values), 0))
  }
  return undefined
}

function wrongPassword(cause: unknown): DerError {
  return new DerError('the password does not open it', { cause })
}

function outdated(): DerError {
  return new DerError('it is encrypted the way that old tools did (RC2)')
}
