/** Embedded engine, definitions and events with channels, and servers that receive what they send. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { type JsonObject, objectsOf } from '../../../packages/base/json/values.ts'
import { defaultOutsideSettings } from '../../../packages/base/outside/settings.ts'
import { definitionsBackend } from '../../../packages/engine/definitions/definitions.ts'
import { createEventsBackend } from '../../../packages/engine/events/events.ts'
import type { LinkTarget } from '../../../packages/engine/notifications/settings.ts'
import { orchestrationBackend } from '../../../packages/engine/orchestration-backend.ts'
import type { CallService } from '../../../packages/ports/service-call.ts'
import { type Backends, startBackends } from '../../support/backends.ts'
import { waitUntil } from '../../support/wait-until.ts'

export const quickPauses = { firstMs: 20, longestMs: 200, maxAgeMs: 60_000, timeoutMs: 2_000 }

interface NotifyingOptions {
  readonly types: Readonly<Record<string, object>>
  readonly links?: LinkTarget
  readonly pauses?: Partial<typeof quickPauses>
  readonly dataDir?: string
  readonly log?: (line: Record<string, unknown>) => void
  /** Answers for the infrastructure. */
  readonly others?: CallService
  /** Whether addresses of this machine may be called. */
  readonly allowsLocal?: boolean
}

/** Local addresses may be called, as an operator may allow. */
export function startNotifying(
  t: TestContext,
  { types, links, pauses, dataDir, log, others, allowsLocal = true }: NotifyingOptions,
) {
  const notifications = { ...quickPauses, ...pauses }
  const events = createEventsBackend({
    orchestratorMs: 10,
    buildMs: 1,
    cronMs: 1_000,
    notifications,
  })
  const outside = allowsLocal
    ? { ...defaultOutsideSettings, allowed: ['127.0.0.0/8'] }
    : defaultOutsideSettings
  return startBackends(t, [definitionsBackend, orchestrationBackend, events], {
    settings: { notifications: { types, links }, outside },
    ...(dataDir !== undefined && { dataDir }),
    ...(log !== undefined && { log }),
    ...(others !== undefined && { others }),
  })
}

/** Starts a run of a definition. @returns its id */
export async function run(backends: Backends, definition: JsonObject): Promise<string> {
  const { status, body } = await backends.ask('orca', 'POST', '/orchestrate', {
    application: 'shop',
    name: 'main',
    trigger: { type: 'manual', user: 'ann' },
    ...definition,
  })
  if (status !== 200) throw new Error(`The run was refused: ${JSON.stringify(body)}`)
  return (
    String((body as JsonObject)['ref'])
      .split('/')
      .at(-1) ?? ''
  )
}

export async function executionOf(backends: Backends, id: string): Promise<JsonObject> {
  return (await backends.ask('orca', 'GET', `/pipelines/${id}`)).body as JsonObject
}

/** Waits until as many deliveries have one of the statuses. */
export async function untilDeliveries(
  backends: Backends,
  id: string,
  { status, count = 1 }: { status: string; count?: number },
): Promise<JsonObject[]> {
  let found: JsonObject[] = []
  await waitUntil(async () => {
    found = objectsOf((await executionOf(backends, id))['notificationDeliveries'])
    return found.filter((each) => each['status'] === status).length >= count
  }, `${count} notifications that are ${status}`)
  return found
}

export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
  readonly body: JsonObject
}

export interface Receiver {
  readonly url: string
  readonly received: readonly Received[]
  until(count: number): Promise<void>
}

export interface ReceiverAnswer {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

/** @param answer To each request, by its number from 0; undefined: never */
export async function startReceiver(
  t: TestContext,
  answer: (number: number, body: JsonObject) => ReceiverAnswer | undefined = () => ({
    status: 200,
  }),
): Promise<Receiver> {
  const received: Received[] = []
  const server = http.createServer(async (request, reply) => {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const { method = '', url: path = '', headers } = request
    const body = JSON.parse(text) as JsonObject
    const answered = answer(received.length, body)
    received.push({ method, path, headers, text, body })
    if (answered === undefined) return
    reply.writeHead(answered.status, { 'content-type': 'application/json', ...answered.headers })
    reply.end(answered.body === undefined ? '' : JSON.stringify(answered.body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    received,
    until: (count) => waitUntil(() => received.length >= count, `${count} requests`),
  }
}
