/** Types of the XML libraries, as far as they are used. */
import type { KeyObject } from 'node:crypto'

export interface XmlNode {
  /** 1 is an element, 3 text, 4 a CDATA section, 8 a comment. */
  readonly nodeType: number
  readonly childNodes: ArrayLike<XmlNode>
  readonly parentNode: XmlNode | null
  readonly textContent: string | null
}

export interface XmlElement extends XmlNode {
  readonly localName: string
  readonly namespaceURI: string | null
  readonly attributes: ArrayLike<{
    readonly name: string
    readonly localName: string
    readonly value: string
  }>
  hasAttribute(name: string): boolean
  getAttribute(name: string): string | null
  toString(): string
}

interface XmlDocument extends XmlNode {
  readonly documentElement: XmlElement | null
}

type Report = (message: string) => void

export class DOMParser {
  constructor(options: { errorHandler: { warning: Report; error: Report; fatalError: Report } })
  parseFromString(text: string, mimeType: string): XmlDocument | undefined
}

interface SignatureAlgorithm {
  getSignature(signedInfo: string, key: KeyObject): string
  verifySignature(signedInfo: string, key: KeyObject, value: string): boolean
  getAlgorithmName(): string
}

interface HashAlgorithm {
  getHash(xml: string): string
  getAlgorithmName(): string
}

interface SignedXmlOptions {
  privateKey?: KeyObject
  /** A certificate in PEM for `KeyInfo`; when verifying, whatever the algorithm takes for a key. */
  publicCert?: KeyObject | string
  signatureAlgorithm?: string
  canonicalizationAlgorithm?: string
}

export class SignedXml {
  constructor(options: SignedXmlOptions)
  /** Attributes that a reference may mean. */
  idAttributes: string[]
  SignatureAlgorithms: Record<string, new () => SignatureAlgorithm>
  HashAlgorithms: Record<string, new () => HashAlgorithm>
  getCanonXml(
    algorithms: string[],
    element: XmlElement,
    options: { ancestorNamespaces: { prefix: string; namespaceURI: string }[] },
  ): string
  loadSignature(signature: XmlElement): void
  /** False or an exception when a digest or the signature is wrong. */
  checkSignature(xml: string): boolean
  /** The canonical text of what was signed, only after `checkSignature` has succeeded. */
  getSignedReferences(): string[]
  addReference(reference: { xpath: string; transforms: string[]; digestAlgorithm: string }): void
  computeSignature(
    xml: string,
    options: {
      prefix?: string
      location: { reference: string; action: 'append' | 'prepend' | 'before' | 'after' }
    },
  ): void
  getSignedXml(): string
}

interface DecryptOptions {
  /** PEM. */
  key: string
  disallowDecryptionWithInsecureAlgorithm: boolean
  warnInsecureAlgorithm: boolean
}

/** Calls back before it returns. */
export function decrypt(
  xml: string,
  options: DecryptOptions,
  callback: (error: Error | null, text?: string) => void,
): void
