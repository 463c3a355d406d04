/** Addresses to register at the identity provider, for one public address of the gateway. */

import { pathTo } from '../http/encode-path.ts'
import { fillRedirectUri } from '../login/oauth2/redirect-uri.ts'
import { Registration as SamlParty } from '../login/saml/registration.ts'
import type { SamlSettings } from '../login/saml/settings.ts'
import type { LoginSettings } from '../login/settings.ts'

export interface Address {
  /** `OAuth 2.0 corp` */
  readonly login: string
  /** `redirect URI` */
  readonly what: string
  readonly url: string
  /** False: answered as well, as by every version of Gate, so registering it does no harm and is not needed. */
  readonly needed: boolean
}

interface Place {
  /** Without a trailing slash. */
  readonly baseUrl: string
  readonly contextPath: string
}

export function listAddresses({ oauth2, saml }: LoginSettings, place: Place): Address[] {
  return [
    ...(oauth2?.registrations ?? []).flatMap((registration): Address[] => {
      const { baseUrl } = place
      const login = `OAuth 2.0 ${registration.id}`
      const sent = fillRedirectUri(registration.redirectUri, { baseUrl, registrationId: registration.id })
      return withOthers({ login, what: 'redirect URI', url: sent, needed: true }, [
        `${baseUrl}/login`,
        baseUrl + pathTo`/login/oauth2/code/${registration.id}`,
      ])
    }),
    ...(saml?.registrations ?? []).flatMap((registration) => samlAddresses(saml as SamlSettings, registration, place)),
  ]
}

function samlAddresses(settings: SamlSettings, registration: SamlSettings['registrations'][number], place: Place): Address[] {
  const party = toParty(settings, registration, place.contextPath)
  const login = `SAML ${registration.id}`
  const consumer = party.consumerUrl(place)
  return [
    { login, what: 'entity ID', url: party.entityId(place), needed: true },
    ...withOthers({ login, what: 'ACS URL', url: consumer, needed: true }, [...party.consumerUrls(place)]),
    ...withOthers(
      { login, what: 'metadata', url: `${place.baseUrl}/saml/metadata?registrationId=${registration.id}`, needed: true },
      [`${place.baseUrl}/saml2/service-provider-metadata/${registration.id}`],
    ),
  ]
}

/** Names and addresses of our side; they do not depend on the identity provider, which need not be there. */
function toParty(
  { hash, processingPath }: SamlSettings,
  settings: SamlSettings['registrations'][number],
  contextPath: string,
): SamlParty {
  const absent = (): never => {
    throw new Error('addresses do not depend on the metadata of the identity provider')
  }
  const source = { current: absent, close: () => {} }
  return new SamlParty({ settings, source, signing: [], decryption: [], hash, processingPath, contextPath })
}

function withOthers(first: Address, others: readonly string[]): Address[] {
  return [first, ...others.filter((url) => url !== first.url).map((url) => ({ ...first, url, needed: false }))]
}
