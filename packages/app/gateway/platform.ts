/** The means of operations besides the services. */

import type { Redis } from '@fairlead/base/redis/redis.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import { openRoomProbe } from '@fairlead/base/storage/room.ts'
import { Health } from '@fairlead/base/telemetry/health.ts'
import { Banners, openBannerRecords } from '@fairlead/gateway/banners/banners.ts'
import { consoleRoutes } from '@fairlead/gateway/console/console.ts'
import { AuditedAnswers } from '@fairlead/gateway/http/audited-answers.ts'
import { createMethodIndex } from '@fairlead/gateway/http/path-template.ts'
import { Integrations } from '@fairlead/gateway/integrations/integrations.ts'
import { EmbeddedSource } from '@fairlead/gateway/live/embedded-source.ts'
import { EventStreams } from '@fairlead/gateway/live/event-streams.ts'
import { PartChanges } from '@fairlead/gateway/live/part-changes.ts'
import { PollingSource } from '@fairlead/gateway/live/polling-source.ts'
import { allOperations, subjects } from '@fairlead/gateway/operations/all.ts'
import type { DeckPlugins } from '@fairlead/gateway/operations/deck-plugins.ts'
import { DeliveryReader } from '@fairlead/gateway/operations/delivery.ts'
import { DeliveryMetrics } from '@fairlead/gateway/operations/delivery-metrics.ts'
import type { Platform } from '@fairlead/gateway/operations/platform.ts'
import { routeOf } from '@fairlead/gateway/operations/route.ts'
import { ApiDocument } from '@fairlead/gateway/operations/serving/openapi.ts'
import { askHealth, describeCircuits } from '@fairlead/gateway/upstreams/service-health.ts'
import { SharedReads } from '@fairlead/gateway/upstreams/shared-reads.ts'
import { createExaminer } from '../doctor/on-demand.ts'
import type { AccessParts, Stores } from './access.ts'
import type { GatewayContext } from './context.ts'
import type { Services } from './services.ts'

const healthIntervalMs = 30_000

type PlatformParts = GatewayContext & Services & Stores & AccessParts & { deckPlugins: DeckPlugins }

export function createPlatform(parts: PlatformParts) {
  const { config, log, version, metrics, keep, upstreams, login, audit, now } = parts
  const sharedReads = config.http.sharedReads ? new SharedReads(metrics.readShared) : undefined
  const streams = createStreams(parts, sharedReads)
  const delivery = new DeliveryReader()
  watchMetrics(parts, streams, delivery)
  const platform: Platform = {
    upstreams,
    log,
    sharedReads,
    applications: parts.applications,
    accounts: parts.accounts,
    delivery,
    banners: createBanners(parts),
    deckPlugins: parts.deckPlugins,
    integrations: new Integrations(config.integrations, now),
    permissions: parts.permissions,
    login,
    site: { contextPath: config.http.origin.contextPath, brand: config.login.page },
    settings: config.operations,
    version,
    health: keep(openHealth(parts)),
    metrics,
    examine: createExaminer(parts),
    streams,
    audit,
    audited: keep(createAuditedAnswers(parts)),
    operationIds: new Set(allOperations.map(({ id }) => id)),
    apiDocument: new ApiDocument(subjects, version),
  }
  const operationRoutes = allOperations.map((operation) => ({
    method: operation.method,
    path: routeOf(operation).path,
  }))
  return {
    platform,
    methodsOf: createMethodIndex([
      ...operationRoutes,
      ...login.routes,
      ...(config.console.enabled ? consoleRoutes : []),
    ]),
  }
}

function createStreams(
  { config, log, upstreams, embedded, login }: PlatformParts,
  sharedReads: SharedReads | undefined,
): EventStreams {
  const liveSource = upstreams.traitsOf('orca').countsChanges
    ? new EmbeddedSource({ upstreams, log })
    : undefined
  return new EventStreams({
    source: liveSource ?? new PollingSource({ upstreams, settings: config.live, log }),
    partChanges: new PartChanges({
      upstreams,
      counts: () => embedded?.stateCounts?.(),
      pollMs: config.live.pollMs,
      log,
    }),
    settings: config.live,
    log,
    rightsVersion: () => login.version() + (embedded?.permissionVersion() ?? 0),
    // What a client reads after an event must not be older.
    onChanged: () => sharedReads?.changed(),
  })
}

function watchMetrics(parts: PlatformParts, streams: EventStreams, reader: DeliveryReader): void {
  const { metrics, upstreams, embedded, redis, sessions } = parts
  metrics.watch({
    upstreams,
    liveSessions: redis === undefined ? () => sessions.count() : undefined,
    redis,
    embedded,
    eventStreams: () => streams.size,
    delivery: new DeliveryMetrics({ ...parts, reader }).read,
    missingLogLines: () => ({
      ...parts.missingLogLines?.(),
      'without-login': parts.linesWithoutLogin.withheld,
    }),
  })
}

function openHealth({
  config,
  log,
  keep,
  upstreams,
  embedded,
  redis,
  audit,
}: PlatformParts): Health {
  const room = keep(openRoomProbe(config.backends.dataDir, log))
  return new Health({
    services: upstreams
      .enabledServices()
      .filter((service) => config.telemetry.healthCheckedServices.includes(service)),
    ask: (service: ServiceName) => askHealth(upstreams, service),
    conditions: {
      'embedded back ends': () => embedded?.isListening() ?? true,
      Redis: () => isSound(redis, config.redis?.relaxedHealth),
      'room in the data directory': room.hasRoom,
    },
    troubles: () => [
      ...(audit?.trouble === undefined ? [] : [audit.trouble]),
      ...describeCircuits(upstreams.endpoints()),
    ],
    intervalMs: healthIntervalMs,
    log,
  })
}

function createAuditedAnswers({
  config,
  metrics,
  login,
  audit,
  now,
}: PlatformParts): AuditedAnswers | undefined {
  if (audit === undefined) return undefined
  return new AuditedAnswers({
    audit,
    required: config.audit?.required === true,
    reads: config.audit?.reads === true,
    onCounted: metrics.auditCounted,
    loginRoutes: login.routes,
    now,
  })
}

function createBanners({ config, log, keep, redis, now }: PlatformParts): Banners {
  const store = keep(openBannerRecords({ dataDir: config.backends.dataDir, redis, now, log }))
  return new Banners({ settings: config.banners, store, log, now })
}

export type OpenPlatform = ReturnType<typeof createPlatform>

/** @see docs/contracts/http.md#health: how Redis counts for the health */
function isSound(redis: Redis | undefined, relaxed: boolean | undefined): boolean {
  return redis === undefined || redis.isReachable() || (relaxed === true && redis.wasReached())
}
