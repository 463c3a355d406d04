/** HTTP calls to an instance: one document, or a stream; errors become failures with the exit codes of a command. */
import type { IncomingMessage, OutgoingHttpHeaders, RequestOptions } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { exitCodes, Failure } from './failure.ts'
import type { Output } from './output.ts'
import type { Target } from './session.ts'

/** Loaded without reading their exports, one of which brings a second HTTP client: 40 ms of a start. */
const http = process.getBuiltinModule('node:http')
const https = process.getBuiltinModule('node:https')

type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

interface CallOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as it is, instead of `body`. */
  readonly bytes?: Uint8Array | NodeJS.ReadableStream
  readonly headers?: OutgoingHttpHeaders
  /** Ends the call; its promise rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
}

interface Call extends CallOptions {
  readonly method: Method
  readonly url: URL
  /** Redirects that were followed. */
  readonly hops: number
}

const connectMs = 5000
const mostHops = 5
/** The instance closes a call without an answer before that. */
const silenceMs = 120_000

/** Operations that Spinnaker's Gate does not have, where it answers 404 without saying which is missing. */
const ownPaths = /^\/(?:apps|auth\/device|auth\/apiTokens|secrets|images)(?:\/|$)/

export class Client {
  readonly target: Target
  readonly #output: Output
  readonly #agents = { 'http:': openAgent(http), 'https:': openAgent(https) }

  constructor(target: Target, output: Output) {
    this.target = target
    this.#output = output
  }

  get url(): string {
    return this.target.url
  }

  /** @param path Below the address of the instance, encoded; `pathOf` writes it. @throws {Failure} */
  async get<T>(path: string, options: CallOptions = {}): Promise<T> {
    return (await this.call('GET', path, options)) as T
  }

  async post<T>(path: string, body?: unknown, options: CallOptions = {}): Promise<T> {
    return (await this.call('POST', path, { body, ...options })) as T
  }

  async put<T>(path: string, body?: unknown, options: CallOptions = {}): Promise<T> {
    return (await this.call('PUT', path, { body, ...options })) as T
  }

  async delete<T>(path: string, options: CallOptions = {}): Promise<T> {
    return (await this.call('DELETE', path, options)) as T
  }

  /** The document of the answer; undefined when it is empty. @throws {Failure} */
  async call(method: Method, path: string, options: CallOptions = {}): Promise<unknown> {
    const response = await this.open(method, path, options)
    const text = await this.#receive(readText(response))
    if (text === '') return undefined
    try {
      return JSON.parse(text)
    } catch (cause) {
      throw this.#notAnInstance(cause)
    }
  }

  /** Objects of an answer with one in each line, as they arrive; empty lines are signs of life. @throws {Failure} */
  async *lines<T>(path: string, options: CallOptions = {}): AsyncGenerator<T> {
    const headers = { accept: 'application/x-ndjson', ...options.headers }
    const response = await this.open('GET', path, { ...options, headers })
    response.setEncoding('utf8')
    let rest = ''
    try {
      for await (const piece of response as AsyncIterable<string>) {
        const lines = (rest + piece).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) if (line.trim() !== '') yield JSON.parse(line) as T
      }
      if (rest.trim() !== '') yield JSON.parse(rest) as T
    } catch (error) {
      throw error instanceof SyntaxError ? this.#notAnInstance(error) : this.#toFailure(error)
    } finally {
      response.destroy()
    }
  }

  /** The answer as it arrives, with a status below 300. @throws {Failure} */
  async open(method: Method, path: string, options: CallOptions = {}): Promise<IncomingMessage> {
    const url = new URL(this.url + path)
    for (const [name, value] of Object.entries(options.query ?? {}))
      if (value !== undefined) url.searchParams.append(name, String(value))
    return this.#follow({ ...options, method, url, hops: 0 })
  }

  close(): void {
    for (const agent of Object.values(this.#agents)) agent.destroy()
  }

  async #follow(call: Call): Promise<IncomingMessage> {
    const startMs = Date.now()
    const response = await this.#send(call)
    const { statusCode = 0, headers } = response
    this.#output.detail(
      `${call.method} ${call.url.pathname}${call.url.search} ${statusCode} in ${Date.now() - startMs} ms`,
    )
    if (statusCode < 300) return response
    if (statusCode < 400 && headers.location !== undefined) {
      response.resume()
      return this.#redirect(call, headers.location)
    }
    throw toRefusal(await this.#receive(readText(response)), statusCode, call, this.target)
  }

  /** Only requests that change nothing are repeated elsewhere. */
  #redirect(call: Call, location: string): Promise<IncomingMessage> {
    const url = URL.parse(location, call.url)
    const isRepeatable = call.method === 'GET' || call.method === 'HEAD'
    const isLogin = url !== null && /\/(login|oauth2\/authorization|saml)\b/.test(url.pathname)
    if (isLogin) throw toRefusal('', 401, call, this.target)
    if (url === null || !/^https?:$/.test(url.protocol) || call.hops >= mostHops || !isRepeatable) {
      throw new Failure(
        exitCodes.unreachable,
        'REDIRECTED',
        `${this.url} redirects to ${url?.origin ?? location}.`,
        { remedy: 'Log in at that address: fairlead login URL' },
      )
    }
    return this.#follow({ ...call, url, hops: call.hops + 1 })
  }

  #send(call: Call): Promise<IncomingMessage> {
    const { method, url, body, bytes, signal } = call
    const text = body === undefined ? undefined : JSON.stringify(body)
    const options: RequestOptions = {
      method,
      signal,
      agent: this.#agents[url.protocol as 'http:' | 'https:'],
      headers: {
        accept: 'application/json',
        'user-agent': 'fairlead-cli',
        ...(text !== undefined && {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(text),
        }),
        ...call.headers,
        ...this.#credentials(url),
      },
    }
    return new Promise((resolve, reject) => {
      const fail = (error: Error) => reject(this.#toFailure(error))
      const request = (url.protocol === 'https:' ? https : http).request(url, options, resolve)
      request.on('error', fail)
      request.on('socket', (socket) => {
        if (!socket.connecting) return
        const timer = setTimeout(() => request.destroy(new ConnectTimeout()), connectMs)
        const isEncrypted = url.protocol === 'https:'
        socket.once(isEncrypted ? 'secureConnect' : 'connect', () => clearTimeout(timer))
        socket.once('close', () => clearTimeout(timer))
      })
      request.setTimeout(silenceMs, () => request.destroy(new Error('there was no answer')))
      if (bytes === undefined || bytes instanceof Uint8Array) request.end(bytes ?? text)
      else bytes.on('error', fail).pipe(request)
    })
  }

  /** The token goes to the origin it belongs to, and to no other. */
  #credentials({ origin }: URL): OutgoingHttpHeaders {
    const { token, url } = this.target
    return token !== undefined && origin === new URL(url).origin
      ? { authorization: `Bearer ${token}` }
      : {}
  }

  async #receive<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer
    } catch (error) {
      throw this.#toFailure(error)
    }
  }

  #toFailure(error: unknown): unknown {
    if (error instanceof Failure || (error as Error).name === 'AbortError') return error
    const { code = '', message } = error as NodeJS.ErrnoException
    if (isTrustFault(code)) {
      return new Failure(
        exitCodes.unreachable,
        'CERTIFICATE_NOT_TRUSTED',
        `The certificate of ${this.url} is not trusted: ${message}.`,
        {
          remedy: 'Name the file of its authority: NODE_EXTRA_CA_CERTS=authority.pem fairlead …',
          cause: error,
        },
      )
    }
    const fault = describeFault(error as NodeJS.ErrnoException)
    const [text, remedy] = ['ECONNRESET', 'EPIPE'].includes(code)
      ? ['broke off the connection', 'What was sent may have taken effect: see fairlead status.']
      : ['cannot be reached', 'Check the address, and that the instance runs there.']
    return new Failure(exitCodes.unreachable, 'UNREACHABLE', `${this.url} ${text}: ${fault}.`, {
      remedy,
      cause: error,
    })
  }

  #notAnInstance(cause: unknown): Failure {
    return new Failure(
      exitCodes.unreachable,
      'NO_INSTANCE',
      `${this.url} answers, but not as a Fairlead or Gate: the answer is no JSON.`,
      { remedy: 'Check the address; it is the one of the API, not of a web page.', cause },
    )
  }
}

class ConnectTimeout extends Error {
  constructor() {
    super(`no connection within ${connectMs / 1000} seconds`)
  }
}

/** Through the proxy of `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`. */
function openAgent({ Agent }: typeof http | typeof https) {
  return new Agent({ keepAlive: true, proxyEnv: process.env })
}

function isTrustFault(code: string): boolean {
  return /CERT|UNABLE_TO_|SELF_SIGNED/.test(code)
}

function describeFault(error: NodeJS.ErrnoException & { errors?: readonly Error[] }): string {
  const { code, message, errors } = error
  if (code === 'ECONNREFUSED') return 'nothing listens there'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the name has no address'
  return message || errors?.[0]?.message || code || 'the connection failed'
}

/** What an instance or Gate says about an error. */
interface ErrorBody {
  readonly code?: string
  readonly message?: string
  readonly error?: string
  readonly remedy?: string
  readonly line?: number
}

function toRefusal(text: string, status: number, { url, method }: Call, target: Target): Failure {
  const body = readErrorBody(text)
  const code = body.code ?? `HTTP_${status}`
  const message = body.message ?? body.error ?? `The answer has the status ${status}.`
  const { remedy, line } = body
  if (status === 401) {
    const reason =
      target.token === undefined
        ? `You are not logged in to ${target.url}.`
        : `${target.url} rejects your token: it has expired or was revoked.`
    return new Failure(exitCodes.denied, code, reason, {
      remedy: `Log in with: fairlead login ${target.url}`,
    })
  }
  if (status === 403)
    return new Failure(exitCodes.denied, code, message, {
      remedy: remedy ?? 'Ask an administrator for the right.',
    })
  const isUnknown =
    code === 'NO_ROUTE' ||
    status === 405 ||
    (status === 404 && body.code === undefined && ownPaths.test(pathBelow(url, target)))
  if (isUnknown) {
    return new Failure(
      exitCodes.unreachable,
      'OPERATION_UNKNOWN',
      `${target.url} does not have the operation ${method} ${pathBelow(url, target)}.`,
      { remedy: 'It is Gate, or an older Fairlead: use an instance that has it.' },
    )
  }
  const exit =
    status >= 502 ? exitCodes.unreachable : isMisuse(status) ? exitCodes.misuse : exitCodes.failed
  return new Failure(exit, code, message, { remedy, line })
}

function isMisuse(status: number): boolean {
  return [400, 404, 413, 415, 422].includes(status)
}

function pathBelow({ pathname }: URL, target: Target): string {
  return pathname.slice(new URL(target.url).pathname.replace(/\/$/, '').length)
}

function readErrorBody(text: string): ErrorBody {
  try {
    const body = JSON.parse(text) as ErrorBody | null
    return typeof body === 'object' && body !== null ? body : {}
  } catch {
    return {}
  }
}
