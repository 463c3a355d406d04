/** Names of entries in a directory: values put in safely, compared, and taken apart (RFC 4514). */

/** Fills `uid={0},ou=users,dc=example` so that nothing that was typed leaves its place. */
export function fillDnPattern(pattern: string, value: string): string {
  return pattern.replaceAll('{0}', () => escapeDnValue(value))
}

/** @see RFC 4514, section 2.4 */
export function escapeDnValue(value: string): string {
  const inner = value
    .replace(/["+,;<=>\\]/g, (character) => `\\${character}`)
    .replace(/\p{Cc}/gu, (character) => [...Buffer.from(character)].map((byte) => `\\${toHex(byte)}`).join(''))
    .replace(/^#/, '\\#')
  // Blanks are dropped at both ends unless they are escaped.
  const [, before = '', text = '', after = ''] = /^( *)(.*?)( *)$/s.exec(inner) ?? []
  return before.replaceAll(' ', '\\ ') + text + after.replaceAll(' ', '\\ ')
}

function toHex(byte: number): string {
  return byte.toString(16).padStart(2, '0')
}

/** The value of the first part of a name: `Dev, East` of `cn=Dev\, East,ou=groups`. Undefined when it is no name. */
export function leadingValue(dn: string): string | undefined {
  const match = /^\s*[\w.-]+\s*=\s*((?:[^\\,+;]|\\[\s\S])*)/.exec(dn)
  if (match?.[1] === undefined) return undefined
  const value = match[1].replace(/(?<=(?:^|[^\\])(?:\\\\)*) +$/, '')
  return withoutEscapes(value) || undefined
}

function withoutEscapes(value: string): string {
  return value.replace(/((?:\\[0-9a-f]{2})+)|\\([\s\S])/gi, (_, bytes: string | undefined, character: string) =>
    bytes === undefined ? character : Buffer.from(bytes.replaceAll('\\', ''), 'hex').toString('utf8'),
  )
}

/** Whether two names mean one entry as far as one can tell without the schema: case and blanks between parts do not count. */
export function isSameDn(one: string, other: string): boolean {
  return normalize(one) === normalize(other)
}

function normalize(dn: string): string {
  return dn.replace(/\s*([,=+])\s*/g, '$1').toLowerCase()
}
