/** A request for an operation: its declarations, the values that the client sent, and the calls to services. */

import type { ServiceName } from '@fairlead/base/services/services.ts'
import { isReadMethod } from '@fairlead/base/telemetry/methods.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { EchoedHeaders, Validation } from '../../http/answer.ts'
import { goneSignal } from '../../http/gone-signal.ts'
import { queryOf } from '../../http/request-target.ts'
import type { AnswerForm } from '../../upstreams/answer-form.ts'
import { readJson, type UpstreamAnswer } from '../../upstreams/answer-form.ts'
import { ageHeaders } from '../../upstreams/client-answer.ts'
import { callerIdentityOf, type IdentityHeaders } from '../../upstreams/identity.ts'
import type { Read } from '../../upstreams/shared-reads.ts'
import type { CallClass } from '../../upstreams/upstream-call.ts'
import { pathOf, type UpstreamCall } from '../../upstreams/upstream-call.ts'
import type { Guard } from '../access/guard.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { type ForwardedCall, routeOf } from '../route.ts'
import { answerFormOf } from './answer-form.ts'
import { createQueryRules, type ParsedQuery, parseQuery, type QueryRule } from './parse-query.ts'

export interface MountSettings extends Validation {
  echoedHeaders: EchoedHeaders
}

export interface Declarations {
  readonly operation: Operation
  readonly forward: ForwardedCall | undefined
  readonly rules: readonly QueryRule[]
  readonly form: AnswerForm
  readonly callClass: CallClass | undefined
}

const listCost = 5

export function declarationsOf(operation: Operation): Declarations {
  return {
    operation,
    forward: routeOf(operation).forward,
    rules: createQueryRules(operation.query),
    form: answerFormOf(operation.answer),
    callClass: callClassOf(operation),
  }
}

/** Lists over everything may take a service longer than other reads, and what a change reads belongs to it. */
function callClassOf({ method, cost }: Operation): CallClass | undefined {
  if (method !== 'GET') return { isForChange: true }
  return cost === listCost ? { isList: true } : undefined
}

export interface ServingParts {
  readonly platform: Platform
  readonly settings: MountSettings
  readonly guard: Guard
}

const noQuery: ParsedQuery = { query: Object.freeze({}), otherQuery: Object.freeze({}) }

export class OperationExchange implements OperationRequest {
  readonly declared: Declarations
  readonly parts: ServingParts
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly path: Readonly<Record<string, string>>
  readonly query: ParsedQuery['query']
  readonly otherQuery: ParsedQuery['otherQuery']
  body: unknown
  #search: URLSearchParams | undefined
  #gone: AbortSignal | undefined

  constructor(
    declared: Declarations,
    parts: ServingParts,
    request: FastifyRequest,
    reply: FastifyReply,
  ) {
    this.declared = declared
    this.parts = parts
    this.request = request
    this.reply = reply
    this.path = request.params as Record<string, string>
    const isEmpty = declared.rules.length === 0 && !request.url.includes('?')
    const { query, otherQuery } = isEmpty ? noQuery : parseQuery(declared.rules, this.search)
    this.query = query
    this.otherQuery = otherQuery
  }

  get operation(): Operation {
    return this.declared.operation
  }

  get form(): AnswerForm {
    return this.declared.form
  }

  get platform(): Platform {
    return this.parts.platform
  }

  get guard(): Guard {
    return this.parts.guard
  }

  get method(): string {
    return this.request.method
  }

  get headers(): FastifyRequest['headers'] {
    return this.request.headers
  }

  get state(): FastifyRequest['state'] {
    return this.request.state
  }

  get search(): URLSearchParams {
    this.#search ??= queryOf(this.request.url)
    return this.#search
  }

  get call(): OperationRequest['call'] {
    return (service, call) => this.#call(service, call)
  }

  get json(): OperationRequest['json'] {
    return async (service, call) => readJson(await this.#call(service, call), service)
  }

  async #call(service: ServiceName, unclassed: UpstreamCall): Promise<UpstreamAnswer> {
    const { upstreams, sharedReads } = this.platform
    const call = this.withClass(unclassed)
    const identity = callerIdentityOf(this.state, this.headers)
    const ask = (signal?: AbortSignal) =>
      upstreams.call(service, signal === undefined ? call : { ...call, signal }, identity)
    const read = this.#sharedRead(service, call, identity)
    const record = this.recordCall(service)
    try {
      const answered = await (read === undefined || sharedReads === undefined
        ? ask(isReadCall(call) ? this.goneSignal() : undefined)
        : sharedReads.call(read, this.goneSignal(), ask))
      record.call.status = answered.status
      for (const name of ageHeaders) {
        const age = answered.headers[name]
        if (age !== undefined) this.state.answerHeaders[name] = age
      }
      return answered
    } finally {
      record.end()
      // Clients that have received a change never see the state before it.
      if (!isReadCall(call)) sharedReads?.changed()
    }
  }

  /** The read that other requests may share; undefined: this one is made alone. @see docs/decisions/shared-reads.md */
  #sharedRead(
    service: ServiceName,
    call: UpstreamCall,
    identity: IdentityHeaders,
  ): Read | undefined {
    const { operation, request, guard, platform } = this
    const { method = 'GET', headers } = call
    if (operation.shared === 'never' || operation.method !== 'GET' || request.method !== 'GET')
      return undefined
    if (method !== 'GET' || call.body !== undefined || call.rawBody !== undefined) return undefined
    const isByRights = operation.shared === 'rights' && !platform.upstreams.isSharded(service)
    const rights = isByRights ? guard.rightsOf(operation, request.state) : undefined
    return { service, path: pathOf(call), headers, identity, rights }
  }

  withClass(call: UpstreamCall): UpstreamCall {
    const { callClass } = this.declared
    return callClass === undefined ? call : { ...call, ...callClass }
  }

  recordCall(service: ServiceName): CallRecord {
    const record = new CallRecord(service)
    this.state.upstreamCalls.push(record.call)
    return record
  }

  /** Reads end when the client goes away; what changes something is carried through. */
  goneSignal(): AbortSignal {
    this.#gone ??= goneSignal(this.reply.raw)
    return this.#gone
  }
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

export function isReadCall({ method = 'GET' }: UpstreamCall): boolean {
  return isReadMethod(method)
}
