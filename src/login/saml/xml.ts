/** Reads XML of strangers: no document type, no entities, bounded in depth and size, and nothing is repaired. */
import { SamlRefused } from './refusal.ts'
import { DOMParser, type XmlElement, type XmlNode } from './xml-libraries.js'

export type { XmlElement } from './xml-libraries.js'

export const namespaces = {
  protocol: 'urn:oasis:names:tc:SAML:2.0:protocol',
  assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
  metadata: 'urn:oasis:names:tc:SAML:2.0:metadata',
  signature: 'http://www.w3.org/2000/09/xmldsig#',
  encryption: 'http://www.w3.org/2001/04/xmlenc#',
} as const
export type Namespace = keyof typeof namespaces

export interface XmlText {
  readonly text: string
  readonly root: XmlElement
}

const maxDepth = 100
/** Somebody in thousands of groups needs two tags for each. */
const maxTags = 10_000
const maxTagLength = 16_384

/**
 * The document as text and tree. A message may hold no processing instructions, which some libraries read as text; a
 * trusted file of an operator may, and has no bound on the number of tags.
 *
 * @throws {SamlRefused} when the text is not well-formed XML of this kind
 */
export function parseXml(text: string, origin: 'message' | 'trusted' = 'message'): XmlText {
  checkShape(text, origin)
  let problem: string | undefined
  const report = (message: string) => {
    problem ??= message
  }
  const parser = new DOMParser({ errorHandler: { warning: report, error: report, fatalError: report } })
  let root: XmlElement | null | undefined
  try {
    root = parser.parseFromString(text, 'text/xml')?.documentElement
  } catch {
    root = undefined
  }
  if (problem !== undefined || root === null || root === undefined) throw new SamlRefused('the XML is not well-formed')
  return { text, root }
}

/** One pass over the tags before anything is built from them. */
function checkShape(text: string, origin: 'message' | 'trusted'): void {
  if (/(?![\t\n\r])\p{Cc}|[\ufffe\uffff]/u.test(text)) throw new SamlRefused('the XML contains control characters')
  let depth = 0
  let tags = 0
  for (let at = text.indexOf('<'); at !== -1; ) {
    const end = endOfMarkup(text, at, origin)
    if (end === -1) throw new SamlRefused('the XML is cut off or has a tag that is too long')
    if (isTag(text, at)) {
      if (text[at + 1] === '/') depth--
      else if (text[end - 1] !== '/') depth++
      if (depth > maxDepth) throw new SamlRefused('the XML is nested too deeply')
      if (++tags > maxTags && origin === 'message') throw new SamlRefused('the XML has too many tags')
    }
    at = text.indexOf('<', end)
  }
}

function isTag(text: string, at: number): boolean {
  return text[at + 1] !== '!' && text[at + 1] !== '?'
}

/** Index of the last character of the markup that starts here; -1 when it does not end. */
function endOfMarkup(text: string, at: number, origin: 'message' | 'trusted'): number {
  if (text.startsWith('<!--', at)) return after(text, '-->', at + 4)
  if (text.startsWith('<![CDATA[', at)) return after(text, ']]>', at + 9)
  if (text[at + 1] === '!') throw new SamlRefused('the XML has a document type')
  if (text[at + 1] === '?') {
    const isDeclaration = text.startsWith('<?xml ', at) && text.slice(0, at).trim() === ''
    if (!isDeclaration && origin === 'message') throw new SamlRefused('the XML has a processing instruction')
    return after(text, '?>', at + 2)
  }
  return endOfTag(text, at)
}

function after(text: string, end: string, from: number): number {
  const found = text.indexOf(end, from)
  return found === -1 ? -1 : found + end.length - 1
}

function endOfTag(text: string, at: number): number {
  let quote = ''
  const limit = Math.min(text.length, at + maxTagLength)
  for (let index = at + 1; index < limit; index++) {
    const character = text[index] as string
    if (character === '<') return -1
    if (quote !== '') {
      if (character === quote) quote = ''
    } else if (character === '"' || character === "'") quote = character
    else if (character === '>') return index
  }
  return -1
}

export function isElement(element: XmlElement, namespace: Namespace, name: string): boolean {
  return element.localName === name && element.namespaceURI === namespaces[namespace]
}

/** All children that are elements. */
export function elementsOf(element: XmlElement): XmlElement[] {
  return Array.from(element.childNodes).filter((node): node is XmlElement => isElementNode(node))
}

export function childrenOf(element: XmlElement, namespace: Namespace, name: string): XmlElement[] {
  return elementsOf(element).filter((child) => isElement(child, namespace, name))
}

/** The child of that name; undefined when there is none. @throws {SamlRefused} when there are several */
export function childOf(element: XmlElement, namespace: Namespace, name: string): XmlElement | undefined {
  const found = childrenOf(element, namespace, name)
  if (found.length > 1) throw new SamlRefused(`there are several ${name} elements in ${element.localName}`)
  return found[0]
}

export function descendantsOf(element: XmlElement): XmlElement[] {
  const found: XmlElement[] = []
  const open = [element]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    found.push(next)
    open.push(...elementsOf(next))
  }
  return found
}

/** Undefined when the attribute is missing; an empty one is empty text. */
export function attributeOf(element: XmlElement | undefined, name: string): string | undefined {
  return element?.hasAttribute(name) ? (element.getAttribute(name) ?? undefined) : undefined
}

/** The whole text of an element; comments neither count nor cut it. */
export function textOf(element: XmlElement | undefined): string {
  return (element?.textContent ?? '').trim()
}

export function escapeXml(text: string): string {
  return text.replace(/[&<>"'\r\n\t]/g, (character) => `&#${character.charCodeAt(0)};`)
}

function isElementNode(node: XmlNode): node is XmlElement {
  return node.nodeType === 1
}
