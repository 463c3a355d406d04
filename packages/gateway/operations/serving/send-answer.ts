/** Answers that Fairlead has built or looked into, and event streams. */
import { setImmediate } from 'node:timers/promises'
import { GatewayError } from '@fairlead/base/errors.ts'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { longList, portionsOfList } from '@fairlead/base/json/list-portions.ts'
import { nothing } from '@fairlead/base/json/schemas.ts'
import { toUserKey } from '@fairlead/base/names/user-name.ts'
import { deriveTag, parseEntityTag, underlyingCondition } from '@fairlead/base/net/validators.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { commonHeaders, JsonText, sendBytes, sendUnchanged, sendValue } from '../../http/answer.ts'
import { parseAccept } from '../../http/parse-accept.ts'
import { streamHeaders } from '../../live/event-streams.ts'
import type { AnswerForm } from '../../upstreams/answer-form.ts'
import { checkDone, readJson, type UpstreamAnswer } from '../../upstreams/answer-form.ts'
import { callerIdentityOf } from '../../upstreams/identity.ts'
import type { UpstreamCall } from '../../upstreams/upstream-call.ts'
import type { AnswerFilter } from '../access/answer-filter.ts'
import { DirectAnswer, LiveAnswer } from '../operation.ts'
import { checkValue, formOfCall } from './answer-form.ts'
import { isReadCall, type OperationExchange } from './exchange.ts'

export function takesYaml(request: FastifyRequest): boolean {
  return parseAccept(request.headers.accept, ['json', 'yaml']) === 'yaml'
}

const keepsAll: AnswerFilter = { apply: (answer) => answer, rights: '' }

export interface FilteredCall {
  readonly service: ServiceName
  readonly call: UpstreamCall
  readonly filter: AnswerFilter | undefined
}

export async function answerParsed(
  exchange: OperationExchange,
  parsed: FilteredCall,
): Promise<unknown> {
  const { operation, form, request, reply, parts } = exchange
  const { service, filter } = parsed
  const { answered, tag, isUnchanged } = await askForDocument(exchange, parsed)
  if (isUnchanged) return sendUnchanged(request, reply, tag, parts.settings)
  if (operation.answer === nothing && operation.pick === undefined) {
    checkDone(answered, service)
    return sendValue(request, reply, operation.success ?? 200, undefined)
  }
  const portioned = filter ?? (takesYaml(request) ? keepsAll : undefined)
  if (portioned !== undefined && operation.pick === undefined && answered.text.length > longList) {
    const filtered = await filterText(answered, parsed, form, portioned)
    if (filtered !== undefined) return sendDocument(exchange, filtered, tag)
  }
  const whole = readJson(
    answered,
    service,
    operation.pick === undefined ? formOfCall(form, parsed.call) : undefined,
  )
  const body = filter === undefined ? whole : filter.apply(whole)
  return sendDocument(
    exchange,
    operation.pick === undefined ? body : operation.pick(body, exchange),
    tag,
  )
}

async function filterText(
  { status, text }: UpstreamAnswer,
  { call }: FilteredCall,
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

/**
 * Filters a long list in portions, so that requests get their turn in between; entries that stay keep their text.
 *
 * @throws {Error} for what is no list, or not readable
 */
export async function filterInPortions(text: string, filter: AnswerFilter): Promise<JsonText> {
  const kept: string[] = []
  for (const portion of portionsOfList(text)) {
    const entries = portion.map((entry) => parseJson(entry))
    const texts = new Map(entries.map((entry, index) => [entry, portion[index] as string]))
    for (const entry of filter.apply(entries) as unknown[])
      kept.push(texts.get(entry) ?? formatJson(entry))
    await setImmediate()
  }
  return new JsonText(`[${kept.join(',')}]`)
}

/** Nothing is parsed for a client that has what the same rights have left of the same answer. */
async function askForDocument(
  exchange: OperationExchange,
  { service, call, filter }: FilteredCall,
): Promise<{ answered: UpstreamAnswer; tag: string | undefined; isUnchanged: boolean }> {
  const { operation, request } = exchange
  const isDerived =
    operation.polled === true && filter !== undefined && isReadCall(call) && !takesYaml(request)
  if (!isDerived)
    return { answered: await exchange.call(service, call), tag: undefined, isUnchanged: false }
  const condition = underlyingCondition(request.headers['if-none-match'], filter.rights)
  const asked =
    condition === undefined
      ? call
      : { ...call, headers: { ...call.headers, 'if-none-match': condition } }
  const answered = await exchange.call(service, asked)
  const isUnchanged = answered.status === 304 && condition !== undefined
  const tag =
    parseEntityTag([answered.headers['etag']].flat()[0]) ??
    (isUnchanged ? parseEntityTag(condition) : undefined)
  return { answered, tag: tag && deriveTag(tag, filter.rights), isUnchanged }
}

function sendDocument(
  { operation, parts, request, reply }: OperationExchange,
  value: unknown,
  tag?: string,
): Promise<FastifyReply> {
  const validation = operation.polled
    ? { browserCache: parts.settings.browserCache, tag }
    : undefined
  return sendValue(request, reply, operation.success ?? 200, value, validation)
}

export async function answerValue(
  exchange: OperationExchange,
  value: unknown,
  filter: AnswerFilter | undefined,
): Promise<unknown> {
  const { form, request, reply } = exchange
  if (value instanceof LiveAnswer) return listen(exchange, value)
  if (!(value instanceof DirectAnswer)) {
    checkValue(form, value, request.state.upstreamCalls.at(-1)?.service as ServiceName | undefined)
    return sendDocument(exchange, filter === undefined ? value : filter.apply(value))
  }
  reply.headers(value.headers)
  const contentType = value.headers['content-type']
  if (
    contentType !== undefined &&
    (typeof value.body === 'string' || Buffer.isBuffer(value.body))
  ) {
    const bytes = typeof value.body === 'string' ? Buffer.from(value.body) : value.body
    return sendBytes(request, reply, value.status, bytes, contentType)
  }
  return sendValue(request, reply, value.status, value.body)
}

/** While a stream is open, its credentials may end and rights may change. @throws {GatewayError} */
export async function checkAgain(exchange: OperationExchange): Promise<void> {
  const { operation, request, platform, guard } = exchange
  if (!(await platform.login.stillCounts(request.state)))
    throw new GatewayError('LOGIN_REQUIRED', 'The login has ended.')
  await guard.check(operation, exchange)
}

/** Opens an event stream, and checks again while it is open. The credentials may have ended, or the rights changed. */
async function listen(exchange: OperationExchange, { subject }: LiveAnswer): Promise<unknown> {
  const { request, reply, platform, parts } = exchange
  const { state, headers } = request
  if (request.method === 'HEAD') return reply.headers(streamHeaders).send()
  const lastEventId = headers['last-event-id']
  await platform.streams.open({
    subject,
    client: reply.raw,
    lastEventId:
      typeof lastEventId === 'string' && lastEventId !== '' ? lastEventId.slice(0, 100) : undefined,
    caller:
      platform.login.active && state.user !== undefined
        ? `user ${toUserKey(state.user.username)}`
        : state.clientAddress,
    identity: callerIdentityOf(state, headers),
    checkRights: () => checkAgain(exchange),
    onWrite: (characters) => {
      state.streamedBytes = characters
    },
    begin: async () => {
      await platform.audited?.beforeStream(request, 200)
      reply.hijack()
      state.streamBeganAtMs = performance.now()
      return commonHeaders(request, parts.settings.echoedHeaders)
    },
  })
  return undefined
}
