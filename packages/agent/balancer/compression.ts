/** Compression of responses: text that no one has encoded yet, for clients that take it. */
import type { IncomingMessage } from 'node:http'
import type { Transform, Writable } from 'node:stream'
import type { ResponseHead } from '@fairlead/proxy/response-reader.ts'

export interface Compressor {
  /** Ends with the response, which gets what it gives. */
  readonly stream: Transform
  /** Replaces the former headers: names and values in turn. */
  readonly headers: string[]
}

interface Compressible {
  readonly request: IncomingMessage
  readonly head: ResponseHead
  /** Names and values in turn. */
  readonly headers: readonly string[]
  readonly response: Writable
}

/** A shorter body costs more for the head of its encoding than it saves. */
const minBytes = 1024
/** Fast enough to be done for each response. */
const brotliQuality = 4
const textType =
  /^(?:text\/(?!event-stream)|application\/(?:json|javascript|xml|wasm|manifest\+json|[\w.-]+\+(?:json|xml))\b|image\/svg\+xml)/i

/** @returns undefined where the response stays as it is */
export function openCompressor(
  most: 'gzip' | 'brotli',
  { request, head, headers, response }: Compressible,
): Compressor | undefined {
  const { status, body } = head
  const { method } = request
  if (method === 'HEAD' || status < 200 || status === 204 || status === 206 || status === 304)
    return undefined
  if (body.kind === 'none' || (body.kind === 'length' && body.length < minBytes)) return undefined
  const encoding = chooseEncoding(most, String(request.headers['accept-encoding'] ?? ''))
  if (encoding === undefined || !mayEncode(headers)) return undefined
  const zlib = process.getBuiltinModule('node:zlib')
  const { BROTLI_PARAM_QUALITY } = zlib.constants
  const stream =
    encoding === 'br'
      ? zlib.createBrotliCompress({ params: { [BROTLI_PARAM_QUALITY]: brotliQuality } })
      : zlib.createGzip()
  stream.pipe(response)
  return { stream, headers: toEncoded(headers, encoding) }
}

function chooseEncoding(most: 'gzip' | 'brotli', accepted: string): 'br' | 'gzip' | undefined {
  const offered = accepted
    .toLowerCase()
    .split(',')
    .map((one) => one.split(';').map((part) => part.trim()))
    .filter(([, quality = 'q=1']) => Number(quality.replace('q=', '')) > 0)
    .map(([name]) => name)
  return most === 'brotli' && offered.includes('br')
    ? 'br'
    : offered.includes('gzip')
      ? 'gzip'
      : undefined
}

function mayEncode(headers: readonly string[]): boolean {
  let isText = false
  for (let at = 0; at < headers.length; at += 2) {
    const value = headers[at + 1] as string
    switch ((headers[at] as string).toLowerCase()) {
      case 'content-encoding':
        return false
      case 'content-type':
        isText = textType.test(value)
        break
      case 'cache-control':
        if (/\bno-transform\b/i.test(value)) return false
        break
    }
  }
  return isText
}

/** The bytes are other ones: their length is unknown, and a strong ETag no longer names them. */
function toEncoded(headers: readonly string[], encoding: string): string[] {
  const encoded: string[] = []
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string
    const value = headers[at + 1] as string
    const known = name.toLowerCase()
    if (known === 'content-length' || known === 'accept-ranges') continue
    encoded.push(name, known === 'etag' && !value.startsWith('W/') ? `W/${value}` : value)
  }
  encoded.push('vary', 'accept-encoding', 'content-encoding', encoding)
  return encoded
}
