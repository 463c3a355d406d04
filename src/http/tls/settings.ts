/** Settings of encrypted and additional listeners. */
import { createSecureContext, getCiphers } from 'node:tls'
import { z } from 'zod'
import { formatJavaName } from '../../names/distinguished-name.ts'
import {
  on,
  optionalFlag,
  optionalText,
  optionalTexts,
  type SettingsReport,
  whole,
  withoutEffect,
} from '../../settings/setting.ts'
import type { Certificate } from './certificate.ts'
import { type StoreFile, toPath, toStoreFile } from './key-material.ts'
import { crlKey, findExpiry, type IdentityFiles, readTlsMaterial, type TlsSettings, toSecureContext } from './tls-material.ts'

const anyCase = (text: string) => text.toLowerCase()
const extraPort = whole(-1, 65535).default(-1)

/** What Gate offers too, without the suites that lack forward secrecy. */
const strongCiphers = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384',
  'TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256',
  'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256',
  'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
]

export const TlsKeys = z.strictObject({
  'server.ssl.enabled': optionalFlag.describe('TLS on the main port. Default: on if a certificate or key store is set.'),
  'server.ssl.certificate': optionalText.describe('PEM file with the server certificate and the intermediate certificates.'),
  'server.ssl.certificate-private-key': optionalText.describe('PEM file with its private key.'),
  'server.ssl.key-store': optionalText.describe(
    'PKCS #12 file with certificate and private key; reloaded when it changes, like every file here.',
  ),
  'server.ssl.key-store-type': withoutEffect('Detected from the file.'),
  'server.ssl.key-store-password': optionalText.describe('Password of the key store.'),
  'server.ssl.key-store-provider': withoutEffect('There are no providers.'),
  'server.ssl.key-password': optionalText.describe('Password of the private key. Default: that of the key store.'),
  'server.ssl.key-alias': optionalText.describe('Alias of the private key in the key store. Default: the first.'),
  'server.ssl.trust-certificate': optionalText.describe('PEM file with the authorities whose client certificates are accepted.'),
  'server.ssl.trust-store': optionalText.describe('The same as a PKCS #12 file.'),
  'server.ssl.trust-store-type': withoutEffect('Detected from the file.'),
  'server.ssl.trust-store-password': optionalText.describe('Password of the trust store.'),
  'server.ssl.trust-store-provider': withoutEffect('There are no providers.'),
  'server.ssl.client-auth': z
    .string()
    .transform(anyCase)
    .pipe(z.enum(['none', 'want', 'need']))
    .prefault('none')
    .meta({
      description: 'Whether the main port requests client certificates (`want`) or requires them (`need`).',
      type: 'none, want or need',
    }),
  [crlKey]: optionalText.describe(
    'Revocation lists (CRL) of the authorities, PEM or DER; or `blocklist:` and a file of `issuer:::serial` lines.',
  ),
  'ssl.blocklist.enabled': on.describe('Whether a block list applies.'),
  'server.ssl.server-name-bundles': z
    .unknown()
    .optional()
    .describe('Certificates by host name. Not supported: set one in `server.ssl` instead.'),
  'server.ssl.bundle': optionalText.describe('Bundles of Spring. Not supported: set the files in `server.ssl` instead.'),
  'server.ssl.ciphers': optionalTexts.describe('Cipher suites; overrides `default.cipherSuites`.'),
  'server.ssl.enabled-protocols': optionalTexts.describe('TLS versions; overrides `default.tlsVersions`.'),
  'server.ssl.protocol': withoutEffect('The versions decide.'),
  'default.tlsVersions': z.array(z.string()).default(['TLSv1.3', 'TLSv1.2']).describe('TLS versions of all encrypted ports.'),
  'default.cipherSuites': z.array(z.string()).default(strongCiphers).describe('Cipher suites of all encrypted ports.'),
  'default.apiPort': extraPort.describe('Extra TLS port on which a client certificate is required; -1: none.'),
  'default.legacyServerPort': extraPort.describe('Extra port without TLS; -1: none.'),
  'management.server.port': extraPort.describe(
    'Extra port without TLS for health and metrics alone: `/health`, `/prometheus` and `/metrics`, also below `/actuator`; -1: none.',
  ),
  'default.legacyServerPortAuth': on.describe('Whether the extra port without TLS requires a login as the main port does.'),
})
export type TlsKeys = z.infer<typeof TlsKeys>

/** Which ports there are besides the main one, and what they ask of their clients. */
export interface ListenerSettings {
  mainTls: boolean
  /** Whether the main port requests client certificates, or requires them. */
  clientCertificates: 'none' | 'want' | 'need'
  apiPort: number | undefined
  legacyPort: number | undefined
  /** For probes and scrapers alone. */
  managementPort: number | undefined
  legacyLogin: boolean
}

interface ConfiguredTls {
  tls: TlsSettings | undefined
  listeners: ListenerSettings
}

/** @param headerCertificates Whether a proxy hands client certificates on, which are checked against the same authorities */
export function toTls(keys: TlsKeys, report: SettingsReport, headerCertificates: boolean): ConfiguredTls {
  const listeners = toListeners(keys, report)
  const asks = listeners.apiPort !== undefined || listeners.clientCertificates !== 'none'
  const encrypted = listeners.mainTls || listeners.apiPort !== undefined
  const identity = encrypted ? toIdentity(keys, report) : undefined
  const trust = asks || headerCertificates ? toTrust(keys, report) : undefined
  if (identity === undefined && trust === undefined) return { tls: undefined, listeners }
  const blocklist = /^blocklist:(.*)$/i.exec(keys[crlKey] ?? '')?.[1]
  const settings: TlsSettings = {
    identity,
    trust,
    crlFile: keys[crlKey] === undefined || blocklist !== undefined || trust === undefined ? undefined : toPath(keys[crlKey]),
    blocklistFile: blocklist === undefined || !keys['ssl.blocklist.enabled'] ? undefined : toPath(blocklist.trim()),
    ...toVersions(keys, report),
    ciphers: toCiphers(keys, report),
  }
  checkFiles(settings, asks, report)
  return { tls: settings, listeners }
}

function toListeners(keys: TlsKeys, report: SettingsReport): ListenerSettings {
  if (keys['server.ssl.server-name-bundles'] !== undefined) {
    report.problem('server.ssl.server-name-bundles', 'one certificate serves all names; name its files in server.ssl instead')
  }
  if (keys['server.ssl.bundle'] !== undefined) {
    report.problem('server.ssl.bundle', 'bundles are not supported; name the files with server.ssl.certificate or key-store')
  }
  const named = keys['server.ssl.certificate'] ?? keys['server.ssl.key-store']
  const mainTls = keys['server.ssl.enabled'] ?? named !== undefined
  const toPort = (port: number) => (port > 0 ? port : undefined)
  const apiPort = toPort(keys['default.apiPort'])
  // Gate opens it without encryption, where no client can send a certificate.
  const isUseless = apiPort !== undefined && keys['server.ssl.enabled'] === false && named === undefined
  if (isUseless) report.notice('default.apiPort is not opened: server.ssl.enabled is false, and there is no certificate for TLS.')
  return {
    mainTls,
    clientCertificates: mainTls ? keys['server.ssl.client-auth'] : 'none',
    apiPort: isUseless ? undefined : apiPort,
    legacyPort: toPort(keys['default.legacyServerPort']),
    managementPort: toPort(keys['management.server.port']),
    legacyLogin: keys['default.legacyServerPortAuth'],
  }
}

function toIdentity(keys: TlsKeys, report: SettingsReport): IdentityFiles | undefined {
  const certificate = keys['server.ssl.certificate']
  const privateKey = keys['server.ssl.certificate-private-key']
  const store = keys['server.ssl.key-store']
  const keyPassword = keys['server.ssl.key-password']
  if (certificate !== undefined && store !== undefined) {
    report.problem('server.ssl.key-store', 'there is server.ssl.certificate, too; remove one of them')
  } else if (certificate !== undefined && privateKey === undefined) {
    report.problem('server.ssl.certificate', 'the private key is missing: name its file in server.ssl.certificate-private-key')
  } else if (certificate !== undefined && privateKey !== undefined) {
    return {
      kind: 'pem',
      certificate: toStoreFile('server.ssl.certificate', certificate, ''),
      privateKey: toStoreFile('server.ssl.certificate-private-key', privateKey, keyPassword ?? ''),
    }
  } else if (store !== undefined) {
    const password = keys['server.ssl.key-store-password'] ?? ''
    return {
      kind: 'store',
      store: toStoreFile('server.ssl.key-store', store, password),
      alias: keys['server.ssl.key-alias'],
      keyPassword,
    }
  } else {
    report.problem(
      keys['server.ssl.enabled'] === true ? 'server.ssl.enabled' : 'default.apiPort',
      'TLS needs a certificate: name server.ssl.certificate and server.ssl.certificate-private-key (PEM), ' +
        `or server.ssl.key-store (PKCS #12)${keys['server.ssl.enabled'] === true ? '' : '; or remove default.apiPort'}`,
    )
  }
  return undefined
}

/** Without authorities of its own a listener would trust public ones, which certify any client. */
function toTrust(keys: TlsKeys, report: SettingsReport): StoreFile | undefined {
  const pem = keys['server.ssl.trust-certificate']
  const store = keys['server.ssl.trust-store']
  if (pem !== undefined) return toStoreFile('server.ssl.trust-certificate', pem, '')
  if (store !== undefined) return toStoreFile('server.ssl.trust-store', store, keys['server.ssl.trust-store-password'] ?? '')
  report.problem(
    keys['default.apiPort'] > 0 ? 'default.apiPort' : 'server.ssl.client-auth',
    'client certificates need the authorities that issue them: name server.ssl.trust-certificate (PEM) or server.ssl.trust-store',
  )
  return undefined
}

function toVersions(keys: TlsKeys, report: SettingsReport): Pick<TlsSettings, 'minVersion' | 'maxVersion'> {
  const key = keys['server.ssl.enabled-protocols'] === undefined ? 'default.tlsVersions' : 'server.ssl.enabled-protocols'
  const named = keys['server.ssl.enabled-protocols'] ?? keys['default.tlsVersions']
  const versions = named.filter((version) => version === 'TLSv1.2' || version === 'TLSv1.3')
  if (versions.length === 0) report.problem(key, 'TLSv1.2 and TLSv1.3 are offered; name one of them or both')
  else if (versions.length < named.length) report.notice(`${key}: only TLSv1.2 and TLSv1.3 are offered; older ones are not safe.`)
  return {
    minVersion: versions.includes('TLSv1.2') ? 'TLSv1.2' : 'TLSv1.3',
    maxVersion: versions.includes('TLSv1.3') ? 'TLSv1.3' : 'TLSv1.2',
  }
}

/** Suites that this runtime does not have are left out, as long as one remains. */
function toCiphers(keys: TlsKeys, report: SettingsReport): string {
  const key = keys['server.ssl.ciphers'] === undefined ? 'default.cipherSuites' : 'server.ssl.ciphers'
  const suites = keys['server.ssl.ciphers'] ?? keys['default.cipherSuites']
  const known = new Set(getCiphers())
  const usable = suites.filter((suite) => known.has(toOpenSslName(suite).toLowerCase()))
  const unusable = suites.filter((suite) => !usable.includes(suite))
  if (usable.length === 0) report.problem(key, 'none of these cipher suites exists here; remove the key for a strong list')
  else if (unusable.length > 0) report.notice(`${key}: ${unusable.join(', ')} do not exist here and are left out.`)
  return (usable.length === 0 ? strongCiphers : usable).map(toOpenSslName).join(':')
}

/** `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` is `ECDHE-RSA-AES128-GCM-SHA256`; suites of TLS 1.3 have one name everywhere. */
function toOpenSslName(suite: string): string {
  const [exchange = '', cipher] = suite.replace(/^TLS_/, '').split('_WITH_', 2)
  if (!suite.startsWith('TLS_') || cipher === undefined) return suite
  const short = cipher
    .replace(/(AES|CAMELLIA)_(128|256)/, '$1$2')
    .replace('_CBC', '')
    .replace(/(POLY1305)_SHA256$/, '$1')
  return `${exchange === 'RSA' ? '' : `${exchange}_`}${short}`.replaceAll('_', '-')
}

function checkFiles(settings: TlsSettings, asks: boolean, report: SettingsReport): void {
  try {
    const { material, faults } = readTlsMaterial(settings)
    for (const { key, message } of faults) report.problem(key, message)
    if (faults.length > 0) return
    if (material.identity !== undefined) createSecureContext(toSecureContext(settings, material, asks))
    const expiry = findExpiry(material)
    if (expiry !== undefined) report.notice(`Warning: ${expiry}`)
    if (asks && settings.trust !== undefined) checkChains(settings.trust.key, material.authorities, report)
  } catch (error) {
    report.problem('server.ssl', `TLS cannot be set up with these files: ${(error as Error).message}`)
  }
}

/** TLS follows each chain up to a root. */
function checkChains(key: string, authorities: readonly Certificate[], report: SettingsReport): void {
  const incomplete = authorities.filter(({ x509 }) => !authorities.some((issuer) => x509.checkIssued(issuer.x509)))
  if (incomplete.length === 0) return
  const missing = [...new Set(incomplete.map(({ issuer }) => formatJavaName(issuer).text))].join(' and ')
  const message = `authorities are trusted together with those above them: add ${missing}`
  if (incomplete.length === authorities.length) report.problem(key, message)
  else report.notice(`${key}: ${message}; until then, what they issue is refused.`)
}
