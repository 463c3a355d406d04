/** Records changes, logins and refusals in the audit log before the response is sent. */
import { isIP } from 'node:net'
import { BoundedMap } from '@fairlead/base/caches/bounded-map.ts'
import { GatewayError } from '@fairlead/base/errors.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { elapsedMs } from '@fairlead/base/settings/time-span.ts'
import { concealSecrets } from '@fairlead/base/telemetry/conceal-secrets.ts'
import { isSafeMethod } from '@fairlead/base/telemetry/methods.ts'
import type { FastifyReply, FastifyRequest, onSendAsyncHookHandler } from 'fastify'
import type { AuditLog } from '../audit/audit-log.ts'
import type { AuditDecision, AuditEvent } from '../audit/event.ts'
import { formatError } from './answer.ts'
import { namesInBody, namesInQuery } from './audited-names.ts'
import { toErrorAnswer } from './error-answer.ts'
import { PathTemplate } from './path-template.ts'
import { RepeatedRefusals } from './repeated-refusals.ts'
import type { AuditNote, RequestState } from './request-state.ts'

interface AuditedAnswersOptions {
  audit: AuditLog
  required: boolean
  reads: boolean
  /** Called for an event that was counted with others like it, instead of recorded. */
  onCounted: () => void
  loginRoutes: readonly { method: string; path: string; login: string }[]
  now: () => number
}

const tokenUseMs = 60_000
const countsEveryMs = 10_000
const maxTokens = 10_000
const maxLength = 300
const maxReference = 200
const retryAfterSeconds = 10
const sentToLogin = { decision: 'refused', error: 'LOGIN_REQUIRED' } as const
/** Refusals with a status that says something else. */
const refusingCodes: ReadonlySet<string> = new Set(['REQUEST_SHED', 'PATH_REFUSED'])

export class AuditedAnswers {
  readonly #options: AuditedAnswersOptions
  readonly #loginRoutes: ReadonlyMap<string, string>
  readonly #repeated = new RepeatedRefusals()
  readonly #timer: NodeJS.Timeout
  /** Changes that were recorded before they were made, by the name that joins their records. */
  readonly #begun = new WeakMap<FastifyRequest, string>()
  readonly #named = new WeakMap<FastifyRequest, Record<string, string>>()
  readonly #tokenUses = new BoundedMap<string, number>(maxTokens)
  readonly #refused = new WeakSet<FastifyRequest>()

  constructor(options: AuditedAnswersOptions) {
    this.#options = options
    this.#loginRoutes = new Map(
      options.loginRoutes.map(({ method, path, login }) => [
        `${method} ${new PathTemplate(path).route}`,
        login,
      ]),
    )
    this.#timer = setInterval(() => this.#noteRepeated(options.now()), countsEveryMs).unref()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#noteRepeated()
  }

  /** A client whose certificate ended the connection before a request could arrive. */
  refuseConnection(address: string | undefined, reason: string): void {
    const event: AuditEvent = {
      kind: 'refusal',
      decision: 'refused',
      atMs: this.#options.now(),
      login: 'x509',
      address,
      reason,
    }
    this.#note({ ...event, error: 'CERTIFICATE_REQUIRED' })
  }

  /**
   * Before a change is made: where the log is required, it is made only after its record.
   *
   * @param body As far as it has been read
   * @throws {GatewayError} AUDIT_UNAVAILABLE
   */
  begin(request: FastifyRequest, body: unknown): Promise<void> | undefined {
    if (changesNothing(request)) return undefined
    this.#named.set(request, namesInBody(body))
    if (!this.#options.required) return undefined
    this.#begun.set(request, this.#options.audit.nameChange())
    return this.#write(request, this.#toEvent(request, { kind: 'change', decision: 'begun' }))
  }

  /** Before the first byte of a streamed answer. Undefined when it need not wait. @throws {GatewayError} AUDIT_UNAVAILABLE */
  beforeStream(request: FastifyRequest, status: number): Promise<void> | undefined {
    const event = this.#eventFor(request, status)
    if (event === undefined) return undefined
    if (this.#isAwaited(event, request)) return this.#write(request, event)
    this.#note(event)
    return undefined
  }

  readonly onSend: onSendAsyncHookHandler = async (request, reply, payload) => {
    if (this.#refused.has(request) || request.state === undefined) return payload
    const started = this.#eventFor(request, reply.statusCode)
    if (started === undefined) return payload
    const event = withStarted(started, payload)
    if (!this.#isAwaited(event, request)) {
      this.#note(event)
      return payload
    }
    try {
      await this.#write(request, event)
      return payload
    } catch (error) {
      return replaceAnswer(request, reply, error)
    }
  }

  #note(event: AuditEvent): void {
    if (!this.#isCounted(event)) this.#options.audit.note(event)
  }

  #isCounted(event: AuditEvent): boolean {
    this.#noteRepeated(event.atMs)
    const isCounted = this.#repeated.absorbs(event)
    if (isCounted) this.#options.onCounted()
    return isCounted
  }

  #noteRepeated(nowMs?: number): void {
    for (const event of this.#repeated.take(nowMs)) this.#options.audit.note(event)
  }

  async #write(request: FastifyRequest, event: AuditEvent): Promise<void> {
    if (this.#isCounted(event)) return
    try {
      await this.#options.audit.record(event)
    } catch (cause) {
      if (!this.#options.required) return
      this.#refused.add(request)
      const message =
        event.decision === 'begun'
          ? 'The audit log cannot be written, so nothing was changed. Try again later; the log of the gateway has the reason.'
          : 'The audit log cannot be written. What was asked for may have been done all the same: look before you try again.'
      throw new GatewayError('AUDIT_UNAVAILABLE', message, {
        cause,
        headers: { 'retry-after': String(retryAfterSeconds) },
      })
    }
  }

  /** What clients without login cause is written many at a time, unless the log is required. */
  #isAwaited({ kind, decision }: AuditEvent, request: FastifyRequest): boolean {
    if (kind === 'login' || kind === 'logout')
      return this.#options.required || decision === 'allowed'
    return !changesNothing(request) && (this.#options.required || request.state.user !== undefined)
  }

  #eventFor(request: FastifyRequest, status: number): AuditEvent | undefined {
    const { state, method } = request
    const isLoginRoute = state.route?.operation === undefined
    const login = isLoginRoute ? this.#loginRoutes.get(`${method} ${state.route?.url}`) : undefined
    const note = login === undefined ? noteThatCounts(request) : state.auditNote
    const decision = decide(note, status, state.errorCode)
    const event = (kind: AuditEvent['kind'], more: Partial<AuditEvent> = {}) =>
      this.#toEvent(request, { kind, decision, status, ...more })
    if (note?.kind === 'login' || note?.kind === 'logout')
      return event(note.kind, { user: note.user, login: note.method })
    if (login !== undefined && (decision !== 'allowed' || method === 'POST')) {
      const failed = decision === 'failed'
      return event('login', {
        decision: failed ? 'failed' : 'refused',
        login,
        ...(!failed && { error: state.errorCode ?? 'CREDENTIALS_REFUSED' }),
        ...noteOf(note),
      })
    }
    if (note?.kind === 'refused') {
      const error = state.errorCode ?? (decision === 'refused' ? 'CREDENTIALS_REFUSED' : undefined)
      return event(this.#isChange(request) ? 'change' : 'refusal', {
        ...(error && { error }),
        ...noteOf(note),
      })
    }
    if (this.#isChange(request))
      return event('change', isSentToLogin(request, status) ? sentToLogin : {})
    if (decision === 'refused') return event('refusal')
    if (state.token !== undefined && this.#isFirstUse(state.token.id)) return event('token')
    if (this.#options.reads && state.user !== undefined && operationOf(request) !== undefined)
      return event('read')
    return undefined
  }

  #isChange(request: FastifyRequest): boolean {
    return !changesNothing(request) && operationOf(request) !== undefined
  }

  /** A token that reads all day is recorded once a minute. */
  #isFirstUse(id: string): boolean {
    const nowMs = this.#options.now()
    const last = this.#tokenUses.get(id)
    if (last !== undefined && elapsedMs(nowMs, last) < tokenUseMs) return false
    this.#tokenUses.set(id, nowMs)
    return true
  }

  /** It has no more of bodies and queries, which may hold secrets, than what they name. */
  #toEvent(
    request: FastifyRequest,
    more: Pick<AuditEvent, 'kind' | 'decision'> & Partial<AuditEvent>,
  ): AuditEvent {
    const { state, method } = request
    const isRead = changesNothing(request)
    const inQuery = isRead ? {} : namesInQuery(request.url)
    const inBody = isRead ? undefined : this.#named.get(request)
    const inPath = toResource(request)
    const resource: Record<string, string> = { ...inQuery, ...inBody, ...inPath }
    const upstream = state.upstreamCalls.map(({ service, status }) => ({ service, status }))
    return {
      atMs: this.#options.now(),
      user: state.user?.username,
      login: state.user?.method,
      token: state.token?.id,
      address: toAddress(state.clientAddress),
      requestId: concealSecrets(state.requestId),
      method,
      operation: operationOf(request),
      // What the query says may have no effect.
      application:
        listApplications([inPath['application'], applicationOf(state), inBody?.['application']]) ??
        inQuery['application'],
      ...(Object.keys(resource).length > 0 && { resource }),
      ...(upstream.length > 0 && { upstream }),
      ...(state.errorCode !== undefined && { error: state.errorCode }),
      ...(state.missing !== undefined && {
        reason: `lacks ${concealSecrets(state.missing)}`.slice(0, maxLength),
      }),
      change: this.#begun.get(request),
      ...more,
    }
  }
}

function withStarted(event: AuditEvent, payload: unknown): AuditEvent {
  if (event.kind !== 'change' || event.decision !== 'allowed') return event
  const isShort =
    (typeof payload === 'string' || Buffer.isBuffer(payload)) && payload.length < maxReference
  const [, started] =
    /^\{"ref":"\/(?:pipelines|tasks)\/([\w-]{1,80})"\}$/.exec(isShort ? String(payload) : '') ?? []
  return started === undefined ? event : { ...event, resource: { ...event.resource, started } }
}

function changesNothing({ method, state }: FastifyRequest): boolean {
  return state.route?.changesNothing ?? isSafeMethod(method)
}

function decide(
  note: AuditNote | undefined,
  status: number,
  errorCode: string | undefined,
): AuditDecision {
  if (note?.kind === 'refused') return note.failed === true || status >= 500 ? 'failed' : 'refused'
  if (status === 401 || status === 403 || status === 429 || refusingCodes.has(errorCode ?? ''))
    return 'refused'
  return status < 400 ? 'allowed' : 'failed'
}

/** Credentials that do not count are no refusal where others of the same request do. */
export function noteThatCounts({ state }: FastifyRequest): AuditNote | undefined {
  return state.auditNote?.kind === 'refused' && state.user !== undefined
    ? undefined
    : state.auditNote
}

/** Texts of peers are in quotation marks, and may be anything. */
function noteOf(note: AuditNote | undefined): Partial<AuditEvent> {
  if (note?.kind !== 'refused') return {}
  const named = note.user === undefined ? {} : { user: note.user }
  return {
    ...named,
    login: note.method,
    reason: note.reason.replaceAll(/".*"/gs, '"…"').slice(0, maxLength),
  }
}

/** A caller without login gets a redirect instead of the operation. */
function isSentToLogin({ state }: FastifyRequest, status: number): boolean {
  return state.user === undefined && state.operation === undefined && status >= 300 && status < 400
}

/** Known as soon as the request has found its route, also when it is refused before the operation. */
function operationOf({ state }: FastifyRequest): string | undefined {
  return state.operation ?? state.route?.operation
}

/** A proxy may hand on what a client wrote: only an address is one, with a port or without. */
function toAddress(text: string): string | undefined {
  const [, bare = text] =
    /^(?:\[([^\]]*)\]|([\d.]+))(?::\d+)?$/.exec(text)?.filter((part) => part !== undefined) ?? []
  return isIP(bare) === 0 ? undefined : bare
}

function toResource({ params }: FastifyRequest): Record<string, string> {
  const values = Object.entries((params ?? {}) as Record<string, string>)
  return Object.fromEntries(
    values.map(([name, value]) => [name, concealSecrets(value).slice(0, maxLength)]),
  )
}

function applicationOf({ application, applicationSegment }: RequestState): string | undefined {
  try {
    const name = application ?? (applicationSegment && decodeURIComponent(applicationSegment))
    return name && concealSecrets(name).slice(0, maxLength)
  } catch {
    return undefined
  }
}

function listApplications(lists: readonly (string | undefined)[]): string | undefined {
  const names = new Map<string, string>()
  for (const name of lists.flatMap((list) => list?.split(', ') ?? []))
    names.getOrInsert(foldName(name), name)
  return names.size === 0 ? undefined : [...names.values()].join(', ')
}

/** What the client would have got, a session among it, stays here. */
function replaceAnswer(request: FastifyRequest, reply: FastifyReply, error: unknown): string {
  const { state } = request
  const answer = toErrorAnswer(error, state, request.server.nameOf)
  for (const name of ['location', 'content-encoding', 'etag', 'set-cookie', 'content-disposition'])
    reply.removeHeader(name)
  delete state.answerHeaders['set-cookie']
  const { text, contentType, headers } = formatError(request, answer)
  const length = String(Buffer.byteLength(text))
  void reply
    .code(answer.status)
    .headers({ ...headers, 'content-type': contentType, 'content-length': length })
  return text
}
