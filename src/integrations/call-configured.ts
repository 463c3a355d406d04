/** Calls to outside services whose addresses the configuration names. */
import type { IncomingHttpHeaders } from 'node:http'
import http from 'node:http'
import https from 'node:https'
import type { ConnectionOptions } from 'node:tls'
import { GatewayError } from '../errors.ts'
import { readAnswerBytes } from '../net/read-answer.ts'

export interface ConfiguredCall {
  /** For messages: `Slack`. */
  readonly name: string
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Buffer | undefined
  readonly tls?: ConnectionOptions | undefined
  /** Without a byte. The whole call may take a multiple of it. */
  readonly idleMs: number
}

export interface ConfiguredAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

const maxAnswerBytes = 32 * 1024 * 1024
const maxTimeouts = 4

/** Error statuses are answers; redirects are not followed. @throws {GatewayError} UPSTREAM_UNREACHABLE, UPSTREAM_TIMEOUT */
export async function callConfigured({
  name,
  method,
  url,
  headers,
  body,
  tls,
  idleMs,
}: ConfiguredCall): Promise<ConfiguredAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<ConfiguredAnswer>()
  const length = body === undefined ? {} : { 'content-length': String(body.length) }
  const signal = AbortSignal.timeout(idleMs * maxTimeouts)
  const options = { ...tls, method, headers: { ...headers, ...length }, timeout: idleMs, signal, agent: false as const }
  const tooLarge = () => new Error(`its answer has more than ${maxAnswerBytes} bytes`)
  const sent = (url.protocol === 'https:' ? https : http).request(url, options, (answer) => {
    readAnswerBytes(answer, maxAnswerBytes, tooLarge).then(
      (bytes) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, bytes }),
      reject,
    )
  })
  sent.on('timeout', () => sent.destroy(new DOMException('no byte in time', 'TimeoutError')))
  sent.on('error', reject)
  sent.end(body)
  try {
    return await promise
  } catch (cause) {
    if ((cause as Error).name === 'TimeoutError' || (cause as Error).name === 'AbortError')
      throw new GatewayError('UPSTREAM_TIMEOUT', `${name} did not answer in time.`, { cause })
    throw new GatewayError('UPSTREAM_UNREACHABLE', `${name} cannot be reached. The log of Fairlead has the reason.`, { cause })
  }
}

/** The answer as JSON. @throws {GatewayError} UPSTREAM_UNREACHABLE, UPSTREAM_TIMEOUT, UPSTREAM_UNREADABLE for error statuses, too */
export async function readConfigured(call: ConfiguredCall): Promise<unknown> {
  const { status, bytes } = await callConfigured(call)
  if (status !== 200) throw new GatewayError('UPSTREAM_UNREADABLE', `${call.name} answered with status ${status}.`)
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown
  } catch (cause) {
    throw new GatewayError('UPSTREAM_UNREADABLE', `${call.name} did not answer with JSON.`, { cause })
  }
}
