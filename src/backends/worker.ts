/** The worker thread of the embedded back ends: opens their database, serves them on a Unix socket, stops when told to. */
import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { parseJson } from '../http/json.ts'
import { anonymousIdentity } from '../upstreams/identity.ts'
import type { ServiceAddress, ServiceName } from '../upstreams/services.ts'
import { Upstreams } from '../upstreams/upstreams.ts'
import { embeddedBackends } from './all.ts'
import type { BackendSettings, CallService } from './backend.ts'
import { openDatabase } from './database.ts'
import { createBackendServer } from './server.ts'
import { createWorkerLog } from './worker-log.ts'

/** What the gateway hands to the worker; plain data. */
export interface WorkerInput {
  dataDir: string
  socketPath: string
  /** Services to embed. */
  embedded: readonly string[]
  /** Where every enabled service is, embedded ones included, for calls between services. */
  services: Partial<Record<ServiceName, ServiceAddress>>
  settings: BackendSettings
  logLevel: string
}

/** What the worker tells: that it listens, or a line for the log. */
export type WorkerMessage = { kind: 'listening' } | { kind: 'log'; level: string; fields: Record<string, unknown>; text: string }

const port = parentPort
if (port !== null)
  await serve(
    workerData as WorkerInput,
    (message) => port.postMessage(message),
    (stop) => port.once('message', stop),
  )

async function serve(
  input: WorkerInput,
  tell: (message: WorkerMessage) => void,
  onStop: (stop: () => void) => void,
): Promise<void> {
  const db = openDatabase(join(input.dataDir, 'backends.db'))
  const upstreams = new Upstreams({
    services: input.services,
    connectTimeoutMs: 5000,
    readTimeoutMs: 120_000,
    keepAliveMs: 30_000,
    maxConnections: 64,
    maxPending: 10_000,
    maxAnswerBytes: 256 * 1024 * 1024,
  })
  const { server, start } = createBackendServer({
    backends: embeddedBackends.filter(({ service }) => input.embedded.includes(service)),
    db,
    call: createCall(upstreams),
    settings: input.settings,
    log: createWorkerLog(input.logLevel, tell),
  })
  rmSync(input.socketPath, { force: true })
  await server.listen({ path: input.socketPath, listenTextResolver: () => 'the embedded back ends are ready' })
  chmodSync(input.socketPath, 0o600)
  start()
  tell({ kind: 'listening' })
  onStop(() => {
    void server.close().then(async () => {
      await upstreams.close()
      db.close()
      port?.close()
    })
  })
}

function createCall(upstreams: Upstreams): CallService {
  return async (service, { method, path, body, headers = {} }) => {
    const answer = await upstreams.call(
      service,
      { method: method as 'GET', path, body, headers },
      headers['x-spinnaker-user'] === undefined ? anonymousIdentity : {},
    )
    return { status: answer.status, body: parseAnswer(answer.text) }
  }
}

function parseAnswer(text: string): unknown {
  if (text === '') return undefined
  try {
    return parseJson(text)
  } catch {
    return text
  }
}
