/** Starts embedded back ends inside the test's process, on a port of loopback, with a clock that the test moves. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import pino from 'pino'
import { createBackendServer } from '../../packages/app/hosting/server.ts'
import { formatJson, parseJson } from '../../packages/base/json/json.ts'
import { toHeaderText } from '../../packages/base/net/header-text.ts'
import type { ServiceName } from '../../packages/base/services/services.ts'
import { openDatabase } from '../../packages/base/storage/database.ts'
import { GroupCommit } from '../../packages/base/storage/group-commit.ts'
import type { BackendState } from '../../packages/base/telemetry/metrics.ts'
import type { Backend, BackendSettings } from '../../packages/ports/backend.ts'
import type { CallService, ServiceAnswer, ServiceCall } from '../../packages/ports/service-call.ts'
import { defaults } from './backend-settings.ts'

export interface BackendsOptions {
  /** Milliseconds since the epoch. */
  now?: () => number
  steady?: (() => number) | undefined
  settings?: Partial<BackendSettings>
  /** Answers calls to services that are not among `backends`; by default they are unreachable. */
  others?: CallService
  /** A directory that outlives the test's servers, for restart tests; by default a temporary one. */
  dataDir?: string
  /** In place of the sync of the database's log. */
  sync?: () => Promise<void>
  /** Receives the log lines. */
  log?: (line: Record<string, unknown>) => void
  onPermissionsChanged?: () => void
}

export interface Backends {
  /** Base URL of one service, without a trailing slash. */
  url(service: ServiceName): string
  /** Sends JSON and parses the JSON answer. */
  ask(
    service: ServiceName,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<ServiceAnswer>
  /** A stored definition, with its secrets. */
  stored(kind: string, id: string): Record<string, unknown>
  /** State of the engine, as the metrics show it. */
  observe(): BackendState | undefined
  /** Stops the servers and closes the database, before the end of the test. */
  stop(): Promise<void>
}

export async function startBackends(
  t: TestContext,
  backends: readonly Backend[],
  options: BackendsOptions = {},
): Promise<Backends> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'fairlead-backends-'))
  const db = openDatabase(join(dataDir, 'backends.db'))
  let base = ''
  const send = (service: ServiceName, { method, path, body, headers = {} }: ServiceCall) =>
    fetch(`${base}/${service}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      body: body === undefined ? undefined : formatJson(body),
      redirect: 'manual',
    })
  const ask: Backends['ask'] = async (service, method, path, body, headers) => {
    const answer = await send(service, {
      method,
      path,
      body,
      ...(headers !== undefined && { headers }),
    })
    return { status: answer.status, body: parse(await answer.text()) }
  }
  const call: CallService = async (service, request) => {
    if (backends.some((backend) => backend.service === service)) {
      const headers = Object.entries(request.headers ?? {}).map(([name, value]) => [
        name,
        toHeaderText(value),
      ])
      const answer = await send(service, { ...request, headers: Object.fromEntries(headers) })
      const bytes = Buffer.from(await answer.arrayBuffer())
      return {
        status: answer.status,
        body: request.wantsBytes === true && answer.ok ? bytes : parse(bytes.toString('utf8')),
      }
    }
    if (options.others === undefined) throw new Error(`${service} is not reachable in this test`)
    return options.others(service, request)
  }
  const { sync } = options
  const { server, start, observe } = createBackendServer({
    backends,
    db,
    ...(sync && { commits: new GroupCommit(db, { log: { sync, close: async () => {} } }) }),
    call,
    now: options.now,
    steady: options.steady,
    log: createLog(options.log),
    onPermissionsChanged: options.onPermissionsChanged,
    settings: { ...defaults, ...options.settings },
  })
  base = await server.listen({ host: '127.0.0.1', port: 0 })
  start()
  let stopped = false
  const stop = async () => {
    if (stopped) return
    stopped = true
    await server.close()
    db.close()
  }
  t.after(async () => {
    await stop()
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true })
  })
  const stored: Backends['stored'] = (kind, id) => {
    const rows = db
      .prepare('SELECT document FROM definitions_documents WHERE kind = ?')
      .all(kind)
      .map(({ document }) => JSON.parse(String(document)) as Record<string, unknown>)
    return rows.find((document) => document['id'] === id) ?? {}
  }
  return { url: (service) => `${base}/${service}`, ask, stored, observe, stop }
}

function createLog(receive: BackendsOptions['log']): pino.Logger {
  if (receive === undefined) return pino({ level: 'silent' })
  return pino(
    { level: 'debug' },
    { write: (line: string) => receive(JSON.parse(line) as Record<string, unknown>) },
  )
}

function parse(text: string): unknown {
  if (text === '') return undefined
  try {
    return parseJson(text)
  } catch {
    return text
  }
}
