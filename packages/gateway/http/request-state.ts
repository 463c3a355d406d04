/** State of one request: id, client, user, operation. */

import type { RequestSpan } from '@fairlead/base/telemetry/open-tracing.ts'
import type { FastifyRequest } from 'fastify'
import type { RequestOrigin } from './origin.ts'
import type { Route } from './route.ts'

/** The port that a request came in on: the main one, the one for client certificates, or the extra one without TLS. */
export type ListenerKind = 'main' | 'api' | 'legacy'

/** Every port: besides those of requests, the one for probes and scrapers alone. */
export type PortKind = ListenerKind | 'management'

/** Who is logged in. Never holds a password or a token of the identity provider. */
export interface User {
  username: string
  email: string | null
  firstName: string | null
  lastName: string | null
  /** Role names learnt at login, lower case. */
  roles: string[]
  allowedAccounts: string[]
  /** The login method that established the user: `form`, `anonymous`, … */
  method: string
}

/** What a token may be used for, beyond what its user may do. Undefined does not limit. */
export interface PresentedToken {
  readonly id: string
  readonly readOnly: boolean
  readonly applications: readonly string[] | undefined
  readonly operations: readonly string[] | undefined
}

/** This request was a login or logout, or its credentials were rejected. */
export type AuditNote =
  | { readonly kind: 'login' | 'logout'; readonly user: string; readonly method: string }
  | {
      readonly kind: 'refused'
      readonly method: string
      readonly reason: string
      /** Whom the credentials name, where there is such a user. Anything else may be a password in the wrong place. */
      readonly user?: string
      readonly failed?: boolean
    }

export class RequestState {
  readonly requestId: string
  readonly receivedAtMs = performance.now()
  readonly listener: ListenerKind
  readonly path: string
  /** Undefined for a path or a method that does not exist. */
  readonly route: Route | undefined
  /** Client address, after trusted proxies. */
  readonly clientAddress: string
  readonly scheme: 'http' | 'https'
  user: User | undefined = undefined
  token?: PresentedToken
  auditNote?: AuditNote
  span?: RequestSpan
  errorCode?: string
  /** The right that the user lacks, where that is the error. */
  missing?: string
  /** Application that the request is about, for the identity header, where an operation has found out. */
  application: string | undefined = undefined
  operation: string | undefined = undefined
  readonly upstreamCalls: { service: string; status: number | undefined; durationMs: number }[] = []
  /** Bytes of a streamed answer so far, before compression. */
  streamedBytes: number | undefined = undefined
  /** When the head of an event stream was written, which goes on for long after it. */
  streamBeganAtMs?: number
  /** Headers of the client that are passed on to services because the configuration names them. */
  passedOn?: Readonly<Record<string, string>>
  /** CORS headers of all requests without Origin; `answerHeaders` win over them. */
  corsHeaders?: Readonly<Record<string, string>>
  /** Headers of the answer that steps have decided on: cookies, CORS. Sent on every answer, streamed ones included. */
  readonly answerHeaders: Record<string, string | string[]> = {}
  readonly #origin: RequestOrigin

  constructor(
    requestId: string,
    listener: ListenerKind,
    path: string,
    route: Route | undefined,
    origin: RequestOrigin,
  ) {
    this.requestId = requestId
    this.listener = listener
    this.path = path
    this.route = route
    this.clientAddress = origin.clientAddress
    this.scheme = origin.scheme
    this.#origin = origin
  }

  /** Scheme, host, port and context path as the browser sees them, without a trailing slash. */
  get baseUrl(): string {
    return this.#origin.baseUrl
  }

  get applicationSegment(): string | undefined {
    if (!this.path.startsWith(applications)) return undefined
    const end = this.path.indexOf('/', applications.length)
    return this.path.slice(applications.length, end === -1 ? undefined : end) || undefined
  }
}

const applications = '/applications/'

declare module 'fastify' {
  interface FastifyRequest {
    state: RequestState
  }
}

/** A named step that every request passes before its operation; it throws a GatewayError to refuse. */
export interface RequestStep {
  readonly name: string
  readonly run: (
    request: FastifyRequest,
    reply: import('fastify').FastifyReply,
  ) => Promise<void> | void
}
