/** Composition root: opens the parts of the gateway in order, closes them in reverse. */
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { openAuditLog } from './audit/audit-log.ts'
import { openAuditSink } from './audit/open-sink.ts'
import type { StartThread } from './backends/embedded.ts'
import { lockDataDir } from './backends/lock.ts'
import { defaultOutsideSettings } from './backends/outside/settings.ts'
import { createFileBannerStore, createRedisBannerStore } from './banners/banner-store.ts'
import { Banners } from './banners/banners.ts'
import type { Config } from './config/config.ts'
import { consoleRoutes, mountConsole } from './console/console.ts'
import { type BuiltInPlugin, createDeckPlugins } from './deck-plugins/deck-plugins.ts'
import { findLocalProviderPlugin } from './deck-plugins/local-provider.ts'
import { AuditedAnswers } from './http/audited-answers.ts'
import { createBodyBounds } from './http/body-bounds.ts'
import { defaultMaxConnections } from './http/connection-bound.ts'
import { Connections, type ConnectionTimes, connectionTimes, maxUnaccepted } from './http/connections.ts'
import { applyCors } from './http/cors.ts'
import { refuseCsrf } from './http/csrf.ts'
import {
  createEncryptedServer,
  createExtraListeners,
  createPlainServer,
  type ServerOptions,
  serveFrom,
} from './http/listeners.ts'
import type { OriginSettings } from './http/origin.ts'
import { Overload } from './http/overload.ts'
import { createMethodIndex } from './http/path-template.ts'
import { recordAnswer } from './http/record-answer.ts'
import type { PortKind, RequestStep } from './http/request-state.ts'
import { createHttpServer } from './http/server.ts'
import { shedRequests } from './http/shedding.ts'
import { answerOptions, dropForgedIdentity } from './http/steps.ts'
import { openTlsFiles, type TlsFiles } from './http/tls/tls-files.ts'
import { createIntegrations } from './integrations/integrations.ts'
import { MemoryCounters } from './limits/counters.ts'
import { labelUpstreamLimits, limitRequests } from './limits/limit-requests.ts'
import { RedisCounters } from './limits/redis-counters.ts'
import { RunTimeLimitsReader } from './limits/run-time-limits.ts'
import { EmbeddedSource } from './live/embedded-source.ts'
import { EventStreams } from './live/event-streams.ts'
import { PartChanges } from './live/part-changes.ts'
import { PollingSource } from './live/polling-source.ts'
import type { Login } from './login/login.ts'
import { refuseLoginCsrf } from './login/login-csrf.ts'
import { openLogin } from './login/open-login.ts'
import { alwaysOpen } from './login/open-paths.ts'
import { type Keep, openParts } from './open-parts.ts'
import { createAccountCache } from './operations/account-cache.ts'
import { allOperations, subjects } from './operations/all.ts'
import { createApplicationCache } from './operations/application-cache.ts'
import type { DeckPlugins } from './operations/deck-plugins.ts'
import type { Platform } from './operations/platform.ts'
import { probePaths } from './operations/resources/system.ts'
import { routeOf } from './operations/route.ts'
import { createFindRoute } from './operations/serving/find-route.ts'
import { mountOperations } from './operations/serving/mount.ts'
import { ApiDocument } from './operations/serving/openapi.ts'
import { UnchangedReads } from './operations/unchanged-reads.ts'
import { openPermissions } from './permissions/fiat-permissions.ts'
import { loadServiceAccountNames } from './permissions/service-accounts.ts'
import { PermissionSwitches } from './permissions/switches.ts'
import { openRedis } from './redis/open-redis.ts'
import type { Redis } from './redis/redis.ts'
import { openSessions } from './sessions/sessions.ts'
import { createRoomProbe } from './storage/room.ts'
import { socketPathFor } from './storage/socket-path.ts'
import { createHealth } from './telemetry/health.ts'
import { LineBudget } from './telemetry/line-budget.ts'
import { logError } from './telemetry/log.ts'
import { createMetrics, type Metrics } from './telemetry/metrics.ts'
import type { openTracing } from './telemetry/open-tracing.ts'
import { toAddresses } from './upstreams/addresses.ts'
import { describeCircuits, logCircuit } from './upstreams/circuit-reports.ts'
import { openLoginUpstreams, openUpstreams } from './upstreams/open-upstreams.ts'
import { askHealth } from './upstreams/service-health.ts'
import type { ServiceName } from './upstreams/services.ts'
import { SharedReads } from './upstreams/shared-reads.ts'
import type { CircuitChange } from './upstreams/upstreams.ts'
import { embedServices } from './workers/embed-services.ts'
import { describeChanges } from './workers/kept-settings.ts'
import type { SharedParts, WorkerCount } from './workers/shared-parts.ts'

export interface Gateway {
  readonly server: FastifyInstance
  /** Starts to listen and to work in the background. @returns the address, `http://host:port` */
  listen(): Promise<string>
  /**
   * Has readiness fail from now on while everything is still served, so that balancers turn away before `close`. Resolves
   * after the configured time, or when it is aborted; at once where no balancer has probed readiness and none is configured.
   */
  drain(hurry?: AbortSignal): Promise<void>
  /** Applies what may change while the gateway runs, and logs what counts after a restart. */
  reload(next: Config): Promise<void>
  /** Another process takes over: from now on every connection ends with its next answer, while readiness does not change. */
  retire(): void
  /** Finishes what is in flight, within the configured bound, and closes everything. */
  close(): Promise<void>
}

export interface GatewayOptions {
  config: Config
  log: Logger
  /** Lines of the log that are missing since the start, by reason. */
  missingLogLines?: () => Readonly<Record<string, number>>
  /** What to type for `fairlead <words>`, for messages; that itself unless given. */
  command?: (words: string) => string
  /** What the configuration has said at the start; the doctor repeats it. */
  notices?: readonly string[]
  /** Version of the package. */
  version: string
  /** Reads the configuration again, for the few settings that count while the gateway runs. */
  reread?: () => Promise<Config>
  /** How often; twice a minute unless given. */
  rereadMs?: number
  /** Starts the embedded back ends, unless in a worker with the program of the package. */
  startThread?: StartThread
  /** Folder of the built web console, with a slash at its end. */
  consoleDir?: URL
  /** Plug-ins of Deck; those that the package contains unless given. */
  builtInPlugins?: readonly BuiltInPlugin[]
  /** Other times for connections than the usual ones. */
  connectionTimes?: Partial<ConnectionTimes> | undefined
  /** Of a primary process, where this one serves with others; opened here unless given. */
  shared?: SharedParts
  /** Milliseconds since the epoch. */
  now?: () => number
}

const accountRefreshMs = 30_000
const healthIntervalMs = 30_000
/** In which event streams end, when another process takes over. */
const retireMs = 1000

/** Every part that was opened is closed again when a later one fails. @throws {Error} the message says what to do */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { result, close } = await openParts((keep) => openGateway(options, keep))
  return { ...result, close }
}

/** Parts that the others use. */
interface Context extends GatewayOptions {
  keep: Keep
  metrics: Metrics
  /** Undefined where every port is plain. */
  tls: TlsFiles | undefined
  linesWithoutLogin: LineBudget
  now: () => number
}

async function openGateway(options: GatewayOptions, keep: Keep): Promise<Omit<Gateway, 'close'>> {
  const { config, log, version, now = Date.now } = options
  const tls = config.http.tls && keep(openTlsFiles(config.http.tls, log))
  const linesWithoutLogin = keep(
    new LineBudget({
      ...config.telemetry.linesWithoutLogin,
      onWithheld: (address, requests) => log.warn({ address, requests }, 'requests without login are not in the log one by one'),
    }),
  )
  const context: Context = { ...options, keep, tls, metrics: createMetrics(version), linesWithoutLogin, now }
  const services = await openServices(context)
  const stores = await openStores(context)
  const access = await openAccess({ ...context, ...services, ...stores })
  const deckPlugins = await openDeckPlugins({ ...context, ...services })
  const operations = createPlatform({ ...context, ...services, ...stores, ...access, deckPlugins })
  const steps = createSteps({ ...context, ...stores, ...access, ...operations })
  const ports = openPorts({ ...context, ...services, ...access, ...operations, steps })
  keep({ close: operations.platform.health.stop })
  return ports
}

type Services = Awaited<ReturnType<typeof openServices>>

/** The data directory, the embedded back ends, and the connections to every service. */
async function openServices({ config, log, startThread, version, metrics, shared, keep }: Context) {
  const { dataDir } = config.backends
  if (shared === undefined) {
    const lock = lockDataDir(dataDir)
    keep({ close: () => lock.release() })
  }
  const socketPath = socketPathFor(dataDir, 'backends.sock')
  const services = toAddresses(config.upstreams, socketPath)
  const embedded = shared ? shared.embedded : keep(embedServices({ config, log, version, startThread, services, socketPath }))
  const tracing = config.telemetry.tracing && keep((await loadTracing())(config.telemetry.tracing, version, log))
  const surroundings = {
    observe: metrics.upstreamAnswered,
    startCall: tracing?.startCall,
    onRetry: metrics.callRetried,
    onCircuit: (change: CircuitChange) => {
      logCircuit(log, change)
      if (change.state === 'open') metrics.circuitOpened(change.service)
    },
  }
  const toUpstreams = [config.upstreams, services, surroundings] as const
  const upstreams = keep(openUpstreams(...toUpstreams))
  const loginUpstreams = keep(openLoginUpstreams(...toUpstreams))
  return { services, embedded, tracing, upstreams, loginUpstreams }
}

type Stores = Awaited<ReturnType<typeof openStores>>

/** Sessions and the audit log, in the data directory or in the Redis that replicas share. */
async function openStores({ config, log, metrics, shared, keep, now }: Context) {
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
      changes: shared?.changes,
      now,
    }),
  )
  const audit =
    config.audit &&
    keep(
      openAuditLog({
        sink: shared?.auditSink ?? (await openAuditSink(config.audit.sink, redis)),
        // What the primary writes, it removes.
        retentionMs: shared?.auditSink === undefined ? config.audit.retentionMs : undefined,
        maxBytes: config.audit.maxBytes,
        onFailure: metrics.auditFailed,
        log,
        now,
      }),
    )
  return { redis, sessions, audit }
}

type Access = Awaited<ReturnType<typeof openAccess>>

/** Permissions, the lists that they are applied to, and login. */
async function openAccess(parts: Context & Services & Stores) {
  const { config, log, command, metrics, keep, tls, upstreams, loginUpstreams, embedded, redis, sessions, now } = parts
  const switches = keep(openSwitches(parts))
  const permissions = keep(
    openPermissions({
      switches,
      settings: config.permissions,
      upstreams,
      loginUpstreams,
      log,
      version: () => embedded?.permissionVersion() ?? 0,
      changes: parts.shared?.changes,
      onSynchronised: metrics.rolesSynchronised,
      now,
    }),
  )
  const accounts = keep(createAccountCache(upstreams, accountRefreshMs, log))
  const applications = keep(createApplicationCache(upstreams, config.applicationCache, log))
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
    dataDir: config.backends.dataDir,
    redis,
    shared: parts.shared,
    command,
    log,
    keep,
    now,
  })
  return { permissions, switches, accounts, applications, login }
}

/** Services that reads of clients depend on. Of an external one, no change is noticed. */
const readServices = ['front50', 'orca', 'clouddriver', 'fiat'] as const

/** Undefined while changes would be missed. */
function openUnchangedReads({ config, upstreams, embedded, metrics }: Context & Services): UnchangedReads | undefined {
  const isAllEmbedded = readServices.every((service) => !upstreams.isEnabled(service) || upstreams.isEmbedded(service))
  if (embedded === undefined || !isAllEmbedded || !config.http.sharedReads) return undefined
  return new UnchangedReads({
    counts: () => {
      const counts = embedded.stateCounts()
      return counts && [counts[0] + embedded.permissionVersion(), counts[1], counts[2]]
    },
    onKnown: metrics.readShared,
  })
}

/** An external permission service can be switched while the gateway runs. */
function openSwitches({ config, log, services, reread, rereadMs }: Context & Services): PermissionSwitches | undefined {
  if (reread === undefined || !config.permissions.refreshable || services.fiat?.kind !== 'external') return undefined
  return new PermissionSwitches({
    positions: config.permissions,
    reread: async () => (await reread()).permissions,
    ...(rereadMs !== undefined && { intervalMs: rereadMs }),
    log,
  })
}

type Operations = ReturnType<typeof createPlatform>

/** The operations, and what they use besides the services. */
function createPlatform(parts: Context & Services & Stores & Access & { deckPlugins: DeckPlugins }) {
  const { config, log, version, metrics, keep, upstreams, embedded, redis, sessions, audit, login, shared, now } = parts
  metrics.watch({
    upstreams,
    liveSessions: redis === undefined ? () => sessions.count() : undefined,
    redis,
    // The primary observes those that it has started.
    embedded: shared === undefined ? embedded : undefined,
    eventStreams: () => streams.size,
    missingLogLines: () => ({ ...parts.missingLogLines?.(), 'without-login': parts.linesWithoutLogin.withheld }),
  })
  keep(shared?.workers.reportMetrics(metrics.snapshot))
  if (audit !== undefined) shared?.workers.nameAuditProcess(audit.process)
  const liveSource = upstreams.isEmbedded('orca') ? new EmbeddedSource({ upstreams, log }) : undefined
  const sharedReads = config.http.sharedReads ? new SharedReads(metrics.readShared) : undefined
  const streams = new EventStreams({
    source: liveSource ?? new PollingSource({ upstreams, settings: config.live, log }),
    partChanges: new PartChanges({
      upstreams,
      counts: () => embedded?.stateCounts(),
      pollMs: config.live.pollMs,
      log,
    }),
    settings: config.live,
    log,
    rightsVersion: () => login.version() + (embedded?.permissionVersion() ?? 0),
    // What a client reads after an event must not be older.
    onChanged: () => sharedReads?.changed(),
  })
  const room = createRoomProbe(config.backends.dataDir, log)
  keep(room)
  room.start()
  const health = createHealth({
    services: upstreams.enabledServices().filter((service) => config.telemetry.healthCheckedServices.includes(service)),
    ask: (service) => askHealth(upstreams, service),
    conditions: {
      'embedded back ends': () => embedded?.isListening() ?? true,
      Redis: () => isSound(redis, config.redis?.relaxedHealth),
      'room in the data directory': room.hasRoom,
    },
    troubles: () => [
      ...(audit?.trouble === undefined ? [] : [audit.trouble]),
      ...describeCircuits(upstreams.endpoints()),
      ...describeWorkers(shared?.workers.count()),
    ],
    intervalMs: healthIntervalMs,
    log,
  })
  const audited =
    audit &&
    new AuditedAnswers({
      audit,
      required: config.audit?.required === true,
      reads: config.audit?.reads === true,
      onCounted: metrics.auditCounted,
      loginRoutes: login.routes,
      now,
    })
  const banners = new Banners({
    settings: config.banners,
    store:
      redis === undefined
        ? (shared?.bannerStore ?? createFileBannerStore(config.backends.dataDir))
        : createRedisBannerStore(redis),
    log,
    now,
  })
  const platform: Platform = {
    upstreams,
    log,
    sharedReads,
    unchangedReads: openUnchangedReads(parts),
    applications: parts.applications,
    accounts: parts.accounts,
    banners,
    deckPlugins: parts.deckPlugins,
    integrations: createIntegrations(config.integrations, now),
    permissions: parts.permissions,
    login,
    site: { contextPath: config.http.origin.contextPath, brand: config.login.page },
    settings: config.operations,
    version,
    health: keep(health),
    workers: shared && (() => shared.workers.count()),
    printMetrics: shared?.workers.printMetrics ?? metrics.print,
    metrics,
    examine: createExaminer(parts),
    streams,
    audit,
    audited: keep(audited),
    operationIds: new Set(allOperations.map(({ id }) => id)),
    apiDocument: new ApiDocument(subjects, version),
  }
  return {
    platform,
    methodsOf: createMethodIndex([...operationRoutes(), ...login.routes, ...(config.console.enabled ? consoleRoutes : [])]),
  }
}

/** Lists of plug-ins are read from the start, so that the first page of Deck need not wait. */
async function openDeckPlugins(parts: Context & Services): Promise<DeckPlugins> {
  const { config, log, keep, upstreams } = parts
  const { enabled, lists, served } = config.deckPlugins
  const builtInPlugins = served ? (parts.builtInPlugins ?? (await findBuiltInPlugins(parts))) : []
  if (enabled.size === 0) return createDeckPlugins(builtInPlugins, undefined)
  const { RepositoryPlugins } = await import('./deck-plugins/repository-plugins.ts')
  const front50 = config.upstreams.services.front50
  const repositories = keep(
    new RepositoryPlugins({
      settings: config.deckPlugins,
      downloads: {
        restrictions: config.backends.outside ?? defaultOutsideSettings,
        lists,
        front50Urls: front50.kind === 'external' && front50.baseUrl !== undefined ? [front50.baseUrl] : [],
        tls: config.upstreams.okHttpClient.tls,
      },
      upstreams,
      log,
    }),
  )
  repositories.start()
  return createDeckPlugins(builtInPlugins, repositories)
}

/** Deck knows nothing of the provider `local`, which the embedded infrastructure has. */
async function findBuiltInPlugins({ consoleDir, version, upstreams }: Context & Services): Promise<readonly BuiltInPlugin[]> {
  return upstreams.isEmbedded('clouddriver') ? findLocalProviderPlugin(consoleDir, version) : []
}

/** The doctor is loaded when an administrator asks for it; examinations at the same time are one. */
function createExaminer({ config, notices = [], now }: Context): Platform['examine'] {
  let running: ReturnType<Platform['examine']> | undefined
  const examine = async () => {
    const doctor = await import('./doctor/doctor.ts')
    return doctor.examine({ config, notices, publicUrl: undefined, proxyAddress: doctor.usualProxyAddress, now })
  }
  return () => {
    running ??= examine().finally(() => {
      running = undefined
    })
    return running
  }
}

function operationRoutes() {
  return allOperations.map((operation) => ({ method: operation.method, path: routeOf(operation).path }))
}

/** Steps that every request passes before its operation, in this order. */
function createSteps({
  config,
  log,
  metrics,
  redis,
  shared: sharedParts,
  login,
  methodsOf,
  now,
}: Context & Stores & Access & Operations): RequestStep[] {
  const { rateLimit } = config
  const shared = rateLimit.shared ? redis : undefined
  const own = sharedParts?.counters ?? new MemoryCounters(now)
  const fallback = rateLimit.countsAlone ? own : undefined
  const onUncounted = metrics.requestUncounted
  const counters = shared === undefined ? own : new RedisCounters({ redis: shared, log, fallback, onUncounted })
  const runTimeLimits = shared && new RunTimeLimitsReader({ redis: shared, log, now })
  const onLimited = metrics.requestLimited
  return [
    dropForgedIdentity(config.upstreams.okHttpClient.additionalHeaders),
    applyCors(config.http.cors),
    answerOptions(methodsOf),
    shedRequests(config.http.shedding, { now }),
    refuseLoginCsrf(config.http.cors),
    ...login.steps,
    refuseCsrf(config.http.cors),
    ...(rateLimit.enabled ? [limitRequests(rateLimit, { counters, runTimeLimits, log, now, onLimited })] : []),
  ]
}

type PortParts = Context & Services & Access & Operations & { steps: readonly RequestStep[] }

/** The listeners. They close first: requests in flight still use every other part. */
function openPorts(parts: PortParts): Omit<Gateway, 'close'> {
  const { config, log, tls, login, switches, platform, keep, embedded, applications, accounts, shared } = parts
  const { listeners, origin, address, port, drainMs, drainsAlways, shutdownGraceMs, writeTimeoutMs, maxUnreadBytes } = config.http
  const loginPaths = login.routes.map(({ path }) => path)
  const times = { ...connectionTimes, ...parts.connectionTimes }
  const overload = keep(
    new Overload(config.http.overload, {
      keptPaths: [...probePaths, ...alwaysOpen.flatMap(({ path }) => (path.startsWith('/auth/') ? [path] : [])), ...loginPaths],
      contextPath: origin.contextPath,
      onShed: parts.metrics.requestShed,
      onChange: (isOverloaded) =>
        isOverloaded
          ? log.warn('overloaded: requests that wait too long are rejected, those of low priority first')
          : log.info('no longer overloaded: every request is served'),
    }),
  )
  const { maxConnectionsPerAddress: maxPerAddress, maxConnections = defaultMaxConnections() } = config.http
  const connections = new Connections({ times, writeTimeoutMs, maxUnreadBytes, maxPerAddress, maxConnections, overload, log })
  const serverOptions: ServerOptions = {
    maxHeaderBytes: config.http.maxHeaderBytes,
    connections,
    onCertificateRefused: (from, reason) => platform.audited?.refuseConnection(from, reason),
  }
  const server = createServer(parts, serverOptions)
  const extraListeners = createExtraListeners(server, listeners, tls, log, serverOptions)
  keep({ close: async () => void (await server.close()) })
  let closing = false
  keep({
    close: () => {
      closing = true
      return connections.end(shutdownGraceMs)
    },
  })
  keep({ close: () => platform.streams.close() })
  // The framework does not know that the server it was given is encrypted.
  const toAddress = (text: string) => (listeners.mainTls ? text.replace(/^http:/, 'https:') : text)

  const listenHere = async () => {
    const main = {
      kind: 'main' as const,
      address: toAddress(await server.listen({ host: address, port, backlog: maxUnaccepted })),
    }
    return [main, ...(await extraListeners.listen(address))]
  }

  const serveOthers = async ({ connections: source }: SharedParts) => {
    await server.ready()
    serveFrom(source, [{ kind: 'main', server: server.server }, ...extraListeners.servers])
    return source.addresses
  }

  async function listen(): Promise<string> {
    const isFirst = shared?.workers.isFirst ?? true
    const start = isFirst ? await login.prepareStart() : undefined
    const addresses = await (shared === undefined ? listenHere() : serveOthers(shared))
    const listening = addresses[0]?.address ?? ''
    if (isFirst) for (const each of addresses) log.info(describeListener(login, each.address, each.kind))
    start?.listening()
    // Before the first answer of a service there is nothing to list; the embedded ones come up meanwhile.
    await embedded?.ready
    if (closing) return listening
    start?.ready(browserAddress(listening, origin))
    applications.start()
    accounts.start()
    platform.health.start()
    return listening
  }

  async function drain(hurry?: AbortSignal): Promise<void> {
    platform.health.stop()
    if (drainMs === 0 || !(drainsAlways || platform.health.isProbed())) return
    connections.drain()
    // Balancers turn away meanwhile, so that clients come back to other replicas.
    void platform.streams.drain(drainMs / 2)
    // An abort is no failure here: it ends the wait.
    await pause(drainMs, undefined, { signal: hurry }).catch(() => {})
  }

  const retire = () => {
    connections.drain()
    void platform.streams.drain(retireMs)
  }

  const reload = async (next: Config) => {
    tls?.load()
    await switches?.refresh()
    log.level = next.telemetry.logLevel
    const { enabled, legacyFallback } = next.permissions
    const applied: Config = {
      ...config,
      permissions: switches === undefined ? config.permissions : { ...config.permissions, enabled, legacyFallback },
      telemetry: { ...config.telemetry, logLevel: next.telemetry.logLevel },
    }
    const later = describeChanges(applied, next)
    if (later.length === 0) log.info('the configuration was read again')
    else {
      const advice = 'changed settings of these parts count after a restart, unless Fairlead was started with server.reload: full'
      log.warn({ settings: later }, `the configuration was read again; ${advice}`)
    }
  }

  return { server, listen, drain, reload, retire }
}

function createServer(parts: PortParts, serverOptions: ServerOptions): FastifyInstance {
  const { config, log, metrics, tls, tracing, login, platform, methodsOf, steps, linesWithoutLogin, now } = parts
  const { listeners, answerHeaders: echoedHeaders } = config.http
  const records = { log, metrics, quietPaths: probePaths, linesWithoutLogin }
  const server = createHttpServer({
    log,
    origin: config.http.origin,
    createMainServer: (handler) =>
      tls && listeners.mainTls
        ? createEncryptedServer(handler, tls, listeners.clientCertificates, log, serverOptions)
        : createPlainServer(handler, serverOptions),
    echoedHeaders,
    boundsOf: createBodyBounds(config.http.bodies),
    site: platform.site,
    nameOf: (service) => platform.upstreams.nameOf(service as ServiceName),
    ignoreTrailingSlash: config.http.ignoreTrailingSlash,
    rootPaths: probePaths,
    steps,
    findRoute: createFindRoute(allOperations),
    methodsOf,
    onReceived: () => metrics.requestStarted(),
    startSpan:
      tracing &&
      ((request) => (probePaths.has(request.state.path) ? undefined : tracing.startRequest(request.method, request.raw.headers))),
    onAnswered: (request, outcome) => recordAnswer(records, request, outcome),
    onError: (request, error) => logError(log, request, error),
  })
  if (config.rateLimit.enabled) labelUpstreamLimits(server, now)
  if (platform.audited !== undefined) server.addHook('onSend', platform.audited.onSend)
  login.mount(server)
  if (config.console.enabled) mountConsole(server, parts.consoleDir)
  mountOperations(server, allOperations, platform, { echoedHeaders, browserCache: config.http.browserCache })
  return server
}

/** @see docs/contracts/http.md#health: how Redis counts for the health */
function isSound(redis: Redis | undefined, relaxed: boolean | undefined): boolean {
  return redis === undefined || redis.isReachable() || (relaxed === true && redis.wasReached())
}

/** The library is loaded only here, since it takes time and memory that most gateways need not spend. */
async function loadTracing(): Promise<typeof openTracing> {
  return (await import('./telemetry/open-tracing.ts')).openTracing
}

/** Every address of this machine is none that a browser can open. */
function browserAddress(address: string, { publicUrl, contextPath }: OriginSettings): string {
  return publicUrl ?? address.replace(/\/\/(?:0\.0\.0\.0|\[::\])(?=:|$)/, '//localhost') + contextPath
}

/** The start-up line: per listener, which login methods guard it. */
function describeListener(login: Login, address: string, listener: PortKind): string {
  if (listener === 'management') return `listening on ${address}, open to all clients for health and metrics`
  const methods = login.methodsOf(listener)
  const guard =
    methods.length > 0
      ? `guarded by login: ${methods.join(', ')}`
      : 'open to all clients as the user anonymous, without any login'
  return `listening on ${address}, ${guard}`
}

function describeWorkers(count: WorkerCount | undefined): string[] {
  if (count === undefined || count.running >= count.configured) return []
  return [`${count.running} of ${count.configured} worker processes serve; the others start, or the log says why they ended`]
}
