/** Who the user is, and what the user may do: sessions, permissions and login, with the audit log. */

import { openRedis } from '@fairlead/base/redis/open-redis.ts'
import { openAuditLog } from '@fairlead/gateway/audit/audit-log.ts'
import { openAuditSink } from '@fairlead/gateway/audit/open-sink.ts'
import { openLogin } from '@fairlead/gateway/login/open-login.ts'
import { AccountCache } from '@fairlead/gateway/operations/account-cache.ts'
import { ApplicationCache } from '@fairlead/gateway/operations/application-cache.ts'
import { Permissions } from '@fairlead/gateway/permissions/fiat-permissions.ts'
import { loadServiceAccountNames } from '@fairlead/gateway/permissions/service-accounts.ts'
import { PermissionSwitches } from '@fairlead/gateway/permissions/switches.ts'
import { openSessions } from '@fairlead/gateway/sessions/sessions.ts'
import type { GatewayContext } from './context.ts'
import type { Services } from './services.ts'

const accountRefreshMs = 30_000

export async function openStores({ config, log, metrics, keep, now }: GatewayContext) {
  const { redisAnswered: answered, redisReconnected: reconnected } = metrics
  const redis = config.redis && keep(await openRedis(config.redis, log, { answered, reconnected }))
  const sessions = keep(
    openSessions({
      settings: config.sessions,
      dataDir: config.backends.dataDir,
      redis,
      contextPath: config.http.origin.contextPath,
      log,
      onStarted: metrics.sessionStarted,
      now,
    }),
  )
  const audit =
    config.audit &&
    keep(
      openAuditLog({
        sink: await openAuditSink(config.audit.sink),
        retentionMs: config.audit.retentionMs,
        maxBytes: config.audit.maxBytes,
        onFailure: metrics.auditFailed,
        log,
        now,
      }),
    )
  return { redis, sessions, audit }
}

export type Stores = Awaited<ReturnType<typeof openStores>>

export async function openAccess(parts: GatewayContext & Services & Stores) {
  const {
    config,
    log,
    command,
    metrics,
    keep,
    tls,
    upstreams,
    loginUpstreams,
    embedded,
    redis,
    sessions,
    now,
  } = parts
  const switches = createSwitches(parts)
  const permissions = keep(
    new Permissions({
      switches,
      settings: config.permissions,
      upstreams,
      loginUpstreams,
      log,
      version: () => embedded?.permissionVersion() ?? 0,
      onSynchronised: metrics.rolesSynchronised,
      now,
    }),
  )
  const accounts = keep(new AccountCache(upstreams, accountRefreshMs, log))
  const applications = keep(new ApplicationCache(upstreams, config.applicationCache, log))
  const login = await openLogin({
    settings: config.login,
    sessions,
    permissions,
    learnsRolesFromLogins: upstreams.traitsOf('fiat').learnsRolesFromLogins,
    accounts,
    serviceAccounts: () => loadServiceAccountNames(upstreams),
    adminRoles: config.backends.adminRoles,
    ui: config.operations,
    origin: config.http.origin,
    certificates: tls,
    contextPath: config.http.origin.contextPath,
    dataDir: config.backends.dataDir,
    redis,
    command,
    log,
    keep,
    now,
  })
  return { permissions, switches, accounts, applications, login }
}

export type AccessParts = Awaited<ReturnType<typeof openAccess>>

function createSwitches({
  config,
  log,
  keep,
  services,
  reread,
  rereadMs,
}: GatewayContext & Services) {
  if (reread === undefined || !config.permissions.refreshable || services.fiat?.kind !== 'external')
    return undefined
  return keep(
    new PermissionSwitches({
      positions: config.permissions,
      reread: async () => (await reread()).permissions,
      intervalMs: rereadMs,
      log,
    }),
  )
}
