/**
 * The keys of the login methods of Gate that this version does not have: known, so that a typing mistake in them is found,
 * and refused once one of them is switched on, so that nobody is let in by silence.
 */
import { z } from 'zod'
import { type SettingsReport, withoutEffect } from '../setting.ts'

const x509 = 'Login by client certificate.'
const iap = "Login by Google's Identity-Aware Proxy."
const header = 'Login by a header of something in front.'
const apiTokens = 'Tokens for programs.'

/** A switch that turns a method on. */
const switchOf = (method: string) => z.boolean().default(false).describe(`${method} Not supported yet: has to be false.`)

export const LaterMethodKeys = z.strictObject({
  'security.authn.enabled': withoutEffect('Switch of installers.'),
  'security.authn.x509.enabled': switchOf(x509),
  'security.authn.x509': withoutEffect(x509),
  'security.authn.iap.enabled': switchOf(iap),
  'security.authn.iap': withoutEffect(iap),
  'security.authz': withoutEffect('Settings of installers; `services.fiat.enabled` decides.'),
  'x509.enabled': switchOf(x509),
  'x509.subject-principal-regex': withoutEffect(x509),
  'x509.role-oid': withoutEffect(x509),
  'x509.required-roles': withoutEffect(x509),
  'x509.loginDebounce': withoutEffect(x509),
  'google.iap.enabled': switchOf(iap),
  'google.iap.audience': withoutEffect(iap),
  'google.iap.jwtHeader': withoutEffect(iap),
  'google.iap.issuerId': withoutEffect(iap),
  'google.iap.iapVerifyKeyUrl': withoutEffect(iap),
  'google.iap.issuedAtTimeAllowedSkew': withoutEffect(iap),
  'google.iap.expirationTimeAllowedSkew': withoutEffect(iap),
  'header.enabled': switchOf(header),
  'header.serviceAccountCacheTimeoutMinutes': withoutEffect(header),
  'api-tokens.enabled': switchOf(apiTokens),
  'api-tokens.token-prefix': withoutEffect(apiTokens),
  'api-tokens.token-random-bytes': withoutEffect(apiTokens),
  'api-tokens.redis-key-prefix': withoutEffect(apiTokens),
  'api-tokens.reject-check-interval-seconds': withoutEffect(apiTokens),
  'api-tokens.max-user-token-lifetime-days': withoutEffect(apiTokens),
  'api-tokens.max-service-account-token-lifetime-days': withoutEffect(apiTokens),
  'api-tokens.allowed-minting-roles': withoutEffect(apiTokens),
  'api-tokens.reject-if-no-principal-permissions': withoutEffect(apiTokens),
})
export type LaterMethodKeys = z.infer<typeof LaterMethodKeys>

const switches = [
  ['x509.enabled', 'client certificates'],
  ['security.authn.x509.enabled', 'client certificates'],
  ['google.iap.enabled', 'Identity-Aware Proxy'],
  ['security.authn.iap.enabled', 'Identity-Aware Proxy'],
  ['header.enabled', 'a trusted header'],
  ['api-tokens.enabled', 'API tokens'],
] as const satisfies readonly (readonly [keyof LaterMethodKeys, string])[]

/** Reports every method that is switched on; true when there is one. */
export function refuseLaterMethods(keys: LaterMethodKeys, report: SettingsReport): boolean {
  const refused: [key: string, method: string][] = switches.filter(([key]) => keys[key]).map(([key, method]) => [key, method])
  for (const [key, method] of refused) {
    report.problem(
      key,
      `this version does not support login by ${method} yet, and starting without it would change who is let in; ` +
        'remove it to log in with the form',
    )
  }
  return refused.length > 0
}
