/** One HTTP call; time, size, TLS, name resolution and connections are its policies. Redirects are answers. */
import type { IncomingHttpHeaders } from 'node:http'
import http from 'node:http'
import https from 'node:https'
import type { LookupFunction } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { readAnswerBytes } from './read-answer.ts'

type CallFault =
  /** A policy does not allow the address. */
  'forbidden' | 'unknown-host' | 'timeout' | 'failed'

export class CallError extends Error {
  override readonly name = 'CallError'
  readonly fault: CallFault
  /** Error code of the system: `ECONNREFUSED`. */
  readonly code: string | undefined

  constructor(fault: CallFault, message: string, code?: string) {
    super(message)
    this.fault = fault
    this.code = code
  }
}

export interface Call {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Buffer
  /** Ends the call. */
  readonly signal?: AbortSignal
  /** For the whole call. */
  readonly timeoutMs: number
  /** Without a byte. Default: `timeoutMs`. */
  readonly idleMs?: number
  /** Largest body. */
  readonly maxBytes: number
  readonly tls?: ConnectionOptions
  /** Resolves the host, and may refuse its addresses with a `CallError`. */
  readonly lookup?: LookupFunction
  /** Keeps connections. Default: a connection of its own. */
  readonly agent?: http.Agent
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

/** Error statuses are answers. @throws {CallError}; TypeError for a method or header that HTTP does not allow */
export async function call(wanted: Call): Promise<Answer> {
  const {
    method,
    url,
    headers,
    body,
    signal,
    timeoutMs,
    idleMs = timeoutMs,
    maxBytes,
    tls,
    lookup,
    agent,
  } = wanted
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
  const limit = AbortSignal.timeout(timeoutMs)
  const ends = signal === undefined ? limit : AbortSignal.any([signal, limit])
  let isLate = false
  const options: https.RequestOptions = {
    ...tls,
    ...(lookup !== undefined && { lookup }),
    method,
    headers: {
      ...headers,
      ...(body !== undefined && { 'content-length': String(Buffer.byteLength(body)) }),
    },
    timeout: idleMs,
    signal: ends,
    agent: agent ?? false,
  }
  // A method or header that HTTP does not allow is refused by an exception, which is no failure of the host.
  const sent = (url.protocol === 'https:' ? https : http).request(url, options, resolve)
  try {
    sent.on('timeout', () => {
      isLate = true
      sent.destroy()
    })
    sent.on('error', reject)
    // Without a response and without an error: the server switched protocols.
    sent.on('close', () =>
      reject(new Error('it closed the connection, or switched protocols, without a response')),
    )
    sent.end(body)
    const answer = await promise
    const tooLarge = () => new CallError('failed', `The response is larger than ${maxBytes} bytes.`)
    const bytes = await readAnswerBytes(answer, maxBytes, tooLarge)
    return { status: answer.statusCode ?? 0, headers: answer.headers, bytes }
  } catch (error) {
    // A response that was under way breaks off with another error.
    if (!(error instanceof CallError) && (isLate || ends.aborted))
      throw new CallError('timeout', `${url.host} did not answer within ${timeoutMs / 1000} s.`)
    throw toCallError(error, url.host)
  }
}

export function toCallError(error: unknown, host: string): CallError {
  if (error instanceof CallError) return error
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new CallError('unknown-host', `The host ${host} is unknown.`)
  return new CallError('failed', `${host} cannot be called: ${message}`, code)
}
