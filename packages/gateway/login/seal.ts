/** Encrypted text for browsers to carry, readable by all replicas. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { deriveKey, type LoginKey, type LoginSecrets } from './login-keys.ts'

const algorithm = 'aes-256-gcm'
const idBytes = 4
const nonceBytes = 12
const tagBytes = 16

/**
 * Encrypts and authenticates. What was sealed for one purpose opens for no other.
 *
 * @returns letters, digits, hyphens and underscores; 43 and four thirds of the bytes of the text
 * @throws as the keys
 */
export async function seal(keys: LoginSecrets, purpose: string, text: string): Promise<string> {
  const key = await keys.current()
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(algorithm, toCipherKey(key), nonce).setAAD(Buffer.from(purpose))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([key.id, nonce, cipher.getAuthTag(), sealed]).toString('base64url')
}

/** Undefined when it was altered, sealed for another purpose or by another key. @throws as the keys */
export async function unseal(
  keys: LoginSecrets,
  purpose: string,
  sealed: string,
): Promise<string | undefined> {
  const bytes = Buffer.from(sealed, 'base64url')
  if (bytes.length < idBytes + nonceBytes + tagBytes) return undefined
  const key = await keys.find(bytes.subarray(0, idBytes))
  if (key === undefined) return undefined
  const nonce = bytes.subarray(idBytes, idBytes + nonceBytes)
  const tag = bytes.subarray(idBytes + nonceBytes, idBytes + nonceBytes + tagBytes)
  try {
    const decipher = createDecipheriv(algorithm, toCipherKey(key), nonce, {
      authTagLength: tagBytes,
    })
      .setAAD(Buffer.from(purpose))
      .setAuthTag(tag)
    return (
      decipher.update(bytes.subarray(idBytes + nonceBytes + tagBytes), undefined, 'utf8') +
      decipher.final('utf8')
    )
  } catch {
    return undefined
  }
}

function toCipherKey(key: LoginKey): Buffer {
  return deriveKey(key, 'sealed text')
}
