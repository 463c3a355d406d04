/** Settings of API tokens: those of Gate, and some more. */

import {
  off,
  optionalFlag,
  optionalTexts,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
  whole,
} from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'

export const tokenKeys = settings(
  {
    enabled: setting('api-tokens.enabled', optionalFlag).describe(
      'Tokens for programs. Default: on while every service is embedded and a login is required, else off, as in Gate.',
    ),
    prefix: setting(
      'api-tokens.token-prefix',
      z
        .string()
        .regex(
          /^[A-Za-z][A-Za-z0-9_-]{0,19}$/,
          'must be a few letters, digits, hyphens and underscores',
        )
        .default('spk_'),
    ).describe('Prefix of every token, which distinguishes it from other bearer tokens.'),
    randomBytes: setting('api-tokens.token-random-bytes', whole(16, 64).default(30)).describe(
      'Random bytes in a new token.',
    ),
    redisKeyPrefix: setting(
      'api-tokens.redis-key-prefix',
      z.string().min(1).default('api-token'),
    ).describe('Prefix of the keys of tokens in Redis.'),
    maxUserDays: setting(
      'api-tokens.max-user-token-lifetime-days',
      whole(1, 3650).default(90),
    ).describe('Maximum and default lifetime of a token that users create for themselves.'),
    maxServiceAccountDays: setting(
      'api-tokens.max-service-account-token-lifetime-days',
      whole(1, 3650).default(365),
    ).describe(
      'Maximum lifetime that a request may set for a token of a service account; without one the token never expires.',
    ),
    mintingRoles: setting('api-tokens.allowed-minting-roles', optionalTexts).describe(
      'Roles whose members may create tokens for themselves; administrators always may. Default: all users while every service is ' +
        'embedded, else administrators only, as in Gate.',
    ),
    rejectWithoutRoles: setting('api-tokens.reject-if-no-principal-permissions', off).describe(
      'Reject the tokens of users without any role at the permission service.',
    ),
    rotationOverlapHours: setting(
      'api-tokens.rotation-overlap-hours',
      whole(0, 168).default(24),
    ).describe(
      'Hours for which the former secret of a rotated token is still accepted, unless the rotation sets another time.',
    ),
  },
  {
    'api-tokens.reject-check-interval-seconds':
      'Permissions are asked with each request, from a short memory.',
  },
)
export type TokenSettings = NonNullable<ReturnType<typeof toTokenSettings>>

export function toTokenSettings(
  values: SettingsOf<typeof tokenKeys>,
  report: SettingsReport,
  { standalone, anonymous }: { standalone: boolean; anonymous: boolean },
) {
  const { enabled: wanted, mintingRoles, rotationOverlapHours, ...settings } = values
  if (anonymous && wanted === true) {
    report.notice(
      'api-tokens.enabled has no effect while anonymous.enabled serves all clients without login.',
    )
  }
  if (anonymous || !(wanted ?? standalone)) return undefined
  return {
    ...settings,
    mintingRoles:
      mintingRoles?.map((role) => role.trim().toLowerCase()) ??
      (standalone ? ('all' as const) : []),
    rotationOverlapMs: rotationOverlapHours * 3_600_000,
  }
}
