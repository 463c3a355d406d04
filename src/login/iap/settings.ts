/** Settings of the login by Google's Identity-Aware Proxy. */
import { z } from 'zod'
import { httpAddress, milliseconds, type SettingsReport, withoutEffect } from '../../setting.ts'

export const IapKeys = z.strictObject({
  'google.iap.enabled': z.boolean().default(false).describe("Login by Google's Identity-Aware Proxy in front of the gateway."),
  'google.iap.audience': z
    .string()
    .optional()
    .describe('Audience of its tokens, `/projects/NUMBER/global/backendServices/ID`; required while it is enabled.'),
  'google.iap.jwtHeader': z
    .string()
    .regex(/^[A-Za-z0-9-]+$/, 'must be the name of a header')
    .default('x-goog-iap-jwt-assertion')
    .describe('Header with the token.'),
  'google.iap.issuerId': z.string().min(1).default('https://cloud.google.com/iap').describe('Issuer of the tokens.'),
  'google.iap.iapVerifyKeyUrl': httpAddress
    .prefault('https://www.gstatic.com/iap/verify/public_key-jwk')
    .describe('Address of the keys that sign the tokens.'),
  'google.iap.issuedAtTimeAllowedSkew': milliseconds
    .default(30_000)
    .describe('Milliseconds by which a token may be issued in the future.'),
  'google.iap.expirationTimeAllowedSkew': milliseconds
    .default(30_000)
    .describe('Milliseconds for which a token is accepted after it expires.'),
  'security.authn.iap.enabled': z.boolean().default(false).describe('Form of installers; `google.iap.enabled` decides.'),
  'security.authn.iap': withoutEffect('Form of installers; the keys of `google.iap` decide.'),
})
export type IapKeys = z.infer<typeof IapKeys>

export type IapSettings = NonNullable<ReturnType<typeof toIapSettings>>

/** Undefined while the method is off. */
export function toIapSettings(keys: IapKeys, report: SettingsReport) {
  if (!keys['google.iap.enabled']) {
    if (keys['security.authn.iap.enabled']) {
      report.problem(
        'security.authn.iap.enabled',
        'Gate reads google.iap.enabled: true and the settings below google.iap; write them there',
      )
    }
    return undefined
  }
  const audience = keys['google.iap.audience'] ?? ''
  if (audience === '') {
    report.problem(
      'google.iap.audience',
      'is required with google.iap.enabled: true; the console of Google shows it as "Signed Header JWT Audience" of the back end',
    )
  }
  return {
    audience,
    header: keys['google.iap.jwtHeader'].toLowerCase(),
    issuer: keys['google.iap.issuerId'],
    keysUrl: keys['google.iap.iapVerifyKeyUrl'],
    issuedSkewMs: keys['google.iap.issuedAtTimeAllowedSkew'],
    expirySkewMs: keys['google.iap.expirationTimeAllowedSkew'],
  }
}
