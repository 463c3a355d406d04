/** Turns the list of operations into routes. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../../errors.ts'
import { commonHeaders, type JsonText, listValidatedHeaders, sendBytes, sendUnchanged, sendValue } from '../../http/answer.ts'
import { formatQuery, type QueryValue } from '../../http/encode-path.ts'
import { acceptsGzip, parseAccept, yamlType } from '../../http/parse-accept.ts'
import { anyPath } from '../../http/route.ts'
import { deriveTag, parseEntityTag, underlyingCondition } from '../../http/validators.ts'
import { longList } from '../../json/list-portions.ts'
import { eventStreamType } from '../../live/event-stream.ts'
import { streamHeaders } from '../../live/event-streams.ts'
import type { AnswerForm } from '../../upstreams/answer-form.ts'
import { formatIdentity, identityOf } from '../../upstreams/identity.ts'
import { type AnswerReceiver, passOn } from '../../upstreams/pass-on.ts'
import type { ServiceName } from '../../upstreams/services.ts'
import { checkDone, readJson, type UpstreamAnswer, type UpstreamCall } from '../../upstreams/upstreams.ts'
import { toUserKey } from '../../user-name.ts'
import type { AnswerFilter } from '../access/answer-filter.ts'
import { Guard } from '../access/guard.ts'
import { DirectAnswer, LiveAnswer, type Operation, type OperationRequest, StreamedAnswer } from '../operation.ts'
import { checkServicePresent } from '../optional-service.ts'
import type { Platform } from '../platform.ts'
import type { ForwardedCall } from '../route.ts'
import { nothing } from '../schemas.ts'
import { checkValue, formOfCall } from './answer-form.ts'
import { declarationsOf, Exchange, type MountSettings, type Surroundings } from './exchange.ts'
import { filterInPortions } from './filter-portions.ts'
import { answerIfKnown, noteIfUnchanged, noteUnchanged } from './known-unchanged.ts'
import { attachBody, readDeclaredBody } from './request-body.ts'
import {
  AskedOperation,
  type CallRecord,
  callAs,
  isRead,
  recordCall,
  sharedReadOf,
  withClass,
  withCondition,
} from './service-calls.ts'

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
  const kept = platform.unchangedReads
  if (kept !== undefined && operation.polled === true && answerIfKnown(exchange, kept)) return undefined
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
  throw new GatewayError('NOT_ACCEPTABLE', `Answers are JSON, or YAML with "Accept: ${yamlType}".`)
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

/** YAML is made of what was read, even if all of it is. */
const keepsAll: AnswerFilter = { apply: (answer) => answer, rights: '' }

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
  const portioned = filter ?? (wantsYaml(request) ? keepsAll : undefined)
  if (portioned !== undefined && operation.pick === undefined && answered.text.length > longList) {
    const filtered = await filterText(answered, parsed, form, portioned)
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
  return {
    // The gateway answers HEAD itself, from what GET finds.
    method: forward.method === 'OPTIONS' || forward.method === 'HEAD' ? 'GET' : forward.method,
    path:
      forward.path.fill((name) => path[name] ?? (query[name] === undefined ? undefined : String(query[name]))) +
      (forward.hasQuery ? formatQuery(toQuery(forward, { path, query, otherQuery })) : ''),
  }
}

function toQuery(
  forward: ForwardedCall,
  { path, query, otherQuery }: Pick<OperationRequest, 'path' | 'query' | 'otherQuery'>,
): Record<string, QueryValue> {
  const sent: Record<string, QueryValue> = { ...forward.constants }
  for (const name of forward.query) sent[name] = query[name] ?? path[name]
  if (forward.otherQuery) {
    for (const [name, value] of Object.entries(otherQuery)) {
      // Every object has a `constructor`, which is none of the client's.
      if (!Object.hasOwn(sent, name)) sent[name] = value
      else sent[name] ??= value
    }
  }
  return sent
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
    identityLines: formatIdentity(identity, request.state),
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

async function answerValue(
  exchange: Exchange,
  value: unknown,
  asked: OperationRequest,
  filter: AnswerFilter | undefined,
): Promise<FastifyReply> {
  const { form, request, reply } = exchange
  if (value instanceof LiveAnswer) return listen(exchange, value)
  if (value instanceof StreamedAnswer) {
    if (filter === undefined && (!wantsYaml(request) || value.call.headers?.['accept'] === yamlType)) {
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
