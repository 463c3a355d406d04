/** Settings of the permissions that the gateway reads from fiat. */
import { z } from 'zod'
import { milliseconds, withoutEffect } from '../setting.ts'

const authorizations = z.array(z.enum(['READ', 'WRITE', 'EXECUTE', 'CREATE']))

export const PermissionKeys = z.strictObject({
  'permissions.enforce': z
    .enum(['gateway', 'services', 'both'])
    .default('services')
    .describe(
      'Who checks what users may do: `services` leaves that to external services, as Gate does; with `gateway` or `both` the ' +
        'gateway checks every operation before it forwards it, in addition to the services. The gateway always checks the ' +
        'operations of embedded services.',
    ),
  'permissions.lookupTimeoutMs': milliseconds
    .min(1)
    .default(10_000)
    .describe(
      'Milliseconds that a request waits for the permissions of its user, including retries; it then ends with 503. While fiat is ' +
        'known to fail, requests wait for one second only.',
    ),
  'permissions.loginTimeoutMs': milliseconds
    .min(1)
    .default(30_000)
    .describe('Milliseconds that a login waits for fiat, which may have to query a directory; it then ends with 503.'),
  'permissions.syncTimeoutMs': milliseconds
    .min(1)
    .default(3_600_000)
    .describe('Milliseconds after which a synchronisation of roles is aborted. It runs in the background.'),
  'permissions.lastKnownForSeconds': z
    .int()
    .min(0)
    .max(86_400)
    .default(0)
    .describe(
      'Additional seconds for which cached permissions apply while fiat does not answer. Rights revoked meanwhile apply as long; ' +
        '0 allows only what fiat has confirmed recently.',
    ),
  'services.fiat.cache.maxEntries': z.int().min(1).default(1000).describe('Maximum number of users with cached permissions.'),
  'services.fiat.cache.expiresAfterWriteSeconds': z
    .int()
    .min(0)
    .default(20)
    .describe('Seconds that the permissions of a user are cached.'),
  'services.fiat.retry.initialBackoffMillis': milliseconds
    .default(500)
    .describe('Milliseconds before the first retry of a permission lookup.'),
  'services.fiat.retry.retryMultiplier': z.number().min(1).default(1.5).describe('Factor by which each further wait grows.'),
  'services.fiat.retry.maxBackoffMillis': milliseconds
    .default(10_000)
    .describe('Milliseconds for retries of a permission lookup.'),
  'services.fiat.legacyFallback': z
    .boolean()
    .default(false)
    .describe('While fiat does not answer: allow unknown applications, and the accounts of the login.'),
  'services.fiat.refreshable': z
    .boolean()
    .default(true)
    .describe(
      'Read `fiat.enabled`, `fiat.legacyFallback.enabled` and `services.fiat.legacyFallback` of an external fiat again every half ' +
        'minute, so that they apply without a restart.',
    ),
  'fiat.session-filter.enabled': z.boolean().default(true).describe('End the session of a user that fiat reports as unknown.'),
  'fiat.service-accounts.filter.enabled': z
    .boolean()
    .default(true)
    .describe('Offer only the service accounts that may use the requested application.'),
  'fiat.service-accounts.filter.match-authorizations': authorizations
    .default(['WRITE', 'EXECUTE'])
    .describe('Offer a service account if it has one of these authorizations on the application.'),
  'authz.service-accounts.filter.enabled': z
    .boolean()
    .optional()
    .describe('The newer name of `fiat.service-accounts.filter.enabled`; overrides it.'),
  'authz.service-accounts.filter.match-authorizations': authorizations
    .optional()
    .describe('The newer name of `fiat.service-accounts.filter.match-authorizations`; overrides it.'),
  'fiat.enabled': z
    .boolean()
    .optional()
    .describe(
      '`false` switches an external fiat off, also while Fairlead runs: every check then allows. For the embedded one use ' +
        '`services.fiat.enabled`.',
    ),
  'fiat.legacyFallback.enabled': z
    .boolean()
    .optional()
    .describe('Overrides `services.fiat.legacyFallback`; both can change while Fairlead runs.'),
  'fiat.grantedAuthorities.enabled': withoutEffect('Authorities of the Java security framework.'),
})
export type PermissionKeys = z.infer<typeof PermissionKeys>

export type PermissionSettings = ReturnType<typeof toPermissionSettings>

export function toPermissionSettings(keys: PermissionKeys) {
  return {
    enforcement: keys['permissions.enforce'],
    cacheMaxEntries: keys['services.fiat.cache.maxEntries'],
    cacheTtlMs: keys['services.fiat.cache.expiresAfterWriteSeconds'] * 1000,
    lookupTimeoutMs: keys['permissions.lookupTimeoutMs'],
    loginTimeoutMs: keys['permissions.loginTimeoutMs'],
    syncTimeoutMs: keys['permissions.syncTimeoutMs'],
    lastKnownForMs: keys['permissions.lastKnownForSeconds'] * 1000,
    retry: {
      initialBackoffMs: keys['services.fiat.retry.initialBackoffMillis'],
      multiplier: keys['services.fiat.retry.retryMultiplier'],
      maxElapsedMs: keys['services.fiat.retry.maxBackoffMillis'],
    },
    /** Whether an external service counts, provided that it has an address. */
    enabled: keys['fiat.enabled'] ?? true,
    legacyFallback: keys['fiat.legacyFallback.enabled'] ?? keys['services.fiat.legacyFallback'],
    refreshable: keys['services.fiat.refreshable'],
    sessionFilter: keys['fiat.session-filter.enabled'],
    serviceAccountFilter: {
      enabled: keys['authz.service-accounts.filter.enabled'] ?? keys['fiat.service-accounts.filter.enabled'],
      matchAuthorizations:
        keys['authz.service-accounts.filter.match-authorizations'] ?? keys['fiat.service-accounts.filter.match-authorizations'],
    },
  }
}
