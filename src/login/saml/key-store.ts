/** Reads private keys and certificates from PEM files and PKCS#12 key stores. */

import * as crypto from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { conversionOf, explainJavaStore, isJavaStore, toPath } from '../../http/tls/key-material.ts'
import { certificateLabel, pemBlocks } from '../../http/tls/pem.ts'
import { explainUnreadable } from '../../storage/file-fault.ts'

export interface KeyPair {
  readonly key: crypto.KeyObject
  /** PEM. */
  readonly certificate: string
}

/** Part of Node 26 that its types do not describe yet. */
interface Pkcs12 {
  parsePKCS12(
    bundle: Buffer,
    options: { passphrase: string },
  ): { privateKey: crypto.KeyObject | null; certificate: crypto.X509Certificate | null }
}

const { parsePKCS12 } = crypto as unknown as Pkcs12

/** @param location A path, also as `file:` URL @throws {Error} the message says what to do */
export function readLocation(location: string): Buffer {
  if (/^(?:https?|classpath\*?):/i.test(location)) {
    throw new Error('has to be a file: give a path or a file: address')
  }
  try {
    // Spring accepts file: without slashes, which is no URL that Node takes for a path.
    return readFileSync(/^file:\/\//i.test(location) ? fileURLToPath(location) : location.replace(/^file:/i, ''))
  } catch (error) {
    throw new Error(explainUnreadable(location, error))
  }
}

/** The key pair of a PKCS#12 store, which may hold one only. @throws {Error} the message says what to do */
export function readKeyStore(location: string, password: string): KeyPair {
  const content = readLocation(location)
  if (content.toString('latin1', 0, 4096).includes('-----BEGIN')) return readPemPair(content.toString(), content.toString())
  if (isJavaStore(content)) throw new Error(explainJavaStore(toPath(location)))
  const { privateKey, certificate } = openStore(content, password, location)
  if (privateKey === null || certificate === null) throw new Error(`"${location}" holds no private key with a certificate`)
  return { key: privateKey, certificate: certificate.toString() }
}

function openStore(content: Buffer, passphrase: string, location: string) {
  try {
    return parsePKCS12(content, { passphrase })
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_CRYPTO_UNSUPPORTED_OPERATION') {
      throw new Error(
        `${toPath(location)} is protected with ciphers that are no longer in use; write it anew with Java 17 or newer, and name the new ` +
          `file here: ${conversionOf(toPath(location))}`,
      )
    }
    throw new Error(`"${location}" cannot be opened: the password is wrong, or it is no PKCS#12 store`)
  }
}

/** @throws {Error} the message says what to do */
export function readPemKeyPair(keyLocation: string, certificateLocation: string): KeyPair {
  return readPemPair(readText(keyLocation), readText(certificateLocation))
}

/** The first certificate of a file in PEM, or of a text in PEM itself. @throws {Error} */
export function readCertificate(location: string): string {
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
    throw new Error('the private key cannot be read: it has to be PEM (BEGIN PRIVATE KEY) and not encrypted')
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
