/** A call as its connection takes it: address, headers, body and timeouts. */
import type { Dispatcher } from 'undici'
import { formatJson } from '../json/json.ts'
import { backendKeyHeader } from './backend-place.ts'
import type { Endpoint } from './endpoint.ts'
import type { IdentityHeaders } from './identity.ts'
import { pathOf, type UpstreamCall } from './upstream-call.ts'

export interface UpstreamTarget {
  options: Dispatcher.DispatchOptions
  /** Path of the base URL, without trailing slash; `options.path` begins with it. */
  basePath: string
}

interface TargetHeaders {
  readonly identity: IdentityHeaders
  readonly encoding?: 'gzip' | 'identity'
  /** Headers besides those of the call. */
  readonly more?: Readonly<Record<string, string>> | undefined
}

export function createTarget(endpoint: Endpoint, call: UpstreamCall, target: TargetHeaders): UpstreamTarget {
  const { identity, encoding = 'gzip', more } = target
  const described: Record<string, string> = {
    accept: 'application/json',
    'accept-encoding': encoding,
    ...call.headers,
    ...more,
  }
  let body: Dispatcher.DispatchOptions['body'] = call.rawBody
  if (call.body !== undefined) {
    body = formatJson(call.body)
    described['content-type'] ??= 'application/json; charset=UTF-8'
  }
  // A list is what undici makes of any object, at length.
  const headers: string[] = []
  for (const name in identity) if (!(name in described)) headers.push(name, identity[name] as string)
  for (const name in described) headers.push(name, described[name] as string)
  const { origin, basePath, backendKey } = endpoint
  if (backendKey !== undefined) headers.push(backendKeyHeader, backendKey)
  const options = { origin, path: basePath + pathOf(call), method: call.method ?? 'GET', headers, body }
  const timeoutMs = endpoint.timeoutOf(call)
  if (timeoutMs !== endpoint.readTimeoutMs) Object.assign(options, { headersTimeout: timeoutMs, bodyTimeout: timeoutMs })
  return { basePath, options }
}
