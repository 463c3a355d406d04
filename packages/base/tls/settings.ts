/** Settings of encrypted and additional listeners. */
import { createSecureContext, getCiphers } from 'node:tls'
import { z } from 'zod'
import { formatJavaName } from '../names/distinguished-name.ts'
import {
  on,
  optionalFlag,
  optionalText,
  optionalTexts,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
  whole,
  word,
} from '../settings/setting.ts'
import type { Certificate } from './certificate.ts'
import { type StoreFile, toPath, toStoreFile } from './key-material.ts'
import {
  crlKey,
  findExpiry,
  type IdentityFiles,
  readTlsMaterial,
  type TlsSettings,
  toSecureContext,
} from './tls-material.ts'

const ciphersKey = 'server.ssl.ciphers'
const versionsKey = 'server.ssl.enabled-protocols'
const extraPort = whole(-1, 65535)
  .default(-1)
  .transform((port) => (port > 0 ? port : undefined))

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

export const tlsKeys = settings(
  {
    enabled: setting('server.ssl.enabled', optionalFlag).describe(
      'TLS on the main port. Default: on if a certificate or key store is set.',
    ),
    certificate: setting('server.ssl.certificate', optionalText).describe(
      'PEM file with the server certificate and the intermediate certificates.',
    ),
    privateKey: setting('server.ssl.certificate-private-key', optionalText).describe(
      'PEM file with its private key.',
    ),
    keyStore: setting('server.ssl.key-store', optionalText).describe(
      'PKCS #12 file with certificate and private key; reloaded when it changes, like every file here.',
    ),
    keyStorePassword: setting('server.ssl.key-store-password', z.string().default('')).describe(
      'Password of the key store.',
    ),
    keyPassword: setting('server.ssl.key-password', optionalText).describe(
      'Password of the private key. Default: that of the key store.',
    ),
    alias: setting('server.ssl.key-alias', optionalText).describe(
      'Alias of the private key in the key store. Default: the first.',
    ),
    trustCertificate: setting('server.ssl.trust-certificate', optionalText).describe(
      'PEM file with the authorities whose client certificates are accepted.',
    ),
    trustStore: setting('server.ssl.trust-store', optionalText).describe(
      'The same as a PKCS #12 file.',
    ),
    trustStorePassword: setting('server.ssl.trust-store-password', z.string().default('')).describe(
      'Password of the trust store.',
    ),
    clientCertificates: setting(
      'server.ssl.client-auth',
      word(['none', 'want', 'need']).prefault('none'),
    ).describe(
      'Whether the main port requests client certificates (`want`) or requires them (`need`).',
    ),
    crl: setting(crlKey, optionalText).describe(
      'Revocation lists (CRL) of the authorities, PEM or DER; or `blocklist:` and a file of `issuer:::serial` lines.',
    ),
    usesBlocklist: setting('ssl.blocklist.enabled', on).describe('Whether a block list applies.'),
    serverNameBundles: setting('server.ssl.server-name-bundles', z.unknown().optional()).describe(
      'Certificates by host name. Not supported: set one in `server.ssl` instead.',
    ),
    bundle: setting('server.ssl.bundle', optionalText).describe(
      'Bundles of Spring. Not supported: set the files in `server.ssl` instead.',
    ),
    ciphers: setting(ciphersKey, optionalTexts).describe(
      'Cipher suites; overrides `default.cipherSuites`.',
    ),
    versions: setting(versionsKey, optionalTexts).describe(
      'TLS versions; overrides `default.tlsVersions`.',
    ),
    usualVersions: setting(
      'default.tlsVersions',
      z.array(z.string()).default(['TLSv1.3', 'TLSv1.2']),
    ).describe('TLS versions of all encrypted ports.'),
    usualCiphers: setting(
      'default.cipherSuites',
      z.array(z.string()).default(strongCiphers),
    ).describe('Cipher suites of all encrypted ports.'),
    ports: {
      apiPort: setting('default.apiPort', extraPort).describe(
        'Extra TLS port on which a client certificate is required; -1: none.',
      ),
      legacyPort: setting('default.legacyServerPort', extraPort).describe(
        'Extra port without TLS; -1: none.',
      ),
      managementPort: setting('management.server.port', extraPort).describe(
        'Extra port without TLS for health and metrics alone: `/health`, `/prometheus` and `/metrics`, also below `/actuator`; -1: none.',
      ),
      legacyLogin: setting('default.legacyServerPortAuth', on).describe(
        'Whether the extra port without TLS requires a login as the main port does.',
      ),
    },
  },
  {
    'server.ssl.key-store-type': 'Detected from the file.',
    'server.ssl.key-store-provider': 'There are no providers.',
    'server.ssl.trust-store-type': 'Detected from the file.',
    'server.ssl.trust-store-provider': 'There are no providers.',
    'server.ssl.protocol': 'The versions decide.',
  },
)
export type TlsValues = SettingsOf<typeof tlsKeys>

export type ListenerSettings = ReturnType<typeof toListeners>

/** @param headerCertificates Whether a proxy hands client certificates on, which are checked against the same authorities */
export function toTls(
  values: TlsValues,
  report: SettingsReport,
  headerCertificates: boolean,
): { tls: TlsSettings | undefined; listeners: ListenerSettings } {
  const { crl, usesBlocklist } = values
  const listeners = toListeners(values, report)
  const asks = listeners.apiPort !== undefined || listeners.clientCertificates !== 'none'
  const encrypted = listeners.mainTls || listeners.apiPort !== undefined
  const identity = encrypted ? toIdentity(values, report) : undefined
  const trust = asks || headerCertificates ? toTrust(values, report) : undefined
  if (identity === undefined && trust === undefined) return { tls: undefined, listeners }
  const blocklist = /^blocklist:(.*)$/i.exec(crl ?? '')?.[1]
  const settings: TlsSettings = {
    identity,
    trust,
    crlFile:
      crl === undefined || blocklist !== undefined || trust === undefined ? undefined : toPath(crl),
    blocklistFile: blocklist === undefined || !usesBlocklist ? undefined : toPath(blocklist.trim()),
    ...toVersions(values, report),
    ciphers: toCiphers(values, report),
  }
  checkFiles(settings, asks, report)
  return { tls: settings, listeners }
}

function toListeners(values: TlsValues, report: SettingsReport) {
  const { enabled, clientCertificates, ports } = values
  if (values.serverNameBundles !== undefined) {
    report.problem(
      'server.ssl.server-name-bundles',
      'one certificate serves all names; name its files in server.ssl instead',
    )
  }
  if (values.bundle !== undefined) {
    report.problem(
      'server.ssl.bundle',
      'bundles are not supported; name the files with server.ssl.certificate or key-store',
    )
  }
  const named = values.certificate ?? values.keyStore
  const mainTls = enabled ?? named !== undefined
  // Without encryption, no client could send a certificate; Gate does not open it either.
  const isUseless = ports.apiPort !== undefined && enabled !== true && named === undefined
  if (isUseless)
    report.notice(
      'default.apiPort is not opened, for it is a port with TLS: set server.ssl.enabled, and name a certificate or key store in server.ssl.',
    )
  return {
    ...ports,
    mainTls,
    /** Whether the main port requests client certificates, or requires them. */
    clientCertificates: mainTls ? clientCertificates : ('none' as const),
    apiPort: isUseless ? undefined : ports.apiPort,
  }
}

function toIdentity(values: TlsValues, report: SettingsReport): IdentityFiles | undefined {
  const { certificate, privateKey, keyStore, keyStorePassword, alias, keyPassword } = values
  if (certificate !== undefined && keyStore !== undefined) {
    report.problem(
      'server.ssl.key-store',
      'there is server.ssl.certificate, too; remove one of them',
    )
  } else if (certificate !== undefined && privateKey === undefined) {
    report.problem(
      'server.ssl.certificate',
      'the private key is missing: name its file in server.ssl.certificate-private-key',
    )
  } else if (certificate !== undefined && privateKey !== undefined) {
    return {
      kind: 'pem',
      certificate: toStoreFile('server.ssl.certificate', certificate, ''),
      privateKey: toStoreFile('server.ssl.certificate-private-key', privateKey, keyPassword ?? ''),
    }
  } else if (keyStore !== undefined) {
    return {
      kind: 'store',
      store: toStoreFile('server.ssl.key-store', keyStore, keyStorePassword),
      alias,
      keyPassword,
    }
  } else {
    report.problem(
      'server.ssl.enabled',
      'TLS needs a certificate: name server.ssl.certificate and server.ssl.certificate-private-key (PEM), or server.ssl.key-store (PKCS #12)',
    )
  }
  return undefined
}

/** Without authorities of its own a listener would trust public ones, which certify any client. */
function toTrust(
  { trustCertificate, trustStore, trustStorePassword, ports }: TlsValues,
  report: SettingsReport,
): StoreFile | undefined {
  if (trustCertificate !== undefined)
    return toStoreFile('server.ssl.trust-certificate', trustCertificate, '')
  if (trustStore !== undefined)
    return toStoreFile('server.ssl.trust-store', trustStore, trustStorePassword)
  report.problem(
    ports.apiPort === undefined ? 'server.ssl.client-auth' : 'default.apiPort',
    'client certificates need the authorities that issue them: name server.ssl.trust-certificate (PEM) or server.ssl.trust-store',
  )
  return undefined
}

function toVersions(
  values: TlsValues,
  report: SettingsReport,
): Pick<TlsSettings, 'minVersion' | 'maxVersion'> {
  const key = values.versions === undefined ? 'default.tlsVersions' : versionsKey
  const named = values.versions ?? values.usualVersions
  const versions = named.filter((version) => version === 'TLSv1.2' || version === 'TLSv1.3')
  if (versions.length === 0)
    report.problem(key, 'TLSv1.2 and TLSv1.3 are offered; name one of them or both')
  else if (versions.length < named.length)
    report.notice(`${key}: only TLSv1.2 and TLSv1.3 are offered; older ones are not safe.`)
  return {
    minVersion: versions.includes('TLSv1.2') ? 'TLSv1.2' : 'TLSv1.3',
    maxVersion: versions.includes('TLSv1.3') ? 'TLSv1.3' : 'TLSv1.2',
  }
}

/** Suites that this runtime does not have are left out, as long as one remains. */
function toCiphers(values: TlsValues, report: SettingsReport): string {
  const key = values.ciphers === undefined ? 'default.cipherSuites' : ciphersKey
  const suites = values.ciphers ?? values.usualCiphers
  const known = new Set(getCiphers())
  const usable = suites.filter((suite) => known.has(toOpenSslName(suite).toLowerCase()))
  const unusable = suites.filter((suite) => !usable.includes(suite))
  if (usable.length === 0)
    report.problem(key, 'none of these cipher suites exists here; remove the key for a strong list')
  else if (unusable.length > 0)
    report.notice(`${key}: ${unusable.join(', ')} do not exist here and are left out.`)
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
    if (material.identity !== undefined)
      createSecureContext(toSecureContext(settings, material, asks))
    const expiry = findExpiry(material)
    if (expiry !== undefined) report.notice(`Warning: ${expiry}`)
    if (asks && settings.trust !== undefined)
      checkChains(settings.trust.key, material.authorities, report)
  } catch (error) {
    report.problem(
      'server.ssl',
      `TLS cannot be set up with these files: ${(error as Error).message}`,
    )
  }
}

/** TLS follows each chain up to a root. */
function checkChains(
  key: string,
  authorities: readonly Certificate[],
  report: SettingsReport,
): void {
  const incomplete = authorities.filter(
    ({ x509 }) => !authorities.some((issuer) => x509.checkIssued(issuer.x509)),
  )
  if (incomplete.length === 0) return
  const missing = [...new Set(incomplete.map(({ issuer }) => formatJavaName(issuer).text))].join(
    ' and ',
  )
  const message = `authorities are trusted together with those above them: add ${missing}`
  if (incomplete.length === authorities.length) report.problem(key, message)
  else report.notice(`${key}: ${message}; until then, what they issue is refused.`)
}
