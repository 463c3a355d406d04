/** Turns the list of operations into routes. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { describeIssue } from '../../describe-issue.ts'
import { GatewayError } from '../../errors.ts'
import {
  commonHeaders,
  type EchoedHeaders,
  type JsonText,
  listValidatedHeaders,
  sendBytes,
  sendUnchanged,
  sendValue,
  type Validation,
  writeUnchanged,
} from '../../http/answer.ts'
import { codingOf } from '../../http/content-coding.ts'
import { formatQuery, type QueryValue } from '../../http/encode-path.ts'
import type { BodyBounds, JudgedDocument } from '../../http/json-judge.ts'
import { acceptsGzip, parseAccept } from '../../http/parse-accept.ts'
import { toPathValues } from '../../http/path-template.ts'
import {
  bodyTypeOf,
  hasBody,
  passBody,
  readBody,
  readBytes,
  readJudgedBytes,
  streamBody,
  unsupported,
} from '../../http/read-body.ts'
import { anyPath } from '../../http/route.ts'
import { deriveTag, parseEntityTag, underlyingCondition } from '../../http/validators.ts'
import { formatJson, isRawNumber } from '../../json/json.ts'
import { eventStreamType } from '../../live/event-stream.ts'
import { streamHeaders } from '../../live/event-streams.ts'
import type { AnswerForm } from '../../upstreams/answer-form.ts'
import type { CallClass } from '../../upstreams/endpoint.ts'
import { type IdentityHeaders, identityOf } from '../../upstreams/identity.ts'
import { type AnswerReceiver, passOn } from '../../upstreams/pass-on.ts'
import type { ServiceName } from '../../upstreams/services.ts'
import type { Read } from '../../upstreams/shared-reads.ts'
import { checkDone, pathOf, readJson, type UpstreamAnswer, type UpstreamCall } from '../../upstreams/upstreams.ts'
import { toUserKey } from '../../user-name.ts'
import type { AnswerFilter } from '../access/answer-filter.ts'
import { Guard } from '../access/guard.ts'
import { provedBySender } from '../demands.ts'
import { DirectAnswer, LiveAnswer, type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'
import { checkServicePresent } from '../optional-service.ts'
import type { Platform } from '../platform.ts'
import { type ForwardedCall, routeOf } from '../route.ts'
import { nothing } from '../schemas.ts'
import type { ConditionalRead } from '../unchanged-reads.ts'
import { answerFormOf, checkValue, formOfCall } from './answer-form.ts'
import { filterInPortions, longList } from './filter-portions.ts'
import { createQueryRules, type ParsedQuery, parseQuery, type QueryRule } from './parse-query.ts'

interface MountSettings extends Validation {
  echoedHeaders: EchoedHeaders
}

/** Answers every operation, and HEAD for every GET. */
export function mountOperations(
  server: FastifyInstance,
  operations: readonly Operation[],
  platform: Platform,
  settings: MountSettings,
): void {
  const surroundings: Surroundings = { platform, settings, guard: new Guard(platform) }
  const byId = new Map(operations.map((operation) => [operation.id, declarationsOf(operation)]))
  server.route({
    method: [...new Set([...operations.map(({ method }) => method), 'HEAD'])],
    url: anyPath,
    handler: (request, reply) => {
      const declared = byId.get(request.state.route?.operation ?? '')
      if (declared === undefined) throw new Error(`no operation for ${request.method} ${request.state.path}`)
      return answer(new Exchange(declared, surroundings, request, reply))
    },
  })
}

/** What an operation declares, worked out once. */
interface Declarations {
  readonly operation: Operation
  readonly forward: ForwardedCall | undefined
  readonly rules: readonly QueryRule[]
  readonly form: AnswerForm
  /** Which timeout its calls have; undefined for most reads. */
  readonly callClass: CallClass | undefined
}

/** As many requests as a list over everything counts for. */
const listCost = 5

const declarations = new WeakMap<Operation, Declarations>()

function declarationsOf(operation: Operation): Declarations {
  return declarations.getOrInsertComputed(operation, () => ({
    operation,
    forward: routeOf(operation).forward,
    rules: createQueryRules(operation.query),
    form: answerFormOf(operation.answer),
    callClass: callClassOf(operation),
  }))
}

/** Lists over everything may take a service longer than other reads, and what a change reads belongs to it. */
function callClassOf({ method, cost }: Operation): CallClass | undefined {
  if (method !== 'GET') return { isForChange: true }
  return cost === listCost ? { isList: true } : undefined
}

interface Surroundings {
  readonly platform: Platform
  readonly settings: MountSettings
  readonly guard: Guard
}

/** A request for an operation. */
class Exchange {
  readonly declared: Declarations
  readonly surroundings: Surroundings
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  /** Set where a 304 is kept. */
  conditional: ConditionalRead | undefined = undefined
  #gone: AbortController | undefined

  constructor(declared: Declarations, surroundings: Surroundings, request: FastifyRequest, reply: FastifyReply) {
    this.declared = declared
    this.surroundings = surroundings
    this.request = request
    this.reply = reply
  }

  get operation(): Operation {
    return this.declared.operation
  }

  get form(): AnswerForm {
    return this.declared.form
  }

  get platform(): Platform {
    return this.surroundings.platform
  }

  get guard(): Guard {
    return this.surroundings.guard
  }

  /** Fires when the client goes away. Reads end then; what changes something is carried through. */
  goneSignal(): AbortSignal {
    if (this.#gone !== undefined) return this.#gone.signal
    const { raw } = this.reply
    const gone = new AbortController()
    this.#gone = gone
    if (raw.destroyed) gone.abort()
    raw.on('close', () => {
      if (!raw.writableFinished) gone.abort()
    })
    return gone.signal
  }
}

/** A promise only where something has to be waited for: a read that is passed on is sent to its service before this returns. */
function answer(exchange: Exchange): Promise<FastifyReply> | undefined {
  const { operation, request, guard } = exchange
  request.state.operation = operation.id
  checkAcceptable(exchange)
  const asked = new AskedOperation(exchange)
  const checked = guard.check(operation, asked)
  return checked === undefined ? carryOut(exchange, asked) : checked.then(() => carryOut(exchange, asked) ?? exchange.reply)
}

function carryOut(exchange: Exchange, asked: AskedOperation): Promise<FastifyReply> | undefined {
  const { declared, operation, request, platform, guard } = exchange
  const { forward } = declared
  if (operation.polled === true && isKnownUnchanged(exchange)) return undefined
  if (forward === undefined) return answerHandled(exchange, asked)
  if (operation.body !== undefined || 'whenDisabled' in operation || operation.missingWhenDisabled) {
    return answerForward(exchange, forward, asked)
  }
  const begun = platform.audited?.begin(request, undefined)
  const filter = guard.filterOf(operation, asked)
  if (begun !== undefined || filter !== undefined || looksInto(exchange)) {
    return answerForward(exchange, forward, asked, { begun, filter })
  }
  stream(exchange, forward.service, toCall(forward, asked), asked)
  return undefined
}

/** Answers at once when the same conditional read was answered with 304, and nothing has changed since. */
function isKnownUnchanged(exchange: Exchange): boolean {
  const { request, reply, platform, surroundings } = exchange
  const { unchangedReads } = platform
  const key = unchangedReads && conditionalKeyOf(exchange)
  const read = key === undefined ? undefined : unchangedReads?.begin(key)
  if (read === undefined) return false
  const tag = unchangedReads?.find(read)
  if (tag === undefined) {
    exchange.conditional = read
    return false
  }
  const { echoedHeaders, browserCache } = surroundings.settings
  // Where reads are recorded, they are noted, and not waited for.
  void platform.audited?.beforeStream(request, 304)
  writeUnchanged(reply, echoedHeaders, { tag, browserCache })
  return true
}

/** Everything that the answer of a conditional read depends on, besides the state of embedded services; undefined: it is none. */
function conditionalKeyOf({ operation, request, guard }: Exchange): string | undefined {
  const { state, headers, method, url } = request
  const condition = headers['if-none-match']
  if (condition === undefined || method !== 'GET' || state.token !== undefined) return undefined
  const rights = guard.stateOf(state)
  if (rights === undefined) return undefined
  const head = `${operation.id} ${url}\n${condition}\n${headers.accept ?? ''}\nrights ${rights}`
  return head + formatIdentity(identityOf(state, headers), operation.shared === 'rights' && rights !== '')
}

/** @param isNameless Users with the same rights get the same */
function formatIdentity(identity: IdentityHeaders, isNameless: boolean): string {
  let text = ''
  for (const name in identity) {
    if (name === 'X-SPINNAKER-REQUEST-ID' || (isNameless && name === 'X-SPINNAKER-USER')) continue
    text += `\n${name} ${identity[name]}`
  }
  return text
}

/** Keeps a 304, unless it is one of a service that had trouble. */
function noteUnchanged({ conditional, platform, request }: Exchange, tag: string | undefined): void {
  if (conditional === undefined || tag === undefined) return
  const { upstreamCalls, answerHeaders } = request.state
  const isSound = upstreamCalls.every(({ status }) => status === 200 || status === 304 || status === 404)
  if (!isSound || 'warning' in answerHeaders || 'age' in answerHeaders) return
  platform.unchangedReads?.note(
    conditional,
    tag,
    upstreamCalls.map(({ service }) => service),
  )
}

async function answerHandled(exchange: Exchange, asked: AskedOperation): Promise<FastifyReply> {
  const { operation, request, platform, guard } = exchange
  if (operation.handle === undefined) throw new Error(`operation ${operation.id} has neither forward nor handle`)
  const body = operation.body === undefined ? undefined : (await readDeclaredBody(exchange))?.value
  await guard.checkBody(operation, asked, body)
  await platform.audited?.begin(request, body)
  const value = await operation.handle(asked.withBody(body), platform)
  const answered = await answerValue(exchange, value, asked, await guard.filterOf(operation, asked))
  noteIfUnchanged(exchange)
  return answered
}

function noteIfUnchanged(exchange: Exchange): void {
  const { conditional, reply } = exchange
  // What is streamed is noted as it begins.
  if (conditional !== undefined && reply.statusCode === 304) noteUnchanged(exchange, tagOf(reply))
}

function tagOf(reply: FastifyReply): string | undefined {
  const tag = reply.getHeader('etag')
  return typeof tag === 'string' ? tag : undefined
}

/**
 * Refuses a client that cannot read the answer before anything is done. A change whose sender names texts only is made, as by
 * Gate, and answered with JSON.
 *
 * @throws {GatewayError} NOT_ACCEPTABLE
 */
function checkAcceptable({ operation, form, request }: Exchange): void {
  if (form.kind === 'no-page' || operation.answerType === eventStreamType) return
  const isDocument = form.kind === 'json' && operation.method === 'GET'
  if (parseAccept(request.headers.accept, isDocument ? ['json', 'yaml'] : ['json', 'yaml', 'text']) !== undefined) return
  throw new GatewayError('NOT_ACCEPTABLE', 'Answers are JSON, or YAML with "Accept: application/x-yaml".')
}

/** The request as operations and permission checks see it. */
class AskedOperation implements OperationRequest {
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

function callAs(exchange: Exchange, service: ServiceName, unclassed: UpstreamCall) {
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
function sharedReadOf(
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

function withClass({ declared }: Exchange, call: UpstreamCall): UpstreamCall {
  return declared.callClass === undefined ? call : { ...call, ...declared.callClass }
}

/** Enters a call to a service into the access line of the request; its status is set once there is one. */
function recordCall({ state }: FastifyRequest, service: ServiceName): CallRecord {
  const record = new CallRecord(service)
  state.upstreamCalls.push(record.call)
  return record
}

class CallRecord {
  readonly call: { service: string; status: number | undefined; durationMs: number }
  readonly #startedAtMs = performance.now()

  constructor(service: string) {
    this.call = { service, status: undefined, durationMs: 0 }
  }

  end(): void {
    this.call.durationMs = Math.round(performance.now() - this.#startedAtMs)
  }
}

function isRead({ method = 'GET' }: UpstreamCall): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** @throws {GatewayError} MISSING_BODY, UNREADABLE_BODY, UNSUPPORTED_MEDIA_TYPE, BODY_TOO_LARGE */
async function readDeclaredBody(exchange: Exchange): Promise<JudgedDocument | undefined> {
  const { operation, request } = exchange
  const rule = operation.body
  const bounds = boundsFor(exchange)
  if (rule?.raw) {
    const bytes = await (rule.mediaType === undefined ? readJudgedBytes : readBytes)(request.raw, bounds)
    return bytes.length === 0 ? undefined : { value: bytes }
  }
  const document = await readBody(request.raw, bounds, { text: rule?.text })
  const body = document?.value
  if (body === undefined || body === null) {
    if (rule?.required) throw missingBody()
    return undefined
  }
  const checked = rule?.schema.safeParse(isRawNumber(body) ? Number(body) : body)
  if (checked !== undefined && !checked.success) {
    const [issue] = checked.error.issues
    const where = issue === undefined || issue.path.length === 0 ? 'The body' : `"${issue.path.join('.')}" in the body`
    throw new GatewayError(
      'UNREADABLE_BODY',
      `${where} is not usable: ${issue === undefined ? 'wrong shape' : describeIssue(issue)}.`,
    )
  }
  return document
}

/** Requests on open paths without login may send less, even if no login is required. */
function boundsFor({ operation, request, reply }: Exchange): BodyBounds {
  const { user } = request.state
  const isStranger = user === undefined || (user.method === 'anonymous' && operation.demands === provedBySender)
  return request.server.boundsOf(isStranger ? 'open' : 'known', reply.raw)
}

function missingBody(): GatewayError {
  return new GatewayError('MISSING_BODY', 'This operation needs a body. Send a JSON or YAML document.')
}

/** @param started What has been started already. */
async function answerForward(
  exchange: Exchange,
  forward: ForwardedCall,
  asked: AskedOperation,
  started?: { begun: Promise<void> | undefined; filter: ReturnType<Guard['filterOf']> },
): Promise<FastifyReply> {
  const { operation, request, reply, platform, guard } = exchange
  await (started === undefined ? platform.audited?.begin(request, undefined) : started.begun)
  if (operation.missingWhenDisabled) checkServicePresent(platform, forward.service)
  if ('whenDisabled' in operation && !platform.upstreams.isEnabled(forward.service))
    return sendValue(request, reply, 200, operation.whenDisabled)
  const call = toCall(forward, asked)
  const filter = await (started === undefined ? guard.filterOf(operation, asked) : started.filter)
  const isParsed = filter !== undefined || looksInto(exchange)
  const readsBody = isParsed || guard.readsBody(operation, asked)
  if (operation.body !== undefined) await attachBody(exchange, call, readsBody, asked)
  if (!isParsed) {
    stream(exchange, forward.service, call, asked)
    return reply
  }
  try {
    const answered = await answerParsed(exchange, { service: forward.service, call, filter }, asked)
    noteIfUnchanged(exchange)
    return answered
  } catch (error) {
    const replacement = replacementFor(operation, error, asked)
    if (replacement === undefined) throw error
    return sendValue(request, reply, 200, replacement.answer)
  }
}

/** Whether the answer is parsed here, whatever the caller may see of it. */
function looksInto({ operation, request }: Exchange): boolean {
  return operation.pick !== undefined || operation.answer === nothing || wantsYaml(request)
}

/** What is answered instead of a 404 of the service. @throws {GatewayError} NOT_FOUND with the message of the operation */
function replacementFor({ on404 }: Operation, error: unknown, asked: OperationRequest): { answer: unknown } | undefined {
  if (on404 === undefined || !(error instanceof GatewayError) || error.details.upstream?.status !== 404) return undefined
  if ('answer' in on404) return on404
  throw new GatewayError('NOT_FOUND', on404.message(asked), { upstream: error.details.upstream })
}

function wantsYaml(request: FastifyRequest): boolean {
  return parseAccept(request.headers.accept, ['json', 'yaml']) === 'yaml'
}

/** A call whose answer is parsed, and what is left out of it. */
interface ParsedCall {
  readonly service: ServiceName
  readonly call: UpstreamCall
  readonly filter: AnswerFilter | undefined
}

async function answerParsed(exchange: Exchange, parsed: ParsedCall, operationRequest: OperationRequest): Promise<FastifyReply> {
  const { operation, form, request, reply, surroundings } = exchange
  const { service, filter } = parsed
  const { answered, tag, isUnchanged } = await askForDocument(exchange, parsed)
  if (isUnchanged) return sendUnchanged(request, reply, tag, surroundings.settings)
  if (operation.answer === nothing && operation.pick === undefined) {
    checkDone(answered, service)
    return sendValue(request, reply, operation.success ?? 200, undefined)
  }
  if (filter !== undefined && operation.pick === undefined && answered.text.length > longList && !wantsYaml(request)) {
    const filtered = await filterText(answered, parsed, form, filter)
    if (filtered !== undefined) return sendDocument(exchange, filtered, tag)
  }
  const whole = readJson(answered, service, operation.pick === undefined ? formOfCall(form, parsed.call) : undefined)
  const body = filter === undefined ? whole : filter.apply(whole)
  return sendDocument(exchange, operation.pick === undefined ? body : operation.pick(body, operationRequest), tag)
}

/** Undefined for what is no list, or not readable. */
async function filterText(
  { status, text }: UpstreamAnswer,
  { call }: ParsedCall,
  form: AnswerForm,
  filter: AnswerFilter,
): Promise<JsonText | undefined> {
  const wanted = formOfCall(form, call)
  if (status !== 200 || wanted.kind !== 'json' || !wanted.list) return undefined
  try {
    return await filterInPortions(text, filter)
  } catch (error) {
    if (error instanceof GatewayError) throw error
    return undefined
  }
}

/** Nothing is parsed for a client that has what the same rights have left of the same answer. */
async function askForDocument(
  exchange: Exchange,
  { service, call, filter }: ParsedCall,
): Promise<{ answered: UpstreamAnswer; tag: string | undefined; isUnchanged: boolean }> {
  const { operation, request } = exchange
  const isDerived = operation.polled === true && filter !== undefined && isRead(call) && !wantsYaml(request)
  if (!isDerived) return { answered: await callAs(exchange, service, call), tag: undefined, isUnchanged: false }
  const condition = underlyingCondition(request.headers['if-none-match'], filter.rights)
  const asked = condition === undefined ? call : { ...call, headers: { ...call.headers, 'if-none-match': condition } }
  const answered = await callAs(exchange, service, asked)
  const isUnchanged = answered.status === 304 && condition !== undefined
  const tag = parseEntityTag([answered.headers['etag']].flat()[0]) ?? (isUnchanged ? parseEntityTag(condition) : undefined)
  return { answered, tag: tag && deriveTag(tag, filter.rights), isUnchanged }
}

function toCall(forward: ForwardedCall, { path, query, otherQuery }: OperationRequest): UpstreamCall {
  const sent: Record<string, QueryValue> = { ...forward.constants }
  for (const name of forward.query) sent[name] = query[name] ?? path[name]
  if (forward.otherQuery) {
    for (const [name, value] of Object.entries(otherQuery)) sent[name] ??= value
  }
  return {
    // The gateway answers HEAD itself, from what GET finds.
    method: forward.method === 'OPTIONS' || forward.method === 'HEAD' ? 'GET' : forward.method,
    path:
      forward.path.fill((name) => path[name] ?? (query[name] === undefined ? undefined : String(query[name]))) +
      formatQuery(sent),
  }
}

/** A JSON body goes on as a stream of bytes; YAML is read and rewritten. */
async function attachBody(
  exchange: Exchange,
  call: UpstreamCall,
  read: boolean,
  operationRequest: OperationRequest,
): Promise<void> {
  const { operation, request } = exchange
  const bounds = boundsFor(exchange)
  const type = bodyTypeOf(request.headers['content-type'])
  if (!hasBody(request.raw)) {
    if (operation.body?.required) throw missingBody()
    return
  }
  if (operation.body?.streams) {
    call.rawBody = passBody(request.raw)
    call.headers = describeBytes(request)
    return
  }
  if (type === 'other') throw unsupported(request.headers['content-type'])
  const length = request.headers['content-length']
  // Without a length the limit could only be noticed halfway through the call.
  if (
    read ||
    type !== 'json' ||
    codingOf(request.raw) !== undefined ||
    length === undefined ||
    Number(length) > bounds.maxBytes
  ) {
    const document = await readDeclaredBody(exchange)
    await exchange.guard.checkBody(operation, operationRequest, document?.value)
    call.rawBody = document?.json ?? formatJson(document?.value)
    call.headers = { 'content-type': 'application/json' }
    return
  }
  call.rawBody = streamBody(request.raw, bounds)
  call.headers = { 'content-type': 'application/json', 'content-length': length }
}

/** Headers about a body that goes on as it is. */
function describeBytes({ headers }: FastifyRequest): Record<string, string> {
  const names = ['content-type', 'content-length', 'content-digest'] as const
  return Object.fromEntries(names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]])))
}

/** Streams the answer of a service to the client; errors before the first byte become ordinary error answers. */
function stream(exchange: Exchange, service: ServiceName, call: UpstreamCall, asked: OperationRequest): void {
  const { operation, form, request, reply, platform } = exchange
  const identity = identityOf(request.state, request.headers)
  const conditional = withCondition(request, withClass(exchange, call))
  const gzip = acceptsGzip(request.headers['accept-encoding'])
  passOn(platform.upstreams, {
    service,
    call: conditional,
    identity,
    form: formOfCall(form, call),
    client: reply.raw,
    status: operation.success,
    gzip,
    reads: platform.sharedReads,
    read: sharedReadOf(exchange, service, conditional, { identity, gzip }),
    headersOnly: request.method === 'HEAD',
    receiver: new StreamReceiver(exchange, asked, recordCall(request, service)),
  })
}

class StreamReceiver implements AnswerReceiver {
  readonly #exchange: Exchange
  readonly #asked: OperationRequest
  readonly #record: CallRecord

  constructor(exchange: Exchange, asked: OperationRequest, record: CallRecord) {
    this.#exchange = exchange
    this.#asked = asked
    this.#record = record
  }

  beforeAnswer(status: number): Promise<void> | undefined {
    const { platform, request, operation } = this.#exchange
    return platform.audited?.beforeStream(request, operation.success ?? status)
  }

  begin(vary: string | undefined, tag?: string): string[] {
    const { request, reply, surroundings, platform } = this.#exchange
    if (request.method !== 'GET') platform.sharedReads?.changed()
    reply.hijack()
    const { echoedHeaders, browserCache } = surroundings.settings
    const isUnchanged = this.#record.call.status === 304
    if (isUnchanged) noteUnchanged(this.#exchange, tag)
    return listValidatedHeaders(reply, echoedHeaders, vary, { tag, browserCache, isUnchanged })
  }

  progress(status: number, bytes: number): void {
    this.#record.call.status = status
    this.#exchange.request.state.streamedBytes = bytes
  }

  ended(error?: unknown): void {
    this.#record.end()
    if (error === undefined) return
    this.#record.call.status = (error as Partial<GatewayError>).details?.upstream?.status
    void this.#answerError(error)
  }

  /** As the framework answers what a handler throws. */
  async #answerError(error: unknown): Promise<void> {
    const { operation, request, reply } = this.#exchange
    try {
      const replacement = replacementFor(operation, error, this.#asked)
      if (replacement === undefined) void reply.send(error)
      else await sendValue(request, reply, 200, replacement.answer)
    } catch (thrown) {
      void reply.send(thrown)
    }
  }
}

/** What Fairlead has built itself, or has looked into. */
function sendDocument(
  { operation, surroundings, request, reply }: Exchange,
  value: unknown,
  tag?: string,
): Promise<FastifyReply> {
  const validation = operation.polled ? { browserCache: surroundings.settings.browserCache, tag } : undefined
  return sendValue(request, reply, operation.success ?? 200, value, validation)
}

/** The service judges a condition on what is passed on as it is. */
function withCondition({ headers, method }: FastifyRequest, call: UpstreamCall): UpstreamCall {
  const condition = headers['if-none-match']
  if (condition === undefined || (method !== 'GET' && method !== 'HEAD') || !isRead(call)) return call
  return { ...call, headers: { ...call.headers, 'if-none-match': condition } }
}

async function answerValue(
  exchange: Exchange,
  value: unknown,
  asked: OperationRequest,
  filter: AnswerFilter | undefined,
): Promise<FastifyReply> {
  const { form, request, reply } = exchange
  if (value instanceof LiveAnswer) return listen(exchange, value)
  if (value instanceof StreamedAnswer) {
    if (filter === undefined && !wantsYaml(request)) {
      stream(exchange, value.service, value.call, asked)
      return reply
    }
    return answerParsed(exchange, { service: value.service, call: value.call, filter }, asked)
  }
  if (!(value instanceof DirectAnswer)) {
    checkValue(form, value, request.state.upstreamCalls.at(-1)?.service as ServiceName | undefined)
    return sendDocument(exchange, filter === undefined ? value : filter.apply(value))
  }
  reply.headers(value.headers)
  const contentType = value.headers['content-type']
  if (contentType !== undefined && (typeof value.body === 'string' || Buffer.isBuffer(value.body))) {
    const bytes = typeof value.body === 'string' ? Buffer.from(value.body) : value.body
    return sendBytes(request, reply, value.status, bytes, contentType)
  }
  return sendValue(request, reply, value.status, value.body)
}

/** Opens an event stream, and judges again while it is open. The credentials may have ended, or the rights changed. */
async function listen(exchange: Exchange, { subject }: LiveAnswer): Promise<FastifyReply> {
  const { operation, request, reply, platform, guard, surroundings } = exchange
  const { state, headers } = request
  if (request.method === 'HEAD') return reply.headers(streamHeaders).send()
  const lastEventId = headers['last-event-id']
  await platform.streams.open({
    subject,
    client: reply.raw,
    lastEventId: typeof lastEventId === 'string' && lastEventId !== '' ? lastEventId.slice(0, 100) : undefined,
    caller: platform.login.active && state.user !== undefined ? `user ${toUserKey(state.user.username)}` : state.clientAddress,
    identity: identityOf(state, headers),
    judge: async () => {
      if (!(await platform.login.stillCounts(state))) throw new GatewayError('LOGIN_REQUIRED', 'The login has ended.')
      await guard.check(operation, new AskedOperation(exchange))
    },
    onWrite: (characters) => {
      state.streamedBytes = characters
    },
    begin: async () => {
      await platform.audited?.beforeStream(request, 200)
      reply.hijack()
      state.streamBeganAtMs = performance.now()
      return commonHeaders(request, surroundings.settings.echoedHeaders)
    },
  })
  return reply
}
