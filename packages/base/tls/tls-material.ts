/** Everything that encrypted listeners load from files: identity, authorities, revocations. */
import { statSync } from 'node:fs'
import type { SecureContextOptions } from 'node:tls'
import { type Certificate, readCertificate } from './certificate.ts'
import { DerError } from './der.ts'
import {
  loadAuthorities,
  loadKeyStoreIdentity,
  loadPemIdentity,
  readTlsFile,
  type StoreFile,
  TlsFileError,
  type TlsIdentity,
} from './key-material.ts'
import { parseBlocklist, type Revocations, readRevocationLists } from './revocation.ts'

export type IdentityFiles =
  | { kind: 'store'; store: StoreFile; alias: string | undefined; keyPassword: string | undefined }
  | { kind: 'pem'; certificate: StoreFile; privateKey: StoreFile }

export interface TlsSettings {
  identity: IdentityFiles | undefined
  /** The authorities of client certificates; undefined when none are asked for. */
  trust: StoreFile | undefined
  crlFile: string | undefined
  blocklistFile: string | undefined
  minVersion: 'TLSv1.2' | 'TLSv1.3'
  maxVersion: 'TLSv1.2' | 'TLSv1.3'
  /** Names separated by colons, in order of preference. */
  ciphers: string
}

export interface TlsMaterial {
  readonly identity: TlsIdentity | undefined
  readonly authorities: readonly Certificate[]
  readonly revocations: Revocations
}

export const crlKey = 'server.ssl.crlFile'

/** @throws {TlsFileError} for the first file that cannot be used */
export function loadTlsMaterial(settings: TlsSettings): TlsMaterial {
  const { material, faults } = readTlsMaterial(settings)
  const [fault] = faults
  if (fault !== undefined) throw fault
  return material
}

export function readTlsMaterial({ identity, trust, crlFile, blocklistFile }: TlsSettings): {
  material: TlsMaterial
  faults: TlsFileError[]
} {
  const faults: TlsFileError[] = []
  const attempt = <T>(load: () => T): T | undefined => {
    try {
      return load()
    } catch (error) {
      if (!(error instanceof TlsFileError)) throw error
      faults.push(error)
      return undefined
    }
  }
  const material = {
    identity: identity && attempt(() => loadIdentity(identity)),
    authorities: (trust && attempt(() => loadTrust(trust))) ?? [],
    revocations: {
      lists:
        (crlFile === undefined ? undefined : attempt(() => parse(crlFile, readRevocationLists))) ??
        [],
      blocked:
        (blocklistFile === undefined
          ? undefined
          : attempt(() => parse(blocklistFile, toBlocklist))) ?? new Set<string>(),
    },
  }
  return { material, faults }
}

const expiryWarningMs = 14 * 86_400_000

/** What to do about a certificate of the gateway that has expired, or soon will; undefined for every other one. */
export function findExpiry({ identity }: TlsMaterial): string | undefined {
  const nowMs = Date.now()
  const endMs = identity?.leaf.validToDate.getTime()
  if (endMs === undefined || endMs >= nowMs + expiryWarningMs) return undefined
  const end = new Date(endMs).toISOString()
  const fault = endMs < nowMs ? `expired at ${end}: clients refuse to connect` : `expires at ${end}`
  return `the certificate of server.ssl ${fault}. Replace its file, which is read anew without a restart.`
}

function toBlocklist(bytes: Buffer): Set<string> {
  return parseBlocklist(bytes.toString('utf8'))
}

function loadIdentity(files: IdentityFiles): TlsIdentity {
  return files.kind === 'pem'
    ? loadPemIdentity(files.certificate, files.privateKey)
    : loadKeyStoreIdentity(files.store, files.alias, files.keyPassword)
}

function loadTrust(store: StoreFile): Certificate[] {
  const certificates = loadAuthorities(store)
  try {
    return certificates.map(readCertificate)
  } catch (error) {
    throw new TlsFileError(store.key, `a certificate in ${store.file} is malformed`, error)
  }
}

function parse<T>(file: string, read: (bytes: Buffer) => T): T {
  const bytes = readTlsFile(crlKey, file)
  try {
    return read(bytes)
  } catch (error) {
    if (!(error instanceof DerError)) throw error
    throw new TlsFileError(crlKey, `the file ${file} cannot be used: ${error.message}`, error)
  }
}

/** What a listener is set up with. A listener that asks for certificates trusts the given authorities, never public ones. */
export function toSecureContext(
  settings: TlsSettings,
  { identity, authorities, revocations }: TlsMaterial,
  asksForCertificates: boolean,
): SecureContextOptions {
  return {
    key: identity?.key,
    cert: identity?.certificates,
    minVersion: settings.minVersion,
    maxVersion: settings.maxVersion,
    ciphers: settings.ciphers,
    honorCipherOrder: true,
    ...(asksForCertificates && {
      ca: authorities.map(({ x509 }) => x509.toString()),
      ...(revocations.lists.length > 0 && { crl: revocations.lists.map(({ pem }) => pem) }),
    }),
  }
}

/** Changes whenever one of the files does, also when a link leads to another file. */
export function stampOf({ identity, trust, crlFile, blocklistFile }: TlsSettings): string {
  const own =
    identity?.kind === 'pem'
      ? [identity.certificate.file, identity.privateKey.file]
      : [identity?.store.file]
  return [...own, trust?.file, crlFile, blocklistFile]
    .map((file) => {
      const stats =
        file === undefined ? undefined : statSync(file, { throwIfNoEntry: false, bigint: true })
      return stats === undefined ? '-' : `${stats.dev}.${stats.ino}.${stats.size}.${stats.mtimeNs}`
    })
    .join(' ')
}
