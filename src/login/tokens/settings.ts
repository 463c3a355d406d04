/** Settings of API tokens: those of Gate, and some more. */
import { z } from 'zod'
import { type SettingsReport, withoutEffect } from '../../setting.ts'

export const ApiTokenKeys = z.strictObject({
  'api-tokens.enabled': z
    .boolean()
    .optional()
    .describe('Tokens for programs. Default: on while every service is embedded and a login is required, else off, as in Gate.'),
  'api-tokens.token-prefix': z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_-]{0,19}$/, 'must be a few letters, digits, hyphens and underscores')
    .default('spk_')
    .describe('Prefix of every token, which distinguishes it from other bearer tokens.'),
  'api-tokens.token-random-bytes': z.int().min(16).max(64).default(30).describe('Random bytes in a new token.'),
  'api-tokens.redis-key-prefix': z.string().min(1).default('api-token').describe('Prefix of the keys of tokens in Redis.'),
  'api-tokens.reject-check-interval-seconds': withoutEffect('Permissions are asked with each request, from a short memory.'),
  'api-tokens.max-user-token-lifetime-days': z
    .int()
    .min(1)
    .max(3650)
    .default(90)
    .describe('Maximum and default lifetime of a token that users create for themselves.'),
  'api-tokens.max-service-account-token-lifetime-days': z
    .int()
    .min(1)
    .max(3650)
    .default(365)
    .describe('Maximum lifetime that a request may set for a token of a service account; without one the token never expires.'),
  'api-tokens.allowed-minting-roles': z
    .array(z.string())
    .optional()
    .describe(
      'Roles whose members may create tokens for themselves; administrators always may. Default: all users while every service is ' +
        'embedded, else administrators only, as in Gate.',
    ),
  'api-tokens.reject-if-no-principal-permissions': z
    .boolean()
    .default(false)
    .describe('Reject the tokens of users without any role at the permission service.'),
  'api-tokens.rotation-overlap-hours': z
    .int()
    .min(0)
    .max(168)
    .default(24)
    .describe('Hours for which the former secret of a rotated token is still accepted, unless the rotation sets another time.'),
})
export type ApiTokenKeys = z.infer<typeof ApiTokenKeys>

export type TokenSettings = NonNullable<ReturnType<typeof toTokenSettings>>

/** Undefined while there are no tokens. */
export function toTokenSettings(
  keys: ApiTokenKeys,
  report: SettingsReport,
  { standalone, anonymous }: { standalone: boolean; anonymous: boolean },
) {
  const wanted = keys['api-tokens.enabled']
  if (anonymous && wanted === true) {
    report.notice('api-tokens.enabled has no effect while anonymous.enabled serves all clients without login.')
  }
  if (anonymous || !(wanted ?? standalone)) return undefined
  const roles = keys['api-tokens.allowed-minting-roles']
  return {
    prefix: keys['api-tokens.token-prefix'],
    randomBytes: keys['api-tokens.token-random-bytes'],
    redisKeyPrefix: keys['api-tokens.redis-key-prefix'],
    maxUserDays: keys['api-tokens.max-user-token-lifetime-days'],
    maxServiceAccountDays: keys['api-tokens.max-service-account-token-lifetime-days'],
    mintingRoles: roles?.map((role) => role.trim().toLowerCase()) ?? (standalone ? ('all' as const) : []),
    rejectWithoutRoles: keys['api-tokens.reject-if-no-principal-permissions'],
    rotationOverlapMs: keys['api-tokens.rotation-overlap-hours'] * 3_600_000,
  }
}
