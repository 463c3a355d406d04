/** Reads keys and certificates from PEM files and key stores in PKCS #12 and JKS. */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { shellWord } from '../names/shell-word.ts'
import { explainUnreadable } from '../storage/file-fault.ts'
import { DerError } from './der.ts'
import { isJks, readJks } from './java-store.ts'
import { pemBlocks } from './pem.ts'
import { type KeyStore, readPkcs12 } from './pkcs12.ts'

export interface TlsIdentity {
  /** PKCS #8, PEM. */
  readonly key: string
  /** The certificate and those above it, PEM. */
  readonly certificates: string
  readonly leaf: X509Certificate
}

/** A file that cannot be used, and what to do about it. */
export class TlsFileError extends Error {
  readonly key: string

  constructor(key: string, message: string, cause?: unknown) {
    super(message, { cause })
    this.key = key
  }
}

export interface StoreFile {
  readonly key: string
  readonly file: string
  readonly password: string
}

/** Spring writes files as addresses, too. */
export function toPath(file: string): string {
  return file.replace(/^file:(?:\/\/(?=\/))?/, '')
}

export function toStoreFile(key: string, file: string, password: string): StoreFile {
  return { key, file: toPath(file), password }
}

/** First bytes of JCEKS, which only Java reads. */
const jceksMagic = 0xcececece

/** The command line that writes a key store anew in a format that Fairlead reads. */
function conversionOf(file: string): string {
  return `keytool -importkeystore -srckeystore ${shellWord(file)} -destkeystore ${shellWord(`${file}.p12`)} -deststoretype PKCS12`
}

/** @throws {TlsFileError} */
export function readTlsFile(key: string, file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new TlsFileError(key, explainUnreadable(file, error), error)
  }
}

/** @param alias Of the entry, where a key store has several @throws {TlsFileError} */
export function loadKeyStoreIdentity(
  store: StoreFile,
  alias: string | undefined,
  keyPassword = store.password,
): TlsIdentity {
  const bytes = readTlsFile(store.key, store.file)
  if (isPem(bytes))
    return toIdentity(store.key, readPemKey(store, bytes, keyPassword), readPemCertificates(bytes))
  const { keys, certificates } = openStore(store, bytes, keyPassword)
  const fitting =
    alias === undefined
      ? keys
      : keys.filter((entry) => entry.alias?.toLowerCase() === alias.toLowerCase())
  const entry = fitting.find(({ key }) =>
    certificates.some((certificate) => certificate.checkPrivateKey(key)),
  )
  if (entry === undefined) {
    const wanted =
      alias === undefined
        ? 'no private key with a certificate'
        : `no private key with the alias "${alias}"`
    throw new TlsFileError(store.key, `the key store ${store.file} holds ${wanted}`)
  }
  return toIdentity(store.key, entry.key, certificates)
}

/** @throws {TlsFileError} */
export function loadPemIdentity(certificate: StoreFile, privateKey: StoreFile): TlsIdentity {
  const certificates = readPemCertificates(readTlsFile(certificate.key, certificate.file))
  if (certificates.length === 0)
    throw new TlsFileError(certificate.key, `the file ${certificate.file} holds no PEM certificate`)
  const key = readPemKey(
    privateKey,
    readTlsFile(privateKey.key, privateKey.file),
    privateKey.password,
  )
  return toIdentity(privateKey.key, key, certificates)
}

/** The authorities whose client certificates count; at least one. @throws {TlsFileError} */
export function loadAuthorities(store: StoreFile): X509Certificate[] {
  const bytes = readTlsFile(store.key, store.file)
  const found = isPem(bytes) ? readPemCertificates(bytes) : openStore(store, bytes).certificates
  if (found.length === 0)
    throw new TlsFileError(store.key, `the trust store ${store.file} holds no certificate`)
  return [...found]
}

function isPem(bytes: Buffer): boolean {
  return bytes.subarray(0, 65_536).includes('-----BEGIN ')
}

/** @param keyPassword Undefined where only certificates are wanted. */
function openStore(
  { key, file, password }: StoreFile,
  bytes: Buffer,
  keyPassword?: string,
): KeyStore {
  if (bytes.length >= 4 && bytes.readUInt32BE() === jceksMagic) {
    const reason =
      'has a format that only Java reads (JCEKS); convert it and name the new file here'
    throw new TlsFileError(key, `${file} ${reason}: ${conversionOf(file)}`)
  }
  try {
    return isJks(bytes) ? readJks(bytes, password, keyPassword) : readPkcs12(bytes, password)
  } catch (error) {
    const reason = error instanceof DerError ? error.message : 'it is damaged'
    throw new TlsFileError(
      key,
      `${file} cannot be opened as ${isJks(bytes) ? 'JKS' : 'PKCS #12'} key store: ${reason}. Check the password, or write it anew: ${conversionOf(file)}`,
      error,
    )
  }
}

function readPemCertificates(bytes: Buffer): X509Certificate[] {
  const blocks = pemBlocks(bytes.toString('latin1'), /^(?:TRUSTED )?CERTIFICATE$/)
  try {
    return blocks.map((block) => new X509Certificate(block))
  } catch {
    return []
  }
}

function readPemKey({ key, file }: StoreFile, bytes: Buffer, passphrase: string): KeyObject {
  const [block] = pemBlocks(bytes.toString('latin1'), /^(?:[A-Z]+ )*PRIVATE KEY$/)
  if (block === undefined) throw new TlsFileError(key, `the file ${file} holds no PEM private key`)
  try {
    return createPrivateKey({ key: block, passphrase })
  } catch (error) {
    throw new TlsFileError(
      key,
      `the private key in ${file} cannot be read; check it and its password`,
      error,
    )
  }
}

function toIdentity(
  setting: string,
  key: KeyObject,
  certificates: readonly X509Certificate[],
): TlsIdentity {
  const leaf = certificates.find((certificate) => certificate.checkPrivateKey(key))
  if (leaf === undefined)
    throw new TlsFileError(setting, 'the private key does not belong to the certificate')
  const chain = [leaf]
  for (let last = leaf; ; ) {
    const issuer = certificates.find(
      (candidate) => !chain.includes(candidate) && last.checkIssued(candidate),
    )
    if (issuer === undefined) break
    chain.push(issuer)
    last = issuer
  }
  return {
    key: key.export({ type: 'pkcs8', format: 'pem' }) as string,
    certificates: chain.map((certificate) => certificate.toString()).join(''),
    leaf,
  }
}
