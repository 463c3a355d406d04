/** Reads request bodies as JSON or YAML, within bounds. */
import type { IncomingMessage } from 'node:http'
import { finished, PassThrough, type Readable, Transform } from 'node:stream'
import { GatewayError } from '../../errors.ts'
import { codingOf, decodeBody } from './content-coding.ts'
import { parseYamlAside, type ReadDocument } from './documents-aside.ts'
import { inviteBody } from './expect-continue.ts'
import {
  type BodyBounds,
  decodeText,
  endsConnection,
  JsonChecker,
  toBodyError,
} from './json-checker.ts'
import { onTinyChunks } from './tiny-chunks.ts'

type BodyType = 'json' | 'yaml' | 'text' | 'other'

/** YAML takes seconds a megabyte to read. */
const maxYamlBytes = 500_000
/** Longer documents would delay other requests noticeably. */
const maxQuickYamlLength = 16_000

type ByteBounds = Pick<BodyBounds, 'maxBytes' | 'hold'> & Partial<BodyBounds>

/** A missing content type counts as JSON. */
export function bodyTypeOf(contentType: string | undefined): BodyType {
  if (contentType === undefined) return 'json'
  const type = (contentType.split(';', 1)[0] as string).trim().toLowerCase()
  if (type === '' || /^application\/([\w.-]+\+)?json$/.test(type) || type === 'text/json')
    return 'json'
  if (/^(application|text)\/(x-)?(yaml|yml)$/.test(type)) return 'yaml'
  return type === 'text/plain' ? 'text' : 'other'
}

/** Whether the request announces a body at all. */
export function hasBody(raw: IncomingMessage): boolean {
  const length = raw.headers['content-length']
  return raw.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0')
}

/**
 * The bytes of a body, decompressed; the bounds count both forms.
 *
 * @throws {GatewayError} BODY_TOO_LARGE, UNREADABLE_BODY, UNSUPPORTED_CONTENT_CODING, and what `hold` throws
 */
export async function readBytes(
  raw: IncomingMessage,
  bounds: ByteBounds,
  checker?: JsonChecker,
): Promise<Buffer> {
  const { maxBytes, hold, settings } = bounds
  const coding = codingOf(raw)
  const pieces: Buffer[] = []
  await receive(raw, bounds, (piece) => {
    checker?.feed(piece)
    pieces.push(piece)
  })
  const bytes = Buffer.concat(pieces)
  if (coding === undefined) return bytes
  const decoded = decodeBody(coding, bytes, maxBytes)
  if (decoded === undefined) throw tooLarge(maxBytes, settings?.bytes)
  hold?.(decoded.length)
  return decoded
}

/**
 * The same, looked at as JSON while it arrives. A compressed one is looked at when it is complete.
 *
 * @throws {GatewayError} as `readBytes` does
 */
export async function readCheckedBytes(raw: IncomingMessage, bounds: BodyBounds): Promise<Buffer> {
  return (await readChecked(raw, bounds)).bytes
}

async function readChecked(
  raw: IncomingMessage,
  bounds: BodyBounds,
): Promise<{ bytes: Buffer; checker: JsonChecker }> {
  const checker = new JsonChecker(bounds)
  const isCompressed = codingOf(raw) !== undefined
  const bytes = await readBytes(raw, bounds, isCompressed ? undefined : checker)
  if (isCompressed) await checker.feedAll(bytes)
  checker.end()
  return { bytes, checker }
}

/** Hands over the body in pieces, within bounds. An iterator would cost several promises for each piece, which may be a byte. */
async function receive(
  raw: IncomingMessage,
  { maxBytes, hold, settings }: ByteBounds,
  take: (piece: Buffer) => void,
): Promise<void> {
  if (!hasBody(raw)) return
  if (Number(raw.headers['content-length'] ?? 0) > maxBytes)
    throw tooLarge(maxBytes, settings?.bytes)
  inviteBody(raw)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let bytes = 0
  const onReadable = () => {
    try {
      for (let piece: Buffer | null = raw.read(); piece !== null; piece = raw.read()) {
        bytes += piece.length
        if (bytes > maxBytes) throw tooLarge(maxBytes, settings?.bytes)
        hold?.(piece.length)
        take(piece)
      }
    } catch (error) {
      raw.off('readable', onReadable)
      reject(error as Error)
    }
  }
  raw.on('readable', onReadable)
  const stopCounting = onTinyChunks(raw, reject)
  const stopWaiting = finished(raw, { writable: false }, (error) =>
    error == null ? resolve() : reject(error),
  )
  try {
    await promise
  } finally {
    // The request itself is left as it is: its connection is needed for the answer.
    raw.off('readable', onReadable)
    stopCounting()
    stopWaiting()
  }
}

/**
 * The body as a stream for a service, checked as JSON in passing: a document out of bounds breaks the stream with the
 * error for the client. A reader that gives up leaves the connection of the client intact for the answer, and a client that
 * breaks off breaks the stream.
 */
export function streamBody(raw: IncomingMessage, bounds: BodyBounds): Readable {
  const checker = new JsonChecker(bounds)
  const body = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      runCheck(() => checker.feed(chunk), done, chunk)
    },
    flush(done) {
      runCheck(() => checker.end(), done)
    },
  })
  return connect(raw, body)
}

function runCheck(
  check: () => void,
  done: (error?: Error | null, chunk?: Buffer) => void,
  chunk?: Buffer,
): void {
  try {
    check()
  } catch (error) {
    done(error as GatewayError)
    return
  }
  done(null, chunk)
}

/** The body as a stream for a service, unseen and unbounded: the service bounds it. */
export function passBody(raw: IncomingMessage): Readable {
  return connect(raw, new PassThrough())
}

function connect(raw: IncomingMessage, body: Transform): Readable {
  inviteBody(raw)
  raw.pipe(body)
  // It may break before the call that reads it has begun, which then finds out by itself.
  body.on('error', () => {})
  body.once(
    'close',
    onTinyChunks(raw, (error) => body.destroy(error)),
  )
  // What the reader leaves is read here, so that the connection can serve the next request.
  body.once('close', () => raw.resume())
  raw.once('close', () => {
    if (!raw.complete) body.destroy(new Error('the client broke off its request'))
  })
  return body
}

function tooLarge(maxBytes: number, setting: string | undefined): GatewayError {
  const advice =
    maxBytes === maxYamlBytes ? 'send JSON instead of YAML' : setting && `raise ${setting}`
  const message = `The body is larger than ${maxBytes} bytes. Send less${advice === undefined ? '' : `, or ${advice}`}.`
  return new GatewayError('BODY_TOO_LARGE', message, endsConnection)
}

/**
 * The body as a document; undefined when it is empty. A text/plain body is a string if `text`, else it is read as JSON, because
 * some clients name JSON so.
 *
 * @throws {GatewayError} UNSUPPORTED_MEDIA_TYPE, BODY_TOO_LARGE, UNREADABLE_BODY
 */
export async function readBody(
  raw: IncomingMessage,
  bounds: BodyBounds,
  { text = false } = {},
): Promise<ReadDocument | undefined> {
  if (!hasBody(raw)) return undefined
  const type = bodyTypeOf(raw.headers['content-type'])
  if (type === 'other') throw unsupported(raw.headers['content-type'])
  if (type === 'yaml') {
    const content = decodeText(
      await readBytes(raw, { ...bounds, maxBytes: Math.min(bounds.maxBytes, maxYamlBytes) }),
    )
    return content.trim() === '' ? undefined : parseYamlBody(content, bounds)
  }
  if (type === 'text' && text) {
    const content = decodeText(await readBytes(raw, bounds))
    return content.trim() === '' ? undefined : { value: content }
  }
  return readJsonBody(raw, bounds)
}

/** The JSON body, whatever its content type; undefined when it is empty. @throws {GatewayError} BODY_TOO_LARGE, UNREADABLE_BODY */
export async function readJsonBody(
  raw: IncomingMessage,
  bounds: BodyBounds,
): Promise<ReadDocument | undefined> {
  const { bytes, checker } = await readChecked(raw, bounds)
  return checker.parse(bytes)
}

export function unsupported(contentType: string | undefined): GatewayError {
  return new GatewayError(
    'UNSUPPORTED_MEDIA_TYPE',
    `A body of type ${contentType ?? 'unknown'} cannot be read. Send application/json or application/x-yaml.`,
  )
}

async function parseYamlBody(
  content: string,
  { maxValues, settings }: BodyBounds,
): Promise<ReadDocument | undefined> {
  try {
    if (content.length > maxQuickYamlLength) return await parseYamlAside(content, maxValues)
    return { value: (await import('../yaml.ts')).parseYaml(content, { maxValues, version: '1.1' }) }
  } catch (cause) {
    throw toBodyError(cause, settings, 'YAML')
  }
}
