/** Bearer tokens of programs: where they are found, and checks of a JWT. */
import { skewSeconds } from './id-token.ts'
import { LoginFailure } from './login-failure.ts'

/** Tokens of the gateway itself are none of a provider's business. */
const ownToken = /^spk_/
const maxLength = 16_384

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
export function checkTokenClaims(claims: Readonly<Record<string, unknown>>, { issuer, audiences, nowMs }: TokenRules): void {
  const { iss, aud, exp, nbf } = claims
  const now = nowMs / 1000
  if (iss !== issuer) refuse('is of another issuer')
  if (!(Array.isArray(aud) ? aud : [aud]).some((one) => audiences.includes(one))) refuse('is for another audience')
  if (typeof exp !== 'number' || exp <= now - skewSeconds) refuse('has expired')
  if (nbf !== undefined && (typeof nbf !== 'number' || nbf > now + skewSeconds)) refuse('does not count yet')
}

function refuse(problem: string): never {
  throw new LoginFailure('refused', `the bearer token ${problem}`)
}
