/** Queries the user-info endpoint, and GitHub for organisations. */
import { LoginFailure } from './login-failure.ts'
import { type CallProvider, readProviderObject } from './provider-http.ts'
import type { Registration } from './registration.ts'
import type { UserAttributes } from './requirements.ts'

interface UserInfoPlace {
  readonly url: string
  readonly registration: Pick<Registration, 'tokenPlace' | 'tokenName' | 'tokenWord'>
}

/** @throws {LoginFailure} refused: the token is not accepted or nothing useful is said; unavailable */
export async function loadUserInfo(
  call: CallProvider,
  place: UserInfoPlace,
  accessToken: string,
): Promise<UserAttributes> {
  const what = 'user-info address'
  const answer = await call({ what, ...toRequest(place, accessToken) })
  if (answer.status !== 200)
    throw new LoginFailure('refused', `the ${what} answered ${answer.status}`)
  return readProviderObject(what, answer)
}

function toRequest(
  { url, registration }: UserInfoPlace,
  accessToken: string,
): { url: string; init: RequestInit } {
  const { tokenPlace, tokenName, tokenWord } = registration
  const headers = { accept: 'application/json' }
  const parameter = new URLSearchParams({ [tokenName]: accessToken })
  if (tokenPlace === 'form') return { url, init: { method: 'POST', headers, body: parameter } }
  if (tokenPlace === 'query')
    return { url: `${url}${url.includes('?') ? '&' : '?'}${parameter}`, init: { headers } }
  return { url, init: { headers: { ...headers, authorization: `${tokenWord} ${accessToken}` } } }
}

const maxPages = 50

/**
 * Whether the user shows to be a member of a GitHub organisation. Any failure counts as "no", and the token is
 * sent to the host of the user-info address only.
 *
 * @see docs/contracts/authentication.md#oauth-20-and-openid-connect
 */
export async function isMember(
  call: CallProvider,
  place: UserInfoPlace,
  facts: { attributes: UserAttributes; organization: string; accessToken: string },
): Promise<boolean> {
  const { attributes, organization, accessToken } = facts
  let next = attributes['organizations_url']
  for (let page = 0; page < maxPages; page++) {
    if (typeof next !== 'string' || !isSameHost(next, place.url)) return false
    const headers = {
      accept: 'application/json',
      authorization: `${place.registration.tokenWord} ${accessToken}`,
    }
    try {
      const answer = await call({ what: 'list of organisations', url: next, init: { headers } })
      const list: unknown = answer.status === 200 ? await answer.json() : undefined
      if (!Array.isArray(list)) return false
      if (list.some((entry) => (entry as { login?: unknown } | null)?.login === organization))
        return true
      next = nextPage(answer.headers.get('link'))
    } catch {
      return false
    }
  }
  return false
}

function isSameHost(url: string, other: string): boolean {
  const [one, two] = [URL.parse(url), URL.parse(other)]
  return one !== null && two !== null && one.origin === two.origin
}

/** @see RFC 8288 */
function nextPage(link: string | null): string | undefined {
  for (const [, address, parameters = ''] of (link ?? '').matchAll(/<([^<>]+)>([^<>]*)/g)) {
    if (/;\s*rel="?next\b/i.test(parameters)) return address
  }
  return undefined
}
