/** Checks of an ID token beyond those of the library. */
import { hash } from 'node:crypto'
import { LoginFailure } from './login-failure.ts'

/** How far the clock of a provider may be off. */
export const skewSeconds = 60

interface IdTokenFacts {
  readonly idToken: string
  readonly claims: Readonly<Record<string, unknown>>
  readonly clientId: string
  /** Undefined: it is not known, and its hash is not compared. */
  readonly accessToken: string | undefined
  readonly nowMs: number
}

/** @throws {LoginFailure} refused. @see OpenID Connect Core 1.0, sections 3.1.3.7 and 3.1.3.8 */
export function checkIdToken({ idToken, claims, clientId, accessToken, nowMs }: IdTokenFacts): void {
  const { azp, iat, at_hash: hash } = claims
  if (azp !== undefined && azp !== clientId) refuse('azp names another client')
  if (typeof iat !== 'number' || iat > nowMs / 1000 + skewSeconds) refuse('iat lies ahead')
  if (hash !== undefined && accessToken !== undefined && hash !== hashOf(accessToken, algorithmOf(idToken)))
    refuse('at_hash belongs to another access token')
}

function refuse(problem: string): never {
  throw new LoginFailure('refused', `the ID token is not accepted: ${problem}`)
}

/** The left half of the hash, by the size that the signature has. */
function hashOf(accessToken: string, algorithm: string): string {
  const digits = /(256|384|512)$/.exec(algorithm)?.[1] ?? '512'
  const digest = hash(`sha${digits}`, accessToken, 'buffer')
  return digest.subarray(0, digest.length / 2).toString('base64url')
}

function algorithmOf(jwt: string): string {
  const header = JSON.parse(Buffer.from(jwt.split('.')[0] ?? '', 'base64url').toString('utf8')) as { alg?: unknown }
  return String(header.alg)
}
