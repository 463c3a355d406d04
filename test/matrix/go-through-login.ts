/** A browser's way from a protected page through the login of any method and back to that page. */
import type { Browser, Visit } from '../login/browser.ts'
import { readRedirect, signOnUrl } from '../support/saml-identity-provider.ts'
import type { Arrangement } from './arrangement.ts'

export const protectedPath = '/auth/rawUser'
const maxSteps = 8

/** The last answer: the page, or what the browser cannot go on from. */
export async function goThroughLogin(arrangement: Arrangement, browser: Browser): Promise<Visit> {
  let answer = await browser.visit(protectedPath)
  for (let step = 0; step < maxSteps && answer.status === 302; step++) {
    answer = await follow(arrangement, browser, answer.location ?? '')
  }
  return answer
}

async function follow(
  { url, surroundings }: Arrangement,
  browser: Browser,
  location: string,
): Promise<Visit> {
  const { provider, saml, clock } = surroundings
  if (location.startsWith(`${provider.url}/`)) {
    const back = await fetch(location, { redirect: 'manual' })
    return browser.visit(back.headers.get('location') ?? '')
  }
  if (location.startsWith(signOnUrl)) {
    const answer = { nameId: 'alice@example.com', consumer: `${url}/saml/SSO`, nowMs: clock.now() }
    const xml = saml.answer({ ...answer, inResponseTo: readRedirect(location).id })
    const body = new URLSearchParams({ SAMLResponse: Buffer.from(xml).toString('base64') })
    return browser.visit('/saml/SSO', { method: 'POST', body, headers: { accept: 'text/html' } })
  }
  if (!location.startsWith(`${url}/`)) throw new Error(`a browser was sent to ${location}`)
  const page = await browser.visit(location)
  return page.text.includes('name="password"') ? browser.login('alice', 'pw') : page
}
