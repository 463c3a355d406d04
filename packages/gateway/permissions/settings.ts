/** Settings of the permissions that the gateway reads from fiat. */

import {
  inSeconds,
  milliseconds,
  off,
  on,
  type SettingsOf,
  setting,
  settings,
  whole,
} from '@fairlead/base/settings/setting.ts'
import { z } from 'zod'

const authorizations = z.array(z.enum(['READ', 'WRITE', 'EXECUTE', 'CREATE']))

export const permissionSettings = settings(
  {
    enforcement: setting(
      'permissions.enforce',
      z.enum(['gateway', 'services', 'both']).default('services'),
    ).describe(
      'Who checks what users may do: `services` leaves that to external services, as Gate does; with `gateway` or `both` the ' +
        'gateway checks every operation before it forwards it, in addition to the services. The gateway always checks the ' +
        'operations of embedded services.',
    ),
    lookupTimeoutMs: setting(
      'permissions.lookupTimeoutMs',
      milliseconds.min(1).default(10_000),
    ).describe(
      'Milliseconds that a request waits for the permissions of its user, including retries; it then ends with 503. While fiat is ' +
        'known to fail, requests wait for one second only.',
    ),
    loginTimeoutMs: setting(
      'permissions.loginTimeoutMs',
      milliseconds.min(1).default(30_000),
    ).describe(
      'Milliseconds that a login waits for fiat, which may have to query a directory; it then ends with 503.',
    ),
    syncTimeoutMs: setting(
      'permissions.syncTimeoutMs',
      milliseconds.min(1).default(3_600_000),
    ).describe(
      'Milliseconds after which a synchronisation of roles is aborted. It runs in the background.',
    ),
    lastKnownForMs: setting(
      'permissions.lastKnownForSeconds',
      inSeconds(whole(0, 86_400).default(0)),
    ).describe(
      'Additional seconds for which cached permissions apply while fiat does not answer. Rights revoked meanwhile apply as long; ' +
        '0 allows only what fiat has confirmed recently.',
    ),
    cacheMaxEntries: setting('services.fiat.cache.maxEntries', whole(1).default(1000)).describe(
      'Maximum number of users with cached permissions.',
    ),
    cacheTtlMs: setting(
      'services.fiat.cache.expiresAfterWriteSeconds',
      inSeconds(whole(0).default(20)),
    ).describe('Seconds that the permissions of a user are cached.'),
    retry: {
      initialBackoffMs: setting(
        'services.fiat.retry.initialBackoffMillis',
        milliseconds.default(500),
      ).describe('Milliseconds before the first retry of a permission lookup.'),
      multiplier: setting(
        'services.fiat.retry.retryMultiplier',
        z.number().min(1).default(1.5),
      ).describe('Factor by which each further wait grows.'),
      maxElapsedMs: setting(
        'services.fiat.retry.maxBackoffMillis',
        milliseconds.default(10_000),
      ).describe('Milliseconds for retries of a permission lookup.'),
    },
    legacyFallback: setting(
      ['services.fiat.legacyFallback', 'fiat.legacyFallback.enabled'],
      off,
    ).describe(
      'While fiat does not answer: allow unknown applications, and the accounts of the login.',
    ),
    refreshable: setting('services.fiat.refreshable', on).describe(
      'Read `fiat.enabled`, `fiat.legacyFallback.enabled` and `services.fiat.legacyFallback` of an external fiat again every half ' +
        'minute, so that they apply without a restart.',
    ),
    sessionFilter: setting('fiat.session-filter.enabled', on).describe(
      'End the session of a user that fiat reports as unknown.',
    ),
    serviceAccountFilter: {
      enabled: setting(
        ['fiat.service-accounts.filter.enabled', 'authz.service-accounts.filter.enabled'],
        on,
      ).describe('Offer only the service accounts that may use the requested application.'),
      matchAuthorizations: setting(
        [
          'fiat.service-accounts.filter.match-authorizations',
          'authz.service-accounts.filter.match-authorizations',
        ],
        authorizations.default(['WRITE', 'EXECUTE']),
      ).describe(
        'Offer a service account if it has one of these authorizations on the application.',
      ),
    },
    enabled: setting('fiat.enabled', on).describe(
      '`false` switches an external fiat off, also while Fairlead runs: every check then allows. For the embedded one use ' +
        '`services.fiat.enabled`.',
    ),
  },
  {
    'fiat.grantedAuthorities.enabled': 'Authorities of the Java security framework.',
  },
)
export type PermissionSettings = SettingsOf<typeof permissionSettings>
