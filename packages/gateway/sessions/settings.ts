/** Settings of sessions and their cookie. */

import {
  duration,
  optionalFlag,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
  whole,
  word,
} from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'
import { isHostOnly, needsSecure } from '../http/cookies.ts'

export const sessionKeys = settings(
  {
    idleSeconds: setting('server.session.timeoutInSeconds', whole(1).default(3600)).describe(
      'Seconds without a request that end a session.',
    ),
    idleMs: setting('server.servlet.session.timeout', duration('s').optional()).describe(
      'The same as a duration; overrides `server.session.timeoutInSeconds`.',
    ),
    springIdleMs: setting('spring.session.timeout', duration('s').optional()).describe(
      'The same; overrides `server.servlet.session.timeout`.',
    ),
    absoluteHours: setting('sessions.absoluteHours', whole(0).default(168)).describe(
      'Hours after the login that end a session, even an active one; 0 means never, as in Gate.',
    ),
    maxPerUser: setting('sessions.maxPerUser', whole(0).default(10_000)).describe(
      'Sessions that a user may have; a login beyond that ends the oldest. 0 means no limit, as in Gate.',
    ),
    cookie: {
      name: setting(
        'server.servlet.session.cookie.name',
        z
          .string()
          .regex(
            /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/,
            'must be a cookie name: letters, digits, dash, dot, underscore',
          )
          .default('SESSION'),
      ).describe(
        'Name of the cookie. With the prefix `__Host-` or `__Secure-`, it is for HTTPS only; with `__Host-`, no other host of the domain can set it.',
      ),
      domain: setting(
        'server.servlet.session.cookie.domain',
        z
          .string()
          .regex(/^[A-Za-z0-9.-]*$/, 'must be a host name')
          .optional(),
      ).describe('Domain of the cookie. Default: the host of the gateway alone.'),
      secure: setting('server.servlet.session.cookie.secure', optionalFlag).describe(
        'Whether the cookie is for HTTPS only. Default: yes, if the request came by HTTPS.',
      ),
      maxAgeMs: setting('server.servlet.session.cookie.max-age', duration('s').optional()).describe(
        'Lifetime of the cookie. Default: until the browser closes.',
      ),
      sameSite: setting(
        'server.servlet.session.cookie.same-site',
        word(['none', 'lax', 'strict']).optional(),
      ).describe('SameSite attribute of the cookie. Default: none is set.'),
    },
  },
  {
    'server.servlet.session.cookie.path': 'The cookie is valid below the context path.',
    'server.servlet.session.cookie.http-only': 'The cookie is always out of reach of scripts.',
    'server.servlet.session.persistent': 'Sessions always survive a restart.',
    'server.servlet.session.tracking-modes': 'Sessions are tracked by cookie only.',
  },
)
export type SessionSettings = ReturnType<typeof toSessionSettings>

export function toSessionSettings(values: SettingsOf<typeof sessionKeys>, report: SettingsReport) {
  const { name, domain, maxAgeMs, sameSite } = values.cookie
  const secure = values.cookie.secure ?? ('auto' as const)
  const idleKey =
    values.springIdleMs === undefined ? 'server.servlet.session.timeout' : 'spring.session.timeout'
  const idleMs = values.springIdleMs ?? values.idleMs ?? values.idleSeconds * 1000
  if (idleMs < 1000) report.problem(idleKey, 'must be a second at least')
  if (sameSite === 'none' && secure === false) {
    report.problem(
      'server.servlet.session.cookie.same-site',
      'browsers accept "none" only with cookie.secure: true',
    )
  }
  if (needsSecure(name) && secure === false) {
    report.problem(
      'server.servlet.session.cookie.secure',
      `browsers drop cookies named ${name} that are not for HTTPS only; remove it`,
    )
  }
  if (isHostOnly(name) && domain) {
    report.problem(
      'server.servlet.session.cookie.domain',
      `browsers drop cookies named ${name} that have a domain; remove it`,
    )
  }
  return {
    idleMs,
    absoluteMs: values.absoluteHours === 0 ? undefined : values.absoluteHours * 3_600_000,
    maxPerUser: values.maxPerUser || undefined,
    cookie: {
      name,
      domain: domain || undefined,
      secure,
      maxAgeSeconds: maxAgeMs === undefined ? undefined : Math.floor(maxAgeMs / 1000),
      sameSite,
    },
  }
}
