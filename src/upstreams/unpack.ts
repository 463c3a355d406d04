/** Codings of answers of services: which there are, and their bounded decoding. */
import { promisify } from 'node:util'
import { gunzip, gunzipSync } from 'node:zlib'
import type { GatewayError } from '../errors.ts'
import type { ServiceName } from '../services/services.ts'
import { unreadable } from './upstream-errors.ts'

type CodedHeaders = Readonly<Record<string, string | string[] | undefined>>

const gunzipAside: (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer> = promisify(gunzip)
/** Compressed bytes may stand for a thousand times as many. */
export const maxQuickUnpackBytes = 4096
const maxErrorTextBytes = 1024 * 1024

export function answerCodingOf({ 'content-encoding': header }: CodedHeaders): string | undefined {
  if (header === undefined || header === 'identity') return undefined
  if (header === 'gzip') return 'gzip'
  const coding = String(header).trim().toLowerCase()
  if (coding === '' || coding === 'identity') return undefined
  return coding === 'x-gzip' ? 'gzip' : coding
}

export async function unpack(service: ServiceName, body: Buffer, maxBytes: number): Promise<Buffer> {
  if (body.length < maxQuickUnpackBytes) return unpackAtOnce(service, body, maxBytes)
  return gunzipAside(body, { maxOutputLength: maxBytes }).catch((cause: unknown) => {
    throw cannotUnpack(service, cause, maxBytes)
  })
}

export function unpackAtOnce(service: ServiceName, body: Buffer, maxBytes: number): Buffer {
  try {
    return gunzipSync(body, { maxOutputLength: maxBytes })
  } catch (cause) {
    throw cannotUnpack(service, cause, maxBytes)
  }
}

function cannotUnpack(service: ServiceName, cause: unknown, maxBytes: number): GatewayError {
  if ((cause as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') return answerTooLarge(service, maxBytes)
  return unreadable(service, (name) => `${name} sent a compressed answer that cannot be unpacked.`, cause)
}

/** What an error says; empty when it cannot be read, as its status counts in any case. */
export function textOfError(headers: CodedHeaders, body: Buffer): string {
  if (answerCodingOf(headers) !== 'gzip' || body.length === 0) return body.toString('utf8')
  try {
    return gunzipSync(body, { maxOutputLength: maxErrorTextBytes }).toString('utf8')
  } catch {
    return ''
  }
}

export function answerTooLarge(service: ServiceName, maxBytes: number): GatewayError {
  return unreadable(service, (name) => `The answer of ${name} is larger than ${maxBytes} bytes.`)
}
