/** A gateway in front of one server that plays every service. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type ServiceName, serviceNames } from '../../../packages/base/services/services.ts'
import { type GatewayOptions, type GatewaySettings, startGateway } from '../../support/gateway.ts'
import {
  type Answers,
  type RecordedRequest,
  startUpstream,
  type Upstream,
} from '../../support/upstream.ts'
import { type Asked, parse, toCall } from '../contract/contract.ts'

export interface PlatformOptions extends GatewayOptions {
  /** Services that are switched off; by default only the permission service is. */
  off?: readonly ServiceName[]
  answers?: Answers
  settings?: GatewaySettings
}

export interface Platform {
  readonly url: string
  readonly upstream: Upstream
  /** What the services were asked because of the client's requests, as `service METHOD /path?query`. */
  calls(): string[]
  /** The same requests, as they came. */
  requests(): RecordedRequest[]
  /** Sends `METHOD /path`, with a body as JSON. */
  ask(line: string, body?: unknown, headers?: Record<string, string>): Promise<Asked>
}

const refreshes = [
  'front50 GET /v2/applications?restricted=false',
  'clouddriver GET /applications?restricted=false&expand=true',
  'clouddriver GET /credentials?expand=true',
]

/** A refresh of the gateway's own lists, or its look at a service's health. */
export function isRefresh(request: RecordedRequest): boolean {
  return refreshes.includes(toCall(request)) || request.path.endsWith('/health')
}

export async function startPlatform(
  t: TestContext,
  options: PlatformOptions = {},
): Promise<Platform> {
  const { off = ['fiat'], answers = {}, settings = {}, ...rest } = options
  const upstream = await startUpstream(t, answers)
  const services = Object.fromEntries(
    serviceNames.map((service) => [
      service,
      off.includes(service) ? { enabled: false } : { baseUrl: `${upstream.url}/${service}` },
    ]),
  )
  const url = await startGateway(t, { ...settings, services }, rest)
  const requests = () =>
    [...upstream.requests, ...upstream.background].filter((request) => !isRefresh(request))
  return {
    url,
    upstream,
    requests,
    calls: () => requests().map(toCall),
    ask: (...asked) => ask(url, ...asked),
  }
}

async function ask(
  url: string,
  line: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Asked> {
  const [method, path] = line.split(' ') as [string, string]
  const answer = await fetch(url + path, {
    method,
    redirect: 'manual',
    ...(body !== undefined && {
      body: typeof body === 'string' || body instanceof FormData ? body : JSON.stringify(body),
    }),
    headers:
      body === undefined || body instanceof FormData
        ? headers
        : { 'content-type': 'application/json', ...headers },
  })
  return { status: answer.status, headers: answer.headers, body: parse(await answer.text()) }
}

/** One operation that becomes one call to a service, and the answer that comes back. */
export interface Row {
  readonly id: string
  /** `METHOD /path?query`, encoded. */
  readonly ask: string
  readonly body?: unknown
  /** `service METHOD /path?query`, encoded. */
  readonly call: string
  readonly gives?: unknown
  /** 200 unless given. */
  readonly status?: number
  /** What `gives` holds unless given; null for an empty body. */
  readonly answer?: unknown
}

/** Asks for one row, and checks the call, the body that was passed on, and the answer. */
export async function checkRow(platform: Platform, row: Row): Promise<void> {
  const gives = row.gives ?? { from: row.call.split(' ')[0] }
  const [service, method, target] = row.call.split(' ') as [string, string, string]
  platform.upstream.answer({ [`${method} /${service}${target.split('?')[0]}`]: gives })

  const answer = await platform.ask(row.ask, row.body)

  assert.deepEqual(platform.calls(), [row.call])
  assert.equal(answer.status, row.status ?? 200, JSON.stringify(answer.body))
  assert.deepEqual(answer.body, row.answer === null ? undefined : (row.answer ?? gives))
  const [sent] = platform.requests()
  if (row.body !== undefined) assert.deepEqual(JSON.parse(sent?.body ?? ''), row.body)
  if (row.answer === null) assert.equal(answer.headers.get('content-type'), null)
}
