/** Settings of rate limits. */

import {
  inSeconds,
  off,
  on,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
  texts,
  whole,
} from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'

const requests = whole(0).describe('Requests.')

export const limitKeys = settings(
  {
    enabled: setting('rate-limit.enabled', off).describe('Limit the requests of each user.'),
    learning: setting('rate-limit.learning', on).describe(
      'Report the quota in responses, reject nothing.',
    ),
    capacity: setting('rate-limit.capacity', whole(1).default(60)).describe(
      'Requests in one period; expensive operations count as several.',
    ),
    periodMs: setting('rate-limit.rateSeconds', inSeconds(whole(1, 86_400).default(10))).describe(
      'Length of a period in seconds.',
    ),
    byUser: setting(
      'rate-limit.capacityByPrincipal',
      z
        .array(z.strictObject({ principal: z.string().describe('User.'), override: requests }))
        .default([]),
    ).describe('Other capacities for single users.'),
    byApp: setting(
      'rate-limit.capacityBySourceApp',
      z
        .array(z.strictObject({ sourceApp: z.string().describe('Program.'), override: requests }))
        .default([]),
    ).describe('Other capacities for single client programs.'),
    periods: setting(
      'rate-limit.rateSecondsByPrincipal',
      z
        .array(
          z.strictObject({
            principal: z.string().describe('User.'),
            override: whole(1, 86_400).describe('Seconds.'),
          }),
        )
        .default([]),
    ).describe('Other periods for single users.'),
    tokenCapacity: setting('rate-limit.tokenCapacity', whole(1).optional()).describe(
      'Requests in one period with one API token; they also count for its user. Default: as many as the user may send.',
    ),
    byToken: setting(
      'rate-limit.capacityByToken',
      z
        .array(
          z.strictObject({ token: z.string().describe('Id of an API token.'), override: requests }),
        )
        .default([]),
    ).describe('Other capacities for single API tokens.'),
    enforcing: setting('rate-limit.enforcing', texts).describe(
      'Users and programs (`app:name`) that are limited even while learning.',
    ),
    ignoring: setting('rate-limit.ignoring', texts).describe(
      'Users and programs (`app:name`) that are counted and never rejected.',
    ),
    shared: setting('rate-limit.redis.enabled', on).describe(
      'Count for all replicas together if Redis is configured; otherwise each replica counts for itself.',
    ),
    fallback: setting(
      'rate-limit.redis.fallback',
      z.enum(['none', 'memory']).default('none'),
    ).describe(
      'While Redis is unavailable: `none` limits no request, as Gate does; with `memory` each replica counts for itself.',
    ),
  },
  {
    'rate-limit.filter-order': 'Fairlead limits after the login.',
    'rate-limit.order': 'Fairlead limits after the login.',
  },
)

export type RateLimitSettings = ReturnType<typeof toRateLimit>

export function toRateLimit(values: SettingsOf<typeof limitKeys>, report: SettingsReport) {
  const { byUser, byApp, byToken, periods, fallback, ...settings } = values
  if (settings.enabled && settings.learning && settings.enforcing.length === 0) {
    report.notice(
      'rate-limit.learning is on: too many requests are counted and labelled, and none is refused. Set it to false to refuse them.',
    )
  }
  return {
    ...settings,
    capacities: Object.fromEntries([
      ...byUser.map(({ principal, override }) => [principal, override]),
      ...byApp.map(({ sourceApp, override }) => [`app:${sourceApp}`, override]),
    ]) as Record<string, number>,
    periodsMs: Object.fromEntries(
      periods.map(({ principal, override }) => [principal, override * 1000]),
    ) as Record<string, number>,
    tokenCapacities: Object.fromEntries(
      byToken.map(({ token, override }) => [token, override]),
    ) as Record<string, number>,
    countsAlone: fallback === 'memory',
  }
}
