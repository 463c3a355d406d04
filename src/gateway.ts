/** The composition root: builds every part from the configuration, connects them, and owns closing them. */

import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { openAuditLog } from './audit/audit-log.ts'
import { openAuditSink } from './audit/open-sink.ts'
import { type Embedded, startEmbedded } from './backends/embedded.ts'
import { lockDataDir } from './backends/lock.ts'
import { createFileBannerStore, createRedisBannerStore } from './banners/banner-store.ts'
import { Banners } from './banners/banners.ts'
import type { Config } from './config/config.ts'
import { AuditedAnswers, noteThatCounts } from './http/audited-answers.ts'
import { createBodyBounds } from './http/body-bounds.ts'
import { Connections, type ConnectionTimes, connectionTimes } from './http/connections.ts'
import { applyCors } from './http/cors.ts'
import { refuseForeignPages } from './http/foreign-pages.ts'
import { createEncryptedServer, createExtraListeners, createPlainServer } from './http/listeners.ts'
import type { OriginSettings } from './http/origin.ts'
import type { Site } from './http/page.ts'
import type { ListenerKind, RequestStep } from './http/request-state.ts'
import { createHttpServer } from './http/server.ts'
import { shedRequests } from './http/shedding.ts'
import { answerOptions, dropForgedIdentity, refuseAmbiguousPath } from './http/steps.ts'
import { openTlsFiles } from './http/tls/tls-files.ts'
import { MemoryCounters } from './limits/counters.ts'
import { labelUpstreamLimits, limitRequests } from './limits/limit-requests.ts'
import { RedisCounters } from './limits/redis-counters.ts'
import { RunTimeLimitsReader } from './limits/run-time-limits.ts'
import { refuseForeignLogins } from './login/foreign-logins.ts'
import type { Login } from './login/login.ts'
import { openLogin } from './login/open-login.ts'
import { createAccountCache } from './operations/account-cache.ts'
import { allOperations, subjects } from './operations/all.ts'
import { createApplicationCache } from './operations/application-cache.ts'
import { createMethodIndex } from './operations/path-pattern.ts'
import type { Platform } from './operations/platform.ts'
import { probePaths } from './operations/resources/system.ts'
import { mountOperations } from './operations/serving/mount.ts'
import { ApiDocument } from './operations/serving/openapi.ts'
import { openPermissions } from './permissions/fiat-permissions.ts'
import { loadServiceAccountNames } from './permissions/service-accounts.ts'
import { PermissionSwitches } from './permissions/switches.ts'
import { openRedis } from './redis/open-redis.ts'
import type { Redis } from './redis/redis.ts'
import { openSessions } from './sessions/sessions.ts'
import { socketPathFor } from './storage/socket-path.ts'
import { createHealth } from './telemetry/health.ts'
import { logAccess, logError, type Outcome } from './telemetry/log.ts'
import { createMetrics, type Metrics } from './telemetry/metrics.ts'
import type { openTracing } from './telemetry/open-tracing.ts'
import { toAddresses } from './upstreams/addresses.ts'
import { openLoginUpstreams, openUpstreams } from './upstreams/open-upstreams.ts'
import { askHealth } from './upstreams/service-health.ts'
import type { ServiceAddress, ServiceName } from './upstreams/services.ts'

export interface Gateway {
  readonly server: FastifyInstance
  /** Starts to listen and to work in the background. @returns the address, `http://host:port` */
  listen(): Promise<string>
  /**
   * Has readiness fail from now on while everything is still served, so that balancers turn away before `close`. Resolves
   * after the configured time, or when it is aborted.
   */
  drain(hurry?: AbortSignal): Promise<void>
  /** Finishes what is in flight, within the configured bound, and closes everything. */
  close(): Promise<void>
}

export interface GatewayOptions {
  config: Config
  log: Logger
  /** What to type for `fairlead <words>`, for messages; that itself unless given. */
  command?: (words: string) => string
  /** Version of the package. */
  version: string
  /** Reads the configuration again, for the few settings that count while the gateway runs. */
  reread?: () => Promise<Config>
  /** How often; twice a minute unless given. */
  rereadMs?: number
  /** The program of the embedded back ends, unless it lies where the package has it. */
  workerFile?: URL
  /** Other times for connections than the usual ones. */
  connectionTimes?: Partial<ConnectionTimes> | undefined
  /** Milliseconds since the epoch. */
  now?: () => number
}

const accountRefreshMs = 30_000
const healthIntervalMs = 30_000

/** @throws {Error} when the data directory cannot be used; the message says what to do */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { config, log, version, reread, rereadMs, now = Date.now } = options
  const { dataDir } = config.backends
  const tls = config.http.tls && openTlsFiles(config.http.tls, log)
  const lock = lockDataDir(dataDir)
  const socketPath = socketPathFor(dataDir, 'backends.sock')
  const services = toAddresses(config.upstreams, socketPath)
  const embedded = embedServices(options, services, socketPath)

  const metrics = createMetrics(version)
  const tracing = config.telemetry.tracing && (await loadTracing())(config.telemetry.tracing, version, log)
  const upstreams = openUpstreams(config.upstreams, services, metrics.upstreamAnswered, tracing?.startCall)
  const loginUpstreams = openLoginUpstreams(config.upstreams, services, metrics.upstreamAnswered, tracing?.startCall)
  const switches =
    reread && config.permissions.refreshable && services.fiat?.kind === 'external'
      ? new PermissionSwitches({
          positions: config.permissions,
          reread: async () => (await reread()).permissions,
          ...(rereadMs !== undefined && { intervalMs: rereadMs }),
          log,
        })
      : undefined
  const permissions = openPermissions({
    switches,
    settings: config.permissions,
    upstreams,
    loginUpstreams,
    log,
    version: () => embedded?.permissionVersion() ?? 0,
    onSynchronised: metrics.rolesSynchronised,
    now,
  })
  const redis =
    config.redis &&
    (await openRedis(config.redis, log, { answered: metrics.redisAnswered, reconnected: metrics.redisReconnected }))
  const sessions = openSessions({
    settings: config.sessions,
    dataDir,
    redis,
    contextPath: config.http.origin.contextPath,
    log,
    onStarted: metrics.sessionStarted,
    now,
  })
  metrics.watch({
    upstreamCalls: () => upstreams.pending(),
    liveSessions: redis === undefined ? () => sessions.count() : undefined,
    redis,
    embedded,
  })
  const audit =
    config.audit &&
    openAuditLog({
      sink: await openAuditSink(config.audit.sink, redis),
      retentionMs: config.audit.retentionMs,
      maxBytes: config.audit.maxBytes,
      onFailure: metrics.auditFailed,
      log,
      now,
    })
  const accounts = createAccountCache(upstreams, accountRefreshMs, log)
  const applications = createApplicationCache(upstreams, config.applicationCache, log)
  const login = await openLogin({
    settings: config.login,
    sessions,
    permissions,
    permissionServiceEmbedded: upstreams.isEmbedded('fiat'),
    accounts,
    serviceAccounts: () => loadServiceAccountNames(upstreams),
    adminRoles: config.backends.adminRoles,
    ui: config.operations,
    origin: config.http.origin,
    certificates: tls,
    contextPath: config.http.origin.contextPath,
    dataDir,
    redis,
    command: options.command,
    log,
    now,
  })
  const health = createHealth({
    services: upstreams.enabledServices().filter((service) => config.telemetry.healthCheckedServices.includes(service)),
    ask: (service) => askHealth(upstreams, service),
    conditions: { 'embedded back ends': () => embedded?.isListening() ?? true },
    vitalConditions: { Redis: () => isSound(redis, config.redis?.relaxedHealth) },
    troubles: () => (audit?.trouble === undefined ? [] : [audit.trouble]),
    intervalMs: healthIntervalMs,
    log,
  })
  const operations = allOperations
  const site: Site = { contextPath: config.http.origin.contextPath, brand: config.login.page }
  const audited =
    audit &&
    new AuditedAnswers({
      audit,
      required: config.audit?.required === true,
      reads: config.audit?.reads === true,
      loginRoutes: login.routes,
      now,
    })
  const platform: Platform = {
    upstreams,
    applications,
    accounts,
    banners: new Banners({
      settings: config.banners,
      store: redis === undefined ? createFileBannerStore(dataDir) : createRedisBannerStore(redis),
      log,
      now,
    }),
    permissions,
    login,
    site,
    settings: config.operations,
    version,
    health,
    metrics,
    audit,
    audited,
    operationIds: new Set(operations.map(({ id }) => id)),
    apiDocument: new ApiDocument(subjects, version),
  }

  const methodsOf = createMethodIndex([...operations, ...login.routes])
  const { rateLimit } = config
  const ownCounters = new MemoryCounters(now)
  const fallback = rateLimit.countsAlone ? ownCounters : undefined
  const counters =
    redis && rateLimit.shared ? new RedisCounters({ redis, log, fallback, onUncounted: metrics.requestUncounted }) : ownCounters
  const runTimeLimits = redis && rateLimit.shared ? new RunTimeLimitsReader({ redis, log, now }) : undefined
  const steps: RequestStep[] = [
    refuseAmbiguousPath,
    dropForgedIdentity(config.upstreams.okHttpClient.additionalHeaders),
    applyCors(config.http.cors),
    answerOptions(methodsOf),
    shedRequests(config.http.shedding, { now }),
    refuseForeignLogins(config.http.cors),
    ...login.steps,
    refuseForeignPages(config.http.cors),
    ...(rateLimit.enabled
      ? [limitRequests(rateLimit, { counters, runTimeLimits, log, now, onLimited: metrics.requestLimited })]
      : []),
  ]
  const { listeners } = config.http
  const connections = new Connections({
    times: { ...connectionTimes, ...options.connectionTimes },
    writeTimeoutMs: config.http.writeTimeoutMs,
    maxUnreadBytes: config.http.maxUnreadBytes,
    log,
  })
  const serverOptions = {
    maxHeaderBytes: config.http.maxHeaderBytes,
    connections,
    onCertificateRefused: (address: string | undefined, reason: string) => audited?.refuseConnection(address, reason),
  }
  const server = createHttpServer({
    log,
    origin: config.http.origin,
    createMainServer: (handler) =>
      tls && listeners.mainTls
        ? createEncryptedServer(handler, tls, listeners.clientCertificates, log, serverOptions)
        : createPlainServer(handler, serverOptions),
    echoedHeaders: config.http.answerHeaders,
    boundsOf: createBodyBounds(config.http.bodies),
    site,
    ignoreTrailingSlash: config.http.ignoreTrailingSlash,
    rootPaths: probePaths,
    steps,
    methodsOf,
    onReceived: () => metrics.requestStarted(),
    startSpan:
      tracing &&
      ((request) => (probePaths.has(request.state.path) ? undefined : tracing.startRequest(request.method, request.raw.headers))),
    onAnswered: (request, outcome) => recordAnswer(log, metrics, request, outcome),
    onError: (request, error) => logError(log, request, error),
  })
  if (rateLimit.enabled) labelUpstreamLimits(server, now)
  if (audited !== undefined) server.addHook('onSend', audited.onSend)
  login.mount(server)
  mountOperations(server, operations, platform, {
    echoedHeaders: config.http.answerHeaders,
  })

  const extraListeners = createExtraListeners(server, listeners, tls, log, serverOptions)
  // The framework does not know that the server it was given is encrypted.
  const toAddress = (text: string) => (listeners.mainTls ? text.replace(/^http:/, 'https:') : text)

  async function listen(): Promise<string> {
    const start = await login.prepareStart()
    const address = await server.listen({
      host: config.http.address,
      port: config.http.port,
      listenTextResolver: (text) => describeListener(login, toAddress(text), 'main'),
    })
    start.listening()
    for (const extra of await extraListeners.listen(config.http.address)) {
      log.info(describeListener(login, extra.address, extra.kind))
    }
    // Before the first answer of a service there is nothing to list; the embedded ones come up meanwhile.
    await embedded?.ready
    start.ready(browserAddress(toAddress(address), config.http.origin))
    applications.start()
    accounts.start()
    health.start()
    return toAddress(address)
  }

  async function drain(hurry?: AbortSignal): Promise<void> {
    health.stop()
    if (config.http.drainMs === 0) return
    connections.drain()
    // An abort is no failure here: it ends the wait.
    await pause(config.http.drainMs, undefined, { signal: hurry }).catch(() => {})
  }

  async function close(): Promise<void> {
    health.stop()
    await connections.end(config.http.shutdownGraceMs)
    await server.close()
    health.close()
    applications.close()
    accounts.close()
    switches?.close()
    permissions.close()
    await login.close()
    tls?.close()
    await sessions.close()
    audited?.close()
    await audit?.close()
    await redis?.close()
    await upstreams.close()
    await loginUpstreams?.close()
    await embedded?.close()
    await tracing?.close()
    lock.release()
  }

  return { server, listen, drain, close }
}

/** @see HTTP conventions, section 5.3: how Redis counts for the health */
function isSound(redis: Redis | undefined, relaxed: boolean | undefined): boolean {
  return redis === undefined || redis.isReachable() || (relaxed === true && redis.wasReached())
}

/** Starts the worker of the embedded back ends, if there are any. */
function embedServices(
  { config, log, workerFile }: GatewayOptions,
  services: Partial<Record<ServiceName, ServiceAddress>>,
  socketPath: string,
): Embedded | undefined {
  const embedded = Object.values(services).flatMap((address) => (address.kind === 'embedded' ? [address.service] : []))
  if (embedded.length === 0) return undefined
  const { dataDir, adminRoles, timeZone, serviceAccounts, permissions, limits } = config.backends
  // Without logins there are no permission checks, here as in the gateway.
  const authorization = services.fiat !== undefined && !config.login.anonymous
  const { maxBytes, maxValues } = config.http.bodies.known
  const bodies = { maxBytes, maxValues }
  const settings = { adminRoles, timeZone, serviceAccounts, authorization, permissions, bodies, limits }
  return startEmbedded({
    dataDir,
    socketPath,
    embedded,
    services,
    settings,
    traces: config.telemetry.tracing !== undefined,
    log,
    workerFile,
  })
}

/** Every address of this machine is none that a browser can open. */
function browserAddress(address: string, { publicUrl, contextPath }: OriginSettings): string {
  return publicUrl ?? address.replace(/\/\/(?:0\.0\.0\.0|\[::\])(?=:|$)/, '//localhost') + contextPath
}

/** The start-up line: per listener, which login methods guard it. */
function describeListener(login: Login, address: string, listener: ListenerKind): string {
  const methods = login.methodsOf(listener)
  const guard =
    methods.length > 0 ? `guarded by login: ${methods.join(', ')}` : 'open to everyone as the user anonymous, without any login'
  return `listening on ${address}, ${guard}`
}

function recordAnswer(log: Logger, metrics: Metrics, request: FastifyRequest, outcome: Outcome): void {
  const durationMs = performance.now() - request.state.receivedAtMs
  metrics.requestAnswered({
    operation: request.state.operation ?? 'none',
    method: request.method,
    status: outcome.status,
    seconds: durationMs / 1000,
    bytes: outcome.bytes,
  })
  recordLogin(metrics, request)
  endSpan(request, outcome)
  // Probes ask every few seconds, and would fill the log with nothing new.
  const isProbe = outcome.status === 200 && probePaths.has(request.state.path)
  logAccess(log, request, outcome, { durationMs, level: isProbe ? 'debug' : 'info' })
}

/** The library is loaded only here, since it takes time and memory that most gateways need not spend. */
async function loadTracing(): Promise<typeof openTracing> {
  return (await import('./telemetry/open-tracing.ts')).openTracing
}

function endSpan({ state, routeOptions }: FastifyRequest, { status }: Outcome): void {
  if (state.span === undefined) return
  // What is refused before its route counts, such as a path outside of the context path, has none.
  const route = state.operation === undefined && status === 404 ? undefined : routeOptions.url?.replaceAll(/:(\w+)/g, '{$1}')
  const { operation, scheme, requestId, errorCode } = state
  state.span.end({ route, operation, status, scheme, requestId, errorCode })
}

function recordLogin(metrics: Metrics, request: FastifyRequest): void {
  const note = noteThatCounts(request)
  if (note === undefined) return
  const { method } = note
  if (note.kind === 'refused') metrics.loginEnded({ method, result: note.failed === true ? 'error' : 'refused' })
  else if (note.kind === 'login') metrics.loginEnded({ method, result: 'success' })
  else metrics.loggedOut(method)
}
