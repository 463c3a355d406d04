/** Our own metadata, which an administrator gives to the identity provider. */
import { encryptionMethods } from './decrypt-assertion.ts'
import { bindings } from './idp-metadata.ts'
import { escapeXml, namespaces } from './xml.ts'

export interface ServiceProvider {
  entityId: string
  consumerUrl: string
  signsRequests: boolean
  /** Certificates in PEM. */
  signingCertificates: readonly string[]
  encryptionCertificates: readonly string[]
  nameIdFormat: string | undefined
}

export const metadataType = 'application/samlmetadata+xml'

/** @see SAML 2.0 Metadata, section 2.4.4 */
export function formatSpMetadata(provider: ServiceProvider): string {
  const keys = [
    ...provider.signingCertificates.map((certificate) => formatKey('signing', certificate, '')),
    ...provider.encryptionCertificates.map((certificate) =>
      formatKey(
        'encryption',
        certificate,
        encryptionMethods
          .map((method) => `\n      <md:EncryptionMethod Algorithm="${method}"/>`)
          .join(''),
      ),
    ),
  ]
  const format = provider.nameIdFormat
  return `<?xml version="1.0" encoding="UTF-8"?>
<md:EntityDescriptor xmlns:md="${namespaces.metadata}" entityID="${escapeXml(provider.entityId)}">
  <md:SPSSODescriptor AuthnRequestsSigned="${provider.signsRequests}" WantAssertionsSigned="true" protocolSupportEnumeration="${namespaces.protocol}">${keys.join('')}${
    format === undefined ? '' : `\n    <md:NameIDFormat>${escapeXml(format)}</md:NameIDFormat>`
  }
    <md:AssertionConsumerService Binding="${bindings.post}" Location="${escapeXml(provider.consumerUrl)}" index="0" isDefault="true"/>
  </md:SPSSODescriptor>
</md:EntityDescriptor>
`
}

function formatKey(use: string, certificate: string, methods: string): string {
  const base64 = certificate.replace(/-----[A-Z ]+-----|\s/g, '')
  return `
    <md:KeyDescriptor use="${use}">
      <ds:KeyInfo xmlns:ds="${namespaces.signature}"><ds:X509Data><ds:X509Certificate>${base64}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>${methods}
    </md:KeyDescriptor>`
}
