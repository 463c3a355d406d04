/** Reads XML of strangers: limits first, no document type, no entities, and nothing is repaired. */
import { refuseUnless, SamlRefused } from './refusal.ts'
import { DOMParser, type XmlElement, type XmlNode } from './xml-libraries.js'
import { localNameOf, messageLimits, scanTags, type Tag, type XmlLimits } from './xml-scanner.ts'

export type { XmlElement } from './xml-libraries.js'

export const namespaces = {
  protocol: 'urn:oasis:names:tc:SAML:2.0:protocol',
  assertion: 'urn:oasis:names:tc:SAML:2.0:assertion',
  metadata: 'urn:oasis:names:tc:SAML:2.0:metadata',
  signature: 'http://www.w3.org/2000/09/xmldsig#',
  encryption: 'http://www.w3.org/2001/04/xmlenc#',
  exclusive: 'http://www.w3.org/2001/10/xml-exc-c14n#',
} as const
type Namespace = keyof typeof namespaces

export interface XmlText {
  readonly text: string
  readonly root: XmlElement
}

/**
 * The document as text and tree, within the limits of a message: no document type, no processing instructions, bounded markup.
 *
 * @throws {SamlRefused} when the text is not well-formed XML of this kind
 */
export function parseXml(text: string, limits: XmlLimits = messageLimits): XmlText {
  scanTags(text, limits, () => {})
  let problem: string | undefined
  const report = (message: string) => {
    problem ??= message
  }
  const parser = new DOMParser({
    errorHandler: { warning: report, error: report, fatalError: report },
  })
  let root: XmlElement | null | undefined
  try {
    root = parser.parseFromString(text, 'text/xml')?.documentElement
  } catch {
    root = undefined
  }
  if (problem !== undefined || root === null || root === undefined)
    throw new SamlRefused('the XML is not well-formed')
  return { text, root }
}

/** Issuers and signatures: the frame of a message, without what it frames. */
const outlined = ['Issuer', 'Signature']
/** A signature has about twenty tags, with a chain of certificates perhaps thirty. */
const outlineLimits: XmlLimits = {
  ...messageLimits,
  markup: 200,
  attributes: 200,
  attributesOfTag: 16,
  namespaces: 32,
  references: 100,
}
const maxOutlineLength = 100_000

/**
 * The root, its children, and the issuers and signatures of both, as a document of its own. It is short however long the text is: whose
 * message this is can be found out before anything is built from the rest.
 *
 * @throws {SamlRefused} when the text exceeds a limit of a message, or this part of it those of an outline
 */
export function parseOutline(text: string): XmlText {
  const pieces: string[] = []
  let length = 0
  const keep = (from: number, to: number) => {
    length += to - from
    refuseUnless(length <= maxOutlineLength, 'the frame of the XML is too long')
    refuseUnless(pieces.length < outlineLimits.markup, 'the frame of the XML has too many tags')
    pieces.push(text.slice(from, to))
  }
  let whole: Tag | undefined
  scanTags(text, messageLimits, (tag) => {
    const { kind, start, end, depth } = tag
    if (whole !== undefined) {
      if (kind !== 'end' || depth !== whole.depth) return
      keep(whole.start, end)
      whole = undefined
    } else if (
      kind === 'start' &&
      (depth === 2 || depth === 3) &&
      outlined.includes(localNameOf(tag))
    )
      whole = tag
    else if (depth <= 2) keep(start, end)
  })
  const outline = pieces.join('')
  return parseXml(outline, outlineLimits)
}

export function isElement(element: XmlElement, namespace: Namespace, name: string): boolean {
  return element.localName === name && element.namespaceURI === namespaces[namespace]
}

export function elementsOf(element: XmlElement): XmlElement[] {
  return Array.from(element.childNodes).filter((node): node is XmlElement => isElementNode(node))
}

export function childrenOf(element: XmlElement, namespace: Namespace, name: string): XmlElement[] {
  return elementsOf(element).filter((child) => isElement(child, namespace, name))
}

/** The child of that name; undefined when there is none. @throws {SamlRefused} when there are several */
export function xmlChild(
  element: XmlElement,
  namespace: Namespace,
  name: string,
): XmlElement | undefined {
  const found = childrenOf(element, namespace, name)
  if (found.length > 1)
    throw new SamlRefused(`there are several ${name} elements in ${element.localName}`)
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
export function xmlAttribute(element: XmlElement | undefined, name: string): string | undefined {
  return element?.hasAttribute(name) ? (element.getAttribute(name) ?? undefined) : undefined
}

/** The whole text of an element; comments neither count nor cut it. */
export function xmlText(element: XmlElement | undefined): string {
  return (element?.textContent ?? '').trim()
}

export function escapeXml(text: string): string {
  return text.replace(/[&<>"'\r\n\t]/g, (character) => `&#${character.charCodeAt(0)};`)
}

function isElementNode(node: XmlNode): node is XmlElement {
  return node.nodeType === 1
}
