/** One HTTP server for all embedded back ends, with their migrations and life cycles. */
import http from 'node:http'
import { openAgent } from '@fairlead/agent/client.ts'
import { GatewayError } from '@fairlead/base/errors.ts'
import { formatJson, maxStoredJsonDepth } from '@fairlead/base/json/json.ts'
import { definedOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import { GroupCommit } from '@fairlead/base/storage/group-commit.ts'
import { migrateAll } from '@fairlead/base/storage/migrations.ts'
import type { BackendState } from '@fairlead/base/telemetry/metrics.ts'
import { Sweeper } from '@fairlead/engine/retention/sweeper.ts'
import { withoutSchemas } from '@fairlead/gateway/http/without-schemas.ts'
import type {
  Backend,
  BackendContext,
  BackendSettings,
  OpenBackend,
} from '@fairlead/ports/backend.ts'
import { acceptJson } from '@fairlead/ports/requests/accept-bodies.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import type { CallService } from '@fairlead/ports/service-call.ts'
import { toStorageError } from '@fairlead/ports/storage-error.ts'
import Fastify, { type FastifyError, type FastifyInstance, LogController } from 'fastify'
import { markNewData } from './data-age.ts'
import { createPorts } from './ports.ts'

interface BackendServerOptions
  extends Pick<BackendContext, 'db' | 'settings' | 'log' | 'permissionVersion'>,
    Partial<Pick<BackendContext, 'now' | 'permissionsKnown'>> {
  backends: readonly Backend[]
  /** Unless given, one for the database. */
  commits?: GroupCommit
  call: CallService
  /** Goes on with `now` when that is passed in alone. */
  steady?: (() => number) | undefined
  onStateChanged?: (service: ServiceName) => void
  /** Called when a back end changes permissions on its own. */
  onPermissionsChanged?: () => void
}

/** Larger than what the gateway lets through, so that the gateway's limit is the one that speaks. */
const maxHeaderBytes = 128 * 1024
/** Less than the back ends have for their end. */
const settleMs = 4_000

/**
 * Builds the server without listening. After `listen`, call `start` of the result so that background work begins.
 * Closing the Fastify instance stops the back ends; the database stays open, its owner closes it.
 */
export function createBackendServer(options: BackendServerOptions) {
  const server = createServer(options)
  const opened = new Map<ServiceName, OpenBackend>()
  const isNewData = markNewData(options.db)
  const now = options.now ?? Date.now
  const steady = options.steady ?? options.now ?? (() => performance.now())
  const { call, log } = options
  const accessOf = (users: string) => requireAccess({ ...options, ports, now }, users)
  const commits = options.commits ?? new GroupCommit(options.db)
  // A response waits until what its request has changed, or read, is stored.
  server.addHook('onSend', (_request, _reply, _payload, done) => commits.whenStored(done))
  const { ports, add } = createPorts({ call, log, steady, accessOf })
  migrateAll(options.db, options.backends.flatMap(migrationsOf))
  for (const backend of options.backends) {
    const open = backend.open(
      toContext(backend.service, { ...options, commits, isNewData, now, steady, ports }),
    )
    opened.set(backend.service, open)
    add(open)
    server.register(
      (app, _options, done) => {
        app.get('/health', () => ({ status: 'UP' }))
        open.routes(app)
        done()
      },
      { prefix: `/${backend.service}` },
    )
  }
  const sweeper = new Sweeper({
    ...options,
    definitions: ports.definitions,
    kinds: [...opened.values()].flatMap(({ retained }) => retained ?? []),
    settings: options.settings.retention,
    isNewData,
    isMentioned: (text) => opened.values().some((backend) => backend.isMentioned?.(text) === true),
  })
  const settle = async (ms: number) =>
    void (await Promise.all(opened.values().map((backend) => backend.settle?.(ms))))
  server.addHook('preClose', () => settle(settleMs))
  server.addHook('onClose', async () => {
    await sweeper.close()
    for (const backend of opened.values()) await backend.close?.()
    await commits.close()
  })
  return {
    server,
    /** Begins the background work, once the server listens. */
    start: () => {
      for (const backend of opened.values()) backend.start?.()
      sweeper.start()
    },
    sweeper,
    settle,
    reload: (changed: BackendSettings) =>
      opened.values().forEach((backend) => void backend.reload?.(changed)),
    observe: (): BackendState =>
      Object.assign(
        definedOf({ storedBytes: sweeper.sizes }),
        ...opened.values().map((backend) => backend.observe?.()),
      ),
  }
}

function createServer({ log, settings }: BackendServerOptions): FastifyInstance {
  const server = Fastify({
    loggerInstance: log,
    schemaController: withoutSchemas,
    logController: new LogController({ disableRequestLogging: true }),
    // Expressions to evaluate arrive in the query.
    http: { maxHeaderSize: maxHeaderBytes },
    // A name that is too long is one that does not exist.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: maxHeaderBytes },
    // The gateway asks with GET for the HEAD of its clients; twice the routes would be a quarter of the start.
    exposeHeadRoutes: false,
    forceCloseConnections: true,
  })
  acceptJson(server, settings, maxStoredJsonDepth)
  server.setReplySerializer(formatJson)
  server.setErrorHandler<FastifyError>((thrown, _request, reply) => {
    const error = toStorageError(thrown)
    const status =
      error instanceof PortError || error instanceof GatewayError
        ? error.status
        : (error.statusCode ?? 500)
    // An error of a back end itself, such as an unavailable directory, goes to the caller, who logs it as a failure.
    if (thrown instanceof PortError) {
      if (status >= 500)
        log.info(
          { status, problem: thrown.message },
          'an embedded back end refused what it was asked',
        )
    } else if (status >= 500) {
      log.error({ err: thrown }, 'an embedded back end failed')
    }
    const fields = error instanceof PortError ? error.fields : {}
    return reply
      .code(status)
      .send(errorBody(status, error.message, { exception: error.name, ...fields }))
  })
  server.setNotFoundHandler((request, reply) => {
    reply
      .code(404)
      .send(
        errorBody(404, `No ${request.method} operation has this path.`, { exception: 'NotFound' }),
      )
  })
  return server
}

function migrationsOf({ service, migrations, partMigrations = {} }: Backend) {
  const parts = Object.entries(partMigrations).map(
    ([part, ofPart]) => [`${service}/${part}`, ofPart] as const,
  )
  return [[service, migrations] as const, ...parts]
}

function toContext(
  service: ServiceName,
  {
    db,
    commits,
    settings,
    log,
    ports,
    now,
    steady,
    isNewData,
    ...options
  }: BackendServerOptions &
    Pick<BackendContext, 'commits' | 'isNewData' | 'now' | 'steady' | 'ports'>,
): BackendContext {
  return {
    db,
    commits,
    ports,
    now,
    steady,
    log: log.child({ service }),
    openAgent: (dataDir, startsAgent) =>
      openAgent({
        dataDir,
        startsAgent,
        version: settings.version ?? '',
        log: log.child({ service }),
      }),
    settings,
    isNewData,
    stateChanged: () => options.onStateChanged?.(service),
    permissionsChanged: options.onPermissionsChanged ?? (() => {}),
    permissionsKnown: options.permissionsKnown ?? (async () => {}),
    permissionVersion: options.permissionVersion,
  }
}

/** The error body of all embedded services. Times are ISO 8601; the path is never echoed. */
function errorBody(
  status: number,
  message: string,
  fields: Record<string, unknown> = {},
): Record<string, unknown> {
  return {
    timestamp: new Date().toISOString(),
    status,
    error: http.STATUS_CODES[status] ?? 'Error',
    message,
    ...fields,
  }
}
