/** Thread that reads large bodies, JSON piece by piece and YAML in one go, and writes large YAML. */
import { formatJson, type JsonLimits, JsonScan, parseJson, parseScanned, UnsafeJsonError } from '../json/json.ts'
import { serveJobs } from '../side-thread.ts'
import { decodeBody } from './content-coding.ts'
import { formatYaml, parseYaml } from './yaml.ts'

/** Pieces belong to the document of their number, until its last one or `drop`. */
export type DocumentJob =
  | { kind: 'yaml'; text: string; maxValues: number }
  | { kind: 'to-yaml'; json: string }
  | { kind: 'feed'; document: number; opens: OpenDocument | undefined; piece: Uint8Array; isLast: boolean }
  /** A whole document, compressed. */
  | { kind: 'decode'; opens: OpenDocument; piece: Uint8Array; coding: string; maxBytes: number }
  | { kind: 'drop'; document: number }

interface OpenDocument {
  readonly limits: JsonLimits
  /** The document itself is wanted at its end. */
  readonly keeps: boolean
}

/** `problem` may reach the client; `code` where the document is well-formed and not allowed. */
export type DocumentReply =
  | { kind: 'done' }
  /** JSON as the gateway writes it; undefined for an empty body. `isExact`: JavaScript holds and writes every number as it stands. */
  | { kind: 'read'; json: Uint8Array | undefined; isExact: boolean; decodedBytes?: number }
  | { kind: 'decoded' | 'yaml'; bytes: Uint8Array }
  | { kind: 'problem'; problem: string; code?: UnsafeJsonError['code'] }
  | { kind: 'not-utf8' | 'not-decodable' | 'too-large' | 'lost' }

interface JsonDocument {
  readonly scan: JsonScan
  /** Undefined where only a judgement is wanted. */
  readonly pieces: Uint8Array[] | undefined
}

const documents = new Map<number, JsonDocument>()
const utf8 = new TextDecoder('utf-8', { fatal: true })

serveJobs((job: DocumentJob) => {
  const reply = answer(job)
  const bytes = reply.kind === 'read' ? reply.json : 'bytes' in reply ? reply.bytes : undefined
  return { reply, transfer: bytes === undefined ? [] : [bytes.buffer as ArrayBuffer] }
})

function answer(job: DocumentJob): DocumentReply {
  try {
    if (job.kind === 'yaml') return write(parseYaml(job.text, { maxValues: job.maxValues, version: '1.1' }), false)
    if (job.kind === 'to-yaml') return { kind: 'yaml', bytes: new TextEncoder().encode(formatYaml(parseJson(job.json))) }
    return answerPart(job)
  } catch (error) {
    const problem = (error as Error).message
    return { kind: 'problem', problem, ...(error instanceof UnsafeJsonError && { code: error.code }) }
  }
}

function answerPart(job: Exclude<DocumentJob, { kind: 'yaml' | 'to-yaml' }>): DocumentReply {
  if (job.kind === 'decode') return decode(job)
  if (job.kind === 'drop') {
    documents.delete(job.document)
    return { kind: 'done' }
  }
  const document = job.opens === undefined ? documents.get(job.document) : open(job.opens)
  // A thread before this one knew it.
  if (document === undefined) return { kind: 'lost' }
  if (job.isLast) documents.delete(job.document)
  else documents.set(job.document, document)
  feed(document, job.piece)
  return job.isLast ? end(document) : { kind: 'done' }
}

function open({ limits, keeps }: OpenDocument): JsonDocument {
  return { scan: new JsonScan(limits), pieces: keeps ? [] : undefined }
}

function feed({ scan, pieces }: JsonDocument, piece: Uint8Array): void {
  scan.feed(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString('latin1'))
  pieces?.push(piece)
}

function decode({ opens, piece, coding, maxBytes }: DocumentJob & { kind: 'decode' }): DocumentReply {
  let decoded: Buffer | undefined
  try {
    decoded = decodeBody(coding, Buffer.from(piece.buffer), maxBytes)
  } catch {
    return { kind: 'not-decodable' }
  }
  if (decoded === undefined) return { kind: 'too-large' }
  const document = open(opens)
  feed(document, decoded)
  const reply = end(document)
  if (reply.kind === 'read') return { ...reply, decodedBytes: decoded.length }
  return reply.kind === 'done' ? { kind: 'decoded', bytes: new Uint8Array(decoded) } : reply
}

function end({ scan, pieces }: JsonDocument): DocumentReply {
  scan.end()
  if (pieces === undefined) return { kind: 'done' }
  let text: string
  try {
    text = utf8.decode(Buffer.concat(pieces))
  } catch {
    return { kind: 'not-utf8' }
  }
  if (text.trim() === '') return { kind: 'read', json: undefined, isExact: true }
  const value = parseScanned(text, scan)
  return write(value, !scan.needsExactNumbers)
}

function write(value: unknown, isExact: boolean): DocumentReply {
  return { kind: 'read', json: new TextEncoder().encode(formatJson(value)), isExact }
}
