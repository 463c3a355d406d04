/** Calls to one build server: bounded, with its credentials and certificates, and cheap where nothing has changed. */
import http from 'node:http'
import https from 'node:https'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { numberOf } from '@fairlead/base/json/values.ts'
import { CallError } from '@fairlead/base/net/call.ts'
import {
  addressFrom,
  type CallOutside,
  createOutsideCalls,
  followRedirects,
  isLimiting,
  type OperatorAddress,
  type OutsideAnswer,
  type OutsideTls,
  operatorAddress,
  retryAfterOf,
} from '@fairlead/base/outside/call-outside.ts'
import type { OutsideSettings } from '@fairlead/base/outside/settings.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { LRUCache } from 'lru-cache'
import { ServerCircuit } from './server-circuit.ts'

export interface ServerAccess {
  /** Name of the build server, for messages. */
  readonly name: string
  /** Without a slash at its end. */
  readonly address: string
  /** The setting with address and credentials, for advice: `jenkins.masters`. */
  readonly settingKey: string
  /** What the credentials need, as a sentence: `The token needs the scope "api".` */
  readonly advice?: string
  /** Headers that only the server gets, such as `authorization`; read for each call, so that files may change. */
  readonly credentials?: () => Promise<Readonly<Record<string, string>>>
  readonly tls?: OutsideTls
}

interface ServerCall {
  /** Default: `GET`. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent as the fields of a form. */
  readonly form?: Readonly<Record<string, string>>
  /** Statuses that the caller deals with, besides those of success. */
  readonly expects?: readonly number[]
  readonly timeoutMs?: number
  readonly maxBytes?: number
  readonly signal?: AbortSignal
  /** A redirect to another server is followed, within the restrictions and without credentials: downloads of logs and files. */
  readonly mayLeave?: true
}

export interface ServerCalls {
  /**
   * @param path Below the address; or an absolute URL of the same origin, such as that of a next page
   * @throws {PortError} 404; 502 when it denies access or answers with something else; 503 when it cannot be reached or limits
   *   calls; 504 when it is not known whether a call that changes something arrived; and its own status from 500
   */
  send(path: string, call?: ServerCall): Promise<OutsideAnswer>
  /** Undefined: it answers 404. @throws {PortError} as `send`, and 502 when the answer is not JSON */
  load(path: string, call?: ServerCall): Promise<unknown>
  /** The same by a conditional request, as far as the server sends entity tags: what has not changed is the same value. */
  loadIfChanged(path: string): Promise<unknown>
  /** A file of a build, which may be stored elsewhere. Undefined: there is none. @throws {PortError} as `send` */
  download(path: string, maxBytes: number): Promise<Buffer | undefined>
  close(): void
}

const usualTimeoutMs = 20_000
const usualMaxBytes = 16 * 1024 * 1024
const maxConnections = 8
/** Characters of kept answers. */
const maxKept = 8 * 1024 * 1024

interface Kept {
  readonly tag: string
  readonly value: unknown
  readonly length: number
}

export function createServerCalls(
  access: ServerAccess,
  { settings, steady }: Pick<BackendContext, 'settings' | 'steady'>,
): ServerCalls {
  const circuit = new ServerCircuit(steady)
  const agents = {
    'http:': new http.Agent({ keepAlive: true, maxSockets: maxConnections }),
    'https:': new https.Agent({ keepAlive: true, maxSockets: maxConnections }),
  }
  const kept = new LRUCache<string, Kept>({
    maxSize: maxKept,
    sizeCalculation: ({ length }) => Math.max(1, length),
  })
  const server = operatorAddress(access.address, '', access.tls)
  const parts = { access, circuit, agents, outside: settings.outside, server }
  const send = async (path: string, call: ServerCall = {}) =>
    follow(parts, toUrl(parts, path), call)
  return {
    send,
    async load(path, call = {}) {
      const answer = await send(path, { ...call, expects: [...(call.expects ?? []), 404] })
      return answer.status === 404 ? undefined : parseAnswer(access, answer)
    },
    async loadIfChanged(path) {
      const known = kept.get(path)
      const answer = await send(path, {
        ...(known && { headers: { 'if-none-match': known.tag } }),
        expects: [304, 404],
      })
      if (answer.status === 404) return undefined
      if (answer.status === 304 && known !== undefined) return known.value
      const value = parseAnswer(access, answer)
      const tag = answer.headers['etag']
      if (typeof tag === 'string') kept.set(path, { tag, value, length: answer.text.length })
      return value
    },
    async download(path, maxBytes) {
      const answer = await send(path, { maxBytes, expects: [404, 410], mayLeave: true })
      return answer.status >= 400 ? undefined : answer.bytes
    },
    close() {
      for (const agent of Object.values(agents)) agent.destroy()
    },
  }
}

interface CallParts {
  readonly access: ServerAccess
  readonly circuit: ServerCircuit
  readonly agents: { readonly 'http:': http.Agent; readonly 'https:': https.Agent }
  readonly outside: OutsideSettings
  readonly server: OperatorAddress
}

/** @throws {PortError} 502 for a path that leads elsewhere */
function toUrl({ access, server }: CallParts, path: string): string | OperatorAddress {
  if (!path.startsWith('/')) return addressFrom(path, [server])
  try {
    return operatorAddress(access.address, path, access.tls)
  } catch (error) {
    throw toServerError(access, error, true)
  }
}

/** Only reads are redirected: what a changing call redirects to is a page for people. */
async function follow(
  parts: CallParts,
  first: string | OperatorAddress,
  call: ServerCall,
): Promise<OutsideAnswer> {
  const { access, server } = parts
  const ask = async (url: string | OperatorAddress) => {
    if (url !== first && typeof url === 'string' && call.mayLeave !== true) {
      const text = `The build server "${access.name}" redirects to ${URL.parse(url)?.origin ?? 'a malformed address'}.`
      throw new PortError(
        502,
        `${text} Set its address in ${access.settingKey} to where it is now.`,
      )
    }
    const answer = await callOnce(parts, url, call)
    parts.circuit.succeed()
    return answer
  }
  try {
    const answer = isReading(call)
      ? (await followRedirects(first, [server], ask)).answer
      : await ask(first)
    return checkAnswer(parts, answer, call)
  } catch (error) {
    throw toServerError(access, error, true)
  }
}

async function callOnce(
  parts: CallParts,
  url: string | OperatorAddress,
  call: ServerCall,
): Promise<OutsideAnswer> {
  const { access, circuit } = parts
  const isOwn = typeof url !== 'string'
  const credentials = isOwn ? await access.credentials?.() : undefined
  checkOpen(parts)
  const isRead = isReading(call)
  const { type, body } = toBody(call)
  const headers = {
    'user-agent': 'fairlead',
    accept: '*/*',
    ...type,
    ...call.headers,
    ...credentials,
  }
  const request = { method: call.method ?? 'GET', url, headers, body, signal: call.signal }
  const outsideCall = createCall(parts, call)
  try {
    const answer = outsideCall(request)
    return await (isRead
      ? answer.catch((error) => retryOnce(error, () => outsideCall(request)))
      : answer)
  } catch (error) {
    if (call.signal?.aborted !== true && isOwn && isSilence(error)) circuit.fail()
    else circuit.abandon()
    throw toServerError(access, error, isRead)
  }
}

function isReading({ method = 'GET' }: ServerCall): boolean {
  return method === 'GET'
}

function createCall({ agents, outside }: CallParts, call: ServerCall): CallOutside {
  return createOutsideCalls(outside, {
    maxAnswerBytes: call.maxBytes ?? usualMaxBytes,
    timeoutMs: call.timeoutMs ?? usualTimeoutMs,
    caller: 'Build servers',
    // A kept connection may be closed just as a request is sent, which is harmless for reads only.
    ...(isReading(call) && { agents }),
  })
}

/** A connection that was reset may have been a kept one. */
function retryOnce(error: unknown, call: () => Promise<OutsideAnswer>): Promise<OutsideAnswer> {
  if (error instanceof CallError && (error.code === 'ECONNRESET' || error.code === 'EPIPE'))
    return call()
  throw error
}

function toBody({ json, form }: ServerCall): {
  type: Record<string, string>
  body: string | undefined
} {
  if (json !== undefined)
    return { type: { 'content-type': 'application/json' }, body: formatJson(json) }
  if (form === undefined) return { type: {}, body: undefined }
  return {
    type: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ ...form }).toString(),
  }
}

/** @throws {PortError} 503 */
function checkOpen({ access: { name }, circuit }: CallParts): void {
  const { limitedMs } = circuit
  if (limitedMs > 0) throw limitError(name, limitedMs)
  if (!circuit.enter())
    throw new PortError(
      503,
      `The build server "${name}" did not answer the last calls, and is called again in a few seconds.`,
    )
}

function limitError(name: string, ms: number): PortError {
  return new PortError(
    503,
    `The build server "${name}" limits calls for ${Math.ceil(ms / 1000)} s more.`,
  )
}

/** Not an answer that is too large. */
function isSilence(error: unknown): boolean {
  return error instanceof CallError && (error.fault !== 'failed' || error.code !== undefined)
}

/** Whether an unanswered call arrived is not known, unless no connection was made. */
function toServerError({ name }: ServerAccess, error: unknown, isRead: boolean): unknown {
  if (!(error instanceof CallError)) return error
  if (error.fault === 'forbidden') return new PortError(502, error.message)
  if (!isSilence(error))
    return new PortError(
      502,
      `The answer of the build server "${name}" cannot be used: ${error.message}`,
    )
  const isUnsent = error.fault === 'unknown-host' || error.code === 'ECONNREFUSED'
  return new PortError(
    isRead || isUnsent ? 503 : 504,
    `The build server "${name}" cannot be reached: ${error.message}`,
  )
}

function checkAnswer(
  { access, circuit }: CallParts,
  answer: OutsideAnswer,
  call: ServerCall,
): OutsideAnswer {
  const { status } = answer
  const { expects = [], mayLeave } = call
  const { name, settingKey, advice = 'They do not allow this call.' } = access
  const limitMs = limitOf(answer)
  if (limitMs !== undefined) {
    circuit.limit(limitMs)
    throw limitError(name, limitMs)
  }
  if ((status >= 200 && status < 300) || expects.includes(status)) return answer
  if (status === 404 || status === 410)
    throw new PortError(
      404,
      `The build server "${name}" has no such job, build or file (${status}). Check the name, and that its credentials may read it.`,
    )
  const text = `The build server "${name}" answered with ${status}.`
  // A proxy before the server answers so while the server is away.
  if (status === 502 || status === 504) throw new PortError(isReading(call) ? 503 : 504, text)
  if (status >= 500) throw new PortError(status, text)
  const isDenied = (status === 401 || status === 403) && mayLeave === undefined
  throw new PortError(
    502,
    isDenied ? `${text} Check the credentials in ${settingKey}. ${advice}` : text,
  )
}

/** How long the server accepts no calls. */
function limitOf(answer: OutsideAnswer): number | undefined {
  if (!isLimiting(answer)) return undefined
  const { headers } = answer
  const resetS = numberOf(headers['x-ratelimit-reset'] ?? headers['ratelimit-reset'])
  const resetMs = resetS === undefined ? undefined : resetS * 1000 - Date.now()
  return Math.max(1_000, retryAfterOf({ headers }) ?? resetMs ?? 60_000)
}

/** @throws {PortError} 502 */
function parseAnswer({ name, settingKey }: ServerAccess, { text }: OutsideAnswer): unknown {
  try {
    return parseJson(text)
  } catch {
    throw new PortError(
      502,
      `The build server "${name}" answered with something else than JSON. Check its address in ${settingKey}.`,
    )
  }
}
