/** Settings of rate limits. */
import { z } from 'zod'
import { type SettingsReport, withoutEffect } from '../setting.ts'

const requests = z.int().min(0).describe('Requests.')

export const LimitKeys = z.strictObject({
  'rate-limit.enabled': z.boolean().default(false).describe('Limit the requests of each user.'),
  'rate-limit.learning': z.boolean().default(true).describe('Report the quota in responses, reject nothing.'),
  'rate-limit.capacity': z.int().min(1).default(60).describe('Requests in one period; expensive operations count as several.'),
  'rate-limit.rateSeconds': z.int().min(1).max(86_400).default(10).describe('Length of a period in seconds.'),
  'rate-limit.capacityByPrincipal': z
    .array(z.strictObject({ principal: z.string().describe('User.'), override: requests }))
    .default([])
    .describe('Other capacities for single users.'),
  'rate-limit.capacityBySourceApp': z
    .array(z.strictObject({ sourceApp: z.string().describe('Program.'), override: requests }))
    .default([])
    .describe('Other capacities for single client programs.'),
  'rate-limit.rateSecondsByPrincipal': z
    .array(
      z.strictObject({
        principal: z.string().describe('User.'),
        override: z.int().min(1).max(86_400).describe('Seconds.'),
      }),
    )
    .default([])
    .describe('Other periods for single users.'),
  'rate-limit.tokenCapacity': z
    .int()
    .min(1)
    .optional()
    .describe('Requests in one period with one API token; they also count for its user. Default: as many as the user may send.'),
  'rate-limit.capacityByToken': z
    .array(z.strictObject({ token: z.string().describe('Id of an API token.'), override: requests }))
    .default([])
    .describe('Other capacities for single API tokens.'),
  'rate-limit.enforcing': z
    .array(z.string())
    .default([])
    .describe('Users and programs (`app:name`) that are limited even while learning.'),
  'rate-limit.ignoring': z
    .array(z.string())
    .default([])
    .describe('Users and programs (`app:name`) that are counted and never rejected.'),
  'rate-limit.redis.enabled': z
    .boolean()
    .default(true)
    .describe('Count for all replicas together if Redis is configured; otherwise each replica counts for itself.'),
  'rate-limit.redis.fallback': z
    .enum(['none', 'memory'])
    .default('none')
    .describe(
      'While Redis is unavailable: `none` limits no request, as Gate does; with `memory` each replica counts for itself.',
    ),
  'rate-limit.filter-order': withoutEffect('Fairlead limits after the login.'),
  'rate-limit.order': withoutEffect('Fairlead limits after the login.'),
})
export type LimitKeys = z.infer<typeof LimitKeys>

export type RateLimitSettings = ReturnType<typeof toRateLimit>

export function toRateLimit(keys: LimitKeys, report: SettingsReport) {
  if (keys['rate-limit.enabled'] && keys['rate-limit.learning'] && keys['rate-limit.enforcing'].length === 0) {
    report.notice(
      'rate-limit.learning is on: too many requests are counted and labelled, and none is refused. Set it to false to refuse them.',
    )
  }
  const byUser = keys['rate-limit.capacityByPrincipal'].map(({ principal, override }) => [principal, override] as const)
  const byApp = keys['rate-limit.capacityBySourceApp'].map(({ sourceApp, override }) => [`app:${sourceApp}`, override] as const)
  const byToken = keys['rate-limit.capacityByToken'].map(({ token, override }) => [token, override] as const)
  const periods = keys['rate-limit.rateSecondsByPrincipal'].map(
    ({ principal, override }) => [principal, override * 1000] as const,
  )
  return {
    enabled: keys['rate-limit.enabled'],
    learning: keys['rate-limit.learning'],
    capacity: keys['rate-limit.capacity'],
    periodMs: keys['rate-limit.rateSeconds'] * 1000,
    /** By user, or `app:` and the name of a client program. */
    capacities: Object.fromEntries([...byUser, ...byApp]),
    periodsMs: Object.fromEntries(periods),
    tokenCapacity: keys['rate-limit.tokenCapacity'],
    /** By the ID of the token. */
    tokenCapacities: Object.fromEntries(byToken),
    enforcing: keys['rate-limit.enforcing'],
    ignoring: keys['rate-limit.ignoring'],
    shared: keys['rate-limit.redis.enabled'],
    countsAlone: keys['rate-limit.redis.fallback'] === 'memory',
  }
}
