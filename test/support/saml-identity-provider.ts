/** An identity provider for SAML: serves its metadata, reads requests, and signs and encrypts answers with real keys. */
import { constants, createCipheriv, createPublicKey, publicEncrypt, randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { inflateRawSync } from 'node:zlib'
import { SignedXml } from '../../packages/gateway/login/saml/xml-libraries.js'
import { keyPairOf, type TestKeyPair } from './self-signed.ts'
import { Reply, startUpstream, type Upstream } from './upstream.ts'

export interface ProviderOptions {
  entityId?: string
  /** Bindings that it offers for requests. */
  bindings?: readonly ('Redirect' | 'POST')[]
  wantsSignedRequests?: boolean
  keys?: readonly TestKeyPair[]
}

/** What an answer says; everything has a good default. */
export interface Answer {
  inResponseTo?: string | undefined
  /** The same in the frame only. */
  responseInResponseTo?: string
  consumer?: string
  destination?: string
  recipient?: string
  audience?: string
  issuer?: string
  responseIssuer?: string
  nameId?: string
  /** Replaces the whole NameID element. */
  nameIdXml?: string
  attributes?: Readonly<Record<string, readonly string[]>>
  status?: string
  /** Milliseconds since the epoch. */
  nowMs?: number
  notBeforeMs?: number
  notOnOrAfterMs?: number
  authnInstantMs?: number
  assertionId?: string
  signed?: 'response' | 'assertion' | 'both' | 'neither'
  signer?: TestKeyPair
  hash?: 'sha1' | 'sha256' | 'sha512'
  canonicalization?: string
  /** Certificate that the assertion is encrypted for. */
  encryptFor?: string
  cipher?: 'aes256-gcm' | 'aes128-gcm' | 'aes256-cbc'
  keyTransport?: 'rsa-oaep-mgf1p' | 'rsa-oaep' | 'rsa-1_5'
}

export interface SamlIdentityProvider {
  readonly entityId: string
  /** Where it serves its metadata. */
  readonly url: string
  readonly server: Upstream
  readonly metadata: string
  /** The answer as XML. */
  answer(answer?: Answer): string
}

export const signOnUrl = 'https://idp.example.com/sso?tenant=1'
const xmldsig = 'http://www.w3.org/2000/09/xmldsig#'
const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#'

export async function startSamlIdentityProvider(
  t: TestContext,
  options: ProviderOptions = {},
): Promise<SamlIdentityProvider> {
  const entityId = options.entityId ?? 'https://idp.example.com/metadata'
  const keys = options.keys ?? [keyPairOf('idp')]
  const metadata = formatMetadata(entityId, keys, options)
  const server = await startUpstream(t, {
    'GET /metadata': new Reply(200, metadata, { 'content-type': 'application/samlmetadata+xml' }),
  })
  return {
    entityId,
    url: `${server.url}/metadata`,
    server,
    metadata,
    answer: (answer = {}) =>
      formatAnswer({ signer: keys[0] as TestKeyPair, issuer: entityId, ...answer }),
  }
}

export function formatMetadata(
  entityId: string,
  keys: readonly TestKeyPair[],
  options: ProviderOptions = {},
): string {
  const { bindings = ['Redirect'], wantsSignedRequests = false } = options
  const descriptors = keys.map(
    ({ base64 }) =>
      `<md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="${xmldsig}"><ds:X509Data><ds:X509Certificate>${base64}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`,
  )
  const services = bindings.map(
    (binding) =>
      `<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-${binding}" Location="${signOnUrl}"/>`,
  )
  return `<?xml version="1.0" encoding="UTF-8"?>
<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entityId}">
  <md:IDPSSODescriptor WantAuthnRequestsSigned="${wantsSignedRequests}" protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
    ${descriptors.join('\n    ')}
    ${services.join('\n    ')}
  </md:IDPSSODescriptor>
</md:EntityDescriptor>`
}

export function formatAnswer(answer: Answer): string {
  const {
    signed = 'assertion',
    signer = keyPairOf('idp'),
    hash = 'sha256',
    canonicalization,
  } = answer
  let assertion = formatAssertion(answer)
  if (signed === 'assertion' || signed === 'both')
    assertion = signElement(assertion, 'Assertion', signer, hash, canonicalization)
  if (answer.encryptFor !== undefined) assertion = encrypt(assertion, answer.encryptFor, answer)
  const response = formatResponse(assertion, answer)
  return signed === 'response' || signed === 'both'
    ? signElement(response, 'Response', signer, hash, canonicalization)
    : response
}

function formatAssertion(answer: Answer): string {
  const nowMs = answer.nowMs ?? Date.now()
  const time = (ms: number) => new Date(ms).toISOString()
  const end = time(answer.notOnOrAfterMs ?? nowMs + 120_000)
  const consumer = answer.consumer ?? 'https://gate.example.com/saml/SSO'
  const request = answer.inResponseTo === undefined ? '' : ` InResponseTo="${answer.inResponseTo}"`
  const attributes = Object.entries(answer.attributes ?? {}).map(
    ([name, values]) =>
      `<saml:Attribute Name="${name}">${values.map((value) => `<saml:AttributeValue>${value}</saml:AttributeValue>`).join('')}</saml:Attribute>`,
  )
  return (
    `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${answer.assertionId ?? newId()}" Version="2.0" IssueInstant="${time(nowMs)}">` +
    `<saml:Issuer>${answer.issuer ?? 'https://idp.example.com/metadata'}</saml:Issuer>` +
    `<saml:Subject>${answer.nameIdXml ?? `<saml:NameID>${answer.nameId ?? 'alice@example.com'}</saml:NameID>`}` +
    '<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">' +
    `<saml:SubjectConfirmationData NotOnOrAfter="${end}" Recipient="${answer.recipient ?? consumer}"${request}/>` +
    '</saml:SubjectConfirmation></saml:Subject>' +
    `<saml:Conditions NotBefore="${time(answer.notBeforeMs ?? nowMs - 60_000)}" NotOnOrAfter="${end}">` +
    `<saml:AudienceRestriction><saml:Audience>${answer.audience ?? 'spinnaker'}</saml:Audience></saml:AudienceRestriction></saml:Conditions>` +
    `<saml:AuthnStatement AuthnInstant="${time(answer.authnInstantMs ?? nowMs)}"><saml:AuthnContext><saml:AuthnContextClassRef>` +
    'urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>' +
    `${attributes.length > 0 ? `<saml:AttributeStatement>${attributes.join('')}</saml:AttributeStatement>` : ''}</saml:Assertion>`
  )
}

function formatResponse(assertion: string, answer: Answer): string {
  const request = answer.responseInResponseTo ?? answer.inResponseTo
  const destination = answer.destination ?? answer.consumer ?? 'https://gate.example.com/saml/SSO'
  return (
    `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${newId()}"` +
    ` Version="2.0" IssueInstant="${new Date(answer.nowMs ?? Date.now()).toISOString()}" Destination="${destination}"` +
    `${request === undefined ? '' : ` InResponseTo="${request}"`}>` +
    `<saml:Issuer>${answer.responseIssuer ?? answer.issuer ?? 'https://idp.example.com/metadata'}</saml:Issuer>` +
    `<samlp:Status><samlp:StatusCode Value="${answer.status ?? 'urn:oasis:names:tc:SAML:2.0:status:Success'}"/></samlp:Status>${assertion}</samlp:Response>`
  )
}

export function newId(): string {
  return `_${randomBytes(12).toString('hex')}`
}

/** Signs the root of the text, which is the element of that name; the signature follows the issuer. */
export function signElement(
  xml: string,
  name: 'Assertion' | 'Response',
  signer: TestKeyPair,
  hash: 'sha1' | 'sha256' | 'sha512',
  canonicalization = exclusive,
): string {
  const digests = {
    sha1: `${xmldsig}sha1`,
    sha256: 'http://www.w3.org/2001/04/xmlenc#sha256',
    sha512: 'http://www.w3.org/2001/04/xmlenc#sha512',
  }
  const methods = {
    sha1: `${xmldsig}rsa-sha1`,
    sha256: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    sha512: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
  }
  const signed = new SignedXml({
    privateKey: signer.key,
    publicCert: signer.certificate,
    signatureAlgorithm: methods[hash],
    canonicalizationAlgorithm: canonicalization,
  })
  signed.addReference({
    xpath: `/*[local-name()='${name}']`,
    transforms: [`${xmldsig}enveloped-signature`, canonicalization],
    digestAlgorithm: digests[hash],
  })
  signed.computeSignature(xml, {
    prefix: 'ds',
    location: { reference: "/*/*[local-name()='Issuer']", action: 'after' },
  })
  return signed.getSignedXml()
}

/** @see XML Encryption 1.1, sections 5.2 and 5.5 */
function encrypt(
  assertion: string,
  certificate: string,
  { cipher = 'aes256-gcm', keyTransport = 'rsa-oaep-mgf1p' }: Answer,
): string {
  const key = randomBytes(cipher.startsWith('aes128') ? 16 : 32)
  const isGcm = cipher.endsWith('gcm')
  const iv = randomBytes(isGcm ? 12 : 16)
  const encryptor = createCipheriv(
    cipher === 'aes128-gcm' ? 'aes-128-gcm' : isGcm ? 'aes-256-gcm' : 'aes-256-cbc',
    key,
    iv,
  )
  const body = Buffer.concat([iv, encryptor.update(assertion, 'utf8'), encryptor.final()])
  const tag = isGcm
    ? (encryptor as ReturnType<typeof createCipheriv> & { getAuthTag(): Buffer }).getAuthTag()
    : Buffer.alloc(0)
  const padding =
    keyTransport === 'rsa-1_5' ? constants.RSA_PKCS1_PADDING : constants.RSA_PKCS1_OAEP_PADDING
  const oaepHash = keyTransport === 'rsa-oaep' ? 'sha256' : 'sha1'
  const wrapped = publicEncrypt({ key: createPublicKey(certificate), padding, oaepHash }, key)
  const namespace = (newer: boolean) =>
    newer ? 'http://www.w3.org/2009/xmlenc11#' : 'http://www.w3.org/2001/04/xmlenc#'
  const details =
    keyTransport === 'rsa-oaep'
      ? `<ds:DigestMethod xmlns:ds="${xmldsig}" Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/><m:MGF xmlns:m="http://www.w3.org/2009/xmlenc11#" Algorithm="http://www.w3.org/2009/xmlenc11#mgf1sha256"/>`
      : ''
  return (
    '<saml:EncryptedAssertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"><xenc:EncryptedData xmlns:xenc="http://www.w3.org/2001/04/xmlenc#" ' +
    `Type="http://www.w3.org/2001/04/xmlenc#Element"><xenc:EncryptionMethod Algorithm="${namespace(isGcm)}${cipher}"/>` +
    `<ds:KeyInfo xmlns:ds="${xmldsig}"><xenc:EncryptedKey><xenc:EncryptionMethod Algorithm="${namespace(keyTransport === 'rsa-oaep')}${keyTransport}">${details}</xenc:EncryptionMethod>` +
    `<xenc:CipherData><xenc:CipherValue>${wrapped.toString('base64')}</xenc:CipherValue></xenc:CipherData></xenc:EncryptedKey></ds:KeyInfo>` +
    `<xenc:CipherData><xenc:CipherValue>${Buffer.concat([body, tag]).toString('base64')}</xenc:CipherValue></xenc:CipherData>` +
    '</xenc:EncryptedData></saml:EncryptedAssertion>'
  )
}

export interface ReceivedRequest {
  xml: string
  id: string
  relayState: string
  /** Parameters of the redirect, or fields of the form. */
  parameters: URLSearchParams
}

/** Reads the request that a browser brings by redirect. */
export function readRedirect(location: string): ReceivedRequest {
  const parameters = new URL(location).searchParams
  return toRequest(
    inflateRawSync(Buffer.from(parameters.get('SAMLRequest') ?? '', 'base64')).toString(),
    parameters,
  )
}

/** Reads the request that a browser brings in a form. */
export function readForm(html: string): ReceivedRequest {
  const inputs = [...html.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)]
  const parameters = new URLSearchParams(inputs.map(([, name = '', value = '']) => [name, value]))
  return toRequest(
    Buffer.from(parameters.get('SAMLRequest') ?? '', 'base64').toString(),
    parameters,
  )
}

function toRequest(xml: string, parameters: URLSearchParams): ReceivedRequest {
  const id = / ID="([^"]+)"/.exec(xml)?.[1] ?? ''
  return { xml, id, relayState: parameters.get('RelayState') ?? '', parameters }
}
