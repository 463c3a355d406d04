/** Strict DER reader for certificates, revocation lists and key stores, and BER of key stores. */

/** One value; `bytes` includes tag and length, `content` does not. */
export interface Der {
  /** The first octet: class, constructed bit and number. */
  readonly tag: number
  readonly content: Buffer
  readonly bytes: Buffer
}

export const derTag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8String: 0x0c,
  sequence: 0x30,
  set: 0x31,
} as const

/** The bytes are not what they should be. The message is for operators. */
export class DerError extends Error {}

/** @throws {DerError} when the bytes are anything but one value */
export function readDer(bytes: Buffer): Der {
  const value = readValue(bytes, 0)
  if (value.bytes.length !== bytes.length)
    throw new DerError('something follows the end of the value')
  return value
}

const constructed = 0x20
const openLength = 0x80
const maxDepth = 50

/** The same for BER, where lengths may be open and octet strings in pieces, as some tools write key stores. @throws {DerError} */
export function readBer(bytes: Buffer): Der {
  const { der, end } = rewrite(bytes, 0, 0)
  if (end !== bytes.length) throw new DerError('something follows the end of the value')
  return readDer(der)
}

function rewrite(bytes: Buffer, offset: number, depth: number): { der: Buffer; end: number } {
  if (depth > maxDepth) throw new DerError('it is nested too deeply')
  const tag = bytes[offset] ?? 0
  const isOpen = bytes[offset + 1] === openLength
  if (!isOpen && (tag & constructed) === 0) {
    const { bytes: der } = readValue(bytes, offset)
    return { der, end: offset + der.length }
  }
  const whole = isOpen ? undefined : readValue(bytes, offset)
  const end = whole === undefined ? bytes.length : offset + whole.bytes.length
  const parts: Buffer[] = []
  let at = whole === undefined ? offset + 2 : end - whole.content.length
  while (at < end && !(isOpen && bytes[at] === 0 && bytes[at + 1] === 0)) {
    const part = rewrite(bytes, at, depth + 1)
    parts.push(part.der)
    at = part.end
  }
  if (isOpen && at >= end) throw new DerError('a value breaks off')
  const isPieces = tag === (derTag.octetString | constructed)
  const content = isPieces ? parts.map((part) => readDer(part).content) : parts
  return {
    der: encode(isPieces ? derTag.octetString : tag, Buffer.concat(content)),
    end: isOpen ? at + 2 : end,
  }
}

function encode(tag: number, content: Buffer): Buffer {
  if (content.length < openLength) return Buffer.concat([Buffer.of(tag, content.length), content])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(content.length)
  const size = length.subarray(length.findIndex((octet) => octet !== 0))
  return Buffer.concat([Buffer.of(tag, openLength | size.length), size, content])
}

/** The values inside a constructed one, in order. @throws {DerError} */
export function readChildren(parent: Der, tag?: number): Der[] {
  if (tag !== undefined && parent.tag !== tag) throw unexpected(parent.tag)
  const children: Der[] = []
  for (let offset = 0; offset < parent.content.length; ) {
    const child = readValue(parent.content, offset)
    children.push(child)
    offset += child.bytes.length
  }
  return children
}

/** The child at a place where there has to be one, of the given tag. @throws {DerError} */
export function childAt(children: readonly Der[], index: number, tag?: number): Der {
  const child = children[index]
  if (child === undefined) throw new DerError('a value is missing')
  if (tag !== undefined && child.tag !== tag) throw unexpected(child.tag)
  return child
}

/** The one value inside an explicit tag or an octet string. @throws {DerError} */
export function readInner(parent: Der): Der {
  return readDer(parent.content)
}

/** @throws {DerError} */
export function readInteger(value: Der): bigint {
  const { content } = value
  if (value.tag !== derTag.integer || content.length === 0 || content.length > 64)
    throw unexpected(value.tag)
  const unsigned = BigInt(`0x${content.toString('hex')}`)
  return (content[0] as number) < 0x80 ? unsigned : unsigned - (1n << BigInt(content.length * 8))
}

/** Dotted numbers, such as `2.5.4.3`. @throws {DerError} */
export function readOid(value: Der): string {
  const { content } = value
  if (value.tag !== derTag.oid || content.length === 0 || content.length > 100)
    throw unexpected(value.tag)
  const parts: bigint[] = []
  let part = 0n
  for (const octet of content) {
    part = (part << 7n) | BigInt(octet & 0x7f)
    if (octet >= 0x80) continue
    parts.push(part)
    part = 0n
  }
  const first = parts[0]
  if (first === undefined || (content.at(-1) as number) >= 0x80)
    throw new DerError('an object identifier breaks off')
  const root = first < 80n ? first / 40n : 2n
  return [root, first - root * 40n, ...parts.slice(1)].join('.')
}

/** UTF8, numeric, printable, Teletex, IA5 and visible strings are one octet or more per character; BMP strings are two. */
const textDecoders: Readonly<Record<number, (content: Buffer) => string>> = {
  12: (content) => new TextDecoder('utf-8', { fatal: true }).decode(content),
  18: (content) => content.toString('latin1'),
  19: (content) => content.toString('latin1'),
  20: (content) => content.toString('latin1'),
  22: (content) => content.toString('latin1'),
  26: (content) => content.toString('latin1'),
  30: (content) => Buffer.from(content).swap16().toString('utf16le'),
}

/** The text of a string of any type; undefined for everything else. @throws {DerError} when it is not well-formed */
export function readText(value: Der): string | undefined {
  const decode = textDecoders[value.tag]
  if (decode === undefined) return undefined
  try {
    return decode(value.content)
  } catch {
    throw new DerError('a text is not well-formed')
  }
}

/** A point in time of either type. @returns milliseconds since the epoch @throws {DerError} */
export function readTime(value: Der): number {
  const text = value.content.toString('latin1')
  const match = /^(\d\d|\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(text)
  const [year = '', ...rest] = match?.slice(1) ?? []
  const short = value.tag === 0x17
  if (match === null || (value.tag !== 0x18 && !short) || year.length !== (short ? 2 : 4)) {
    throw new DerError('a time is not well-formed')
  }
  const fullYear = short ? Number(year) + (Number(year) < 50 ? 2000 : 1900) : Number(year)
  const [month, day, hour, minute, second] = rest.map(Number) as [
    number,
    number,
    number,
    number,
    number,
  ]
  return Date.UTC(fullYear, month - 1, day, hour, minute, second)
}

function readValue(bytes: Buffer, offset: number): Der {
  const tag = bytes[offset]
  const first = bytes[offset + 1]
  if (tag === undefined || first === undefined) throw new DerError('a value breaks off')
  if ((tag & 0x1f) === 0x1f) throw unexpected(tag)
  const { length, size } =
    first < 0x80 ? { length: first, size: 0 } : readLength(bytes, offset + 2, first & 0x7f)
  const start = offset + 2 + size
  const end = start + length
  if (end > bytes.length) throw new DerError('a value breaks off')
  return { tag, content: bytes.subarray(start, end), bytes: bytes.subarray(offset, end) }
}

function readLength(bytes: Buffer, offset: number, size: number): { length: number; size: number } {
  if (size === 0) throw new DerError('a length is open, which DER does not allow')
  if (size > 4 || offset + size > bytes.length) throw new DerError('a value breaks off')
  return { length: bytes.readUIntBE(offset, size), size }
}

function unexpected(tag: number): DerError {
  return new DerError(`a value of type 0x${tag.toString(16)} is where another belongs`)
}
