/** Names of certificate owners and issuers: read, compared as X.500 says, and written the way that Java writes them. */
import { childAt, type Der, derTag, readChildren, readOid, readText } from './der.ts'

export interface NameAttribute {
  /** Dotted numbers. */
  readonly type: string
  /** The text, or `#` and the encoded value in hexadecimal digits when it is no text. */
  readonly value: string
}

/** As encoded: from the most general part to the most special, each part with one attribute or more. */
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
export const commonName = '2.5.4.3'

const typesByKeyword: ReadonlyMap<string, string> = new Map([
  ...Object.entries(javaKeywords).map(([type, keyword]) => [keyword, type] as const),
  ['S', '2.5.4.8'],
  ['DNQUALIFIER', '2.5.4.46'],
  ['EMAIL', '1.2.840.113549.1.9.1'],
  ['SN', '2.5.4.4'],
  ['GN', '2.5.4.42'],
])

/** @throws {DerError} */
export function readName(name: Der): DistinguishedName {
  return readChildren(name, derTag.sequence).map((part) =>
    readChildren(part, derTag.set).map((attribute) => {
      const [type, value] = [0, 1].map((index) => childAt(readChildren(attribute, derTag.sequence), index)) as [Der, Der]
      return { type: readOid(type), value: readText(value) ?? `#${value.bytes.toString('hex')}` }
    }),
  )
}

/** Equal exactly for names that are the same: without case, without repeated blanks, attributes of one part in any order. */
export function nameKey(name: DistinguishedName): string {
  const parts = name.map((part) => part.map(({ type, value }) => `${type}=${normalize(value)}`).sort())
  return JSON.stringify(parts)
}

function normalize(value: string): string {
  return value.normalize('NFKD').trim().replaceAll(/\s+/g, ' ').toLowerCase()
}

/** The name as text, and the same text with blanks in place of what, inside a value, would look like structure. */
export interface JavaName {
  readonly text: string
  readonly masked: string
}

/** The most special part first, as `EMAILADDRESS=a@x.io, CN=a, O="Acme, Inc", C=DE`. */
export function formatJavaName(name: DistinguishedName): JavaName {
  const parts = [...name].reverse().map((part) => part.map(formatAttribute))
  const join = (form: keyof JavaName) => parts.map((part) => part.map((attribute) => attribute[form]).join(' + ')).join(', ')
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
 * Reads a name as people write it, the most special part first, in the forms that Java accepts.
 *
 * @returns undefined when it is no name
 */
export function parseName(text: string): DistinguishedName | undefined {
  const parts: NameAttribute[][] = [[]]
  for (let rest = text.trimStart(); ; ) {
    const start = /^([A-Za-z][A-Za-z0-9]*|(?:OID\.)?\d+(?:\.\d+)+)\s*=\s*/i.exec(rest)
    if (start === null) return undefined
    const type = toType(start[1] as string)
    const value = takeValue(rest.slice(start[0].length))
    if (type === undefined || value === undefined) return undefined
    parts.at(-1)?.push({ type, value: value.value })
    rest = value.rest
    if (rest === '') return parts.reverse()
    if (!rest.startsWith('+')) parts.push([])
    rest = rest.slice(1).trimStart()
  }
}

function toType(keyword: string): string | undefined {
  const upper = keyword.toUpperCase()
  return typesByKeyword.get(upper) ?? /^(?:OID\.)?(\d+(?:\.\d+)+)$/.exec(upper)?.[1]
}

/** The value at the start of a text, quoted or with escapes, and what follows it: nothing, or a separator first. */
function takeValue(text: string): { value: string; rest: string } | undefined {
  const quoted = /^"((?:[^"\\]|\\.)*)"\s*(?=[,;+]|$)/s.exec(text)
  const plain = quoted ?? /^((?:[^",;+\\]|\\.)*)(?=[,;+]|$)/s.exec(text)
  if (plain === null) return undefined
  const raw = quoted === null ? (plain[1] as string).replace(/(?<!\\)\s+$/, '') : (plain[1] as string)
  return { value: withoutEscapes(raw), rest: text.slice(plain[0].length) }
}

function withoutEscapes(raw: string): string {
  return raw.replaceAll(/(?:\\[0-9a-f]{2})+|\\(.)/gis, (whole, character: string | undefined) =>
    character !== undefined && !/^\\[0-9a-f]{2}/i.test(whole)
      ? character
      : Buffer.from(whole.replaceAll('\\', ''), 'hex').toString('utf8'),
  )
}
