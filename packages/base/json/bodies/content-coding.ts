/** Compressed request bodies: which codings are understood, and their bounded decoding. */
import type { IncomingMessage } from 'node:http'
import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib'
import { GatewayError } from '../../errors.ts'

type Decode = (bytes: Buffer, options: { maxOutputLength: number }) => Buffer

const decoders: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['gzip', gunzipSync],
  ['x-gzip', gunzipSync],
  // Some clients send the bare format, without the header of that name.
  [
    'deflate',
    (bytes, options) => ((bytes[0] ?? 0) % 16 === 8 ? inflateSync : inflateRawSync)(bytes, options),
  ],
  ['br', brotliDecompressSync],
])

/** The coding of the body; undefined when it is sent as it is. @throws {GatewayError} UNSUPPORTED_CONTENT_CODING */
export function codingOf({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const coding = headers['content-encoding']?.trim().toLowerCase()
  if (coding === undefined || coding === '' || coding === 'identity') return undefined
  if (decoders.has(coding)) return coding
  const message = `A body with "Content-Encoding: ${coding}" cannot be read. Send it as gzip, deflate or br, or without an encoding.`
  throw new GatewayError('UNSUPPORTED_CONTENT_CODING', message, {
    headers: { 'accept-encoding': 'gzip, deflate, br' },
  })
}

/**
 * Decodes in one go: only one decoder exists at a time, whatever number of clients compress, and it stops at the bound.
 *
 * @returns undefined when there is more than `maxBytes`.
 * @throws {GatewayError} UNREADABLE_BODY
 */
export function decodeBody(coding: string, bytes: Buffer, maxBytes: number): Buffer | undefined {
  if (bytes.length === 0) return bytes
  try {
    return decoders.get(coding)?.(bytes, { maxOutputLength: maxBytes })
  } catch (cause) {
    if ((cause as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE') return undefined
    throw new GatewayError(
      'UNREADABLE_BODY',
      `The body is not encoded as "Content-Encoding: ${coding}" announces.`,
      { cause },
    )
  }
}
