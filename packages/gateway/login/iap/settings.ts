/** Settings of the login by Google's Identity-Aware Proxy. */

import {
  httpAddress,
  milliseconds,
  off,
  optionalText,
  type SettingsReport,
  setting,
  settings,
} from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'
import type { NameCase } from '../login-method.ts'

const googleIssuer = 'https://cloud.google.com/iap'

export const iapKeys = settings(
  {
    enabled: setting('google.iap.enabled', off).describe(
      "Login by Google's Identity-Aware Proxy in front of the gateway.",
    ),
    audience: setting('google.iap.audience', optionalText).describe(
      'Audience of its tokens, `/projects/NUMBER/global/backendServices/ID`; required while it is enabled.',
    ),
    header: setting(
      'google.iap.jwtHeader',
      z
        .string()
        .regex(/^[A-Za-z0-9-]+$/, 'must be the name of a header')
        .default('x-goog-iap-jwt-assertion')
        .transform((name) => name.toLowerCase()),
    ).describe('Header with the token.'),
    issuer: setting('google.iap.issuerId', z.string().min(1).default(googleIssuer)).describe(
      'Issuer of the tokens.',
    ),
    keysUrl: setting(
      'google.iap.iapVerifyKeyUrl',
      httpAddress.prefault('https://www.gstatic.com/iap/verify/public_key-jwk'),
    ).describe('Address of the keys that sign the tokens.'),
    issuedSkewMs: setting(
      'google.iap.issuedAtTimeAllowedSkew',
      milliseconds.default(30_000),
    ).describe('Milliseconds by which a token may be issued in the future.'),
    expirySkewMs: setting(
      'google.iap.expirationTimeAllowedSkew',
      milliseconds.default(30_000),
    ).describe('Milliseconds for which a token is accepted after it expires.'),
    olderForm: setting('security.authn.iap.enabled', off).describe(
      'Form of installers; `google.iap.enabled` decides.',
    ),
  },
  {
    'security.authn.iap': 'Form of installers; the keys of `google.iap` decide.',
  },
)
export type IapSettings = NonNullable<ReturnType<typeof toIapSettings>>

export function toIapSettings(keys: object, report: SettingsReport) {
  const { enabled, olderForm, audience = '', ...settings } = iapKeys.read(keys)
  if (!enabled) {
    if (olderForm) {
      report.problem(
        'security.authn.iap.enabled',
        'Gate reads google.iap.enabled: true and the settings below google.iap; write them there',
      )
    }
    return undefined
  }
  if (audience === '') {
    report.problem(
      'google.iap.audience',
      'is required with google.iap.enabled: true; the console of Google shows it as "Signed Header JWT Audience" of the back end',
    )
  }
  const nameCase: NameCase = settings.issuer === googleIssuer ? 'insensitive' : 'unknown'
  return { ...settings, key: 'google.iap.enabled', audience, nameCase }
}
