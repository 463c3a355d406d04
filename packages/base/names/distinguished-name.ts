/** Distinguished names (RFC 4514): parsing, comparison, formatting, templates. */

interface NameAttribute {
  /** Dotted numbers; of an attribute that is not known here, its keyword in lower case. */
  readonly type: string
  /** The text, or `#` and the encoded value in hexadecimal digits when it is no text. */
  readonly value: string
}

/** Order of certificates: from the most general part to the most special, each with one attribute or more. */
export type DistinguishedName = readonly (readonly NameAttribute[])[]

/** What Java calls the attributes when it prints a name. */
const javaKeywords: Readonly<Record<string, string>> = {
  '2.5.4.3': 'CN',
  '2.5.4.6': 'C',
  '2.5.4.7': 'L',
  '2.5.4.8': 'ST',
  '2.5.4.10': 'O',
  '2.5.4.11': 'OU',
  '2.5.4.12': 'T',
  '1.3.6.1.4.1.42.2.11.2.1': 'IP',
  '2.5.4.9': 'STREET',
  '0.9.2342.19200300.100.1.25': 'DC',
  '2.5.4.46': 'DNQ',
  '2.5.4.4': 'SURNAME',
  '2.5.4.42': 'GIVENNAME',
  '2.5.4.43': 'INITIALS',
  '2.5.4.44': 'GENERATION',
  '1.2.840.113549.1.9.1': 'EMAILADDRESS',
  '0.9.2342.19200300.100.1.1': 'UID',
  '2.5.4.5': 'SERIALNUMBER',
}
const commonName = '2.5.4.3'

const typesByKeyword: ReadonlyMap<string, string> = new Map([
  ...Object.entries(javaKeywords).map(([type, keyword]) => [keyword, type] as const),
  ['S', '2.5.4.8'],
  ['DNQUALIFIER', '2.5.4.46'],
  ['EMAIL', '1.2.840.113549.1.9.1'],
  ['SN', '2.5.4.4'],
  ['GN', '2.5.4.42'],
])

/** Equal exactly for names that are the same: without case, without repeated blanks, attributes of one part in any order. */
export function nameKey(name: DistinguishedName): string {
  const parts = name.map((part) =>
    part.map(({ type, value }) => `${type}=${normalize(value)}`).sort(),
  )
  return JSON.stringify(parts)
}

function normalize(value: string): string {
  return value.normalize('NFKD').trim().replaceAll(/\s+/g, ' ').toLowerCase()
}

/** The name as text, and the same text with blanks in place of what, inside a value, would look like structure. */
interface JavaName {
  readonly text: string
  readonly masked: string
}

/** The most special part first, as `EMAILADDRESS=a@x.io, CN=a, O="Acme, Inc", C=DE`. */
export function formatJavaName(name: DistinguishedName): JavaName {
  const parts = [...name].reverse().map((part) => part.map(formatAttribute))
  const join = (form: keyof JavaName) =>
    parts.map((part) => part.map((attribute) => attribute[form]).join(' + ')).join(', ')
  return { text: join('text'), masked: join('masked') }
}

function formatAttribute({ type, value }: NameAttribute): JavaName {
  const prefix = `${javaKeywords[type] ?? `OID.${type}`}=`
  const written = needsQuotes(value) ? `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"` : value
  return { text: prefix + written, masked: prefix + written.replaceAll(/[,=+;\n]/g, ' ') }
}

function needsQuotes(value: string): boolean {
  return !value.startsWith('#') && /[,+=\n<>#;\\"]|^ | $| {2}/.test(value)
}

/**
 * Reads a name as people and directories write it, the most special part first: as RFC 4514 says, with the blanks, quotes and
 * semicolons of older forms.
 *
 * @param separators Between parts; in RFC 4514 only the comma
 * @returns undefined when it is no name
 * @see RFC 4514, section 3; RFC 2253, section 4
 */
export function parseName(
  text: string,
  separators: ',' | ',;' = ',;',
): DistinguishedName | undefined {
  const parts: NameAttribute[][] = [[]]
  for (let at = 0; ; ) {
    const keyword = take(/\s*([A-Za-z][\w.-]*|\d[\d.]*)\s*=\s*/y, text, at)
    if (keyword === undefined) return undefined
    const value = takeValue(text, keyword.end)
    if (value === undefined) return undefined
    parts.at(-1)?.push({ type: toType(keyword.text), value: value.text })
    const separator = text[value.end]
    if (separator === undefined) return parts.reverse()
    if (separator !== '+' && !separators.includes(separator)) return undefined
    if (separator !== '+') parts.push([])
    at = value.end + 1
  }
}

/** Whether a text is a name as RFC 4514 writes it, from its first keyword on. */
export function isDistinguishedName(text: string): boolean {
  return (
    /^\s*(?:CN|L|ST|O|OU|C|STREET|DC|UID)\s*=/i.test(text) && parseName(text, ',') !== undefined
  )
}

/** Part of a text, and the index after it. */
interface NamePart {
  readonly text: string
  readonly end: number
}

function take(pattern: RegExp, text: string, at: number): NamePart | undefined {
  pattern.lastIndex = at
  const match = pattern.exec(text)
  return match === null ? undefined : { text: match[1] as string, end: pattern.lastIndex }
}

function toType(keyword: string): string {
  const upper = keyword.toUpperCase()
  return typesByKeyword.get(upper) ?? upper.replace(/^OID\.(?=\d)/, '').toLowerCase()
}

/** A value, quoted or with escapes; it ends at a separator or with the text. */
function takeValue(text: string, at: number): NamePart | undefined {
  const isQuoted = text[at] === '"'
  let end = isQuoted ? at + 1 : at
  // Blanks at the end belong to the value where they are escaped.
  let solid = end
  while (end < text.length && !(isQuoted ? '"' : '",+;').includes(text[end] as string)) {
    const isEscaped = text[end] === '\\'
    if (isEscaped && end + 1 === text.length) return undefined
    end += isEscaped ? 2 : 1
    if (isEscaped || isQuoted || !/\s/.test(text[end - 1] as string)) solid = end
  }
  const value = withoutEscapes(text.slice(isQuoted ? at + 1 : at, solid))
  if (!isQuoted) return text[end] === '"' ? undefined : { text: value, end }
  if (end >= text.length) return undefined
  const next = end + 1 + (/^\s*/.exec(text.slice(end + 1))?.[0] ?? '').length
  return next < text.length && !',+;'.includes(text[next] as string)
    ? undefined
    : { text: value, end: next }
}

/** Neighbouring escaped bytes belong to one character. */
function withoutEscapes(raw: string): string {
  return raw.replaceAll(
    /((?:\\[0-9a-f]{2})+)|\\([\s\S])/gi,
    (_, bytes: string | undefined, character: string) =>
      bytes === undefined
        ? character
        : Buffer.from(bytes.replaceAll('\\', ''), 'hex').toString('utf8'),
  )
}

/** The same text with letters in place of what is escaped or quoted, so that a search finds structure alone. */
export function maskEscapes(text: string): string {
  return text.replaceAll(/\\[\s\S]|=\s*"(?:[^"\\]|\\[\s\S])*"/g, (part) => 'x'.repeat(part.length))
}

/** The most special one. */
export function commonNameOf(name: DistinguishedName): string | undefined {
  return name.flat().findLast(({ type }) => type === commonName)?.value
}

/** The value of the first part of a written name: `Dev, East` of `cn=Dev\, East,ou=groups`. Undefined when it is no name. */
export function leadingValue(dn: string): string | undefined {
  return parseName(dn)?.at(-1)?.[0]?.value || undefined
}

/** Whether two written names mean one entry, as far as one can tell without the schema of the directory. */
export function isSameDn(one: string, other: string): boolean {
  const [left, right] = [one, other].map((dn) => parseName(dn))
  return left === undefined || right === undefined
    ? one === other
    : nameKey(left) === nameKey(right)
}

/** Fills `uid={0},ou=users,dc=example` so that nothing that was typed leaves its place. */
export function fillDnPattern(pattern: string, value: string): string {
  return pattern.replaceAll('{0}', () => escapeDnValue(value))
}

/** @see RFC 4514, section 2.4 */
export function escapeDnValue(value: string): string {
  return (
    value
      .replace(/["+,;<=>\\]|^#/g, (character) => `\\${character}`)
      .replace(/\p{Cc}/gu, (character) =>
        [...Buffer.from(character)].map((byte) => `\\${toHex(byte)}`).join(''),
      )
      // Blanks are dropped at both ends unless they are escaped.
      .replace(/^ +|(?<! ) +$/g, (blanks) => '\\ '.repeat(blanks.length))
  )
}

function toHex(byte: number): string {
  return byte.toString(16).padStart(2, '0')
}
