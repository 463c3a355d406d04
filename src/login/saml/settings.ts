/** Settings of SAML: registrations with identity providers, and rules for responses. */
import type { z } from 'zod'
import { parseJavaSearch, type SettingsReport } from '../../settings/setting.ts'
import type { IdentityMapping } from './identity.ts'
import type { KeyStoreLocation } from './key-store.ts'
import type { KeyPairs, SamlKeys, SamlRegistrationKeys } from './setting-keys.ts'
import type { RequestHash } from './signed-bytes.ts'

interface CredentialLocations {
  /** The setting that names them. */
  key: string
  privateKey: string
  certificate: string
}

export interface SamlRegistration {
  id: string
  /** May hold placeholders such as `{baseUrl}`. */
  entityId: string
  consumerUrl: string
  /** Paths, besides those that are always served, without context path. */
  nameIdFormat: string | undefined
  identityProvider:
    | { kind: 'metadata'; location: string; entityId: string | undefined; key: string }
    | { kind: 'configured'; entityId: string; url: string; binding: 'redirect' | 'post'; certificates: string[]; key: string }
  /** Undefined: as the metadata wants it. */
  signRequests: boolean | undefined
  signing: CredentialLocations[]
  decryption: CredentialLocations[]
}

export interface SamlSettings {
  key: string
  registrations: SamlRegistration[]
  /** Path of our own choice, with `{registrationId}`. */
  processingPath: string
  keyStore: KeyStoreLocation | undefined
  metadataRefreshMs: number
  hash: RequestHash
  acceptSha1: boolean
  maxAuthenticationAgeMs: number | undefined
  idpInitiated: { enabled: boolean; relayStates: string[] }
  mapping: IdentityMapping
}

const registrationKey = 'spring.security.saml2.relyingparty.registration'

/** Undefined when it is off. */
export function toSamlSettings(keys: SamlKeys, report: SettingsReport): SamlSettings | undefined {
  if (!keys['saml.enabled']) {
    if (keys['security.authn.saml.enabled']) {
      report.problem(
        'security.authn.saml.enabled',
        'this is the form of installers; write saml.enabled: true and the other saml.* keys',
      )
    }
    return undefined
  }
  const ids = Object.keys(keys[registrationKey])
  const registrations = ids.length === 0 ? [toOldRegistration(keys, report)] : ids.map((id) => toRegistration(id, keys, report))
  for (const id of ids) {
    if (!/^[\w.-]+$/.test(id)) {
      report.problem(`${registrationKey}.${id}`, 'the name must consist of letters, digits, dots, hyphens and underscores')
    }
  }
  for (const registration of registrations) if (registration !== undefined) noteWeakness(registration, report)
  const maxAge = keys['saml.maxAuthenticationAge']
  const digest = keys['saml.signatureDigest'] ?? 'SHA256'
  const keyStore = keys['saml.keyStore']
  return {
    key: 'saml.enabled',
    registrations: registrations.filter((registration) => registration !== undefined),
    processingPath: keys['saml.loginProcessingUrl'],
    keyStore:
      keyStore === undefined
        ? undefined
        : { location: keyStore, password: keys['saml.keyStorePassword'], alias: keys['saml.keyStoreAliasName'] },
    metadataRefreshMs: Math.max(1, keys['saml.metadataRefresh']),
    hash: digest.toLowerCase() as RequestHash,
    acceptSha1: digest === 'SHA1',
    maxAuthenticationAgeMs: maxAge === undefined ? undefined : maxAge * 1000,
    idpInitiated: { enabled: keys['saml.idpInitiated.enabled'], relayStates: keys['saml.idpInitiated.relayStates'] },
    mapping: toMapping(keys, report),
  }
}

/** What starts, and what an operator should know about it. */
function noteWeakness({ id, entityId, identityProvider }: SamlRegistration, report: SettingsReport): void {
  if (/\{base(?:Url|Host)\}/.test(entityId)) {
    report.notice(
      `SAML registration ${id} is named after the host that a request names. Where requests with any host reach the gateway, ` +
        'set saml.issuerId (or entity-id) to the full name, so that answers meant for another service are not taken.',
    )
  }
  if (identityProvider.kind === 'metadata' && /^http:/i.test(identityProvider.location)) {
    report.notice(
      `The metadata of SAML registration ${id} comes by http: an attacker who changes it on the way can log in as any user.`,
    )
  }
}

function toMapping(keys: SamlKeys, report: SettingsReport): IdentityMapping {
  const lowercaseRoles = keys['saml.forceLowercaseRoles']
  return {
    attributes: {
      firstName: keys['saml.userAttributeMapping.firstName'],
      lastName: keys['saml.userAttributeMapping.lastName'],
      roles: keys['saml.userAttributeMapping.roles'],
      username: keys['saml.userAttributeMapping.username'] || undefined,
      email: keys['saml.userAttributeMapping.email'] || undefined,
    },
    rolesDelimiter: toDelimiter(keys['saml.userAttributeMapping.rolesDelimiter'], report),
    lowercaseRoles,
    sortRoles: keys['saml.sortRoles'],
    requiredRoles: keys['saml.requiredRoles'].map((role) => (lowercaseRoles ? role.toLowerCase() : role)),
  }
}

/** Characters that names of groups have. */
const ordinary = [...' ,-_.:/@aZ0']

/** A pattern that is found within a value, where others match the whole of it. */
function toDelimiter(text: string, report: SettingsReport): RegExp {
  const key = 'saml.userAttributeMapping.rolesDelimiter'
  try {
    const delimiter = parseJavaSearch(text, 'g')
    const inside = ordinary.find((character) => character.search(delimiter) !== -1)
    if (inside !== undefined) {
      report.notice(
        `${key} splits roles at "${inside}", which names of groups may hold: a group "x${inside}admins" brings the role "admins". ` +
          'Where the identity provider sends each group as a value of its own, set it to "(?!)", which matches nothing.',
      )
    }
    return delimiter
  } catch (error) {
    report.problem(key, `must be a regular expression: ${(error as Error).message}`)
    return /;/g
  }
}

/** Generations A and B: all settings are in `saml.*`. */
function toOldRegistration(keys: SamlKeys, report: SettingsReport): SamlRegistration | undefined {
  const metadata = keys['saml.metadataUrl']
  const signing = oldSigning(keys, report)
  if (metadata === undefined) {
    report.problem('saml.metadataUrl', 'SAML needs the metadata of the identity provider: give its address or a file')
    return undefined
  }
  return {
    id: keys['saml.registrationId'],
    entityId: keys['saml.issuerId'] ?? '{baseUrl}/saml2/metadata',
    consumerUrl: oldConsumerUrl(keys) ?? `{baseUrl}${keys['saml.loginProcessingUrl']}`,
    nameIdFormat: undefined,
    identityProvider: { kind: 'metadata', location: metadata, entityId: undefined, key: 'saml.metadataUrl' },
    signRequests: keys['saml.signRequests'],
    signing,
    decryption: [],
  }
}

/** Generation A names the address itself. */
function oldConsumerUrl(keys: SamlKeys): string | undefined {
  const host = keys['saml.redirectHostname']
  if (host === undefined) return undefined
  return `${keys['saml.redirectProtocol']}://${host}${keys['saml.redirectBasePath'].replace(/(?<!\/)\/+$/, '')}/saml/SSO`
}

function oldSigning(keys: SamlKeys, report: SettingsReport): CredentialLocations[] {
  return keys['saml.signingCredentials'].flatMap((one, index) =>
    toPair(one.privateKeyLocation, one.certificateLocation, `saml.signingCredentials.${index}`, report),
  )
}

/** Generation C; what it leaves out is taken from `saml.*`. */
function toRegistration(id: string, keys: SamlKeys, report: SettingsReport): SamlRegistration | undefined {
  const registration = keys[registrationKey][id] as SamlRegistrationKeys
  const key = `${registrationKey}.${id}`
  const identityProvider = toIdentityProvider(registration, keys, key, report)
  if (identityProvider === undefined) return undefined
  const party = registration.assertingparty ?? registration.identityprovider
  const signing = toPairs(registration.signing, `${key}.signing`, report)
  return {
    id,
    entityId: registration['entity-id'] ?? keys['saml.issuerId'] ?? '{baseUrl}/saml2/service-provider-metadata/{registrationId}',
    consumerUrl: registration.acs?.location ?? oldConsumerUrl(keys) ?? '{baseUrl}/login/saml2/sso/{registrationId}',
    nameIdFormat: registration['name-id-format'],
    identityProvider,
    signRequests: party?.singlesignon?.['sign-request'] ?? keys['saml.signRequests'],
    signing: signing.length > 0 ? signing : oldSigning(keys, report),
    decryption: toPairs(registration.decryption, `${key}.decryption`, report),
  }
}

function toIdentityProvider(
  registration: SamlRegistrationKeys,
  keys: SamlKeys,
  key: string,
  report: SettingsReport,
): SamlRegistration['identityProvider'] | undefined {
  const name =
    registration.assertingparty === undefined && registration.identityprovider !== undefined
      ? 'identityprovider'
      : 'assertingparty'
  const party = registration[name]
  const entityId = party?.['entity-id']
  const url = party?.singlesignon?.url
  const metadata = party?.['metadata-uri'] ?? (url === undefined ? keys['saml.metadataUrl'] : undefined)
  if (metadata !== undefined) return { kind: 'metadata', location: metadata, entityId, key: `${key}.${name}.metadata-uri` }
  const certificates = (party?.verification?.credentials ?? []).flatMap((one) => one['certificate-location'] ?? [])
  if (entityId === undefined || url === undefined || certificates.length === 0) {
    report.problem(
      `${key}.${name}.metadata-uri`,
      'SAML needs the metadata of the identity provider, or entity-id, singlesignon.url and verification.credentials instead',
    )
    return undefined
  }
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    report.problem(`${key}.${name}.singlesignon.url`, 'must be an absolute address such as https://idp.example/sso')
  }
  return {
    kind: 'configured',
    entityId,
    url,
    binding: party?.singlesignon?.binding ?? 'redirect',
    certificates,
    key: `${key}.${name}`,
  }
}

function toPairs(holder: z.infer<typeof KeyPairs>, key: string, report: SettingsReport): CredentialLocations[] {
  return (holder?.credentials ?? []).flatMap((one, index) =>
    toPair(one['private-key-location'], one['certificate-location'], `${key}.credentials.${index}`, report),
  )
}

function toPair(
  privateKey: string | undefined,
  certificate: string | undefined,
  key: string,
  report: SettingsReport,
): CredentialLocations[] {
  if (privateKey !== undefined && certificate !== undefined) return [{ key, privateKey, certificate }]
  report.problem(key, 'a key pair needs a private key and a certificate')
  return []
}

/** Whether metadata comes from a server. */
export function isAddress(location: string): boolean {
  return /^https?:\/\//i.test(location)
}
