/** Writes responses: common headers, JSON or YAML bodies, compression. */
import { promisify } from 'node:util'
import { gzip as gzipCallback } from 'node:zlib'
import type { GatewayError } from '@fairlead/base/errors.ts'
import { formatYamlAside } from '@fairlead/base/json/bodies/documents-aside.ts'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { entityTagOf, isKnown, keptByBrowser, varying } from '@fairlead/base/net/validators.ts'
import { prepareHead } from '@fairlead/base/runtime/response-head.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isNavigation } from './caller.ts'
import { type ErrorAnswer, toErrorAnswer } from './error-answer.ts'
import { createErrorPage } from './error-page.ts'
import { keptDocumentOf, type Sendable } from './kept-documents.ts'
import { acceptsGzip, parseAccept, yamlTypeFor } from './parse-accept.ts'

const gzip: (bytes: Buffer) => Promise<Buffer> = promisify(gzipCallback)
const minGzipBytes = 2048
/** Characters of JSON that become YAML in the main thread, in some milliseconds. */
const maxYamlAtOnce = 16 * 1024

const securityHeaders = {
  'cache-control': 'no-cache, no-store, max-age=0, must-revalidate',
  pragma: 'no-cache',
  expires: '0',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-xss-protection': '0',
} as const
const encryptedHeaders = {
  ...securityHeaders,
  'strict-transport-security': 'max-age=31536000 ; includeSubDomains',
} as const
/**
 * A 304 has what may differ from the stored response, and what scripts of other origins need to read it. Everything else of the
 * stored response stays as it is.
 *
 * @see RFC 9110, section 15.4.5
 */
const unchangedHeaders = {
  'cache-control': securityHeaders['cache-control'],
  expires: securityHeaders.expires,
} as const
const forPreflightsOnly = new Set([
  'access-control-allow-methods',
  'access-control-allow-headers',
  'access-control-max-age',
])
const requestIdHeader = 'x-spinnaker-request-id'

/** Lower-case names of the request headers that are echoed, `interceptors.responseHeader.fields`; only the request id by default. */
export type EchoedHeaders = readonly string[]

type AnswerHeaders = Record<string, string | string[]>

/**
 * Headers of every answer, streamed ones included: security, request id, and what steps decided.
 *
 * @see docs/contracts/http.md#headers-of-responses
 */
export function commonHeaders(
  request: FastifyRequest,
  echoed: EchoedHeaders,
  status?: number,
): AnswerHeaders {
  const { shared, own } = partHeaders(request, echoed, status === 304)
  return Object.assign({}, ...shared, own)
}

function partHeaders(
  { state, headers: sent }: FastifyRequest,
  echoed: EchoedHeaders,
  isUnchanged: boolean,
): { shared: readonly Readonly<Record<string, string>>[]; own: AnswerHeaders } {
  const security = state.scheme === 'https' ? encryptedHeaders : securityHeaders
  const shared = isUnchanged
    ? [unchangedHeaders]
    : state.corsHeaders === undefined
      ? [security]
      : [security, state.corsHeaders]
  const own = { ...state.answerHeaders }
  if (isUnchanged) for (const name of forPreflightsOnly) delete own[name]
  for (const name of echoed) {
    const value = name === requestIdHeader ? state.requestId : sent[name]
    if (typeof value === 'string') own[name] = value
  }
  return { shared, own }
}

/**
 * The same for answers that are written past the framework: what is shared is prepared, the others are returned.
 *
 * @param vary What else the answer depends on.
 * @param validation Its tag is missing in a 304 of a service that has sent none.
 * @returns names and values in turn, for `writeHead`
 */
export function prepareHeaders(
  { request, raw }: FastifyReply,
  echoed: EchoedHeaders,
  vary: string | undefined,
  { tag, browserCache, isUnchanged }: Validation & { isUnchanged: boolean },
): string[] {
  const { shared, own } = partHeaders(request, echoed, isUnchanged)
  const isKept = browserCache && tag !== undefined
  const names = isKept ? varying : vary
  if (isKept) own['cache-control'] = keptByBrowser
  if (names !== undefined) own['vary'] = addVary(request.state.answerHeaders['vary'], names)
  if (tag !== undefined) own['etag'] = tag
  const list: string[] = []
  for (const headers of shared) {
    if (!overlaps(own, headers)) prepareHead(raw, headers)
    else for (const name in headers) if (!(name in own)) list.push(name, headers[name] as string)
  }
  for (const name in own) {
    const value = own[name] as string | string[]
    if (typeof value === 'string') list.push(name, value)
    else for (const one of value) list.push(name, one)
  }
  return list
}

function overlaps(own: AnswerHeaders, shared: Readonly<Record<string, string>>): boolean {
  for (const name in own) if (name in shared) return true
  return false
}

export interface Validation {
  readonly tag?: string
  readonly browserCache: boolean
}

/**
 * Sends a value as JSON or YAML, as the client prefers. Undefined and null become an empty body without a content type.
 * The format must have been agreed on before: an unacceptable Accept header falls back to JSON here.
 *
 * @throws {GatewayError} NOT_ACCEPTABLE for what is too large for YAML, TOO_MANY_BODIES
 * @param validation The answer gets a validator, and is 304 without a body for clients that have it.
 */
export async function sendValue(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  value: unknown,
  validation?: Validation,
): Promise<FastifyReply> {
  if (value === undefined || value === null)
    return reply.code(status).header('content-length', '0').send()
  const yaml = parseAccept(request.headers.accept, ['json', 'yaml']) === 'yaml'
  const contentType = yaml ? yamlTypeFor(request.headers.accept) : 'application/json'
  const format = () => (yaml ? formatAsYaml(value, request) : Buffer.from(formatAsJson(value)))
  if (validation === undefined)
    return sendBytes(request, reply, status, await format(), contentType)
  const kept = yaml ? undefined : keptDocumentOf(value)
  const tag = yaml ? undefined : (validation.tag ?? kept?.tag)
  if (tag !== undefined && isKnownTo(request, reply, tag, validation)) return reply.code(304).send()
  if (kept !== undefined) return sendBytes(request, reply, status, kept, contentType)
  const bytes = await format()
  if (tag === undefined && isKnownTo(request, reply, entityTagOf(bytes), validation))
    return reply.code(304).send()
  return sendBytes(request, reply, status, bytes, contentType)
}

export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

function formatAsJson(value: unknown): string {
  return value instanceof JsonText ? value.text : formatJson(value)
}

/** YAML takes some 250 ms a megabyte. @throws {GatewayError} NOT_ACCEPTABLE, TOO_MANY_BODIES */
async function formatAsYaml(value: unknown, { state }: FastifyRequest): Promise<Buffer> {
  const json = formatAsJson(value)
  if (json.length > maxYamlAtOnce)
    return formatYamlAside(json, { isStranger: state.user === undefined })
  const { formatYaml } = await import('@fairlead/base/json/yaml.ts')
  return Buffer.from(formatYaml(value instanceof JsonText ? parseJson(json) : value))
}

export function sendUnchanged(
  request: FastifyRequest,
  reply: FastifyReply,
  tag: string | undefined,
  validation: Validation,
): FastifyReply {
  if (tag !== undefined) isKnownTo(request, reply, tag, validation)
  return reply.code(304).send()
}

function isKnownTo(
  { state, headers }: FastifyRequest,
  reply: FastifyReply,
  tag: string,
  { browserCache }: Validation,
): boolean {
  reply.header('etag', tag)
  if (browserCache)
    reply.headers({
      'cache-control': keptByBrowser,
      vary: addVary(state.answerHeaders['vary'], varying),
    })
  return isKnown(headers['if-none-match'], tag)
}

/** Documents that are kept are compressed once. */
const packedBytes = new WeakMap<Buffer, Promise<Buffer>>()

export async function sendBytes(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  content: Buffer | Sendable,
  contentType: string,
): Promise<FastifyReply> {
  reply.code(status).header('content-type', contentType)
  const size = Buffer.isBuffer(content) ? content.length : content.size
  if (size <= minGzipBytes || !acceptsGzip(request.headers['accept-encoding'])) {
    const bytes = Buffer.isBuffer(content) ? content : content.bytes()
    return reply.header('content-length', String(bytes.length)).send(bytes)
  }
  const packed = await (Buffer.isBuffer(content)
    ? packedBytes.getOrInsertComputed(content, gzip)
    : content.gzipped())
  const vary = reply.getHeader('vary') ?? request.state.answerHeaders['vary']
  return reply
    .headers({
      'content-encoding': 'gzip',
      vary: addVary(vary, 'Accept-Encoding'),
      'content-length': String(packed.length),
    })
    .send(packed)
}

function addVary(vary: string | number | string[] | undefined, names: string): string {
  if (vary === undefined) return names
  return String(vary).includes(names) ? String(vary) : `${vary}, ${names}`
}

export async function sendError(
  request: FastifyRequest,
  reply: FastifyReply,
  thrown: unknown,
): Promise<GatewayError> {
  const { state, headers } = request
  const answer = toErrorAnswer(thrown, state, request.server.nameOf)
  state.errorCode = answer.error.code
  state.missing = answer.error.details.missing
  if (!isNavigation(headers) && parseAccept(headers.accept, ['json', 'yaml']) === 'yaml') {
    await sendValue(request, reply.headers(answer.headers), answer.status, answer.body)
    return answer.error
  }
  const { text, contentType, headers: described } = formatError(request, answer)
  await sendBytes(request, reply.headers(described), answer.status, Buffer.from(text), contentType)
  return answer.error
}

/** A page to a browser that opens one, JSON to everything else. */
export function formatError(
  { headers, server, state }: FastifyRequest,
  answer: ErrorAnswer,
): { text: string; contentType: string; headers: Record<string, string> } {
  if (!isNavigation(headers)) {
    return {
      text: formatJson(answer.body),
      contentType: answer.contentType,
      headers: answer.headers,
    }
  }
  const page = createErrorPage(answer.error, { site: server.site, requestId: state.requestId })
  const { 'content-type': contentType = 'text/html', ...others } = page.headers
  return { text: page.html, contentType, headers: { ...answer.headers, ...others } }
}
