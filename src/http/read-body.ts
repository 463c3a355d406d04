/** Reads request bodies as JSON or YAML, within bounds. */
import type { IncomingMessage } from 'node:http'
import { PassThrough, type Readable, Transform } from 'node:stream'
import { GatewayError } from '../errors.ts'
import { JsonScan, parseScanned, UnsafeJsonError } from '../json/json.ts'
import { codingOf, decodeBody } from './content-coding.ts'
import { inviteBody } from './expect-continue.ts'

type BodyType = 'json' | 'yaml' | 'text' | 'other'

/** YAML takes seconds a megabyte to read. */
const maxYamlBytes = 500_000
/** Longer documents would delay other requests noticeably. */
const maxQuickYamlLength = 16_000

/** What a body may be at most. */
export interface BodyBounds {
  readonly maxBytes: number
  /** Values in a document. */
  readonly maxValues: number
  /** Levels of a document; `maxJsonDepth` unless given. */
  readonly maxDepth?: number
  /** As of `JsonLimits`. */
  readonly keepsNumerals?: boolean
  /** The keys of the settings that raise the bounds, for the error. */
  readonly settings: { readonly bytes: string; readonly values: string }
  /** Told about bytes before they are kept; refuses by throwing. */
  readonly hold?: (bytes: number) => void
}

/** A missing content type counts as JSON. */
export function bodyTypeOf(contentType: string | undefined): BodyType {
  if (contentType === undefined) return 'json'
  const type = (contentType.split(';', 1)[0] as string).trim().toLowerCase()
  if (type === '' || /^application\/([\w.-]+\+)?json$/.test(type) || type === 'text/json') return 'json'
  if (/^(application|text)\/(x-)?(yaml|yml)$/.test(type)) return 'yaml'
  return type === 'text/plain' ? 'text' : 'other'
}

/** Whether the request announces a body at all. */
export function hasBody(raw: IncomingMessage): boolean {
  const length = raw.headers['content-length']
  return raw.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}

/**
 * The bytes of a body, decompressed; the bounds count both forms. With a scan they are looked at as JSON while they arrive, so
 * that a document out of bounds is neither kept nor parsed. A compressed one is looked at when it is complete.
 *
 * @throws {GatewayError} BODY_TOO_LARGE, UNREADABLE_BODY, UNSUPPORTED_CONTENT_CODING, and what `hold` throws
 */
export async function readBytes(
  raw: IncomingMessage,
  bounds: Pick<BodyBounds, 'maxBytes' | 'hold'> & Partial<BodyBounds>,
  scan?: JsonScan,
): Promise<Buffer> {
  const { maxBytes, hold, settings } = bounds
  if (Number(raw.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes, settings?.bytes)
  const coding = codingOf(raw)
  inviteBody(raw)
  const chunks: Buffer[] = []
  let size = 0
  // Leaving the loop must not destroy the request: the connection is needed for the answer.
  for await (const chunk of raw.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw tooLarge(maxBytes, settings?.bytes)
    hold?.(chunk.length)
    if (scan !== undefined && coding === undefined) look(scan, chunk, settings?.values)
    chunks.push(chunk)
  }
  const bytes = Buffer.concat(chunks)
  if (coding === undefined) {
    if (scan !== undefined) endLook(scan)
    return bytes
  }
  const decoded = decodeBody(coding, bytes, maxBytes)
  if (decoded === undefined) throw tooLarge(maxBytes, settings?.bytes)
  hold?.(decoded.length)
  if (scan !== undefined) {
    look(scan, decoded, settings?.values)
    endLook(scan)
  }
  return decoded
}

/**
 * The body as a stream for a service, scanned as JSON in passing: a document out of bounds breaks the stream with the
 * error for the client. A reader that gives up leaves the connection of the client intact for the answer, and a client that
 * breaks off breaks the stream.
 */
export function streamBody(raw: IncomingMessage, bounds: BodyBounds): Readable {
  const scan = new JsonScan(bounds)
  const body = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      try {
        look(scan, chunk, bounds.settings.values)
        done(null, chunk)
      } catch (error) {
        done(error as GatewayError)
      }
    },
    flush(done) {
      try {
        endLook(scan)
        done()
      } catch (error) {
        done(error as GatewayError)
      }
    },
  })
  return connect(raw, body)
}

/** The body as a stream for a service, unseen and unbounded: the service bounds it. */
export function passBody(raw: IncomingMessage): Readable {
  return connect(raw, new PassThrough())
}

function connect(raw: IncomingMessage, body: Transform): Readable {
  inviteBody(raw)
  raw.pipe(body)
  // What the reader leaves is read here, so that the connection can serve the next request.
  body.once('close', () => raw.resume())
  raw.once('close', () => {
    if (!raw.complete) body.destroy(new Error('the client broke off its request'))
  })
  return body
}

/** Everything that matters outside of strings is ASCII, which Latin-1 and UTF-8 have in common. */
function look(scan: JsonScan, chunk: Buffer, setting: string | undefined): void {
  try {
    scan.feed(chunk.toString('latin1'))
  } catch (cause) {
    throw toBodyError(cause, setting)
  }
}

function endLook(scan: JsonScan): void {
  try {
    scan.end()
  } catch (cause) {
    throw toBodyError(cause, undefined)
  }
}

// The rest of a refused body is not worth reading: the connection ends with the answer.
const endsConnection = { headers: { connection: 'close' } }

function tooLarge(maxBytes: number, setting: string | undefined): GatewayError {
  const advice = maxBytes === maxYamlBytes ? 'send JSON instead of YAML' : setting && `raise ${setting}`
  const message = `The body is larger than ${maxBytes} bytes. Send less${advice === undefined ? '' : `, or ${advice}`}.`
  return new GatewayError('BODY_TOO_LARGE', message, endsConnection)
}

/** @param setting The key that raises the number of values. */
function toBodyError(cause: unknown, setting: string | undefined, kind: 'JSON' | 'YAML' = 'JSON'): GatewayError {
  const { message } = cause as Error
  if (cause instanceof UnsafeJsonError && cause.code === 'JSON_TOO_MANY_VALUES') {
    const advice = setting === undefined ? 'Send less.' : `Send less, or raise ${setting}.`
    return new GatewayError('BODY_TOO_LARGE', `The body is too large. ${message} ${advice}`, { cause, ...endsConnection })
  }
  const ends = cause instanceof UnsafeJsonError ? endsConnection : {}
  return new GatewayError('UNREADABLE_BODY', `The body is not usable ${kind}: ${message}`, { cause, ...ends })
}

/**
 * The parsed body; undefined when it is empty. A text/plain body is a string if `text`, else it is read as JSON, because
 * some clients name JSON so.
 *
 * @throws {GatewayError} UNSUPPORTED_MEDIA_TYPE, BODY_TOO_LARGE, UNREADABLE_BODY
 */
export async function readBody(raw: IncomingMessage, bounds: BodyBounds, { text = false } = {}): Promise<unknown> {
  if (!hasBody(raw)) return undefined
  const type = bodyTypeOf(raw.headers['content-type'])
  if (type === 'other') throw unsupported(raw.headers['content-type'])
  if (type === 'yaml') {
    const content = decode(await readBytes(raw, { ...bounds, maxBytes: Math.min(bounds.maxBytes, maxYamlBytes) }))
    return content.trim() === '' ? undefined : parseYamlBody(content, bounds)
  }
  if (type === 'text' && text) {
    const content = decode(await readBytes(raw, bounds))
    return content.trim() === '' ? undefined : content
  }
  return readJsonBody(raw, bounds)
}

/** The parsed body, whatever its content type; undefined when it is empty. @throws {GatewayError} BODY_TOO_LARGE, UNREADABLE_BODY */
export async function readJsonBody(raw: IncomingMessage, bounds: BodyBounds): Promise<unknown> {
  const scan = new JsonScan(bounds)
  const content = decode(await readBytes(raw, bounds, scan))
  if (content.trim() === '') return undefined
  try {
    return parseScanned(content, scan)
  } catch (cause) {
    throw toBodyError(cause, bounds.settings.values)
  }
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

async function parseYamlBody(content: string, { maxValues, settings }: BodyBounds): Promise<unknown> {
  try {
    if (content.length > maxQuickYamlLength)
      return await (await import('./parse-yaml-aside.ts')).parseYamlAside(content, maxValues)
    return (await import('./yaml.ts')).parseYaml(content, maxValues)
  } catch (cause) {
    throw cause instanceof GatewayError ? cause : toBodyError(cause, settings.values, 'YAML')
  }
}
