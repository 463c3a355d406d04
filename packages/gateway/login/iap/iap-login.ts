/** Login by Google's Identity-Aware Proxy: a signed token in each request. */
import { hash } from 'node:crypto'
import { GatewayError } from '@fairlead/base/errors.ts'
import type { LoginReport } from '@fairlead/model/rights/permissions.ts'
import type { FastifyRequest } from 'fastify'
import type { User } from '../../http/request-state.ts'
import type { EntryPoint, LoginMethod, LoginOutcome } from '../login-method.ts'
import type { MethodContext } from '../method-type.ts'
import { KeySet } from '../oauth2/key-set.ts'
import { LoginFailure } from '../oauth2/login-failure.ts'
import { createProviderCalls } from '../oauth2/provider-http.ts'
import { createPreparedUsers, type PrepareOnce } from '../prepare-user.ts'
import type { LoginCredentials, Trace } from '../trace.ts'
import { createUser } from '../user.ts'
import type { IapSettings } from './settings.ts'

interface IapLoginOptions extends Pick<MethodContext, 'prepareUser' | 'isServiceAccount' | 'now'> {
  settings: IapSettings
}

interface IapIdentity {
  readonly email: string
  readonly expiresAtMs: number
}

const timeoutsMs = { connectTimeoutMs: 3000, readTimeoutMs: 3000 }
const maxTokenLength = 16_384

export class IapLogin implements LoginMethod {
  readonly name = 'iap'
  readonly #options: IapLoginOptions
  readonly #keys: KeySet
  readonly #prepareOnce: PrepareOnce

  constructor(options: IapLoginOptions) {
    this.#options = options
    this.#keys = new KeySet(options.settings.keysUrl, createProviderCalls(timeoutsMs), options.now)
    this.#prepareOnce = createPreparedUsers(options.now)
  }

  reportOf(): LoginReport {
    return { call: 'roles-if-any', attempts: 1 }
  }

  async authenticate(request: FastifyRequest): Promise<LoginOutcome> {
    const token = request.headers[this.#options.settings.header]
    if (token === undefined) return { kind: 'not-mine' }
    try {
      const { email, expiresAtMs } = await this.#verify(String(token))
      const digest = hash('sha256', String(token), 'base64')
      return {
        kind: 'user',
        user: await this.#prepareOnce(digest, () => this.#prepare(email), expiresAtMs),
      }
    } catch (error) {
      if (error instanceof GatewayError) return { kind: 'refused', reason: error.message, error }
      if (!(error instanceof LoginFailure)) throw error
      if (error.kind === 'refused') {
        const told = new GatewayError(
          'PERMISSION_DENIED',
          `This gateway is entered through the IapIdentity-Aware Proxy, and ${error.message}.`,
        )
        return { kind: 'refused', reason: error.message, error: told }
      }
      const message =
        'The keys of the proxy in front cannot be loaded, so logins fail. Try again in a moment.'
      return {
        kind: 'refused',
        reason: error.message,
        error: new GatewayError('LOGIN_UNAVAILABLE', message, { cause: error }),
      }
    }
  }

  async explain(credentials: LoginCredentials, trace: Trace): Promise<LoginOutcome> {
    if (credentials.kind !== 'token') return { kind: 'not-mine' }
    try {
      const { email } = await this.#verify(credentials.text)
      trace(
        'yes',
        `signature, issuer, audience and times of the token of the proxy; it names ${email}`,
      )
      return { kind: 'user', user: await this.#prepare(email) }
    } catch (error) {
      if (!(error instanceof LoginFailure)) throw error
      return { kind: 'refused', reason: error.message }
    }
  }

  entryPoint(): EntryPoint {
    const message =
      'This gateway is entered through the Identity-Aware Proxy, whose token is missing.'
    return { kind: 'refusal', error: new GatewayError('PERMISSION_DENIED', message) }
  }

  async #prepare(email: string): Promise<User> {
    const { settings, prepareUser, isServiceAccount } = this.#options
    const report = (await isServiceAccount(email)) ? undefined : this.reportOf()
    return prepareUser(toUser(email), report, settings.nameCase)
  }

  /** @throws {LoginFailure} @see docs/contracts/authentication.md#google-iap */
  async #verify(token: string): Promise<IapIdentity> {
    const { audience, issuer, issuedSkewMs, expirySkewMs } = this.#options.settings
    if (token.length > maxTokenLength) refuse('it is too long')
    const { aud, iss, iat, exp, sub, email } = await this.#keys.verify(token, ['ES256'])
    const nowMs = this.#options.now()
    if (!(Array.isArray(aud) ? aud : [aud]).includes(audience))
      refuse('it is meant for another audience than google.iap.audience')
    if (iss !== issuer) refuse('it has another issuer than google.iap.issuerId')
    if (typeof iat !== 'number' || iat * 1000 > nowMs + issuedSkewMs)
      refuse('it was issued in the future')
    if (typeof exp !== 'number' || exp * 1000 <= nowMs - expirySkewMs) refuse('it has expired')
    if (typeof sub !== 'string' || sub === '') refuse('it has no subject')
    if (typeof email !== 'string' || email.trim() === '') refuse('it has no e-mail address')
    return { email, expiresAtMs: exp * 1000 + expirySkewMs }
  }
}

function refuse(problem: string): never {
  throw new LoginFailure('refused', `the token of the proxy is not accepted: ${problem}`)
}

/** @see docs/contracts/authentication.md#google-iap */
function toUser(email: string): User {
  return createUser('iap', email, { email })
}
