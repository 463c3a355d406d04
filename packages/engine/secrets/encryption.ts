/** Encryption of secrets: AES-256-GCM with the place of each authenticated. */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { PortError } from '@fairlead/base/port-error.ts'
import type { SecretKey } from './keys.ts'

const nonceBytes = 12
const tagBytes = 16
const cipher = 'aes-256-gcm'

/** Text as `key id:nonce, tag and ciphertext in base64`. @param place Authenticated with it */
export function encrypt(text: string, place: string, { id, bytes }: SecretKey): string {
  const nonce = randomBytes(nonceBytes)
  const encrypting = createCipheriv(cipher, bytes, nonce).setAAD(Buffer.from(place))
  const body = Buffer.concat([encrypting.update(text, 'utf8'), encrypting.final()])
  return `${id}:${Buffer.concat([nonce, encrypting.getAuthTag(), body]).toString('base64')}`
}

export function keyIdOf(sealed: string): string {
  return sealed.slice(0, sealed.indexOf(':'))
}

/** @throws {PortError} 400 when the key is missing, or the text was changed or moved */
export function decrypt(sealed: string, place: string, keys: readonly SecretKey[]): string {
  const id = keyIdOf(sealed)
  const key = keys.find((each) => each.id === id)
  if (key === undefined) throw new PortError(400, describeMissingKey(id))
  const bytes = Buffer.from(sealed.slice(id.length + 1), 'base64')
  const [nonce, tag] = [
    bytes.subarray(0, nonceBytes),
    bytes.subarray(nonceBytes, nonceBytes + tagBytes),
  ]
  try {
    const decrypting = createDecipheriv(cipher, key.bytes, nonce, { authTagLength: tagBytes })
    decrypting.setAAD(Buffer.from(place)).setAuthTag(tag)
    return (
      decrypting.update(bytes.subarray(nonceBytes + tagBytes), undefined, 'utf8') +
      decrypting.final('utf8')
    )
  } catch (cause) {
    throw Object.assign(new PortError(400, 'A secret in the database is damaged; set it again.'), {
      cause,
    })
  }
}

function describeMissingKey(id: string): string {
  return (
    `The key ${id} that encrypts it is not in the key file. Add that key to the key file (secrets.key-file, else secrets.key in the ` +
    'data directory) and restart Fairlead; or set the secret again.'
  )
}
