/** Bearer tokens of programs, and the checks of a JWT that the library does not make. */
import { hash } from 'node:crypto'
import { decodeProtectedHeader } from 'jose'
import { LoginFailure } from './login-failure.ts'

/** Tokens of the gateway itself are none of a provider's business. */
const ownToken = /^spk_/
const maxLength = 16_384
/** How far the clock of a provider may be off. */
export const skewSeconds = 60

/**
 * The token of `Authorization: Bearer`; `unreadable` when there is none after the word. Undefined when the request carries something else.
 */
export function parseBearer(authorization: string | undefined): string | 'unreadable' | undefined {
  if (authorization === undefined || !/^Bearer(?: |$)/.test(authorization)) return undefined
  const token = authorization.slice('Bearer'.length).trim()
  if (ownToken.test(token)) return undefined
  return token.length <= maxLength && /^[\w.~+/-]+=*$/.test(token) ? token : 'unreadable'
}

export function looksLikeJwt(token: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)
}

interface TokenRules {
  readonly issuer: string
  /** One of them has to be among the audiences of the token. */
  readonly audiences: readonly string[]
  readonly nowMs: number
}

/** The signature is checked before. @throws {LoginFailure} refused. @see RFC 9068, section 4 */
export function checkTokenClaims(
  { iss, aud, exp, nbf }: Readonly<Record<string, unknown>>,
  { issuer, audiences, nowMs }: TokenRules,
): void {
  const now = nowMs / 1000
  if (iss !== issuer) refuse('the bearer token is of another issuer')
  if (!(Array.isArray(aud) ? aud : [aud]).some((one) => audiences.includes(one)))
    refuse('the bearer token is for another audience')
  if (typeof exp !== 'number' || exp <= now - skewSeconds) refuse('the bearer token has expired')
  if (nbf !== undefined && (typeof nbf !== 'number' || nbf > now + skewSeconds))
    refuse('the bearer token does not count yet')
}

interface IdTokenFacts {
  readonly idToken: string
  readonly claims: Readonly<Record<string, unknown>>
  readonly clientId: string
  /** Undefined: it is not known, and its hash is not compared. */
  readonly accessToken: string | undefined
  readonly nowMs: number
}

/** @throws {LoginFailure} refused. @see OpenID Connect Core 1.0, sections 3.1.3.7 and 3.1.3.8 */
export function checkIdToken({
  idToken,
  claims,
  clientId,
  accessToken,
  nowMs,
}: IdTokenFacts): void {
  const { azp, iat, at_hash: hash } = claims
  if (azp !== undefined && azp !== clientId)
    refuse('the ID token is not accepted: azp names another client')
  if (typeof iat !== 'number' || iat > nowMs / 1000 + skewSeconds)
    refuse('the ID token is not accepted: iat lies ahead')
  if (
    hash !== undefined &&
    accessToken !== undefined &&
    hash !== hashOf(accessToken, String(decodeProtectedHeader(idToken).alg))
  )
    refuse('the ID token is not accepted: at_hash belongs to another access token')
}

function refuse(problem: string): never {
  throw new LoginFailure('refused', problem)
}

/** The left half of the hash, by the size that the signature has. */
function hashOf(accessToken: string, algorithm: string): string {
  const digits = /(256|384|512)$/.exec(algorithm)?.[1] ?? '512'
  const digest = hash(`sha${digits}`, accessToken, 'buffer')
  return digest.subarray(0, digest.length / 2).toString('base64url')
}
