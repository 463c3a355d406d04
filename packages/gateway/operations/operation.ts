/** Operations: entries of the public API, as data for routes, documents and tests. */
import type { IncomingHttpHeaders } from 'node:http'
import type { QueryValue } from '@fairlead/base/net/encode-path.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import type { z } from 'zod'
import type { RequestState } from '../http/request-state.ts'
import type { LiveSubject } from '../live/source.ts'
import type { UpstreamAnswer } from '../upstreams/answer-form.ts'
import type { UpstreamCall } from '../upstreams/upstream-call.ts'
import type { Demands } from './demands.ts'
import type { Platform } from './platform.ts'

export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD' | 'OPTIONS'

/**
 * One operation. It has `forward` (one call, whose answer is streamed, or looked into by `pick`) or `handle` (a function,
 * for several calls or a choice between them); never both.
 */
export interface Operation {
  readonly id: string
  /** Part of Gate's API since its first release. The API document lists these operations first. */
  readonly core?: boolean
  readonly method: HttpMethod
  /** Path with `{name}` for one segment; a final `/**` takes the rest of the path, slashes included, as `rest`. */
  readonly path: string
  /** It only reads, although its method would change something: read-only tokens may use it, and it is no change for the audit log. */
  readonly changesNothing?: true
  /** A change without a record in the audit log. */
  readonly isUnrecorded?: true
  readonly demands: Demands
  /** At most six words, the verb first: "Get an execution". */
  readonly summary: string
  readonly description?: string
  /** Query parameters by name: text, integer, flag or list schemas of zod. Undeclared ones are ignored. */
  readonly query?: Readonly<Record<string, z.ZodType>>
  readonly body?: BodyRule
  /** The service, and the path there unless it is the operation's own: `igor /jobs/{name}`. */
  readonly forward?: ServiceName | `${ServiceName} ${string}` | ForwardRule
  readonly handle?: (request: OperationRequest, platform: Platform) => Promise<unknown>
  /** With `forward`: reduces the parsed answer; undefined becomes an empty body. */
  readonly pick?: (body: unknown, request: OperationRequest) => unknown
  /** With `forward`: what a 404 of the service means here: another answer with status 200, or an own message. */
  readonly on404?:
    | { readonly answer: unknown; readonly when?: (request: OperationRequest) => boolean }
    | { readonly message: (request: OperationRequest) => string }
  /** With `forward`: the answer while the service is switched off, instead of SERVICE_DISABLED. */
  readonly whenDisabled?: unknown
  /** With `forward`: while the service is switched off this is a 404 that names the setting, as if the path did not exist. */
  readonly missingWhenDisabled?: boolean
  /**
   * Clients poll it: responses that Fairlead builds or filters get a validator (`ETag`), and clients that have it get 304. Streamed
   * responses keep the validator of their service, whatever is declared here.
   */
  readonly polled?: true
  /**
   * Who shares one call to the service with whom, while it is on its way: by default callers whom the service cannot tell apart;
   * `rights`: also other users with the same rights, as the answer depends on nothing else; `never`: each request has its own.
   * See docs/decisions/shared-reads.md.
   */
  readonly shared?: 'rights' | 'never'
  readonly success?: number
  /** Requests that one counts as for the rate limit, 1 unless given. See the classes in docs/guides/limits.md. */
  readonly cost?: number
  /**
   * Documents the answer and never filters it; `nothing` makes the answer empty. What a service answers must be an object or a
   * list where this is one, and may be empty where this is optional.
   */
  readonly answer: z.ZodType
  readonly answerType?: string
  readonly errors?: Readonly<Record<number, string>>
  readonly errorAnswers?: Readonly<Record<number, z.ZodType>>
}

/** Type of an answer that has a JSON object in each line, as they come. */
export const linesType = 'application/x-ndjson'

export interface Subject {
  readonly name: string
  readonly description: string
  readonly operations: readonly Operation[]
}

export interface BodyRule {
  readonly schema: z.ZodType
  /** What the API document shows instead, where the body is not checked in full. */
  readonly shown?: z.ZodType
  readonly required: boolean
  /** Also accepts text/plain, handed over as a string. */
  readonly text?: boolean
  /** Accepts any content type and hands the bytes over as they came, as a Buffer; undefined when there are none. */
  readonly raw?: boolean
  /** With `raw` and `forward`: passes the bytes on as they arrive; the service bounds them. */
  readonly streams?: true
  readonly mediaType?: string
}

export interface ForwardRule {
  readonly service: ServiceName
  readonly method?: HttpMethod
  /**
   * The operation's own unless given. `{name}` is taken from the path, then from the query; `{rest}` and `{+name}` keep their
   * slashes. Declared query parameters that it does not contain are passed on when given or defaulted.
   */
  readonly path?: string
  readonly fromPath?: readonly string[]
  /** What the service calls a query parameter, by its name here. */
  readonly renamed?: Readonly<Record<string, string>>
  readonly constants?: Readonly<Record<string, string>>
  readonly otherQuery?: boolean
}

export interface OperationRequest {
  /** Method of the client: HEAD finds the operation of GET. */
  readonly method: string
  readonly path: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, QueryValue>>
  readonly otherQuery: Readonly<Record<string, string>>
  /** The whole query as it was sent, for the few that must see a parameter given twice. */
  readonly search: URLSearchParams
  readonly body: unknown
  readonly headers: IncomingHttpHeaders
  readonly state: RequestState
  /** Asks a service with the caller's identity. Error statuses are answers. */
  readonly call: (service: ServiceName, call: UpstreamCall) => Promise<UpstreamAnswer>
  /** Asks and parses; undefined for an empty answer. @throws {GatewayError} for any status of 300 and above */
  readonly json: (service: ServiceName, call: UpstreamCall) => Promise<unknown>
}

export class DirectAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** A Buffer or text is sent as it is, under the content type among `headers`; anything else as JSON or YAML. */
  readonly body: unknown

  constructor(status: number, body?: unknown, headers: Readonly<Record<string, string>> = {}) {
    this.status = status
    this.body = body
    this.headers = headers
  }
}

export class LiveAnswer {
  readonly subject: LiveSubject

  constructor(subject: LiveSubject) {
    this.subject = subject
  }
}

export class StreamedAnswer {
  readonly service: ServiceName
  readonly call: UpstreamCall

  constructor(service: ServiceName, call: UpstreamCall) {
    this.service = service
    this.call = call
  }
}
