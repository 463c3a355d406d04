/** OAuth 2.0 and OpenID Connect providers that ignore case in user names. */
import type { NameCase } from '../login-method.ts'

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
