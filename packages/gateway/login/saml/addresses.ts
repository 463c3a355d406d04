/** Names and addresses of our side of a registration; they do not depend on the identity provider, which need not be there. */
import { fillAddress, fillRegistration } from '../address-template.ts'
import type { PublicPlace } from '../method-type.ts'
import type { SamlRegistration } from './settings.ts'

/** Where Gate has ever taken answers; all of them always work. */
const consumerPaths = (id: string) => [
  '/saml/SSO',
  `/saml/${id}`,
  '/login/saml2/sso',
  `/login/saml2/sso/${id}`,
]
const takenPaths = ['/saml/metadata', '/saml2/metadata']

type Named = Pick<SamlRegistration, 'id' | 'entityId' | 'consumerUrl'>

interface Paths {
  /** `saml.loginProcessingUrl`. */
  readonly processingPath: string
  readonly contextPath: string
}

export interface SamlAddresses {
  readonly entityId: string
  /** The one that we announce. */
  readonly consumerUrl: string
  /** Every address under which an answer may have been sent to us. */
  readonly consumerUrls: ReadonlySet<string>
}

export function samlAddresses(registration: Named, place: PublicPlace & Paths): SamlAddresses {
  const own = { baseUrl: place.baseUrl, registrationId: registration.id }
  const consumerUrl = fillAddress(registration.consumerUrl, own)
  const isFixed = /^https?:/i.test(registration.consumerUrl)
  const base = isFixed ? new URL(consumerUrl).origin + place.contextPath : place.baseUrl
  return {
    entityId: fillAddress(registration.entityId, own),
    consumerUrl,
    consumerUrls: new Set([
      consumerUrl,
      ...samlPaths(registration, place).map((path) => base + path),
    ]),
  }
}

/** Paths at which answers are taken, without context path. */
export function samlPaths(registration: Named, { processingPath, contextPath }: Paths): string[] {
  const fixed = registration.consumerUrl
    .replace(/^\{baseUrl\}|^[a-z]+:\/\/[^/]*/i, '')
    .replace(/^\{basePath\}/, '')
  const announced = fillRegistration(fixed, registration.id).replace(/[?#].*$/s, '')
  const inner =
    contextPath !== '' && announced.startsWith(`${contextPath}/`)
      ? announced.slice(contextPath.length)
      : announced
  const paths = [
    ...consumerPaths(registration.id),
    fillRegistration(processingPath, registration.id),
    inner,
  ]
  return [...new Set(paths)].filter(
    (path) => /^\/[^{}*:]+$/.test(path) && !takenPaths.includes(path),
  )
}
