/** Linear scan of XML markup that enforces limits before parsing. */
import { SamlRefused } from './refusal.ts'

export interface Tag {
  readonly kind: 'start' | 'end' | 'empty'
  /** Name as written, with its prefix. */
  readonly name: string
  /** Index of `<`, and the index after `>`. */
  readonly start: number
  readonly end: number
  /** The root has depth 1, its children 2. */
  readonly depth: number
}

export interface XmlLimits {
  readonly depth: number
  /** Tags, comments and CDATA sections; the largest answers come from users in thousands of groups, with two tags for each. */
  readonly markup: number
  /** In the whole text, and in one tag; declarations of namespaces count. */
  readonly attributes: number
  readonly attributesOfTag: number
  /** Declarations of namespaces that hold at one place. */
  readonly namespaces: number
  readonly tagLength: number
  /** Such as `&amp;`. */
  readonly references: number
  /** Taking them out takes a library longer the more there are. */
  readonly comments: number
  readonly instructions: boolean
}

/** Limits of a message, which a stranger may have sent. */
export const messageLimits: XmlLimits = {
  depth: 100,
  markup: 10_000,
  attributes: 20_000,
  attributesOfTag: 64,
  namespaces: 64,
  // A canonical form may repeat a namespace at each element.
  tagLength: 4096,
  references: 20_000,
  comments: 100,
  // Some libraries read them as text.
  instructions: false,
}

/** Limits of a file that an operator has chosen: it may describe thousands of identity providers, of which one is then read. */
export const fileLimits: XmlLimits = {
  ...messageLimits,
  markup: Number.POSITIVE_INFINITY,
  attributes: Number.POSITIVE_INFINITY,
  references: Number.POSITIVE_INFINITY,
  comments: Number.POSITIVE_INFINITY,
  tagLength: 16_384,
  instructions: true,
}

/** @param visit Called for each tag in order @throws {SamlRefused} at a limit, a document type, or tags that do not match */
export function scanTags(text: string, limits: XmlLimits, visit: (tag: Tag) => void): void {
  if (/[^\t\n\r\x20-\x7e\xa0-\ufffd]/.test(text))
    throw new SamlRefused('the XML contains control characters')
  checkReferences(text, limits)
  const open: { name: string; namespaces: number }[] = []
  const count = { markup: 0, comments: 0, attributes: 0, namespaces: 0, roots: 0 }
  for (let start = text.indexOf('<'); start !== -1; ) {
    if (++count.markup > limits.markup) throw new SamlRefused('the XML has too many tags')
    const isComment = text.startsWith('<!--', start)
    if (isComment && ++count.comments > limits.comments)
      throw new SamlRefused('the XML has too many comments')
    const other = endOfOther(text, start, limits)
    if (other !== undefined) {
      start = text.indexOf('<', other)
      continue
    }
    const tag = readTag(text, start, limits)
    const { name, kind, end } = tag
    if (kind === 'end') {
      const closed = open.pop()
      if (closed === undefined || closed.name !== name)
        throw new SamlRefused('the XML is not well-formed')
      count.namespaces -= closed.namespaces
    } else {
      if (open.length === 0 && ++count.roots > 1)
        throw new SamlRefused('the XML is not well-formed')
      if (open.length >= limits.depth) throw new SamlRefused('the XML is nested too deeply')
      count.attributes += tag.attributes
      if (tag.attributes > limits.attributesOfTag || count.attributes > limits.attributes) {
        throw new SamlRefused('the XML has too many attributes')
      }
      if (count.namespaces + tag.namespaces > limits.namespaces)
        throw new SamlRefused('the XML declares too many namespaces')
    }
    visit({ kind, name, start, end, depth: open.length + 1 })
    if (kind === 'start') {
      open.push({ name, namespaces: tag.namespaces })
      count.namespaces += tag.namespaces
    }
    start = text.indexOf('<', end)
  }
  if (open.length > 0) throw new SamlRefused('the XML is cut off')
}

function checkReferences(text: string, limits: XmlLimits): void {
  let references = 0
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1)) {
    if (++references > limits.references) throw new SamlRefused('the XML has too many references')
  }
}

/** The index after markup that is no tag; undefined when a tag starts here. */
function endOfOther(text: string, at: number, limits: XmlLimits): number | undefined {
  if (text[at + 1] === '?') {
    const isAllowed =
      limits.instructions || (text.startsWith('<?xml ', at) && text.slice(0, at).trim() === '')
    if (!isAllowed) throw new SamlRefused('the XML has a processing instruction')
    return after(text, '?>', at + 2)
  }
  if (text[at + 1] !== '!') return undefined
  if (text.startsWith('<!--', at)) return after(text, '-->', at + 4)
  if (text.startsWith('<![CDATA[', at)) return after(text, ']]>', at + 9)
  throw new SamlRefused('the XML has a document type')
}

function after(text: string, end: string, from: number): number {
  const found = text.indexOf(end, from)
  if (found === -1) throw new SamlRefused('the XML is cut off')
  return found + end.length
}

interface ScannedTag extends Omit<Tag, 'depth'> {
  readonly attributes: number
  readonly namespaces: number
}

const quotes = { double: 0x22, single: 0x27 } as const
const less = 0x3c
const equals = 0x3d
const greater = 0x3e

/** A tag ends at the first `>` that stands in no value. */
function readTag(text: string, start: number, { tagLength }: XmlLimits): ScannedTag {
  const limit = Math.min(text.length, start + tagLength)
  let quote = 0
  let attributes = 0
  for (let index = start + 1; index < limit; index++) {
    const code = text.charCodeAt(index)
    if (code === less) break
    if (quote !== 0) {
      if (code === quote) quote = 0
    } else if (code === quotes.double || code === quotes.single) quote = code
    else if (code === equals) attributes++
    else if (code === greater) return toTag(text.slice(start, index + 1), start, attributes)
  }
  throw new SamlRefused('the XML is cut off or has a tag that is too long')
}

function toTag(tag: string, start: number, attributes: number): ScannedTag {
  const isEnd = tag[1] === '/'
  const kind = isEnd ? 'end' : tag.endsWith('/>') ? 'empty' : 'start'
  const name = /^[^\s/>]*/.exec(tag.slice(isEnd ? 2 : 1))?.[0] ?? ''
  // Within a value the name may stand, too; then the tag counts as one that declares more than it does.
  const namespaces = attributes === 0 ? 0 : tag.split('xmlns').length - 1
  return { kind, name, start, end: start + tag.length, attributes, namespaces }
}

export function localNameOf({ name }: Tag): string {
  return name.slice(name.indexOf(':') + 1)
}
