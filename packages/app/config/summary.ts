/** Summary of a configuration for operators: what it makes of services, listeners, login and limits. */
import type { AuditSettings } from '@fairlead/gateway/audit/settings.ts'
import type { HttpSettings } from '@fairlead/gateway/http/settings.ts'
import type { RateLimitSettings } from '@fairlead/gateway/limits/settings.ts'
import type { LoginSettings } from '@fairlead/gateway/login/settings.ts'
import type { Config } from './capabilities.ts'
import { hideCredentials } from './problems.ts'

export function summarize(config: Config, sources: readonly string[]): string {
  const services = Object.entries(config.upstreams.services).map(([name, { kind, baseUrl }]) =>
    kind === 'external' ? `  ${name}: ${hideCredentials(baseUrl ?? '')}` : `  ${name}: ${kind}`,
  )
  return [
    'The configuration is in order.',
    `Read: ${sources.join(', ') || 'nothing; defaults apply'}`,
    `Listens on: ${describePorts(config.http)}`,
    `Login: ${describeLogin(config.login)}`,
    `Sessions: ${config.redis === undefined ? 'in the data directory' : 'in Redis, shared with other replicas'}`,
    `Data directory: ${config.backends.dataDir}`,
    `Permissions: ${describePermissions(config)}`,
    `Rate limits: ${describeLimits(config.rateLimit)}`,
    `Audit log: ${describeAudit(config.audit)}`,
    'Services:',
    ...services,
  ].join('\n')
}

function describePorts({ address, port, origin, listeners }: HttpSettings): string {
  const { mainTls, apiPort, legacyPort, managementPort } = listeners
  return [
    `${address}:${port}${origin.contextPath}${mainTls ? ' (TLS)' : ''}`,
    ...(apiPort === undefined ? [] : [`${address}:${apiPort} (TLS with client certificates)`]),
    ...(legacyPort === undefined ? [] : [`${address}:${legacyPort} (without TLS)`]),
    ...(managementPort === undefined ? [] : [`${address}:${managementPort} (health and metrics)`]),
  ].join(', ')
}

function describeLogin({ anonymous, methods }: LoginSettings): string {
  if (anonymous) return 'none: every request runs as anonymous'
  return methods.map(({ type, settings }) => type.describe(settings)).join('; ')
}

function describePermissions({ upstreams, permissions, login, backends }: Config): string {
  const { kind } = upstreams.services.fiat
  if (kind === 'disabled' || login.anonymous || (kind === 'external' && !permissions.enabled))
    return 'no user is restricted'
  if (kind === 'external') {
    const checkers = {
      services: 'the services',
      gateway: 'the gateway',
      both: 'the gateway and the services',
    }
    return `those of fiat, checked by ${checkers[permissions.enforcement]}`
  }
  const source = backends.permissions?.roleSource
  if (source === undefined) return 'embedded, with the roles of the login'
  const place =
    source.kind === 'file' ? source.path : source.directory.servers.map(({ url }) => url).join(', ')
  return `embedded, with the roles of the login and of ${place}`
}

function describeLimits({
  enabled,
  learning,
  enforcing,
  capacity,
  periodMs,
}: RateLimitSettings): string {
  if (!enabled) return 'none'
  const mode = learning
    ? `learning, no request is rejected${enforcing.length > 0 ? ` but ${enforcing.join(', ')}` : ''}`
    : 'enforced'
  return `${capacity} requests in ${periodMs / 1000} seconds, ${mode}`
}

function describeAudit(audit: AuditSettings | undefined): string {
  if (audit === undefined) return 'none'
  return 'file' in audit.sink ? audit.sink.file : 'standard output'
}
