/** Reads a request body as JSON or YAML, within the limit, whatever the client calls JSON. */
import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import { GatewayError } from '../errors.ts'
import { parseJson } from './json.ts'

export type BodyType = 'json' | 'yaml' | 'text' | 'other'

/** YAML takes seconds a megabyte to read. */
const maxYamlBytes = 500_000
/** Longer documents would hold up everybody else for a noticeable time. */
const maxQuickYamlLength = 16_000

/** A missing content type counts as JSON. */
export function bodyTypeOf(contentType: string | undefined): BodyType {
  if (contentType === undefined) return 'json'
  const type = contentType
    .replace(/\s*;.*$/, '')
    .trim()
    .toLowerCase()
  if (type === '' || /^application\/([\w.-]+\+)?json$/.test(type) || type === 'text/json') return 'json'
  if (/^(application|text)\/(x-)?(yaml|yml)$/.test(type)) return 'yaml'
  return type === 'text/plain' ? 'text' : 'other'
}

/** Whether the request announces a body at all. */
export function hasBody(raw: IncomingMessage): boolean {
  const length = raw.headers['content-length']
  return raw.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}

/** @throws {GatewayError} BODY_TOO_LARGE */
export async function readBytes(raw: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (Number(raw.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes)
  const chunks: Buffer[] = []
  let size = 0
  // Leaving the loop must not destroy the request: the connection is needed for the answer.
  for await (const chunk of raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge(maxBytes)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/**
 * The body as a stream for somebody else: a reader that gives up leaves the connection of the client intact for the
 * answer, and a client that breaks off breaks the stream.
 */
export function streamBody(raw: IncomingMessage): Readable {
  const body = new PassThrough()
  raw.pipe(body)
  // What the reader leaves is read here, so that the connection can serve the next request.
  body.once('close', () => raw.resume())
  raw.once('close', () => {
    if (!raw.complete) body.destroy(new Error('the client broke off its request'))
  })
  return body
}

function tooLarge(maxBytes: number): GatewayError {
  const advice = maxBytes === maxYamlBytes ? 'send JSON instead of YAML' : 'raise http.maxBodyBytes'
  // The rest of the body is not worth reading: the connection ends with this answer.
  return new GatewayError('BODY_TOO_LARGE', `The body is larger than ${maxBytes} bytes. Send less, or ${advice}.`, {
    headers: { connection: 'close' },
  })
}

/**
 * The parsed body; undefined when it is empty. A text/plain body is a string if `text`, else it is read as JSON, because
 * some clients name JSON so.
 *
 * @throws {GatewayError} UNSUPPORTED_MEDIA_TYPE, BODY_TOO_LARGE, UNREADABLE_BODY
 */
export async function readBody(
  raw: IncomingMessage,
  { maxBytes, text = false }: { maxBytes: number; text?: boolean },
): Promise<unknown> {
  if (!hasBody(raw)) return undefined
  const type = bodyTypeOf(raw.headers['content-type'])
  if (type === 'other') throw unsupported(raw.headers['content-type'])
  const content = decode(await readBytes(raw, type === 'yaml' ? Math.min(maxBytes, maxYamlBytes) : maxBytes))
  if (content.trim() === '') return undefined
  if (type === 'text' && text) return content
  return type === 'yaml' ? await parseYamlBody(content) : parseJsonBody(content)
}

export function unsupported(contentType: string | undefined): GatewayError {
  return new GatewayError(
    'UNSUPPORTED_MEDIA_TYPE',
    `A body of type ${contentType ?? 'unknown'} cannot be read. Send application/json or application/x-yaml.`,
  )
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw new GatewayError('UNREADABLE_BODY', 'The body is not valid UTF-8.', { cause })
  }
}

function parseJsonBody(content: string): unknown {
  try {
    return parseJson(content)
  } catch (cause) {
    throw new GatewayError('UNREADABLE_BODY', `The body is not usable JSON: ${(cause as Error).message}`, { cause })
  }
}

async function parseYamlBody(content: string): Promise<unknown> {
  try {
    if (content.length > maxQuickYamlLength) return await (await import('./parse-yaml-aside.ts')).parseYamlAside(content)
    return (await import('./yaml.ts')).parseYaml(content)
  } catch (cause) {
    throw new GatewayError('UNREADABLE_BODY', `The body is not usable YAML: ${(cause as Error).message}`, { cause })
  }
}
