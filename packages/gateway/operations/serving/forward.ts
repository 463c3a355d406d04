/** Forwards requests to services: the call, and the answer as it comes unless something has to be looked into. */
import { GatewayError } from '@fairlead/base/errors.ts'
import { nothing } from '@fairlead/base/json/schemas.ts'
import { formatQuery, type QueryValue } from '@fairlead/base/net/encode-path.ts'
import { isReadMethod } from '@fairlead/base/telemetry/methods.ts'
import { prepareHeaders, sendValue } from '../../http/answer.ts'
import { acceptsGzip, yamlType } from '../../http/parse-accept.ts'
import type { AnswerReceiver } from '../../upstreams/client-answer.ts'
import { callerIdentityOf } from '../../upstreams/identity.ts'
import { passOn } from '../../upstreams/pass-on.ts'
import type { UpstreamCall } from '../../upstreams/upstream-call.ts'
import { checkServicePresent } from '../declare.ts'
import { linesType } from '../operation.ts'
import type { ForwardedCall } from '../route.ts'
import { formOfCall } from './answer-form.ts'
import { type CallRecord, isReadCall, type OperationExchange } from './exchange.ts'
import { attachBody } from './request-body.ts'
import { answerParsed, checkAgain, type FilteredCall, takesYaml } from './send-answer.ts'

const checkAgainMs = 3000

export async function answerForward(
  exchange: OperationExchange,
  forward: ForwardedCall,
): Promise<void> {
  const { operation, request, reply, platform, guard } = exchange
  const { service } = forward
  const noting = platform.audited?.begin(request, undefined)
  if (noting !== undefined) await noting
  if (operation.missingWhenDisabled) checkServicePresent(platform, service)
  if ('whenDisabled' in operation && !platform.upstreams.isEnabled(service)) {
    await sendValue(request, reply, 200, operation.whenDisabled)
    return
  }
  const call = toCall(forward, exchange)
  const filtering = guard.filterOf(operation, exchange)
  const filter = filtering && (await filtering)
  if (operation.body !== undefined) {
    const readsBody =
      looksInto(exchange, { service, call, filter }) || guard.readsBody(operation, exchange)
    await attachBody(exchange, call, readsBody)
  }
  return answerCall(exchange, { service, call, filter })
}

function toCall(
  forward: ForwardedCall,
  { path, query, otherQuery }: OperationExchange,
): UpstreamCall {
  return {
    // The gateway answers HEAD itself, from what GET finds.
    method: forward.method === 'OPTIONS' || forward.method === 'HEAD' ? 'GET' : forward.method,
    path:
      forward.path.fill(
        (name) => path[name] ?? (query[name] === undefined ? undefined : String(query[name])),
      ) + (forward.hasQuery ? formatQuery(toQuery(forward, { path, query, otherQuery })) : ''),
  }
}

function toQuery(
  forward: ForwardedCall,
  { path, query, otherQuery }: Pick<OperationExchange, 'path' | 'query' | 'otherQuery'>,
): Record<string, QueryValue> {
  const sent: Record<string, QueryValue> = { ...forward.constants }
  for (const name of forward.query) sent[forward.renamed[name] ?? name] = query[name] ?? path[name]
  if (forward.otherQuery) {
    for (const [name, value] of Object.entries(otherQuery)) {
      // Every object has a `constructor`, which is none of the client's.
      if (!Object.hasOwn(sent, name)) sent[name] = value
      else sent[name] ??= value
    }
  }
  return sent
}

export function answerCall(
  exchange: OperationExchange,
  filtered: FilteredCall,
): Promise<void> | undefined {
  if (looksInto(exchange, filtered)) return lookInto(exchange, filtered)
  stream(exchange, filtered)
  return undefined
}

async function lookInto(exchange: OperationExchange, filtered: FilteredCall): Promise<void> {
  try {
    await answerParsed(exchange, filtered)
  } catch (error) {
    await answerInstead(exchange, error)
  }
}

function looksInto(
  { operation, request }: OperationExchange,
  { call, filter }: FilteredCall,
): boolean {
  if (filter !== undefined || operation.pick !== undefined || operation.answer === nothing)
    return true
  return takesYaml(request) && call.headers?.['accept'] !== yamlType
}

async function answerInstead(exchange: OperationExchange, error: unknown): Promise<void> {
  const { operation, request, reply } = exchange
  const { on404 } = operation
  if (
    on404 === undefined ||
    !(error instanceof GatewayError) ||
    error.details.upstream?.status !== 404 ||
    ('answer' in on404 && on404.when?.(exchange) === false)
  )
    throw error
  if (!('answer' in on404))
    throw new GatewayError('NOT_FOUND', on404.message(exchange), {
      upstream: error.details.upstream,
    })
  await sendValue(request, reply, 200, on404.answer)
}

function stream(exchange: OperationExchange, { service, call }: FilteredCall): void {
  const { operation, form, request, reply, platform } = exchange
  const identity = callerIdentityOf(request.state, request.headers)
  if (operation.answerType === linesType) endWhenRefused(exchange)
  passOn(platform.upstreams, {
    service,
    call: withCondition(exchange, exchange.withClass(call)),
    identity,
    form: formOfCall(form, call),
    client: reply.raw,
    status: operation.success,
    gzip: acceptsGzip(request.headers['accept-encoding']),
    headersOnly: request.method === 'HEAD',
    receiver: new StreamReceiver(exchange, exchange.recordCall(service)),
  })
}

/** Lines may come without end. A permission service that does not answer ends none: the program that is read would end with it. */
function endWhenRefused(exchange: OperationExchange): void {
  const client = exchange.reply.raw
  const timer = setInterval(() => {
    checkAgain(exchange).catch((error: unknown) => {
      if (error instanceof GatewayError && error.status < 500) client.destroy()
    })
  }, checkAgainMs).unref()
  client.once('close', () => clearInterval(timer))
}

/** The service checks a condition on what is passed on as it is. */
function withCondition(
  { request: { headers, method } }: OperationExchange,
  call: UpstreamCall,
): UpstreamCall {
  const condition = headers['if-none-match']
  if (condition === undefined || !isReadMethod(method) || !isReadCall(call)) return call
  return { ...call, headers: { ...call.headers, 'if-none-match': condition } }
}

class StreamReceiver implements AnswerReceiver {
  readonly #exchange: OperationExchange
  readonly #record: CallRecord

  constructor(exchange: OperationExchange, record: CallRecord) {
    this.#exchange = exchange
    this.#record = record
  }

  beforeAnswer(status: number): Promise<void> | undefined {
    const { platform, request, operation } = this.#exchange
    return platform.audited?.beforeStream(request, operation.success ?? status)
  }

  begin(vary: string | undefined, tag?: string): string[] {
    const { request, reply, parts, platform } = this.#exchange
    if (request.method !== 'GET') platform.sharedReads?.changed()
    reply.hijack()
    const { echoedHeaders, browserCache } = parts.settings
    const isUnchanged = this.#record.call.status === 304
    return prepareHeaders(reply, echoedHeaders, vary, { tag, browserCache, isUnchanged })
  }

  progress(status: number, bytes: number): void {
    this.#record.call.status = status
    this.#exchange.request.state.streamedBytes = bytes
  }

  ended(error?: unknown): void {
    this.#record.end()
    if (error === undefined) return
    this.#record.call.status = (error as Partial<GatewayError>).details?.upstream?.status
    const { reply } = this.#exchange
    answerInstead(this.#exchange, error).catch((thrown: unknown) => void reply.send(thrown))
  }
}
