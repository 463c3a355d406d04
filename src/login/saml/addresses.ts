/** Names and addresses of our side of a registration; they do not depend on the identity provider, which need not be there. */
import type { PublicPlace } from '../method-type.ts'
import type { SamlRegistration } from './settings.ts'

/** Where Gate has ever taken answers; all of them always work. */
const consumerPaths = (id: string) => ['/saml/SSO', `/saml/${id}`, '/login/saml2/sso', `/login/saml2/sso/${id}`]
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
  const consumerUrl = fill(registration.consumerUrl, registration, place)
  const isFixed = /^https?:/i.test(registration.consumerUrl)
  const base = isFixed ? new URL(consumerUrl).origin + place.contextPath : place.baseUrl
  return {
    entityId: fill(registration.entityId, registration, place),
    consumerUrl,
    consumerUrls: new Set([consumerUrl, ...samlPaths(registration, place).map((path) => base + path)]),
  }
}

/** Paths at which answers are taken, without context path. */
export function samlPaths(registration: Named, { processingPath, contextPath }: Paths): string[] {
  const fixed = registration.consumerUrl.replace(/^\{baseUrl\}|^[a-z]+:\/\/[^/]*/i, '').replace(/^\{basePath\}/, '')
  const announced = fillId(fixed, registration).replace(/[?#].*$/s, '')
  const inner = contextPath !== '' && announced.startsWith(`${contextPath}/`) ? announced.slice(contextPath.length) : announced
  const paths = [...consumerPaths(registration.id), fillId(processingPath, registration), inner]
  return [...new Set(paths)].filter((path) => /^\/[^{}*:]+$/.test(path) && !takenPaths.includes(path))
}

function fillId(template: string, { id }: Named): string {
  return template.replaceAll('{registrationId}', id).replaceAll('{action}', 'login')
}

/** The placeholders of Spring. */
function fill(template: string, registration: Named, { baseUrl, contextPath }: PublicPlace): string {
  const { protocol, hostname, port } = new URL(baseUrl)
  return fillId(template, registration)
    .replaceAll('{baseUrl}', baseUrl)
    .replaceAll('{baseScheme}', protocol.slice(0, -1))
    .replaceAll('{baseHost}', hostname)
    .replaceAll('{basePort}', port === '' ? '' : `:${port}`)
    .replaceAll('{basePath}', contextPath)
}
