/** Worker thread of the embedded back ends: their database, served on a Unix socket. */
import { once } from 'node:events'
import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { definedOf } from '@fairlead/base/json/values.ts'
import { keepCompiledCode } from '@fairlead/base/runtime/compile-cache.ts'
import type { BackendListener } from '@fairlead/base/services/backend-place.ts'
import type { ServiceTls } from '@fairlead/base/services/service-tls.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import { openDatabase } from '@fairlead/base/storage/database.ts'
import { keepSocket } from '@fairlead/base/storage/kept-socket.ts'
import { socketPathFor } from '@fairlead/base/storage/socket-path.ts'
import type { BackendState, LeaseState } from '@fairlead/base/telemetry/metrics.ts'
import { createServiceCalls } from '@fairlead/external/call-service.ts'
import {
  countStateChange,
  readStateCount,
  statePartOf,
} from '@fairlead/gateway/upstreams/upstream-call.ts'
import type { BackendSettings } from '@fairlead/ports/backend.ts'
import type { FastifyInstance } from 'fastify'
import pino, { type Logger } from 'pino'
import { embeddedBackends } from './all.ts'
import { type GatewayLinks, openGatewayLinks } from './gateway-links.ts'
import { createBackendServer } from './server.ts'
import { passTraceOn } from './trace-context.ts'

/** What the gateway hands to the worker; plain data. */
export interface WorkerInput {
  dataDir: string
  socketPath: string
  embedded: readonly string[]
  /** Base URLs of the services that are not embedded. */
  services: Partial<Record<ServiceName, string>>
  serviceTls?: ServiceTls
  settings: BackendSettings
  logLevel: string
  /** Whether calls carry the trace context of the request that causes them. */
  traces: boolean
  /** Counts changes of everything. */
  stateCounts: SharedArrayBuffer
  /** Where gateways in other processes are served. */
  listener?: BackendListener
  /** When the lease ends unless it is renewed, in milliseconds since the epoch; shared. Undefined: there is none. */
  leaseEnd?: Float64Array
  /** The lease by which this engine may write; its term does not change meanwhile. */
  lease?: LeaseState
  /** Whether Litestream keeps a copy. */
  isCopied?: boolean
  /** Milliseconds since the epoch until which the copy has everything. */
  copiedUntil?: number
}

/** Messages of the worker: it listens, the state that the gateway asked for, nothing new begins, a change of permissions, a log record as JSON. */
export type WorkerMessage =
  | { kind: 'listening' }
  | { kind: 'observed'; state: BackendState | undefined }
  | { kind: 'settled' }
  | { kind: 'permissions'; id: number }
  | { kind: 'log'; line: string }

export type WorkerOrder =
  | 'stop'
  | 'observe'
  | { readonly copiedUntil: number }
  | { readonly announced: number }
  | { readonly settle: number }
  | { readonly reload: BackendSettings }

const callTimeoutMs = 120_000
const maxAnswerBytes = 256 * 1024 * 1024
/** 400 MB. Litestream writes the log back much earlier; when SQLite does it, Litestream may have to copy the whole database anew. */
const copiedCheckpointPages = 100_000

const port = parentPort
if (port !== null) {
  const [input] = (await once(workerData as MessagePort, 'message')) as [WorkerInput]
  await serveBackends(input, {
    tell: (message) => port.postMessage(message),
    onOrder: (obey) => port.on('message', obey),
    onClosed: () => port.close(),
  })
  keepCompiledCode()
}

/** The connection between the back ends and the gateway, which are in different threads. */
interface GatewayPort {
  tell(message: WorkerMessage): void
  onOrder(obey: (order: WorkerOrder) => void): void
  /** Called after the order to stop, when everything is closed. */
  onClosed(): void
}

/** Resolves when the back ends listen. */
export async function serveBackends(
  input: WorkerInput,
  { tell, onOrder, onClosed }: GatewayPort,
): Promise<void> {
  const db = openDatabase(join(input.dataDir, 'backends.db'))
  if (input.isCopied) db.exec(`PRAGMA wal_autocheckpoint = ${copiedCheckpointPages}`)
  const calls = createServiceCalls({
    services: input.services,
    tls: input.serviceTls,
    timeoutMs: callTimeoutMs,
    maxAnswerBytes,
  })
  const announcements = createAnnouncements(tell)
  let links: GatewayLinks | undefined
  const announce = async () =>
    void (await Promise.all([announcements.announce(), links?.notePermissions()]))
  let announced: Promise<unknown> = Promise.resolve()
  const traced = input.traces ? passTraceOn(calls.call) : undefined
  const { server, start, settle, observe, reload } = createBackendServer({
    backends: embeddedBackends.filter(({ service }) => input.embedded.includes(service)),
    db,
    call: traced?.call ?? calls.call,
    settings: input.settings,
    log: createWorkerLog(input.logLevel, (line) => tell({ kind: 'log', line })),
    onStateChanged: (service) => countStateChange(input.stateCounts, statePartOf(service)),
    onPermissionsChanged: () => {
      countStateChange(input.stateCounts, 'permissions')
      announced = Promise.all([announced, announce()])
    },
    permissionsKnown: () => announced,
    permissionVersion: () => readStateCount(input.stateCounts, 'permissions'),
  })
  traced?.watch(server)
  // Who changes permissions learns so when no process uses the former ones any more.
  server.addHook('onSend', (request, _reply, _payload, done) => {
    if (request.method === 'GET') return done()
    void announced.then(() => done())
  })
  await listen(server, input)
  let { copiedUntil } = input
  const observeAll = () => ({ ...observe(), ...definedOf({ lease: input.lease, copiedUntil }) })
  links = await openLinks(server, input, observeAll)
  start()
  tell({ kind: 'listening' })
  const stop = async () => {
    await links?.close()
    await server.close()
  }
  onOrder((order) => {
    if (typeof order === 'object' && 'copiedUntil' in order) {
      copiedUntil = order.copiedUntil
      return
    }
    if (order === 'observe') return tell({ kind: 'observed', state: observeAll() })
    if (typeof order === 'object' && 'settle' in order)
      return void settle(order.settle).then(() => tell({ kind: 'settled' }))
    if (order !== 'stop')
      return 'reload' in order ? reload(order.reload) : announcements.end(order.announced)
    void stop().then(() => {
      calls.close()
      db.close()
      onClosed()
    })
  })
}

async function listen(
  server: FastifyInstance,
  { socketPath, dataDir }: WorkerInput,
): Promise<void> {
  rmSync(socketPath, { force: true })
  await server.listen({
    path: socketPath,
    listenTextResolver: () => 'the embedded back ends are ready',
  })
  chmodSync(socketPath, 0o600)
  keepSocket({
    server: server.server,
    pathOf: () => socketPathFor(dataDir, 'backends.sock'),
    listen: async (path) => {
      await once(server.server.listen(path), 'listening')
      chmodSync(path, 0o600)
    },
    log: server.log,
  })
}

async function openLinks(
  server: FastifyInstance,
  { listener, leaseEnd, settings: { version = '', authorization = false } }: WorkerInput,
  observe: () => BackendState,
): Promise<GatewayLinks | undefined> {
  if (listener === undefined) return undefined
  const links = await openGatewayLinks(server, {
    listener,
    begin: { version, authorization },
    observe,
    leaseEnd,
  })
  server.log.info(
    `the back ends are served on ${links.address}; gateways reach them with services.embedded.baseUrl`,
  )
  return links
}

/** Changes of permissions that the gateway tells to other processes. */
function createAnnouncements(tell: (message: WorkerMessage) => void) {
  const waiting = new Map<number, () => void>()
  let last = 0
  return {
    announce: () =>
      new Promise<void>((resolve) => {
        waiting.set(++last, resolve)
        tell({ kind: 'permissions', id: last })
      }),
    end: (id: number) => {
      waiting.get(id)?.()
      waiting.delete(id)
    },
  }
}

/** The gateway writes the records, so that there is one stream of log lines with one clock. */
function createWorkerLog(level: string, write: (line: string) => void): Logger {
  return pino(
    {
      level,
      base: undefined,
      timestamp: false,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write },
  )
}
