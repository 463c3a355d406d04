/** Parser of an identity provider's metadata: name, keys, login addresses. */
import { type KeyObject, X509Certificate } from 'node:crypto'
import type { NameCase } from '../login-method.ts'
import {
  childrenOf,
  descendantsOf,
  isElement,
  parseXml,
  type XmlElement,
  xmlAttribute,
  xmlText,
} from './xml.ts'
import {
  fileLimits,
  localNameOf,
  messageLimits,
  scanTags,
  type Tag,
  type XmlLimits,
} from './xml-scanner.ts'

export interface IdentityProvider {
  readonly entityId: string
  /** Addresses for requests by binding; at least one is there. */
  readonly signOn: { readonly redirect?: string; readonly post?: string }
  readonly wantsSignedRequests: boolean
  readonly keys: readonly KeyObject[]
  readonly certificates: readonly X509Certificate[]
  readonly validUntilMs?: number
}

export const bindings = {
  redirect: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect',
  post: 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST',
} as const

/**
 * @param wanted Entity ID, where the metadata describes several identity providers
 * @throws {Error} when it does not describe exactly one usable identity provider; the message says why
 */
export function parseIdpMetadata(text: string, wanted: string | undefined): IdentityProvider {
  const entities: XmlElement[] = []
  // The file of a federation has thousands; only those that may be meant are parsed.
  for (const xml of cutProviders(text.replace(/^\ufeff/, ''), wanted)) {
    const found = descendantsOf(parseXml(xml, entityLimits).root).find((element) =>
      isProvider(element, wanted),
    )
    if (found !== undefined) entities.push(found)
    if (entities.length > 1) break
  }
  const [entity, other] = entities
  if (entity === undefined) {
    throw new Error(
      wanted === undefined
        ? 'it describes no identity provider'
        : `it describes no identity provider named "${wanted}"`,
    )
  }
  if (other !== undefined) {
    throw new Error(
      'it describes several identity providers; name one with assertingparty.entity-id',
    )
  }
  return toIdentityProvider(entity)
}

/** The description of one entity is not longer than the longest message. */
const entityLimits: XmlLimits = {
  ...messageLimits,
  instructions: true,
  tagLength: fileLimits.tagLength,
}

/** Each description of an entity that may be the wanted one, alone within the tags around it. @throws {SamlRefused} */
function cutProviders(text: string, wanted: string | undefined): string[] {
  const found: string[] = []
  const around: { start: string; name: string }[] = []
  let entity: Tag | undefined
  let hasRole = false
  scanTags(text, fileLimits, (tag) => {
    const { kind, start, end, depth, name } = tag
    if (entity !== undefined) {
      hasRole ||= localNameOf(tag) === 'IDPSSODescriptor'
      if (kind !== 'end' || depth !== entity.depth) return
      if (hasRole && mayName(text.slice(entity.start, entity.end), wanted)) {
        const closing = around.map((one) => `</${one.name}>`).reverse()
        found.push(
          [...around.map((one) => one.start), text.slice(entity.start, end), ...closing].join(''),
        )
      }
      entity = undefined
    } else if (kind === 'start' && localNameOf(tag) === 'EntityDescriptor') {
      entity = tag
      hasRole = false
    } else if (kind === 'start') around.push({ start: text.slice(start, end), name })
    else if (kind === 'end') around.pop()
  })
  return found
}

/** An ampersand is written as a reference. */
function mayName(tag: string, wanted: string | undefined): boolean {
  if (wanted === undefined) return true
  const value = wanted.replaceAll('&', '&amp;')
  return tag.includes(`"${value}"`) || tag.includes(`'${value}'`)
}

function isProvider(element: XmlElement, wanted: string | undefined): boolean {
  if (!isElement(element, 'metadata', 'EntityDescriptor')) return false
  if (wanted !== undefined && xmlAttribute(element, 'entityID') !== wanted) return false
  return childrenOf(element, 'metadata', 'IDPSSODescriptor').length > 0
}

function toIdentityProvider(entity: XmlElement): IdentityProvider {
  const descriptors = childrenOf(entity, 'metadata', 'IDPSSODescriptor')
  const entityId = xmlAttribute(entity, 'entityID') ?? ''
  if (entityId === '') throw new Error('the identity provider has no entityID')
  const services = descriptors.flatMap((one) => childrenOf(one, 'metadata', 'SingleSignOnService'))
  const redirect = locationOf(services, bindings.redirect)
  const post = locationOf(services, bindings.post)
  if (redirect === undefined && post === undefined) {
    throw new Error(
      'the identity provider offers neither the redirect nor the POST binding for single sign-on',
    )
  }
  const certificates = descriptors
    .flatMap((one) => childrenOf(one, 'metadata', 'KeyDescriptor'))
    .flatMap(signingCertificatesOf)
  if (certificates.length === 0)
    throw new Error('the identity provider has no certificate for signatures')
  const wantsSignedRequests = descriptors.some((one) =>
    /^(true|1)$/.test(xmlAttribute(one, 'WantAuthnRequestsSigned') ?? ''),
  )
  const validUntilMs = Date.parse(xmlAttribute(entity, 'validUntil') ?? '')
  return {
    entityId,
    signOn: { redirect, post },
    wantsSignedRequests,
    keys: certificates.map(({ publicKey }) => publicKey),
    certificates,
    ...(!Number.isNaN(validUntilMs) && { validUntilMs }),
  }
}

function locationOf(services: readonly XmlElement[], binding: string): string | undefined {
  const service = services.find((one) => xmlAttribute(one, 'Binding') === binding)
  const location = xmlAttribute(service, 'Location')
  if (location === undefined) return undefined
  const url = URL.parse(location)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new Error('an address for single sign-on is no http or https URL')
  return location
}

/** A key without `use` serves both purposes. */
function signingCertificatesOf(descriptor: XmlElement): X509Certificate[] {
  const use = xmlAttribute(descriptor, 'use')
  if (use !== undefined && use !== 'signing') return []
  return descendantsOf(descriptor)
    .filter((element) => isElement(element, 'signature', 'X509Certificate'))
    .map((element) => readSigningCertificate(Buffer.from(xmlText(element), 'base64')))
}

/** The dates of a certificate do not matter here: the metadata says which keys count. @throws {Error} */
export function readSigningCertificate(certificate: Buffer | string): X509Certificate {
  try {
    const read = new X509Certificate(certificate)
    // A certificate with an unknown kind of key has none that can be used.
    if (read.publicKey.type !== 'public') throw new Error('it has no public key')
    return read
  } catch (cause) {
    throw new Error('a certificate cannot be read', { cause })
  }
}

/** Entity ids of Microsoft Entra, Google, Okta and AD FS. */
const entityIds = [
  /^https:\/\/sts\.windows\.net\//,
  /^https:\/\/accounts\.google\.com\/o\/saml2(?:[/?]|$)/,
  /^http:\/\/www\.okta\.com\//,
  /^https?:\/\/[^/?#@]+\/adfs\/services\/trust$/,
]

/** @param entityId As the metadata or the configuration names the identity provider, whose keys sign its answers */
export function nameCaseOfIdentityProvider(entityId: string): NameCase {
  return entityIds.some((form) => form.test(entityId)) ? 'insensitive' : 'unknown'
}
