/** The calls to services that a request makes. */

import type { FastifyRequest } from 'fastify'
import { toPathValues } from '../../http/path-template.ts'
import { isReadMethod } from '../../telemetry/methods.ts'
import { type IdentityHeaders, identityOf } from '../../upstreams/identity.ts'
import type { ServiceName } from '../../upstreams/services.ts'
import type { Read } from '../../upstreams/shared-reads.ts'
import { pathOf, readJson, type UpstreamCall } from '../../upstreams/upstreams.ts'
import type { OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import type { Exchange } from './exchange.ts'
import { type ParsedQuery, parseQuery } from './parse-query.ts'

/** The request as operations and permission checks see it. */
export class AskedOperation implements OperationRequest {
  readonly path: Readonly<Record<string, string>>
  readonly query: ParsedQuery['query']
  readonly otherQuery: ParsedQuery['otherQuery']
  readonly headers: FastifyRequest['headers']
  readonly state: FastifyRequest['state']
  readonly #exchange: Exchange
  #body: unknown
  #search: URLSearchParams | undefined

  constructor(exchange: Exchange) {
    const { request, declared } = exchange
    this.#exchange = exchange
    this.path = toPathValues(request.params)
    const isEmpty = declared.rules.length === 0 && !request.url.includes('?')
    const { query, otherQuery } = isEmpty ? noQuery : parseQuery(declared.rules, this.search)
    this.query = query
    this.otherQuery = otherQuery
    this.headers = request.headers
    this.state = request.state
  }

  get body(): unknown {
    return this.#body
  }

  get search(): URLSearchParams {
    if (this.#search === undefined) {
      const { url } = this.#exchange.request
      const mark = url.indexOf('?')
      this.#search = new URLSearchParams(mark === -1 ? '' : url.slice(mark))
    }
    return this.#search
  }

  get call(): OperationRequest['call'] {
    return (service, call) => callAs(this.#exchange, service, call)
  }

  get json(): OperationRequest['json'] {
    return async (service, call) => readJson(await this.call(service, call), service)
  }

  withBody(body: unknown): this {
    this.#body = body
    return this
  }
}

const noQuery: ParsedQuery = { query: Object.freeze({}), otherQuery: Object.freeze({}) }

export function callAs(exchange: Exchange, service: ServiceName, unclassed: UpstreamCall) {
  const call = withClass(exchange, unclassed)
  const { request, platform } = exchange
  const record = recordCall(request, service)
  const identity = identityOf(request.state, request.headers)
  const ask = (signal?: AbortSignal) =>
    platform.upstreams.call(service, signal === undefined ? call : { ...call, signal }, identity)
  const read = sharedReadOf(exchange, service, call, { identity, gzip: false })
  const asked =
    read === undefined || platform.sharedReads === undefined
      ? ask(isRead(call) ? exchange.goneSignal() : undefined).finally(() => noteChange(platform, call))
      : platform.sharedReads.call(read, exchange.goneSignal(), ask)
  return asked
    .then((answered) => {
      record.call.status = answered.status
      return answered
    })
    .finally(() => record.end())
}

/** Clients that have been told of a change never see what was before. */
function noteChange({ sharedReads }: Platform, call: UpstreamCall): void {
  if (!isRead(call)) sharedReads?.changed()
}

/**
 * The read that other requests may share; undefined: this one is made alone.
 *
 * @see docs/decisions/shared-reads.md
 */
export function sharedReadOf(
  { operation, request, guard, platform }: Exchange,
  service: ServiceName,
  call: UpstreamCall,
  { identity, gzip }: { identity: IdentityHeaders; gzip: boolean },
): Read | undefined {
  const { method = 'GET', headers } = call
  if (platform.sharedReads === undefined || operation.shared === 'never') return undefined
  if (operation.method !== 'GET' || request.method !== 'GET') return undefined
  if (method !== 'GET' || call.body !== undefined || call.rawBody !== undefined) return undefined
  const isByRights = operation.shared === 'rights' && !platform.upstreams.isSharded(service)
  const rights = isByRights ? guard.rightsOf(operation, request.state) : undefined
  return { service, path: pathOf(call), headers, identity, rights, gzip }
}

export function withClass({ declared }: Exchange, call: UpstreamCall): UpstreamCall {
  return declared.callClass === undefined ? call : { ...call, ...declared.callClass }
}

/** Enters a call to a service into the access line of the request; its status is set once there is one. */
export function recordCall({ state }: FastifyRequest, service: ServiceName): CallRecord {
  const record = new CallRecord(service)
  state.upstreamCalls.push(record.call)
  return record
}

export class CallRecord {
  readonly call: { service: string; status: number | undefined; durationMs: number }
  readonly #startedAtMs = performance.now()

  constructor(service: string) {
    this.call = { service, status: undefined, durationMs: 0 }
  }

  end(): void {
    this.call.durationMs = Math.round(performance.now() - this.#startedAtMs)
  }
}

export function isRead({ method = 'GET' }: UpstreamCall): boolean {
  return isReadMethod(method)
}

/** The service judges a condition on what is passed on as it is. */
export function withCondition({ headers, method }: FastifyRequest, call: UpstreamCall): UpstreamCall {
  const condition = headers['if-none-match']
  if (condition === undefined || !isReadMethod(method) || !isRead(call)) return call
  return { ...call, headers: { ...call.headers, 'if-none-match': condition } }
}
