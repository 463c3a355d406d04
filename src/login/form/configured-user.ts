/** The one user of the configuration file, as Gate has it: `spring.security.user.*`. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { User } from '../../http/request-state.ts'
import { deriveKey } from './password-hash.ts'

export interface ConfiguredUser {
  readonly name: string
  readonly password: string
}

/** Compared as hashes, so that neither content nor length shows in the time that it takes. */
export function isConfiguredUser({ name, password }: ConfiguredUser, givenName: string, givenPassword: string): boolean {
  const sameName = timingSafeEqual(digest(name), digest(givenName))
  const samePassword = timingSafeEqual(digest(password), digest(givenPassword))
  return sameName && samePassword
}

/**
 * Changes with the password, so that a new one in the file ends the sessions opened with the old one. It is kept with the
 * sessions, hence a slow function: an attacker with the file cannot try passwords quickly.
 */
export async function configuredStamp({ name, password }: ConfiguredUser): Promise<string> {
  return (await deriveKey(password, digest(`configured user ${name}`))).toString('base64url')
}

/** @see docs/contracts/authentication.md#configured-user */
export function toConfiguredUser({ name }: ConfiguredUser): User {
  return { username: name, email: name, firstName: null, lastName: null, roles: ['USER'], allowedAccounts: [], method: 'form' }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
