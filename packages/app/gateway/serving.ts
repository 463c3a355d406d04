/** The request steps, the server with its routes, and the ports. */
import type { RequestListener, Server } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import { logError } from '@fairlead/base/telemetry/log.ts'
import { mountConsole } from '@fairlead/gateway/console/console.ts'
import { createBodyBounds } from '@fairlead/gateway/http/body-bounds.ts'
import { applyCors } from '@fairlead/gateway/http/cors.ts'
import { toBrowserAddress } from '@fairlead/gateway/http/origin.ts'
import { type OpenPorts, openPorts } from '@fairlead/gateway/http/ports.ts'
import { recordAnswer } from '@fairlead/gateway/http/record-answer.ts'
import type { PortKind, RequestStep } from '@fairlead/gateway/http/request-state.ts'
import { createHttpServer } from '@fairlead/gateway/http/server.ts'
import {
  answerOptions,
  dropForgedIdentity,
  refuseCsrf,
  shedRequests,
} from '@fairlead/gateway/http/steps.ts'
import { labelUpstreamLimits, RequestLimit } from '@fairlead/gateway/limits/limit-requests.ts'
import { refuseLoginCsrf } from '@fairlead/gateway/login/login-csrf.ts'
import type { Login } from '@fairlead/gateway/login/open-login.ts'
import { alwaysOpen } from '@fairlead/gateway/login/open-paths.ts'
import { allOperations } from '@fairlead/gateway/operations/all.ts'
import { probePaths } from '@fairlead/gateway/operations/resources/system.ts'
import { createFindRoute } from '@fairlead/gateway/operations/serving/find-route.ts'
import { mountOperations } from '@fairlead/gateway/operations/serving/mount.ts'
import { withReloaded } from '@fairlead/providers/infrastructure/setting-keys.ts'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import type { AccessParts, Stores } from './access.ts'
import type { Gateway, GatewayContext } from './context.ts'
import type { OpenPlatform } from './platform.ts'
import type { Services } from './services.ts'

export function createSteps(
  parts: GatewayContext & Stores & AccessParts & OpenPlatform,
): RequestStep[] {
  const { config, login, methodsOf, now } = parts
  return [
    dropForgedIdentity(config.upstreams.okHttpClient.additionalHeaders),
    applyCors(config.http.cors),
    answerOptions(methodsOf),
    shedRequests(config.http.shedding, { now }),
    refuseLoginCsrf(config.http.cors),
    ...login.steps,
    refuseCsrf(config.http.cors),
    ...(config.rateLimit.enabled ? [createRateLimit(parts)] : []),
  ]
}

function createRateLimit({
  config,
  log,
  metrics,
  redis,
  now,
}: GatewayContext & Stores): RequestStep {
  return new RequestLimit(config.rateLimit, {
    redis,
    log,
    now,
    onLimited: metrics.requestLimited,
    onUncounted: metrics.requestUncounted,
  })
}

type ServerParts = GatewayContext &
  Services &
  AccessParts &
  OpenPlatform & { steps: readonly RequestStep[] }

/** What runs once everything is open. The ports close first: requests in flight still use every other part. */
export function openServing(parts: ServerParts): Omit<Gateway, 'close'> {
  const { config, platform, login, keep } = parts
  const ports = openPorts({
    settings: config.http,
    times: parts.connectionTimes,
    tls: parts.tls,
    log: parts.log,
    keep,
    keptPaths: [
      ...probePaths,
      ...alwaysOpen.flatMap(({ path }) => (path.startsWith('/auth/') ? [path] : [])),
      ...login.routes.map(({ path }) => path),
    ],
    onShed: parts.metrics.requestShed,
    onCertificateRefused: (from, reason) => platform.audited?.refuseConnection(from, reason),
    createServer: (createMainServer) => createServer(parts, createMainServer),
  })
  const closing = new AbortController()
  keep({ close: () => closing.abort() })
  keep({ close: () => platform.streams.close() })
  return {
    server: ports.server,
    listen: () => listen(parts, ports, closing.signal),
    drain: (hurry) => drain(parts, ports, hurry),
    reload: (next) => applyReload(parts, next),
  }
}

async function listen(
  { login, log, embedded, ...parts }: ServerParts,
  ports: OpenPorts,
  closing: AbortSignal,
): Promise<string> {
  const start = await login.prepareStart()
  const addresses = await ports.listen()
  const listening = addresses[0]?.address ?? ''
  for (const each of addresses) log.info(describeListener(login, each.address, each.kind))
  start.listening()
  // Before the first answer of a service there is nothing to list; the embedded ones come up meanwhile.
  await embedded?.ready
  if (closing.aborted) return listening
  start.ready(toBrowserAddress(listening, parts.config.http.origin))
  void parts.applications.start()
  void parts.accounts.start()
  parts.platform.health.start()
  return listening
}

async function drain(parts: ServerParts, ports: OpenPorts, hurry?: AbortSignal): Promise<void> {
  parts.platform.health.stop()
  await awaitBalancers(parts, ports, hurry)
  await parts.embedded?.settle?.(parts.config.http.shutdownGraceMs, hurry)
}

async function awaitBalancers(
  { config, platform }: ServerParts,
  ports: OpenPorts,
  hurry?: AbortSignal,
): Promise<void> {
  const { drainMs, drainsAlways } = config.http
  if (drainMs === 0 || !(drainsAlways || platform.health.isProbed())) return
  ports.drain()
  // Balancers turn away meanwhile, so that clients come back to other replicas.
  void platform.streams.drain(drainMs / 2)
  await pause(drainMs, undefined, { signal: hurry }).catch(() => {})
}

async function applyReload(
  { config, log, tls, switches, embedded, accounts }: ServerParts,
  next: Config,
): Promise<void> {
  tls?.load()
  await switches?.refresh()
  log.level = next.telemetry.logLevel
  const { enabled, legacyFallback } = next.permissions
  const backends = withReloaded(config.backends, next.backends)
  embedded?.reload?.({ infrastructure: backends.infrastructure })
  const applied: Config = {
    ...config,
    permissions:
      switches === undefined
        ? config.permissions
        : { ...config.permissions, enabled, legacyFallback },
    telemetry: { ...config.telemetry, logLevel: next.telemetry.logLevel },
    backends,
  }
  void accounts.refresh()
  const later = describeChanges(applied, next)
  if (later.length === 0) log.info('the configuration was read again')
  else
    log.warn(
      { settings: later },
      'the configuration was read again; changed settings of these parts count after a restart',
    )
}

function createServer(
  parts: ServerParts,
  createMainServer: (handler: RequestListener) => Server,
): FastifyInstance {
  const {
    config,
    log,
    metrics,
    tracing,
    login,
    platform,
    methodsOf,
    steps,
    linesWithoutLogin,
    now,
  } = parts
  const { answerHeaders: echoedHeaders } = config.http
  const records = { log, metrics, quietPaths: probePaths, linesWithoutLogin }
  const server = createHttpServer({
    log,
    origin: config.http.origin,
    createMainServer,
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
      ((request) =>
        probePaths.has(request.state.path)
          ? undefined
          : tracing.startRequest(request.method, request.raw.headers)),
    onAnswered: (request, outcome) => recordAnswer(records, request, outcome),
    onError: (request, error) => logError(log, request, error),
  })
  if (config.rateLimit.enabled) labelUpstreamLimits(server, now)
  if (platform.audited !== undefined) server.addHook('onSend', platform.audited.onSend)
  login.mount(server)
  if (config.console.enabled) mountConsole(server, parts.consoleDir)
  mountOperations(server, allOperations, platform, {
    echoedHeaders,
    browserCache: config.http.browserCache,
  })
  return server
}

function describeListener(login: Login, address: string, listener: PortKind): string {
  if (listener === 'management')
    return `listening on ${address}, open to all clients for health and metrics`
  const methods = login.methodsOf(listener)
  const guard =
    methods.length > 0
      ? `guarded by login: ${methods.join(', ')}`
      : 'open to all clients as the user anonymous, without any login'
  return `listening on ${address}, ${guard}`
}

const partNames: Readonly<Record<keyof Config, string>> = {
  upstreams: 'services',
  http: 'listener, addresses, cross-origin rules',
  rateLimit: 'rate limits',
  sessions: 'sessions',
  redis: 'Redis',
  login: 'login',
  permissions: 'permissions',
  operations: 'operations',
  applicationCache: 'list of applications',
  banners: 'banners',
  deckPlugins: 'plugins of Deck',
  integrations: 'services outside the platform',
  console: 'web console',
  live: 'event streams',
  backends: 'embedded back ends',
  standby: 'engines that stand by',
  telemetry: 'log, health and traces',
  audit: 'audit log',
}

function describeChanges(current: Config, next: Config): string[] {
  const names = Object.entries(partNames) as [keyof Config, string][]
  return names.flatMap(([part, name]) =>
    isDeepStrictEqual(current[part], next[part]) ? [] : [name],
  )
}
