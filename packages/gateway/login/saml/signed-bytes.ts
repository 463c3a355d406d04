/** Verifies XML signatures and returns exactly the signed bytes. */
import {
  createHash,
  type KeyObject,
  constants as opensslConstants,
  sign,
  verify,
} from 'node:crypto'
import { refuseUnless, SamlRefused, show } from './refusal.ts'
import {
  descendantsOf,
  elementsOf,
  isElement,
  namespaces,
  parseXml,
  type XmlElement,
  type XmlText,
  xmlAttribute,
  xmlChild,
  xmlText,
} from './xml.ts'
import { SignedXml, type XmlNode } from './xml-libraries.js'

interface SignatureMethod {
  readonly hash: 'sha1' | 'sha256' | 'sha384' | 'sha512'
  readonly key: 'rsa' | 'ec'
  readonly pss?: true
}

const xmldsig = 'http://www.w3.org/2000/09/xmldsig#'
const more = 'http://www.w3.org/2001/04/xmldsig-more#'
const newer = 'http://www.w3.org/2007/05/xmldsig-more#'

/** Public keys only: any sender can compute a message authentication code whose key is a public key. */
const signatureMethods: Readonly<Record<string, SignatureMethod>> = {
  [`${xmldsig}rsa-sha1`]: { hash: 'sha1', key: 'rsa' },
  [`${more}rsa-sha256`]: { hash: 'sha256', key: 'rsa' },
  [`${more}rsa-sha384`]: { hash: 'sha384', key: 'rsa' },
  [`${more}rsa-sha512`]: { hash: 'sha512', key: 'rsa' },
  [`${newer}sha256-rsa-MGF1`]: { hash: 'sha256', key: 'rsa', pss: true },
  [`${newer}sha384-rsa-MGF1`]: { hash: 'sha384', key: 'rsa', pss: true },
  [`${newer}sha512-rsa-MGF1`]: { hash: 'sha512', key: 'rsa', pss: true },
  [`${more}ecdsa-sha256`]: { hash: 'sha256', key: 'ec' },
  [`${more}ecdsa-sha384`]: { hash: 'sha384', key: 'ec' },
  [`${more}ecdsa-sha512`]: { hash: 'sha512', key: 'ec' },
}

const digestMethods: Readonly<Record<string, SignatureMethod['hash']>> = {
  [`${xmldsig}sha1`]: 'sha1',
  'http://www.w3.org/2001/04/xmlenc#sha256': 'sha256',
  [`${more}sha384`]: 'sha384',
  'http://www.w3.org/2001/04/xmlenc#sha512': 'sha512',
}

const enveloped = `${xmldsig}enveloped-signature`
const { exclusive } = namespaces
const inclusive = 'http://www.w3.org/TR/2001/REC-xml-c14n-20010315'
const canonicalizations = [
  exclusive,
  `${exclusive}WithComments`,
  inclusive,
  `${inclusive}#WithComments`,
]

/** Libraries write three or four; prefixes have a few characters. */
const maxDeclarations = 8
const maxPrefixList = 256

/** @see DOM Standard, section 4.4: node types */
const textNode = 3
const cdataNode = 4

export interface Trust {
  readonly keys: readonly KeyObject[]
  readonly sha1: boolean
}

export type RequestHash = 'sha1' | 'sha256' | 'sha384' | 'sha512'

/** Identifiers decide what a signature covers, so each may occur once in a document. @throws {SamlRefused} */
export function checkIdentifiers({ root }: XmlText): void {
  const seen = new Set<string>()
  for (const element of descendantsOf(root)) {
    for (const { localName, value } of Array.from(element.attributes)) {
      if (localName.toLowerCase() !== 'id') continue
      refuseUnless(!seen.has(value), 'an identifier occurs twice in the document')
      seen.add(value)
    }
  }
}

/**
 * What the signature of `element` covers, read again from its canonical form; undefined when the element has no signature.
 *
 * @param document The document that `element` is part of
 * @throws {SamlRefused} when there is a signature that is not exactly one over this element, by a trusted key
 * @see SAML 2.0 Core, section 5.4; XML Signature, section 4
 */
export function readSigned(
  document: XmlText,
  element: XmlElement,
  trust: Trust,
): XmlText | undefined {
  const signer = findSigner(element, trust)
  if (signer === undefined) return undefined
  const { key, signature } = signer
  const what = describeLocation(element)
  const covered = verifyWith(key, document.text, signature)
  if (covered === undefined)
    throw new SamlRefused(`${what} does not fit its content, which was changed`)
  const signed = parseXml(covered)
  const isSame =
    signed.root.localName === element.localName && signed.root.namespaceURI === element.namespaceURI
  refuseUnless(isSame, 'the signature covers another element')
  return signed
}

/**
 * The trusted key that made the signature of `element`; undefined when the element has no signature. What the signature covers is
 * not looked at, so this may be asked of an outline, and of an untrusted message.
 *
 * @throws {SamlRefused} when there is a signature that is not exactly one of the form that SAML allows, by a trusted key
 */
export function findSigner(
  element: XmlElement,
  trust: Trust,
): { key: KeyObject; signature: XmlElement } | undefined {
  const signature = xmlChild(element, 'signature', 'Signature')
  if (signature === undefined) return undefined
  checkForm(signature, xmlAttribute(element, 'ID'), trust)
  const key = findKey(signature, trust)
  if (key === undefined)
    throw new SamlRefused(
      `${describeLocation(element)} was made by no key of the identity provider`,
    )
  return { key, signature }
}

function describeLocation(element: XmlElement): string {
  return `the signature of the ${element.localName}`
}

/** The one form that SAML allows, checked before a library looks for anything by name. */
function checkForm(signature: XmlElement, id: string | undefined, trust: Trust): void {
  refuseUnless(
    id !== undefined && /^[^\s'"<>&]+$/.test(id),
    'a signed element has no usable identifier',
  )
  checkChildren(signature, ['SignedInfo', 'SignatureValue', 'KeyInfo?'], ['Id'])
  const [signedInfo, value] = elementsOf(signature) as [XmlElement, XmlElement]
  checkLeaf(value, ['Id'])
  checkChildren(signedInfo, ['CanonicalizationMethod', 'SignatureMethod', 'Reference'], ['Id'])
  const [canonicalization, method, reference] = elementsOf(signedInfo) as [
    XmlElement,
    XmlElement,
    XmlElement,
  ]
  checkCanonicalization(canonicalization, 'the canonicalization is not supported')
  checkLeaf(method, ['Algorithm'])
  checkStrength(
    signatureMethods[algorithmOf(method)]?.hash,
    `the signature method ${show(algorithmOf(method))}`,
    trust,
  )
  checkChildren(reference, ['Transforms', 'DigestMethod', 'DigestValue'], ['Id', 'URI', 'Type'])
  refuseUnless(
    xmlAttribute(reference, 'URI') === `#${id}`,
    'the signature refers to another element than the one that holds it',
  )
  const [transforms, digest, digestValue] = elementsOf(reference) as [
    XmlElement,
    XmlElement,
    XmlElement,
  ]
  checkLeaf(digest, ['Algorithm'])
  checkStrength(
    digestMethods[algorithmOf(digest)],
    `the digest ${show(algorithmOf(digest))}`,
    trust,
  )
  checkLeaf(digestValue, [])
  checkChildren(transforms, ['Transform', 'Transform?'], [])
  const [first, second] = elementsOf(transforms) as [XmlElement, XmlElement | undefined]
  refuseUnless(algorithmOf(first) === enveloped, 'the signature is not an enveloped one')
  checkLeaf(first, ['Algorithm'])
  if (second !== undefined) checkCanonicalization(second, 'the signature has unknown transforms')
}

/** An exclusive one may name prefixes that it treats like an inclusive one does. */
function checkCanonicalization(element: XmlElement, reason: string): void {
  const algorithm = algorithmOf(element)
  refuseUnless(canonicalizations.includes(algorithm), reason)
  checkContent(element, ['Algorithm'])
  const [list, ...others] = elementsOf(element)
  if (list === undefined) return
  const fits =
    others.length === 0 &&
    algorithm.startsWith(exclusive) &&
    isElement(list, 'exclusive', 'InclusiveNamespaces')
  refuseUnless(fits, `${element.localName} of the signature has more in it than it may`)
  checkLeaf(list, ['PrefixList'])
  refuseUnless(
    (xmlAttribute(list, 'PrefixList') ?? '').length <= maxPrefixList,
    'the signature has too long a list of prefixes',
  )
}

/** Exactly these children, in this order, and nothing else; a question mark marks one that may be missing. */
function checkChildren(
  element: XmlElement,
  names: readonly string[],
  attributes: readonly string[],
): void {
  checkContent(element, attributes)
  const children = elementsOf(element)
  for (const name of names) {
    const child = children[0]
    const fits = child !== undefined && isElement(child, 'signature', name.replace('?', ''))
    if (fits) children.shift()
    else
      refuseUnless(
        name.endsWith('?'),
        `${element.localName} of the signature has no ${name} where it belongs`,
      )
  }
  refuseUnless(
    children.length === 0,
    `${element.localName} of the signature has more in it than it may`,
  )
}

/** No children, and no attributes but these. */
function checkLeaf(element: XmlElement, attributes: readonly string[]): void {
  refuseUnless(
    elementsOf(element).length === 0,
    `${element.localName} of the signature has more in it than it may`,
  )
  checkAttributes(element, attributes)
}

/** No text between the children, and no attributes but these. */
function checkContent(element: XmlElement, attributes: readonly string[]): void {
  const text = Array.from(element.childNodes).filter(
    ({ nodeType }) => nodeType === textNode || nodeType === cdataNode,
  )
  refuseUnless(
    text.every(({ textContent }) => (textContent ?? '').trim() === ''),
    `${element.localName} of the signature has text in it`,
  )
  checkAttributes(element, attributes)
}

function checkAttributes(element: XmlElement, attributes: readonly string[]): void {
  const names = Array.from(element.attributes, ({ name }) => name)
  const [declarations, others] = [
    names.filter(isDeclaration),
    names.filter((name) => !isDeclaration(name)),
  ]
  refuseUnless(
    declarations.length <= maxDeclarations,
    `${element.localName} of the signature declares too many namespaces`,
  )
  refuseUnless(
    others.every((name) => attributes.includes(name)),
    `${element.localName} of the signature has more attributes than it may`,
  )
}

function isDeclaration(name: string): boolean {
  return name === 'xmlns' || name.startsWith('xmlns:')
}

function checkStrength(
  hash: SignatureMethod['hash'] | undefined,
  what: string,
  trust: Trust,
): void {
  refuseUnless(hash !== undefined, `${what} is not supported`)
  refuseUnless(
    hash !== 'sha1' || trust.sha1,
    `${what} is too weak; saml.signatureDigest: SHA1 would accept it`,
  )
}

function algorithmOf(element: XmlElement): string {
  return xmlAttribute(element, 'Algorithm') ?? ''
}

/**
 * The key that made the signature value. That needs the few lines about the content only, so a stranger's answer is refused
 * before its content, which may be long, is looked at.
 */
function findKey(signature: XmlElement, { keys }: Trust): KeyObject | undefined {
  const [signedInfo, value] = elementsOf(signature) as [XmlElement, XmlElement]
  const [canonicalization, method] = elementsOf(signedInfo) as [XmlElement, XmlElement]
  const ancestorNamespaces = namespacesAround(signature)
  const text = new SignedXml({}).getCanonXml([algorithmOf(canonicalization)], signedInfo, {
    ancestorNamespaces,
  })
  return keys.find((key) =>
    isSignature(
      text,
      key,
      xmlText(value),
      signatureMethods[algorithmOf(method)] as SignatureMethod,
    ),
  )
}

/** Prefixes that are declared around an element, the nearest declaration of each. */
function namespacesAround(element: XmlElement): { prefix: string; namespaceURI: string }[] {
  const found = new Map<string, string>()
  for (let parent: XmlNode | null = element; parent !== null; parent = parent.parentNode) {
    for (const { name, value } of Array.from((parent as Partial<XmlElement>).attributes ?? [])) {
      const prefix =
        name === 'xmlns' ? '' : name.startsWith('xmlns:') ? name.slice('xmlns:'.length) : undefined
      if (prefix !== undefined && !found.has(prefix)) found.set(prefix, value)
    }
  }
  return [...found]
    .filter(([, uri]) => uri !== '')
    .map(([prefix, namespaceURI]) => ({ prefix, namespaceURI }))
}

/** The canonical text of what the signature covers; undefined when it does not verify. */
function verifyWith(key: KeyObject, text: string, signature: XmlElement): string | undefined {
  const signed = withAlgorithms(new SignedXml({ publicCert: key }))
  // SAML's elements have this one; each other name would cost another walk through the document.
  signed.idAttributes = ['ID']
  try {
    signed.loadSignature(signature)
    if (signed.checkSignature(text) !== true) return undefined
  } catch {
    // The library says what is wrong in words that quote the message.
    return undefined
  }
  const covered = signed.getSignedReferences()
  return covered.length === 1 ? covered[0] : undefined
}

/** Signs a request for the POST binding; the signature follows the issuer, as the schema wants it. */
export function signEnveloped(
  xml: string,
  { key, certificate }: { key: KeyObject; certificate: string },
  hash: RequestHash,
): string {
  const signed = withAlgorithms(
    new SignedXml({
      privateKey: key,
      publicCert: certificate,
      signatureAlgorithm: signatureAlgorithmFor(key, hash),
      canonicalizationAlgorithm: exclusive,
    }),
  )
  const digestAlgorithm = Object.keys(digestMethods).find(
    (name) => digestMethods[name] === hash,
  ) as string
  signed.addReference({ xpath: '/*', transforms: [enveloped, exclusive], digestAlgorithm })
  signed.computeSignature(xml, {
    prefix: 'ds',
    location: {
      reference: `/*/*[local-name()='Issuer' and namespace-uri()='${namespaces.assertion}']`,
      action: 'after',
    },
  })
  return signed.getSignedXml()
}

export function signatureAlgorithmFor(key: KeyObject, hash: RequestHash): string {
  const family = key.asymmetricKeyType === 'ec' ? 'ecdsa' : 'rsa'
  return hash === 'sha1' ? `${xmldsig}${family}-sha1` : `${more}${family}-${hash}`
}

/** A signature in base64 over text, by an algorithm of `signatureAlgorithmFor`. */
export function signText(text: string, key: KeyObject, hash: RequestHash): string {
  return sign(
    hash,
    Buffer.from(text),
    key.asymmetricKeyType === 'ec' ? { key, dsaEncoding: 'ieee-p1363' } : key,
  ).toString('base64')
}

/** The library's own tables are replaced: what is not listed here does not exist for it. */
function withAlgorithms(signed: SignedXml): SignedXml {
  signed.SignatureAlgorithms = toTable(signatureMethods, toSignatureAlgorithm)
  signed.HashAlgorithms = toTable(digestMethods, toHashAlgorithm)
  return signed
}

function toTable<From, To>(
  table: Readonly<Record<string, From>>,
  convert: (name: string, entry: From) => To,
): Record<string, To> {
  const converted: Record<string, To> = Object.create(null)
  for (const [name, entry] of Object.entries(table)) converted[name] = convert(name, entry)
  return converted
}

function toSignatureAlgorithm(name: string, method: SignatureMethod) {
  return class {
    getSignature = (signedInfo: string, key: KeyObject) => signText(signedInfo, key, method.hash)
    verifySignature = (signedInfo: string, key: KeyObject, value: string) =>
      isSignature(signedInfo, key, value, method)
    getAlgorithmName = () => name
  }
}

function isSignature(
  signedInfo: string,
  key: KeyObject,
  value: string,
  { hash, key: kind, pss }: SignatureMethod,
): boolean {
  if (key.asymmetricKeyType !== kind) return false
  const { RSA_PKCS1_PSS_PADDING: padding, RSA_PSS_SALTLEN_DIGEST: saltLength } = opensslConstants
  const options =
    kind === 'ec'
      ? { key, dsaEncoding: 'ieee-p1363' as const }
      : pss
        ? { key, padding, saltLength }
        : { key }
  return verify(hash, Buffer.from(signedInfo), options, Buffer.from(value, 'base64'))
}

function toHashAlgorithm(name: string, hash: SignatureMethod['hash']) {
  return class {
    getHash = (xml: string) => createHash(hash).update(xml, 'utf8').digest('base64')
    getAlgorithmName = () => name
  }
}
