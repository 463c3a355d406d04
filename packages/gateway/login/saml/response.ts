/** Checks a SAML response and returns its user, read from signed bytes only. */
import type { KeyObject } from 'node:crypto'
import type { Trace } from '../trace.ts'
import { decryptAssertion } from './decrypt-assertion.ts'
import type { IdentityProvider } from './idp-metadata.ts'
import { refuseUnless, SamlRefused, show } from './refusal.ts'
import { checkIdentifiers, findSigner, readSigned, type Trust } from './signed-bytes.ts'
import {
  childrenOf,
  elementsOf,
  isElement,
  parseOutline,
  parseXml,
  type XmlElement,
  type XmlText,
  xmlAttribute,
  xmlChild,
  xmlText,
} from './xml.ts'

/** What a response has to agree with. A thread gets a copy, but for `trace`. */
export interface Expectation {
  identityProvider: Pick<IdentityProvider, 'entityId' | 'keys'>
  /** Our own name, the audience. */
  entityId: string
  /** Addresses at which this gateway takes responses. */
  consumerUrls: ReadonlySet<string>
  decryptionKeys: readonly KeyObject[]
  sha1: boolean
  /** How long ago people may have authenticated themselves; undefined: does not matter. */
  maxAuthenticationAgeMs: number | undefined
  nowMs: number
  trace?: Trace
}

export interface AcceptedAssertion {
  id: string
  /** The request that it answers; undefined when the identity provider started by itself. */
  inResponseTo: string | undefined
  /** Whether that was signed; otherwise the sender may have written it around an unsolicited assertion. */
  isSolicited: boolean
  nameId: string
  /** Values by the name of the attribute, in the order of the assertion. */
  attributes: ReadonlyMap<string, readonly string[]>
  /** Milliseconds since the epoch; from then on every replica refuses it anyway, whatever its clock says. */
  usableUntilMs: number
}

const clockSkewMs = 5 * 60_000
/** Some providers make assertions that hold for days or years; the time for a login at the provider is long enough. */
const maxAgeMs = 60 * 60_000
/** Base64 of a response for a user in very many groups; a multiple of what any provider sends. */
export const maxResponseLength = 1_500_000

const notSigned = 'neither the response nor the assertion is signed'
const encryptedNotSigned = 'an encrypted assertion is accepted in a signed response only'
const success = 'urn:oasis:names:tc:SAML:2.0:status:Success'
const bearer = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'
const knownConditions = ['AudienceRestriction', 'OneTimeUse', 'ProxyRestriction']

/** A response of which only the outline has been built. */
export interface ReceivedResponse {
  readonly text: string
  readonly outline: XmlElement
}

/** The text of a `SAMLResponse` parameter as XML. @throws {SamlRefused} */
export function decodeResponse(parameter: string): ReceivedResponse {
  const base64 = parameter.replace(/[\r\n\t ]+/g, '')
  refuseUnless(base64 !== '', 'there is no SAMLResponse')
  refuseUnless(base64.length <= maxResponseLength, 'the SAMLResponse is too long')
  const bytes = Buffer.from(base64, 'base64')
  refuseUnless(isBase64Of(bytes, base64), 'the SAMLResponse is not base64')
  const text = decodeUtf8(bytes)
  const { root: outline } = parseOutline(text)
  refuseUnless(isElement(outline, 'protocol', 'Response'), 'the SAMLResponse is no Response')
  return { text, outline }
}

/** Node skips what is no base64, and takes the alphabet for addresses, too. A regular expression would take ten times as long. */
function isBase64Of(bytes: Buffer, text: string): boolean {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  return (
    text.length % 4 === 0 &&
    bytes.length === (text.length / 4) * 3 - padding &&
    !text.includes('-') &&
    !text.includes('_')
  )
}

/** Whom the response claims to come from; decides nothing but whose keys are tried. */
export function claimedIssuer({ outline }: ReceivedResponse): string {
  const assertion = childrenOf(outline, 'assertion', 'Assertion')[0]
  return xmlText(
    childrenOf(outline, 'assertion', 'Issuer')[0] ??
      (assertion && childrenOf(assertion, 'assertion', 'Issuer')[0]),
  )
}

/** The whole response. @throws {SamlRefused} */
export function checkContent(text: string, expected: Expectation): AcceptedAssertion {
  const trust = trustOf(expected)
  const document = parseXml(text)
  checkIdentifiers(document)
  const signedResponse = readSigned(document, document.root, trust)
  expected.trace?.(
    'note',
    `the response ${signedResponse === undefined ? 'has no signature of its own' : 'is signed by a key of the identity provider'}`,
  )
  // Without a signature of its own, the frame around a signed assertion may only add refusals.
  const response = signedResponse ?? document
  const answered = checkFrame(response.root, expected)
  expected.trace?.('yes', 'issuer, destination and status of the response')
  const assertion = readAssertion(
    { document, response, isSigned: signedResponse !== undefined, trust },
    expected,
  )
  expected.trace?.(
    'yes',
    'there is one assertion, and what it says was signed by the identity provider',
  )
  return checkAssertion(assertion, { answered, isSigned: signedResponse !== undefined }, expected)
}

interface Frame {
  /** The request that it says it answers. */
  answered: string | undefined
  isSigned: boolean
}

function trustOf({ identityProvider, sha1 }: Expectation): Trust {
  return { keys: identityProvider.keys, sha1 }
}

/** Refuses an outline that a stranger has made. What this accepts is checked again, as a whole. @throws {SamlRefused} */
export function checkSigners(outline: XmlElement, expected: Expectation): void {
  const trust = trustOf(expected)
  const isSigned = findSigner(outline, trust) !== undefined
  const assertion = findAssertion(outline)
  if (assertion.localName === 'Assertion') {
    refuseUnless(findSigner(assertion, trust) !== undefined || isSigned, notSigned)
  } else refuseUnless(isSigned, encryptedNotSigned)
}

/** The one assertion, plain or encrypted. More than one is more than a login needs, and room for confusion. */
function findAssertion(response: XmlElement): XmlElement {
  const names = ['Assertion', 'EncryptedAssertion']
  const found = names.flatMap((name) => childrenOf(response, 'assertion', name))
  const [assertion] = found
  refuseUnless(
    assertion !== undefined && found.length === 1,
    `there are ${found.length} assertions instead of one`,
  )
  return assertion
}

function decodeUtf8(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new SamlRefused('the SAMLResponse is not UTF-8')
  }
}

/** @returns the request that the response says it answers */
function checkFrame(
  response: XmlElement,
  { identityProvider, consumerUrls }: Expectation,
): string | undefined {
  refuseUnless(xmlAttribute(response, 'Version') === '2.0', 'the response is not of SAML 2.0')
  const issuer = xmlChild(response, 'assertion', 'Issuer')
  refuseUnless(
    issuer === undefined || xmlText(issuer) === identityProvider.entityId,
    `the response was issued by ${show(xmlText(issuer))} instead of ${show(identityProvider.entityId)}`,
  )
  const destination = xmlAttribute(response, 'Destination')
  refuseUnless(
    destination === undefined || consumerUrls.has(destination),
    `the response is meant for ${show(destination)}, which is no address of this gateway`,
  )
  checkStatus(xmlChild(response, 'protocol', 'Status'))
  return xmlAttribute(response, 'InResponseTo')
}

function checkStatus(status: XmlElement | undefined): void {
  const code = status && xmlChild(status, 'protocol', 'StatusCode')
  const value = xmlAttribute(code, 'Value')
  if (value === success) return
  const detail = xmlAttribute(code && xmlChild(code, 'protocol', 'StatusCode'), 'Value')
  const message = xmlText(status && xmlChild(status, 'protocol', 'StatusMessage'))
  throw new SamlRefused(
    `the identity provider answers ${show(value)}${detail ? `, ${show(detail)}` : ''}${message ? `: ${show(message)}` : ''}`,
  )
}

interface ResponseText {
  document: XmlText
  /** What of it was signed; the document itself when the response is not signed. */
  response: XmlText
  isSigned: boolean
  trust: Trust
}

/** The one assertion, as signed. */
function readAssertion(
  { document, response, isSigned, trust }: ResponseText,
  { decryptionKeys }: Expectation,
): XmlElement {
  const assertion = findAssertion(document.root)
  if (assertion.localName === 'Assertion') {
    const signed = readSigned(document, assertion, trust)
    if (signed !== undefined) return signed.root
    refuseUnless(isSigned, notSigned)
    return onlyChild(response.root, 'Assertion')
  }
  refuseUnless(isSigned, encryptedNotSigned)
  const decrypted = decryptAssertion(onlyChild(response.root, 'EncryptedAssertion'), decryptionKeys)
  refuseUnless(
    isElement(decrypted.root, 'assertion', 'Assertion'),
    'what was encrypted is no assertion',
  )
  checkIdentifiers(decrypted)
  return (readSigned(decrypted, decrypted.root, trust) ?? decrypted).root
}

function onlyChild(response: XmlElement, name: string): XmlElement {
  const child = xmlChild(response, 'assertion', name)
  refuseUnless(child !== undefined, `the signed response has no ${name}`)
  return child
}

function checkAssertion(
  assertion: XmlElement,
  { answered, isSigned }: Frame,
  expected: Expectation,
): AcceptedAssertion {
  const { identityProvider, nowMs } = expected
  refuseUnless(xmlAttribute(assertion, 'Version') === '2.0', 'the assertion is not of SAML 2.0')
  const id = xmlAttribute(assertion, 'ID')
  refuseUnless(id !== undefined && id !== '', 'the assertion has no identifier')
  const issuer = xmlText(xmlChild(assertion, 'assertion', 'Issuer'))
  refuseUnless(
    issuer === identityProvider.entityId,
    `the assertion was issued by ${show(issuer)} instead of ${show(identityProvider.entityId)}`,
  )
  const conditionsEndMs = checkConditions(xmlChild(assertion, 'assertion', 'Conditions'), expected)
  const oldMs = checkAge(assertion, nowMs)
  expected.trace?.(
    'yes',
    `issuer ${issuer}, time and audience ${expected.entityId} of the assertion`,
  )
  const subject = xmlChild(assertion, 'assertion', 'Subject')
  refuseUnless(subject !== undefined, 'the assertion has no subject')
  const confirmation = confirm(subject, expected)
  expected.trace?.('yes', 'recipient and time of the confirmation of the subject')
  const inResponseTo = confirmation.inResponseTo ?? answered
  refuseUnless(
    answered === undefined || answered === inResponseTo,
    'response and assertion answer different requests',
  )
  checkAuthenticationAge(assertion, expected)
  const nameId = xmlText(xmlChild(subject, 'assertion', 'NameID'))
  refuseUnless(nameId !== '', 'the subject has no NameID')
  return {
    id,
    inResponseTo,
    isSolicited: confirmation.inResponseTo !== undefined || (isSigned && answered !== undefined),
    nameId,
    attributes: readAttributes(assertion),
    // The clocks of two replicas may differ as much as those of provider and gateway.
    usableUntilMs:
      Math.min(conditionsEndMs ?? confirmation.endMs, confirmation.endMs, oldMs) + 2 * clockSkewMs,
  }
}

/** @returns when the assertion is too old, in milliseconds since the epoch */
function checkAge(assertion: XmlElement, nowMs: number): number {
  const issued = xmlAttribute(assertion, 'IssueInstant')
  const issuedMs = parseTime(issued ?? '')
  refuseUnless(
    issuedMs <= nowMs + clockSkewMs,
    `the assertion was issued at ${show(issued)}, which is in the future`,
  )
  const oldMs = issuedMs + maxAgeMs
  refuseUnless(
    nowMs < oldMs + clockSkewMs,
    `the assertion was issued at ${show(issued)}, more than an hour ago`,
  )
  return oldMs
}

/** @returns the end of the conditions, if they have one */
function checkConditions(
  conditions: XmlElement | undefined,
  { entityId, nowMs }: Expectation,
): number | undefined {
  refuseUnless(conditions !== undefined, 'the assertion has no conditions')
  for (const condition of elementsOf(conditions)) {
    refuseUnless(
      knownConditions.some((name) => isElement(condition, 'assertion', name)),
      `the condition ${show(condition.localName)} is not understood`,
    )
  }
  const endMs = checkTimes(conditions, nowMs, 'the assertion')
  const restrictions = childrenOf(conditions, 'assertion', 'AudienceRestriction')
  refuseUnless(restrictions.length > 0, 'the assertion names no audience')
  for (const restriction of restrictions) {
    const audiences = childrenOf(restriction, 'assertion', 'Audience').map(xmlText)
    refuseUnless(
      audiences.includes(entityId),
      `the assertion is meant for ${show(audiences.join(', '))}, and this gateway is called ${show(entityId)}`,
    )
  }
  return endMs
}

/** The first bearer confirmation that holds. @throws {SamlRefused} with the reason of the last one that does not */
function confirm(
  subject: XmlElement,
  expected: Expectation,
): { inResponseTo: string | undefined; endMs: number } {
  let reason = 'the subject is not confirmed as a bearer'
  for (const confirmation of childrenOf(subject, 'assertion', 'SubjectConfirmation')) {
    if (xmlAttribute(confirmation, 'Method') !== bearer) continue
    try {
      return checkConfirmation(
        xmlChild(confirmation, 'assertion', 'SubjectConfirmationData'),
        expected,
      )
    } catch (error) {
      if (!(error instanceof SamlRefused)) throw error
      reason = error.message
    }
  }
  throw new SamlRefused(reason)
}

function checkConfirmation(content: XmlElement | undefined, { consumerUrls, nowMs }: Expectation) {
  refuseUnless(content !== undefined, 'the confirmation of the subject is empty')
  const recipient = xmlAttribute(content, 'Recipient')
  refuseUnless(
    recipient !== undefined && consumerUrls.has(recipient),
    `the recipient is ${show(recipient)}, which is no address of this gateway`,
  )
  const endMs = checkTimes(content, nowMs, 'the confirmation of the subject')
  refuseUnless(endMs !== undefined, 'the confirmation of the subject has no end')
  return { inResponseTo: xmlAttribute(content, 'InResponseTo'), endMs }
}

/** @returns NotOnOrAfter in milliseconds since the epoch, if it is there */
function checkTimes(element: XmlElement, nowMs: number, what: string): number | undefined {
  const start = xmlAttribute(element, 'NotBefore')
  const end = xmlAttribute(element, 'NotOnOrAfter')
  refuseUnless(
    start === undefined || parseTime(start) <= nowMs + clockSkewMs,
    `${what} is valid from ${show(start)} only`,
  )
  const endMs = end === undefined ? undefined : parseTime(end)
  refuseUnless(
    endMs === undefined || nowMs < endMs + clockSkewMs,
    `${what} was valid until ${show(end)} only`,
  )
  return endMs
}

function checkAuthenticationAge(
  assertion: XmlElement,
  { maxAuthenticationAgeMs, nowMs }: Expectation,
): void {
  if (maxAuthenticationAgeMs === undefined) return
  const statements = childrenOf(assertion, 'assertion', 'AuthnStatement')
  refuseUnless(statements.length > 0, 'the assertion does not say when the user was authenticated')
  for (const statement of statements) {
    const instant = xmlAttribute(statement, 'AuthnInstant')
    refuseUnless(
      parseTime(instant ?? '') + maxAuthenticationAgeMs + clockSkewMs >= nowMs,
      `the user was authenticated at ${show(instant)}, longer ago than saml.maxAuthenticationAge`,
    )
  }
}

/** SAML wants UTC; a time without zone is taken for it. */
function parseTime(text: string): number {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,12})?)(Z|[+-]\d\d:\d\d)?$/.exec(
    text.trim(),
  )
  const timeMs = match === null ? Number.NaN : Date.parse(`${match[1]}${match[2] ?? 'Z'}`)
  refuseUnless(!Number.isNaN(timeMs), `${show(text)} is no time`)
  return timeMs
}

function readAttributes(assertion: XmlElement): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const statement of childrenOf(assertion, 'assertion', 'AttributeStatement')) {
    for (const attribute of childrenOf(statement, 'assertion', 'Attribute')) {
      const name = xmlAttribute(attribute, 'Name') ?? ''
      const values = childrenOf(attribute, 'assertion', 'AttributeValue').map(xmlText)
      found.set(name, [...(found.get(name) ?? []), ...values])
    }
  }
  return found
}
