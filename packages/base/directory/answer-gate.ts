/**
 * Validation of the bytes of a directory before its library reads them. Cuts the stream into messages, counts them, and passes
 * only well-formed ones on. The library keeps whatever comes until the end of an answer, and reads for ever where a list
 * of attributes is longer than its message.
 */
import { childAt, type Der, DerError, derTag, readChildren, readDer } from '../tls/der.ts'

export interface AnswerAllowance {
  readonly bytes: number
  readonly messages: number
}

/** @see RFC 4511, section 4.2 and following */
const operation = {
  bindResponse: 0x61,
  entry: 0x64,
  searchDone: 0x65,
  reference: 0x73,
  extendedResponse: 0x78,
} as const
const known = new Set<number>(Object.values(operation))
const maxLengthBytes = 4

export class AnswerGate {
  #bytesLeft = 0
  #messagesLeft = 0
  /** The parts of the message that is arriving, with the number of bytes that it will have once that is known. */
  #parts: Buffer[] = []
  #arrived = 0
  #expected: number | undefined

  get isInMessage(): boolean {
    return this.#arrived > 0
  }

  /** Called before a question. What several questions at once may bring is added up. */
  allow({ bytes, messages }: AnswerAllowance): void {
    this.#bytesLeft += bytes
    this.#messagesLeft += messages
  }

  reset(): void {
    this.#bytesLeft = 0
    this.#messagesLeft = 0
  }

  /**
   * The messages that are complete with this chunk.
   *
   * @throws {Error} when an answer is larger than allowed, or only says that it will be, or is not well-formed
   */
  *take(chunk: Buffer): Iterable<Buffer> {
    for (let at = 0; at < chunk.length; ) {
      // Until the length is known byte by byte: it may be cut anywhere.
      const wanted = this.#expected === undefined ? 1 : this.#expected - this.#arrived
      const part = chunk.subarray(at, at + wanted)
      this.#parts.push(part)
      this.#arrived += part.length
      at += part.length
      this.#expected ??= this.#findLength()
      if (this.#arrived === this.#expected) yield this.#complete()
    }
  }

  #findLength(): number | undefined {
    const header = Buffer.concat(this.#parts)
    const [tag, first] = header
    if (tag !== derTag.sequence)
      throw new Error('the directory sends something that is no message of LDAP')
    if (first === undefined) return undefined
    const size = first < 0x80 ? 0 : first & 0x7f
    if (size > maxLengthBytes || first === 0x80)
      throw new Error('the directory announces a message without reasonable length')
    if (header.length < 2 + size) return undefined
    const total = 2 + size + (size === 0 ? first : header.readUIntBE(2, size))
    this.#bytesLeft -= total
    this.#messagesLeft -= 1
    if (this.#bytesLeft < 0)
      throw new Error('the answer of the directory is larger than allowed, and was cut off')
    if (this.#messagesLeft < 0)
      throw new Error('the answer of the directory has more entries than allowed, and was cut off')
    return total
  }

  #complete(): Buffer {
    const message = Buffer.concat(this.#parts)
    this.#parts = []
    this.#arrived = 0
    this.#expected = undefined
    try {
      checkMessage(message)
    } catch (error) {
      if (!(error instanceof DerError)) throw error
      throw new Error(`the directory sends a malformed message: ${error.message}`)
    }
    return message
  }
}

/** @throws {DerError} */
function checkMessage(bytes: Buffer): void {
  const [id, content, controls, ...more] = readChildren(readDer(bytes), derTag.sequence)
  if (id?.tag !== derTag.integer || content === undefined || more.length > 0)
    throw new DerError('it is no message of LDAP')
  if (!known.has(content.tag))
    throw new DerError(`the operation 0x${content.tag.toString(16)} is no answer`)
  const parts = readChildren(content)
  if (content.tag === operation.entry) checkEntry(parts)
  if (content.tag === operation.reference) checkTexts(parts)
  if (controls !== undefined)
    for (const control of readChildren(controls)) readChildren(control, derTag.sequence)
}

/** @throws {DerError} @see RFC 4511, section 4.5.2 */
function checkEntry(parts: readonly Der[]): void {
  childAt(parts, 0, derTag.octetString)
  for (const attribute of readChildren(childAt(parts, 1), derTag.sequence)) {
    const fields = readChildren(attribute, derTag.sequence)
    childAt(fields, 0, derTag.octetString)
    checkTexts(readChildren(childAt(fields, 1), derTag.set))
  }
}

/** @throws {DerError} */
function checkTexts(values: readonly Der[]): void {
  for (const [index] of values.entries()) childAt(values, index, derTag.octetString)
}
