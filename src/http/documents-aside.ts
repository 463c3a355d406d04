/** Reads large documents of clients, and writes large YAML, in threads, without delay for other requests. */
import { GatewayError } from '../errors.ts'
import { type JsonLimits, parseWritten, UnsafeJsonError } from '../json/json.ts'
import { SideThread, SideThreadError } from '../side-thread.ts'
import { undecodable } from './content-coding.ts'
import type { DocumentJob, DocumentReply } from './document-worker.ts'

/** For one document; what takes longer was made for that. */
const maxParseMs = 20_000
/** The bound of characters is met in seconds; a busy machine gives this thread little time. */
const maxWriteMs = 120_000
const maxOldGenerationSizeMb = 256
/** The last one waits for minutes at worst. */
const maxWaitingYaml = 16
/** Characters of JSON: some seconds of the thread, and tens of megabytes. */
const maxYamlCharacters = 16 * 1024 * 1024
/** Pieces of bodies: as many as connections send at once. */
const maxWaitingPieces = 1000

const file = new URL(import.meta.url.endsWith('.ts') ? './document-worker.ts' : './document-worker.js', import.meta.url)
const common = { file, maxOldGenerationSizeMb, maxJobMs: maxParseMs }
/** YAML takes seconds a megabyte, so that JSON must not wait for it. */
const yamlThread = new SideThread<DocumentJob, DocumentReply>({ ...common, name: 'yaml', maxWaiting: maxWaitingYaml })
/** Answers of which one takes seconds must not delay bodies. */
const yamlWriter = new SideThread<DocumentJob, DocumentReply>({
  ...common,
  name: 'yaml-answers',
  maxJobMs: maxWriteMs,
  maxWaiting: maxWaitingYaml,
})
const jsonThread = new SideThread<DocumentJob, DocumentReply>({ ...common, name: 'json', maxWaiting: maxWaitingPieces })

/** A document that was read. */
export interface ReadDocument {
  readonly value: unknown
  /** The value as JSON. */
  readonly json: Buffer
}

export interface DecodedDocument {
  readonly size: number
  readonly document?: ReadDocument | undefined
  readonly bytes?: Buffer
}

/**
 * @throws {GatewayError} TOO_MANY_BODIES
 * @throws {Error} as `parseYaml` does, and for a document that takes more time or memory than any real one
 */
export async function parseYamlAside(
  text: string,
  maxValues: number = Number.POSITIVE_INFINITY,
): Promise<ReadDocument | undefined> {
  try {
    return toDocument(check(await yamlThread.run({ kind: 'yaml', text, maxValues })))
  } catch (error) {
    if (!(error instanceof SideThreadError)) throw error
    if (error.reason === 'full')
      throw tooMany('Too many large YAML documents wait to be read. Try again in a moment, or send JSON.')
    throw new Error(`reading it: ${error.message}; send JSON`, { cause: error })
  }
}

/**
 * JSON as YAML.
 *
 * @param isStranger Answers to callers without login wait for those to users.
 * @throws {GatewayError} NOT_ACCEPTABLE, TOO_MANY_BODIES
 */
export async function formatYamlAside(json: string, { isStranger }: { isStranger: boolean }): Promise<Buffer> {
  if (json.length > maxYamlCharacters) throw tooLargeForYaml()
  try {
    const reply = check(await yamlWriter.run({ kind: 'to-yaml', json }, { rank: isStranger ? 'second' : 'first' }))
    return Buffer.from(reply.kind === 'yaml' ? reply.bytes : [])
  } catch (error) {
    if (!(error instanceof SideThreadError)) throw error
    if (error.reason !== 'full') throw tooLargeForYaml(error)
    const message = 'Too many large answers wait to be written as YAML. Try again in a moment, or ask for JSON.'
    throw new GatewayError('TOO_MANY_BODIES', message, { cause: error, headers: { 'retry-after': '1' } })
  }
}

function tooLargeForYaml(cause?: unknown): GatewayError {
  const message = 'This answer is too large for YAML. Ask for JSON with "Accept: application/json".'
  return new GatewayError('NOT_ACCEPTABLE', message, { cause })
}

let lastDocument = 0

/** A JSON document that is judged, and read if it is kept, while it arrives. `close` in any case. */
export class JsonAside {
  readonly #number = ++lastDocument
  readonly #rank: 'first' | 'second'
  readonly #opens: { limits: JsonLimits; keeps: boolean }
  #isOpen = false

  /** @param isStranger Documents of callers without login wait for those of users. */
  constructor(limits: JsonLimits, { keeps, isStranger }: { keeps: boolean; isStranger: boolean }) {
    this.#rank = isStranger ? 'second' : 'first'
    this.#opens = { limits, keeps }
  }

  /**
   * The next pieces, which are copied. Wait for them before more.
   *
   * @throws {UnsafeJsonError}
   * @throws {GatewayError} TOO_MANY_BODIES
   */
  async feed(pieces: readonly Buffer[]): Promise<void> {
    await this.#feed(pieces, false)
  }

  /**
   * The last pieces, and the judgement of the whole document.
   *
   * @returns the document if it is kept and not empty
   * @throws {SyntaxError}
   * @throws {UnsafeJsonError}
   * @throws {GatewayError} TOO_MANY_BODIES, UNREADABLE_BODY
   */
  async end(pieces: readonly Buffer[]): Promise<ReadDocument | undefined> {
    const reply = await this.#feed(pieces, true)
    this.#release()
    return reply.kind === 'read' ? toDocument(reply) : undefined
  }

  /**
   * A whole compressed document, instead of pieces.
   *
   * @returns its size, and the document or, if it is not kept, the bytes; undefined beyond the bound
   * @throws {SyntaxError}
   * @throws {UnsafeJsonError}
   * @throws {GatewayError} TOO_MANY_BODIES, UNREADABLE_BODY
   */
  async decode(bytes: Buffer, coding: string, maxBytes: number): Promise<DecodedDocument | undefined> {
    const piece = joinPieces([bytes])
    const reply = await this.#run({ kind: 'decode', opens: this.#opens, piece, coding, maxBytes }, [piece.buffer])
    if (reply.kind === 'too-large') return undefined
    if (reply.kind === 'not-decodable') throw undecodable(coding)
    const decoded = check(reply)
    if (decoded.kind === 'decoded') return { size: decoded.bytes.length, bytes: Buffer.from(decoded.bytes.buffer) }
    return { size: decoded.kind === 'read' ? (decoded.decodedBytes ?? 0) : 0, document: toDocument(decoded) }
  }

  close(): void {
    if (!this.#isOpen) return
    if (jsonThread.isRunning) this.#run({ kind: 'drop', document: this.#number }).catch(() => {})
    this.#release()
  }

  async #feed(pieces: readonly Buffer[], isLast: boolean): Promise<DocumentReply> {
    const opens = this.#isOpen ? undefined : this.#opens
    if (!this.#isOpen) jsonThread.retain()
    this.#isOpen = true
    const piece = joinPieces(pieces)
    return check(await this.#run({ kind: 'feed', document: this.#number, opens, piece, isLast }, [piece.buffer]))
  }

  #release(): void {
    if (this.#isOpen) jsonThread.release()
    this.#isOpen = false
  }

  async #run(job: DocumentJob, transfer: readonly ArrayBuffer[] = []): Promise<DocumentReply> {
    try {
      return await jsonThread.run(job, { rank: this.#rank, transfer })
    } catch (error) {
      if (!(error instanceof SideThreadError)) throw error
      throw lost(error)
    }
  }
}

/** In a buffer of their own, which can be handed over. */
function joinPieces(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    joined.set(piece, at)
    at += piece.length
  }
  return joined
}

function toDocument(reply: DocumentReply): ReadDocument | undefined {
  if (reply.kind !== 'read' || reply.json === undefined) return undefined
  const json = Buffer.from(reply.json.buffer)
  return { value: parseWritten(json.toString('utf8'), reply.isExact), json }
}

function check(reply: DocumentReply): DocumentReply {
  switch (reply.kind) {
    case 'problem':
      throw reply.code === undefined ? new Error(reply.problem) : new UnsafeJsonError(reply.code, reply.problem)
    case 'not-utf8':
      throw notUtf8()
    case 'lost':
      throw lost()
    default:
      return reply
  }
}

export function notUtf8(cause?: unknown): GatewayError {
  return new GatewayError('UNREADABLE_BODY', 'The body is not valid UTF-8.', { cause })
}

/** The thread ended, which other documents may have caused, or has too much to do. */
function lost(cause?: unknown): GatewayError {
  return tooMany('Too many large bodies are being read. Try again in a moment.', cause)
}

function tooMany(message: string, cause?: unknown): GatewayError {
  // The rest of the body is not worth reading: the connection ends with this answer.
  return new GatewayError('TOO_MANY_BODIES', message, { cause, headers: { connection: 'close', 'retry-after': '1' } })
}
