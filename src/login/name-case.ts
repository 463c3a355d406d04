/** Identity providers that ignore case in user names. */

/** `unknown`: the identity provider may have a user `mark` and another one `MARK`. */
export type NameCase = 'insensitive' | 'unknown'

interface Family {
  /** Values of `provider` that operators give to products which customers run under domains of their own. */
  readonly names: readonly string[]
  /** Host names; one that starts with a dot is a suffix under which the vendor gives each customer a host. */
  readonly hosts: readonly string[]
}

const families: readonly Family[] = [
  {
    names: [],
    hosts: ['accounts.google.com', 'www.googleapis.com', 'oauth2.googleapis.com', 'openidconnect.googleapis.com'],
  },
  { names: ['github'], hosts: ['github.com', 'api.github.com', '.ghe.com'] },
  {
    names: ['azure'],
    hosts: [
      'login.microsoftonline.com',
      'login.microsoftonline.us',
      'login.partner.microsoftonline.cn',
      'login.windows.net',
      'sts.windows.net',
      'graph.microsoft.com',
      'graph.windows.net',
      '.ciamlogin.com',
    ],
  },
  { names: ['okta'], hosts: ['.okta.com', '.oktapreview.com', '.okta-emea.com', '.okta-gov.com', '.okta.mil'] },
]

interface ProviderNaming {
  /** Value of `provider`, or the id of the registration that stands for it. */
  readonly name: string | undefined
  /** Every configured address, that of the issuer included. */
  readonly addresses: readonly string[]
}

/** An OAuth 2.0 or OpenID Connect provider; every one of its addresses has to belong to the same vendor. */
export function nameCaseOfProvider({ name, addresses }: ProviderNaming): NameCase {
  const isKnown = families.some(
    ({ names, hosts }) =>
      names.includes(name?.toLowerCase() ?? '') ||
      (addresses.length > 0 && addresses.every((address) => isAtHost(address, hosts))),
  )
  return isKnown ? 'insensitive' : 'unknown'
}

function isAtHost(address: string, hosts: readonly string[]): boolean {
  const url = URL.parse(address)
  if (url?.protocol !== 'https:') return false
  return hosts.some((host) => (host.startsWith('.') ? url.hostname.endsWith(host) : url.hostname === host))
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

/** @param issuer Of the tokens of an Identity-Aware Proxy */
export function nameCaseOfProxy(issuer: string): NameCase {
  return issuer === 'https://cloud.google.com/iap' ? 'insensitive' : 'unknown'
}
