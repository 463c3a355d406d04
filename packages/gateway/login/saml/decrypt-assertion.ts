/** Decrypts a signed assertion. Unsigned content stays encrypted, so responses reveal nothing about it. */
import type { KeyObject } from 'node:crypto'
import { refuseUnless, SamlRefused, show } from './refusal.ts'
import {
  descendantsOf,
  isElement,
  parseXml,
  type XmlElement,
  type XmlText,
  xmlAttribute,
  xmlChild,
} from './xml.ts'
import { decrypt } from './xml-libraries.js'

const ciphers = [
  'http://www.w3.org/2009/xmlenc11#aes128-gcm',
  'http://www.w3.org/2009/xmlenc11#aes256-gcm',
  'http://www.w3.org/2001/04/xmlenc#aes128-cbc',
  'http://www.w3.org/2001/04/xmlenc#aes256-cbc',
]
const keyTransports = [
  'http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p',
  'http://www.w3.org/2009/xmlenc11#rsa-oaep',
]

/** One for each recipient of the same assertion. */
const maxWrappedKeys = 10

export const encryptionMethods: readonly string[] = [...ciphers, ...keyTransports]

/** @param encrypted An `EncryptedAssertion` of a response whose signature has been verified @throws {SamlRefused} */
export function decryptAssertion(encrypted: XmlElement, keys: readonly KeyObject[]): XmlText {
  refuseUnless(
    keys.length > 0,
    'the assertion is encrypted, and no key to decrypt it is configured (saml.keyStore)',
  )
  const content = xmlChild(encrypted, 'encryption', 'EncryptedData')
  refuseUnless(content !== undefined, 'the encrypted assertion is empty')
  const cipher = methodOf(content)
  refuseUnless(ciphers.includes(cipher), `the cipher ${show(cipher)} is not supported`)
  const wrapped = descendantsOf(encrypted).filter((element) =>
    isElement(element, 'encryption', 'EncryptedKey'),
  )
  refuseUnless(wrapped.length <= maxWrappedKeys, 'the encrypted assertion has too many keys')
  for (const key of wrapped) {
    const transport = methodOf(key)
    refuseUnless(
      keyTransports.includes(transport),
      `the key transport ${show(transport)} is not supported`,
    )
  }
  const text = keys
    .map((key) => decryptWith(key, encrypted.toString()))
    .find((one) => one !== undefined)
  if (text === undefined)
    throw new SamlRefused('the assertion was not encrypted for a key of this gateway')
  return parseXml(text)
}

function methodOf(element: XmlElement): string {
  return xmlAttribute(xmlChild(element, 'encryption', 'EncryptionMethod'), 'Algorithm') ?? ''
}

function decryptWith(key: KeyObject, xml: string): string | undefined {
  let decrypted: string | undefined
  // The methods have been checked above; the library would refuse CBC, which is sound inside a signature.
  const pem = key.export({ type: 'pkcs8', format: 'pem' }).toString()
  const options = {
    key: pem,
    disallowDecryptionWithInsecureAlgorithm: false,
    warnInsecureAlgorithm: false,
  }
  decrypt(xml, options, (error, text) => {
    decrypted = error === null ? text : undefined
  })
  return decrypted
}
