/** Calls of Spinnaker's services, with the HTTP client of Node. */
import type { IncomingMessage, RequestOptions } from 'node:http'
import http from 'node:http'
import https from 'node:https'
import { formatJson } from '@fairlead/base/json/json.ts'
import { parseInPortions } from '@fairlead/base/json/list-portions.ts'
import { usersOf } from '@fairlead/base/names/acting-users.ts'
import { toHeaderText } from '@fairlead/base/net/header-text.ts'
import { readAnswerBytes } from '@fairlead/base/net/read-answer.ts'
import type { ServiceTls } from '@fairlead/base/services/service-tls.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import { withoutSlash } from '@fairlead/base/settings/setting.ts'
import {
  type CallService,
  type ServiceAnswer,
  type ServiceCall,
  ServiceOffError,
} from '@fairlead/ports/service-call.ts'

interface CallServiceSettings {
  /** Base URLs of those that are on. */
  services: Partial<Record<ServiceName, string>>
  /** Longest silence of a service. */
  timeoutMs: number
  maxAnswerBytes: number
  tls?: ServiceTls
}

const maxConnections = 64
/** Silence ends a call earlier; a service that answers byte by byte must not hold its caller for good. */
const longestCallMs = 10 * 60_000

export function createServiceCalls(settings: CallServiceSettings) {
  const agents = {
    'http:': new http.Agent({ keepAlive: true, maxSockets: maxConnections }),
    'https:': new https.Agent({ keepAlive: true, maxSockets: maxConnections, ...settings.tls }),
  }
  const call: CallService = async (service, request) => {
    const baseUrl = settings.services[service]
    if (baseUrl === undefined) throw new ServiceOffError(service)
    const url = new URL(baseUrl)
    const protocol = url.protocol as 'http:' | 'https:'
    const text = request.body === undefined ? undefined : formatJson(request.body)
    const options = {
      ...toOptions(forOneUser(request), url, text),
      agent: agents[protocol],
      ...limitsOf(settings),
    }
    const form = { maxBytes: settings.maxAnswerBytes, wantsBytes: request.wantsBytes === true }
    const answer = await send(
      protocol === 'https:' ? https.request : http.request,
      options,
      text,
      form,
    )
    if (answer.status < 300 && typeof answer.body === 'string' && /^\s*</.test(answer.body)) {
      throw new Error(
        `${service} answered with a page of HTML; check services.${service}.baseUrl and the proxies on the way there.`,
      )
    }
    return answer
  }
  const close = () => {
    for (const agent of Object.values(agents)) agent.destroy()
  }
  return { call, close }
}

/** A service elsewhere knows one user a call: the last of several, who has steered what happens. */
function forOneUser(request: ServiceCall): ServiceCall {
  const user = usersOf(request.headers?.['x-spinnaker-user'] ?? '').at(-1)
  return user ? { ...request, headers: { ...request.headers, 'x-spinnaker-user': user } } : request
}

function toOptions(
  { method, path, headers = {}, wantsBytes }: ServiceCall,
  url: URL,
  text: string | undefined,
): RequestOptions {
  return {
    // The parts of a request name an IPv6 address as it is; only URLs have it in brackets.
    hostname: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port,
    method,
    path: withoutSlash(url.pathname) + path,
    headers: {
      accept: wantsBytes === true ? '*/*' : 'application/json',
      ...(headers['x-spinnaker-user'] === undefined && { 'x-spinnaker-anonymous': 'anonymous' }),
      ...(text !== undefined && {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(text)),
      }),
      ...Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, toHeaderText(value)]),
      ),
    },
  }
}

function limitsOf({ timeoutMs }: CallServiceSettings): RequestOptions {
  return { timeout: timeoutMs, signal: AbortSignal.timeout(Math.max(longestCallMs, timeoutMs)) }
}

interface AnswerLimits {
  readonly maxBytes: number
  readonly wantsBytes: boolean
}

function send(
  request: typeof http.request,
  options: RequestOptions,
  text: string | undefined,
  form: AnswerLimits,
): Promise<ServiceAnswer> {
  return new Promise((resolve, reject) => {
    let isAnswered = false
    const sent = request(options, (answer) => {
      isAnswered = true
      readAnswer(answer, form).then(resolve, reject)
    })
    sent.on('timeout', () => sent.destroy(new Error(`no answer within ${options.timeout} ms`)))
    sent.on('error', reject)
    // Without a response and without an error: the service switched protocols.
    sent.on('close', () => {
      if (!isAnswered)
        reject(new Error('the connection was closed, or switched protocols, without an answer'))
    })
    sent.end(text)
  })
}

async function readAnswer(
  answer: IncomingMessage,
  { maxBytes, wantsBytes }: AnswerLimits,
): Promise<ServiceAnswer> {
  const bytes = await readAnswerBytes(
    answer,
    maxBytes,
    () => new Error(`the answer is larger than ${maxBytes} bytes`),
  )
  const status = answer.statusCode ?? 0
  const body = wantsBytes && status < 300 ? bytes : await parseAnswer(bytes.toString('utf8'))
  return { status, body }
}

async function parseAnswer(text: string): Promise<unknown> {
  if (text === '') return undefined
  try {
    return await parseInPortions(text)
  } catch {
    return text
  }
}
