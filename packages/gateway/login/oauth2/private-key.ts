/** The key with which the gateway signs for itself at a provider. */
import { createPrivateKey, type webcrypto } from 'node:crypto'
import { readExplained } from '@fairlead/base/storage/file-fault.ts'

/** @param file PEM. @throws {Error} when it cannot be read or holds no usable key; the message says which of these */
export function loadPrivateKey(file: string): webcrypto.CryptoKey {
  const key = createPrivateKey(readExplained(file))
  if (key.asymmetricKeyType === 'rsa') {
    return key.toCryptoKey({ name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }, false, ['sign'])
  }
  if (key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1') {
    return key.toCryptoKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign'])
  }
  throw new Error('the key is neither RSA nor P-256')
}
