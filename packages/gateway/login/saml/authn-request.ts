/** SAML authentication requests for both bindings, signed if configured. */
import type { KeyObject } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import { bindings } from './idp-metadata.ts'
import { type RequestHash, signatureAlgorithmFor, signEnveloped, signText } from './signed-bytes.ts'
import { escapeXml, namespaces } from './xml.ts'

interface AuthnRequest {
  id: string
  entityId: string
  consumerUrl: string
  destination: string
  nameIdFormat: string | undefined
  nowMs: number
}

export interface RequestSigner {
  key: KeyObject
  /** PEM. */
  certificate: string
  hash: RequestHash
}

/** @see SAML 2.0 Core, section 3.4.1 */
export function formatAuthnRequest(request: AuthnRequest): string {
  const { id, entityId, consumerUrl, destination, nameIdFormat, nowMs } = request
  const policy =
    nameIdFormat === undefined
      ? ''
      : `<samlp:NameIDPolicy AllowCreate="true" Format="${escapeXml(nameIdFormat)}"></samlp:NameIDPolicy>`
  return (
    `<samlp:AuthnRequest xmlns:samlp="${namespaces.protocol}" ID="${escapeXml(id)}" Version="2.0"` +
    ` IssueInstant="${new Date(nowMs).toISOString()}" Destination="${escapeXml(destination)}" ForceAuthn="false" IsPassive="false"` +
    ` ProtocolBinding="${bindings.post}" AssertionConsumerServiceURL="${escapeXml(consumerUrl)}">` +
    `<saml:Issuer xmlns:saml="${namespaces.assertion}">${escapeXml(entityId)}</saml:Issuer>${policy}</samlp:AuthnRequest>`
  )
}

/** The address that a browser is redirected to. @see SAML 2.0 Bindings, section 3.4.4.1 */
export function toRedirectUrl(
  destination: string,
  xml: string,
  relayState: string,
  signer: RequestSigner | undefined,
): string {
  const message = deflateRawSync(Buffer.from(xml)).toString('base64')
  let query = `SAMLRequest=${encodeURIComponent(message)}&RelayState=${encodeURIComponent(relayState)}`
  if (signer !== undefined) {
    // The signature covers these very characters.
    query += `&SigAlg=${encodeURIComponent(signatureAlgorithmFor(signer.key, signer.hash))}`
    query += `&Signature=${encodeURIComponent(signText(query, signer.key, signer.hash))}`
  }
  const [address = '', fragment] = destination.split('#')
  return `${address}${address.includes('?') ? '&' : '?'}${query}${fragment === undefined ? '' : `#${fragment}`}`
}

/** The fields of the form that a browser posts. @see SAML 2.0 Bindings, section 3.5.4 */
export function toPostFields(
  xml: string,
  relayState: string,
  signer: RequestSigner | undefined,
): Record<string, string> {
  const signed = signer === undefined ? xml : signEnveloped(xml, signer, signer.hash)
  return { SAMLRequest: Buffer.from(signed).toString('base64'), RelayState: relayState }
}
