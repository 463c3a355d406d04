/** A call as its connection takes it: the head and the body of a request. */
import { Readable } from 'node:stream'
import { formatJson } from '@fairlead/base/json/json.ts'
import { backendKeyHeader } from '@fairlead/base/services/backend-place.ts'
import { isReadMethod } from '@fairlead/base/telemetry/methods.ts'
import {
  type Connection,
  codedError,
  type OutgoingBody,
  type OutgoingHead,
  type ResponseReceiver,
} from '@fairlead/proxy/connection.ts'
import { RequestBody } from '@fairlead/proxy/request-body.ts'
import type { TimeoutSweep } from '@fairlead/proxy/sweep.ts'
import type { IdentityHeaders } from './identity.ts'
import { type CallClass, pathOf, type UpstreamCall } from './upstream-call.ts'

export interface CalledPlace {
  readonly origin: string
  readonly host: string
  readonly basePath: string
  readonly backendKey: string | undefined
  readonly sweep: TimeoutSweep
  timeoutOf(call: CallClass): number
}

export interface UpstreamTarget extends OutgoingHead {
  readonly endpoint: CalledPlace
  readonly path: string
  readonly body: string | Buffer | Readable | undefined
  readonly timeoutMs: number
}

interface TargetHeaders {
  readonly identity: IdentityHeaders
  readonly encoding?: 'gzip' | 'identity'
  readonly more?: Readonly<Record<string, string>> | undefined
}

/** @throws {Error} for what would not be one path, or not one header */
export function createTarget(
  endpoint: CalledPlace,
  call: UpstreamCall,
  { identity, encoding = 'gzip', more }: TargetHeaders,
): UpstreamTarget {
  const { method = 'GET' } = call
  const described: Record<string, string> = {
    accept: 'application/json',
    'accept-encoding': encoding,
    ...call.headers,
    ...more,
  }
  let body = call.rawBody
  if (call.body !== undefined) {
    body = formatJson(call.body)
    described['content-type'] ??= 'application/json; charset=UTF-8'
  }
  const path = endpoint.basePath + pathOf(call)
  if (!pathText.test(path)) throw new Error('the path has characters that must be encoded')
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${endpoint.host}\r\n${framingOf(method, body, described)}`
  for (const name in identity)
    if (!(name in described)) text += lineOf(name, identity[name] as string)
  for (const name in described)
    if (name !== 'content-length') text += lineOf(name, described[name] as string)
  if (endpoint.backendKey !== undefined) text += lineOf(backendKeyHeader, endpoint.backendKey)
  return { endpoint, method, path, text, body, timeoutMs: endpoint.timeoutOf(call) }
}

const pathText = /^[\x21-\xff]+$/
const headerText = /^[\t\x20-\x7e\x80-\xff]*$/

function lineOf(name: string, value: string): string {
  if (!headerText.test(value))
    throw new Error(`the header ${name} has characters that HTTP does not allow`)
  return `${name}: ${value}\r\n`
}

function framingOf(
  method: string,
  body: UpstreamTarget['body'],
  described: Readonly<Record<string, string>>,
): string {
  if (body instanceof Readable) {
    const length = described['content-length']
    return length === undefined
      ? 'transfer-encoding: chunked\r\n'
      : lineOf('content-length', length)
  }
  if (body !== undefined) return `content-length: ${Buffer.byteLength(body)}\r\n`
  return method === 'GET' || method === 'HEAD' || method === 'DELETE' ? '' : 'content-length: 0\r\n'
}

/** A streamed body is not kept, so that the call cannot be repeated. */
export function sendTarget(
  target: UpstreamTarget,
  connection: Connection,
  receiver: ResponseReceiver,
): void {
  const { body, timeoutMs } = target
  connection.send(
    target,
    body instanceof Readable ? toRequestBody(body, target, connection) : body,
    receiver,
    timeoutMs,
  )
  if (body instanceof Readable && body.destroyed) {
    connection.fail(body.errored ?? codedError('ECONNRESET', 'the body of the request broke off'))
  }
}

function toRequestBody(
  stream: Readable,
  { endpoint, text }: UpstreamTarget,
  connection: Connection,
): OutgoingBody {
  const { sweep } = endpoint
  const isChunked = text.includes('\r\ntransfer-encoding: chunked\r\n')
  const body = new RequestBody(
    { sweep, bounds: nothingKept, replay: { bytes: 0 } },
    stream,
    isChunked,
    false,
  )
  stream.once('error', (error) => {
    if (!body.hasEnded) connection.fail(error)
  })
  return body
}

const nothingKept = { maxReplayBytes: 0, maxReplayTotalBytes: 0 }

export const maxRedirects = 5

const redirects = new Set([301, 302, 303, 307, 308])

export function isRedirect(status: number): boolean {
  return redirects.has(status)
}

/**
 * The path to ask instead, relative to the base URL of the service; undefined when the redirect is not followed.
 *
 * @param asked The request that was answered with the redirect
 */
export function redirectPath(
  { endpoint, method, path }: UpstreamTarget,
  location: string | undefined,
): string | undefined {
  if (location === undefined || !isReadMethod(method)) return undefined
  const { origin, basePath } = endpoint
  const url = URL.parse(location, origin + path)
  if (url === null || url.origin !== origin || !url.pathname.startsWith(`${basePath}/`))
    return undefined
  return url.pathname.slice(basePath.length) + url.search
}
