/** Settings of sessions and their cookie. */
import { z } from 'zod'
import { isHostOnly, needsSecure } from '../http/cookies.ts'
import { duration, type SettingsReport, withoutEffect } from '../setting.ts'

export const SessionKeys = z.strictObject({
  'server.session.timeoutInSeconds': z.int().min(1).default(3600).describe('Seconds without a request that end a session.'),
  'server.servlet.session.timeout': duration('s')
    .optional()
    .describe('The same as a duration; overrides `server.session.timeoutInSeconds`.'),
  'spring.session.timeout': duration('s').optional().describe('The same; overrides `server.servlet.session.timeout`.'),
  'sessions.absoluteHours': z
    .int()
    .min(0)
    .default(168)
    .describe('Hours after the login that end a session, even an active one; 0 means never, as in Gate.'),
  'sessions.maxPerUser': z
    .int()
    .min(0)
    .default(10_000)
    .describe('Sessions that a user may have; a login beyond that ends the oldest. 0 means no limit, as in Gate.'),
  'server.servlet.session.cookie.name': z
    .string()
    .regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, 'must be a cookie name: letters, digits, dash, dot, underscore')
    .default('SESSION')
    .describe(
      'Name of the cookie. With the prefix `__Host-` or `__Secure-`, it is for HTTPS only; with `__Host-`, no other host of the domain can set it.',
    ),
  'server.servlet.session.cookie.domain': z
    .string()
    .regex(/^[A-Za-z0-9.-]*$/, 'must be a host name')
    .optional()
    .describe('Domain of the cookie. Default: the host of the gateway alone.'),
  'server.servlet.session.cookie.secure': z
    .boolean()
    .optional()
    .describe('Whether the cookie is for HTTPS only. Default: yes, if the request came by HTTPS.'),
  'server.servlet.session.cookie.max-age': duration('s')
    .optional()
    .describe('Lifetime of the cookie. Default: until the browser closes.'),
  'server.servlet.session.cookie.same-site': z
    .string()
    .transform((text) => text.toLowerCase())
    .pipe(z.enum(['none', 'lax', 'strict']))
    .optional()
    .meta({ description: 'SameSite attribute of the cookie. Default: none is set.', type: 'none, lax or strict' }),
  'server.servlet.session.cookie.path': withoutEffect('The cookie is valid below the context path.'),
  'server.servlet.session.cookie.http-only': withoutEffect('The cookie is always out of reach of scripts.'),
  'server.servlet.session.persistent': withoutEffect('Sessions always survive a restart.'),
  'server.servlet.session.tracking-modes': withoutEffect('Sessions are tracked by cookie only.'),
})
export type SessionKeys = z.infer<typeof SessionKeys>

export type SessionSettings = ReturnType<typeof toSessionSettings>

export function toSessionSettings(keys: SessionKeys, report: SettingsReport) {
  const secure = keys['server.servlet.session.cookie.secure'] ?? ('auto' as const)
  const sameSite = keys['server.servlet.session.cookie.same-site']
  const maxAgeMs = keys['server.servlet.session.cookie.max-age']
  const idleKey = keys['spring.session.timeout'] === undefined ? 'server.servlet.session.timeout' : 'spring.session.timeout'
  const idleMs = keys[idleKey] ?? keys['server.session.timeoutInSeconds'] * 1000
  if (idleMs < 1000) report.problem(idleKey, 'must be a second at least')
  if (sameSite === 'none' && secure === false) {
    report.problem('server.servlet.session.cookie.same-site', 'browsers accept "none" only with cookie.secure: true')
  }
  const name = keys['server.servlet.session.cookie.name']
  if (needsSecure(name) && secure === false) {
    report.problem(
      'server.servlet.session.cookie.secure',
      `browsers drop cookies named ${name} that are not for HTTPS only; remove it`,
    )
  }
  if (isHostOnly(name) && keys['server.servlet.session.cookie.domain']) {
    report.problem('server.servlet.session.cookie.domain', `browsers drop cookies named ${name} that have a domain; remove it`)
  }
  return {
    idleMs,
    /** Undefined: only idleness ends a session. */
    absoluteMs: keys['sessions.absoluteHours'] === 0 ? undefined : keys['sessions.absoluteHours'] * 3_600_000,
    /** Undefined: any number. */
    maxPerUser: keys['sessions.maxPerUser'] || undefined,
    cookie: {
      name,
      domain: keys['server.servlet.session.cookie.domain'] || undefined,
      /** `auto`: as the request. */
      secure,
      maxAgeSeconds: maxAgeMs === undefined ? undefined : Math.floor(maxAgeMs / 1000),
      sameSite,
    },
  }
}
