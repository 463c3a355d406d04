/** Lines of Git's protocol, each after its length in four hexadecimal digits. */

/** Ends a section, and a message. */
const flush = '0000'
/** Separates the capabilities of a request from its arguments. */
const delimiter = '0001'

/** A command of version 2 of the protocol. */
export function formatCommand(capabilities: readonly string[], args: readonly string[]): string {
  return [...capabilities.map(formatLine), delimiter, ...args.map(formatLine), flush].join('')
}

function formatLine(line: string): string {
  return `${(Buffer.byteLength(line) + 5).toString(16).padStart(4, '0')}${line}\n`
}

/**
 * All lines of a message without their line ends; flushes and delimiters are left out.
 *
 * @throws {RangeError} when it is no such message
 */
export function parsePktLines(message: Buffer): string[] {
  const lines: string[] = []
  for (let at = 0; at < message.length; ) {
    const digits = message.toString('latin1', at, at + 4)
    const length = /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : Number.NaN
    if (Number.isNaN(length) || length === 3 || at + length > message.length) throw new RangeError('It is no message of Git.')
    if (length >= 4) lines.push(message.toString('utf8', at + 4, at + length).replace(/\n$/, ''))
    at += Math.max(length, 4)
  }
  return lines
}
