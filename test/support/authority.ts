/** A certificate authority of the test's own: issues certificates of every kind, good and bad, and revokes them. */
import type { webcrypto } from 'node:crypto'
import 'reflect-metadata'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
  X509CrlGenerator,
} from '@peculiar/x509'

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const dayMs = 86_400_000
const clientUsage = '1.3.6.1.5.5.7.3.2'
const serverUsage = '1.3.6.1.5.5.7.3.1'

export interface Issued {
  /** The certificate and the authorities in between, PEM. */
  readonly cert: string
  /** PKCS #8, PEM. */
  readonly key: string
  readonly serialNumber: string
}

export interface CertificateOptions {
  /** The most special part last, as it is encoded: `C=DE, O=Acme, CN=svc`. */
  subject: string
  emails?: string[]
  /** Host names and addresses, of servers. */
  hosts?: string[]
  /** Milliseconds since the epoch. */
  notBefore?: number
  notAfter?: number
  /** Encoded values by identifier. */
  extensions?: Record<string, Uint8Array>
  usage?: 'client' | 'server'
  /** Identifiers of extended usages instead of that one; empty: the extension is left out. */
  usages?: string[]
  /** What the key may do; the extension is left out without. */
  keyUsage?: 'digitalSignature' | 'keyEncipherment'
  /** Identifiers of `extensions` that are marked as critical. */
  critical?: string[]
  /** A weaker key than that of P-256, or another hash for the signature. */
  rsaBits?: number
  hash?: 'SHA-1' | 'SHA-256'
}

export interface AuthorityLimits {
  /** Authorities below this one. */
  pathLength?: number
  /** Identifiers of extended usages. */
  usages?: string[]
}

export interface Authority {
  /** PEM. */
  readonly certificate: string
  readonly name: string
  issue(options: CertificateOptions): Promise<Issued>
  /** An authority below this one. */
  issueAuthority(name: string, limits?: AuthorityLimits): Promise<Authority>
  /** A revocation list, PEM. */
  revoke(certificates: readonly Issued[], options?: { nextUpdate?: number }): Promise<string>
}

/** @param name Such as `CN=CA-1` */
export async function createAuthority(name: string): Promise<Authority> {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name,
    keys,
    signingAlgorithm: algorithm,
    notBefore: new Date(Date.now() - dayMs),
    notAfter: new Date(Date.now() + 100 * dayMs),
    extensions: authorityExtensions(),
  })
  return toAuthority(certificate, keys, '')
}

function authorityExtensions({ pathLength, usages }: AuthorityLimits = {}): Extension[] {
  return [
    new BasicConstraintsExtension(true, pathLength, true),
    ...(usages === undefined ? [] : [new ExtendedKeyUsageExtension(usages)]),
    new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
  ]
}

function toAuthority(
  own: X509Certificate,
  keys: webcrypto.CryptoKeyPair,
  chain: string,
): Authority {
  const issuer = own.subject
  return {
    certificate: own.toString('pem'),
    name: issuer,
    issue: async (options) => {
      const subjectKeys = await crypto.subtle.generateKey(toKeyAlgorithm(options), true, [
        'sign',
        'verify',
      ])
      const certificate = await X509CertificateGenerator.create({
        subject: options.subject,
        issuer,
        notBefore: new Date(options.notBefore ?? Date.now() - dayMs),
        notAfter: new Date(options.notAfter ?? Date.now() + dayMs),
        publicKey: subjectKeys.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: { ...algorithm, hash: options.hash ?? 'SHA-256' },
        extensions: toExtensions(options),
      })
      return {
        cert: `${certificate.toString('pem')}\n${chain}`,
        key: toPem('PRIVATE KEY', await crypto.subtle.exportKey('pkcs8', subjectKeys.privateKey)),
        serialNumber: certificate.serialNumber,
      }
    },
    issueAuthority: async (name, limits) => {
      const subordinateKeys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
      const certificate = await X509CertificateGenerator.create({
        subject: name,
        issuer,
        notBefore: new Date(Date.now() - dayMs),
        notAfter: new Date(Date.now() + 50 * dayMs),
        publicKey: subordinateKeys.publicKey,
        signingKey: keys.privateKey,
        signingAlgorithm: algorithm,
        extensions: authorityExtensions(limits),
      })
      return toAuthority(certificate, subordinateKeys, `${certificate.toString('pem')}\n${chain}`)
    },
    revoke: async (certificates, { nextUpdate = Date.now() + dayMs } = {}) => {
      const list = await X509CrlGenerator.create({
        issuer,
        thisUpdate: new Date(Math.min(Date.now(), nextUpdate) - dayMs),
        nextUpdate: new Date(nextUpdate),
        entries: certificates.map(({ serialNumber }) => ({
          serialNumber,
          revocationDate: new Date(Date.now() - dayMs),
        })),
        signingAlgorithm: algorithm,
        signingKey: keys.privateKey,
      })
      return toPem('X509 CRL', list.rawData)
    },
  }
}

function toKeyAlgorithm({ rsaBits }: CertificateOptions) {
  if (rsaBits === undefined) return algorithm
  const publicExponent = new Uint8Array([1, 0, 1])
  return { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: rsaBits, publicExponent }
}

function toExtensions({
  emails = [],
  hosts = [],
  extensions = {},
  usage = 'client',
  usages = [usage === 'client' ? clientUsage : serverUsage],
  keyUsage,
  critical = [],
}: CertificateOptions): Extension[] {
  const names = [
    ...emails.map((value) => ({ type: 'email' as const, value })),
    ...hosts.map((value) => ({
      type: /^[\d.]+$/.test(value) ? ('ip' as const) : ('dns' as const),
      value,
    })),
  ]
  return [
    new BasicConstraintsExtension(false),
    ...(usages.length > 0 ? [new ExtendedKeyUsageExtension(usages)] : []),
    ...(keyUsage === undefined ? [] : [new KeyUsagesExtension(KeyUsageFlags[keyUsage], true)]),
    ...(names.length > 0 ? [new SubjectAlternativeNameExtension(names)] : []),
    ...Object.entries(extensions).map(
      ([oid, value]) => new Extension(oid, critical.includes(oid), value),
    ),
  ]
}

/** A text as the value of an extension. */
export function utf8String(text: string): Uint8Array {
  const bytes = new TextEncoder().encode(text)
  return new Uint8Array([0x0c, bytes.length, ...bytes])
}

function toPem(label: string, der: ArrayBuffer): string {
  const base64 = Buffer.from(der).toString('base64').replaceAll(/.{64}/g, '$&\n').trimEnd()
  return `-----BEGIN ${label}-----\n${base64}\n-----END ${label}-----\n`
}
