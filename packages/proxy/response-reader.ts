/** Parser of HTTP/1.1 responses; rejects whatever is malformed. */

/** Receiver of one response, in this order: heads of 1xx, one final head, pieces of the body, the end. */
export interface ResponseSink {
  onInformation(head: ResponseHead): void
  onHead(head: ResponseHead): void
  /** The bytes are valid during the call only. With `isLast`, `onEnd` follows at once. */
  onBody(piece: Buffer, isLast: boolean): void
  /** Names and values in turn. */
  onEnd(trailers: readonly string[]): void
}

export interface ResponseHead {
  readonly status: number
  readonly statusText: string
  /** Names and values in turn, as they were sent; valid characters only. */
  readonly headers: readonly string[]
  readonly body: BodyForm
  /** The connection may be used again after the response. */
  readonly keepsAlive: boolean
  /** The N of `Keep-Alive: timeout=N`. */
  readonly keepAliveSeconds: number | undefined
  /** Lower-case, without those that mean nothing beyond this connection anyway; mostly undefined. */
  readonly connectionHeaders: readonly string[] | undefined
}

type BodyForm =
  | { readonly kind: 'none' | 'chunked' | 'until-close' }
  | { readonly kind: 'length'; readonly length: number }

/** The server does not speak HTTP/1.1. */
export class ResponseError extends Error {}

const maxHeadBytes = 64 * 1024
const maxLineBytes = 4096
const empty = Buffer.alloc(0)
const noBody: BodyForm = { kind: 'none' }
const chunkedBody: BodyForm = { kind: 'chunked' }
const closedBody: BodyForm = { kind: 'until-close' }

type State =
  | 'head'
  | 'length'
  | 'chunk-size'
  | 'chunk'
  | 'chunk-end'
  | 'trailers'
  | 'until-close'
  | 'done'

export class ResponseReader {
  #state: State = 'done'
  #sink: ResponseSink | undefined
  #headersOnly = false
  /** The bytes of a head or a line that is not complete. */
  #rest: Buffer = empty
  /** Bytes of the body, or of the chunk, that are still to come. */
  #left = 0
  #trailers: string[] = []
  #trailerBytes = 0

  /** @param headersOnly The request was HEAD. */
  expect(sink: ResponseSink, headersOnly: boolean): void {
    this.#sink = sink
    this.#headersOnly = headersOnly
    this.#state = 'head'
    this.#rest = empty
  }

  /**
   * @returns what follows the response; undefined where nothing does. After 101, that belongs to the new protocol.
   * @throws {ResponseError}
   */
  read(chunk: Buffer): Buffer | undefined {
    let bytes = chunk
    while (bytes.length > 0) {
      if (this.#state === 'done') return bytes
      bytes = this.#step(bytes)
    }
    return undefined
  }

  /** The connection has ended. @returns whether the response is complete */
  end(): boolean {
    if (this.#state === 'until-close') this.#finish()
    return this.#state === 'done'
  }

  /** The sink gets no further calls. */
  forget(): void {
    this.#sink = undefined
    this.#state = 'done'
    this.#rest = empty
  }

  /** @returns what is left of the bytes */
  #step(bytes: Buffer): Buffer {
    switch (this.#state) {
      case 'head':
        return this.#readHead(bytes)
      case 'length':
      case 'chunk':
        return this.#readBody(bytes)
      case 'until-close':
        this.#sink?.onBody(bytes, false)
        return empty
      default:
        return this.#readLine(bytes)
    }
  }

  /** The text before the mark and what follows it; undefined until the mark has arrived. @throws {ResponseError} beyond `maxBytes` */
  #readUntil(
    mark: string,
    chunk: Buffer,
    maxBytes: number,
    fault: string,
  ): readonly [text: string, rest: Buffer] | undefined {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const end = bytes.indexOf(mark)
    if (end > maxBytes || (end === -1 && bytes.length > maxBytes)) throw new ResponseError(fault)
    if (end === -1) {
      this.#rest = bytes === chunk ? Buffer.from(chunk) : bytes
      return undefined
    }
    this.#rest = empty
    return [bytes.toString('latin1', 0, end), bytes.subarray(end + mark.length)]
  }

  #readHead(chunk: Buffer): Buffer {
    const found = this.#readUntil('\r\n\r\n', chunk, maxHeadBytes, 'The headers are too large.')
    if (found === undefined) {
      checkBeginning(this.#rest)
      return empty
    }
    const [text, rest] = found
    const head = parseHead(text, this.#headersOnly)
    if (head.status < 200 && head.status !== 101) {
      this.#sink?.onInformation(head)
      return rest
    }
    this.#state = stateAfter(head)
    this.#left = head.body.kind === 'length' ? head.body.length : 0
    this.#sink?.onHead(head)
    if (head.body.kind === 'none' || (head.body.kind === 'length' && this.#left === 0))
      this.#finish()
    return rest
  }

  #readBody(bytes: Buffer): Buffer {
    const piece = bytes.length <= this.#left ? bytes : bytes.subarray(0, this.#left)
    this.#left -= piece.length
    const isLast = this.#left === 0 && this.#state === 'length'
    this.#sink?.onBody(piece, isLast)
    if (isLast) this.#finish()
    else if (this.#left === 0) this.#state = 'chunk-end'
    return bytes.subarray(piece.length)
  }

  #readLine(chunk: Buffer): Buffer {
    const found = this.#readUntil('\r\n', chunk, maxLineBytes, 'A chunk has no size.')
    if (found === undefined) return empty
    const [line, rest] = found
    this.#takeLine(line)
    return rest
  }

  #takeLine(line: string): void {
    if (this.#state === 'chunk-end') {
      if (line !== '') throw new ResponseError('A chunk is longer than its size.')
      this.#state = 'chunk-size'
    } else if (this.#state === 'chunk-size') {
      this.#left = parseChunkSize(line)
      this.#state = this.#left === 0 ? 'trailers' : 'chunk'
    } else if (line === '') {
      this.#finish()
    } else {
      this.#trailerBytes += line.length
      if (this.#trailerBytes > maxHeadBytes) throw new ResponseError('The trailers are too large.')
      const colon = checkHeaderLine(line)
      this.#trailers.push(line.slice(0, colon), trimmed(line, colon + 1))
    }
  }

  #finish(): void {
    const sink = this.#sink
    const trailers = this.#trailers
    this.#state = 'done'
    this.#sink = undefined
    if (trailers.length > 0) {
      this.#trailers = []
      this.#trailerBytes = 0
    }
    sink?.onEnd(trailers)
  }
}

function stateAfter({ body }: ResponseHead): State {
  if (body.kind === 'chunked') return 'chunk-size'
  return body.kind === 'until-close' ? 'until-close' : 'length'
}

/** Checks the start of an incomplete head: what speaks no HTTP may wait for more. */
function checkBeginning(bytes: Buffer): void {
  const text = bytes.toString('latin1', 0, 256)
  if (!'HTTP/1.'.startsWith(text.slice(0, 7)) || /[^\r]\n/.test(text))
    throw new ResponseError('The status line is malformed.')
}

/** @see RFC 9112, section 7.1 */
function parseChunkSize(line: string): number {
  const size = /^([0-9a-f]{1,12})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/i.exec(line)?.[1]
  if (size === undefined) throw new ResponseError('A chunk has no size.')
  return Number.parseInt(size, 16)
}

const headerLine = /^[\w!#$%&'*+.^`|~-]+:[\t\x20-\x7e\x80-\xff]*$/

/** @returns where the colon is */
function checkHeaderLine(line: string): number {
  if (!headerLine.test(line)) throw new ResponseError('A header is malformed.')
  return line.indexOf(':')
}

/** Without the spaces and tabs around a value; bytes of other white space may belong to a character of several bytes. */
function trimmed(line: string, from: number): string {
  let start = from
  let end = line.length
  while (start < end && isBlank(line.charCodeAt(start))) start++
  while (end > start && isBlank(line.charCodeAt(end - 1))) end--
  return line.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9
}

const harmlessOptions = new Set([
  '',
  'close',
  'keep-alive',
  'upgrade',
  'transfer-encoding',
  'te',
  'trailer',
  'proxy-connection',
])

/** @see RFC 9112, sections 4 to 6 */
function parseHead(text: string, headersOnly: boolean): ResponseHead {
  const at = text.indexOf('\r\n')
  const line = at === -1 ? text : text.slice(0, at)
  const [, minor, code, statusText = ''] =
    /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/.exec(line) ?? []
  if (code === undefined) throw new ResponseError('The status line is malformed.')
  const status = Number(code)
  const { headers, length, encoding, connection, keepAlive } = parseHeaders(text, at)
  const options = connection
    ?.toLowerCase()
    .split(',')
    .map((option) => option.trim())
  const body = toBodyForm({ status, headersOnly, length, encoding, isOld: minor === '0' })
  const named = options?.filter((option) => !harmlessOptions.has(option))
  return {
    status,
    statusText,
    headers,
    body,
    keepsAlive: minor === '1' && body.kind !== 'until-close' && options?.includes('close') !== true,
    keepAliveSeconds: keepAlive === undefined ? undefined : parseKeepAlive(keepAlive),
    connectionHeaders: named?.length === 0 ? undefined : named,
  }
}

/** All headers, and those that say where the body ends and what becomes of the connection. @param begin Where their lines begin; -1: there are none */
function parseHeaders(text: string, begin: number) {
  const headers: string[] = []
  let length: string | undefined
  let encoding: string | undefined
  let connection: string | undefined
  let keepAlive: string | undefined
  for (let at = begin; at !== -1; ) {
    const from = at + 2
    at = text.indexOf('\r\n', from)
    const header = at === -1 ? text.slice(from) : text.slice(from, at)
    const colon = checkHeaderLine(header)
    const name = header.slice(0, colon)
    const value = trimmed(header, colon + 1)
    headers.push(name, value)
    const known = name.toLowerCase()
    if (known === 'connection')
      connection = connection === undefined ? value : `${connection},${value}`
    else if (known === 'keep-alive') keepAlive = value
    else if (known === 'transfer-encoding')
      encoding = encoding === undefined ? value : `${encoding},${value}`
    else if (known === 'content-length') {
      if (length !== undefined && length !== value)
        throw new ResponseError('The lengths of the body contradict each other.')
      if (length !== undefined) headers.length -= 2
      length = value
    }
  }
  return { headers, length, encoding, connection, keepAlive }
}

interface Framing {
  readonly status: number
  readonly headersOnly: boolean
  readonly length: string | undefined
  readonly encoding: string | undefined
  readonly isOld: boolean
}

function toBodyForm({ status, headersOnly, length, encoding, isOld }: Framing): BodyForm {
  if (encoding !== undefined && length !== undefined) {
    throw new ResponseError('The response has both a length and a transfer encoding.')
  }
  if (length !== undefined && !/^\d{1,15}$/.test(length))
    throw new ResponseError('The length of the body is no number.')
  if (headersOnly || status < 200 || status === 204 || status === 304) return noBody
  // RFC 2616 had this one, for a body as it is.
  if (encoding?.toLowerCase() === 'identity') return closedBody
  if (encoding !== undefined) {
    if (isOld || encoding.toLowerCase() !== 'chunked')
      throw new ResponseError(`The transfer encoding ${encoding} is not known.`)
    return chunkedBody
  }
  return length === undefined ? closedBody : { kind: 'length', length: Number(length) }
}

function parseKeepAlive(value: string): number | undefined {
  const seconds = /(?:^|[\s,;])timeout=(\d{1,6})/i.exec(value)?.[1]
  return seconds === undefined ? undefined : Number(seconds)
}
