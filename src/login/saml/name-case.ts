/** SAML identity providers that ignore case in user names. */
import type { NameCase } from '../login-method.ts'

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
