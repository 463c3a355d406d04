/** Reads private keys and certificates from PEM files and PKCS#12 key stores. */
import * as crypto from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { readExplained } from '@fairlead/base/storage/file-fault.ts'
import { loadKeyStoreIdentity } from '@fairlead/base/tls/key-material.ts'
import { certificateLabel, pemBlocks } from '@fairlead/base/tls/pem.ts'
import type { SamlSettings } from './settings.ts'

export interface KeyPair {
  readonly key: crypto.KeyObject
  /** PEM. */
  readonly certificate: string
}

/** @param location A path, also as `file:` URL @throws {Error} the message says what to do */
export function readLocation(location: string): Buffer {
  return readExplained(toFile(location))
}

/** Spring accepts `file:` without slashes, which is no URL that Node takes for a path. */
function toFile(location: string): string {
  if (/^(?:https?|classpath\*?):/i.test(location)) {
    throw new Error('has to be a file: give a path or a file: address')
  }
  return /^file:\/\//i.test(location) ? fileURLToPath(location) : location.replace(/^file:/i, '')
}

/** @throws {Error} the message says what to do */
export function readKeyStore({
  location,
  password,
  alias,
}: NonNullable<SamlSettings['keyStore']>): KeyPair {
  const { key, leaf } = loadKeyStoreIdentity(
    { key: 'saml.keyStore', file: toFile(location), password },
    alias,
  )
  return { key: crypto.createPrivateKey(key), certificate: leaf.toString() }
}

/** @throws {Error} the message says what to do */
export function readPemKeyPair(keyLocation: string, certificateLocation: string): KeyPair {
  return readPemPair(readText(keyLocation), readText(certificateLocation))
}

/** The first certificate of a file in PEM, or of a text in PEM itself. @throws {Error} */
export function readCertificateFile(location: string): string {
  return firstCertificate(readText(location))
}

function readText(location: string): string {
  return location.includes('-----BEGIN') ? location : readLocation(location).toString()
}

function readPemPair(keyText: string, certificateText: string): KeyPair {
  const certificate = firstCertificate(certificateText)
  let key: crypto.KeyObject
  try {
    key = crypto.createPrivateKey(keyText)
  } catch {
    throw new Error(
      'the private key cannot be read: it has to be PEM (BEGIN PRIVATE KEY) and not encrypted',
    )
  }
  if (!new crypto.X509Certificate(certificate).checkPrivateKey(key)) {
    throw new Error('the certificate does not belong to the private key')
  }
  return { key, certificate }
}

function firstCertificate(text: string): string {
  const [pem] = pemBlocks(text, certificateLabel)
  if (pem === undefined) throw new Error('there is no certificate in PEM (BEGIN CERTIFICATE)')
  try {
    return new crypto.X509Certificate(pem).toString()
  } catch {
    throw new Error('the certificate cannot be read')
  }
}
