/** Metadata of a provider: configured values, completed by discovery. */

import { BackOff } from '@fairlead/base/concurrency/back-off.ts'
import { within } from '@fairlead/base/concurrency/within.ts'
import { elapsedMs } from '@fairlead/base/settings/time-span.ts'
import type { FastifyBaseLogger } from 'fastify'
import { discover, type ProviderMetadata, WrongIssuer } from './discovery.ts'
import { LoginFailure } from './login-failure.ts'
import { completeEndpoints } from './presets.ts'
import type { CallProvider } from './provider-http.ts'
import type { Registration } from './registration.ts'

export interface Server {
  readonly authorizationUri: string
  readonly tokenUri: string
  readonly userInfoUri: string | undefined
  readonly jwkSetUri: string | undefined
  readonly issuer: string | undefined
  readonly algorithms: readonly string[] | undefined
  readonly namesItself: boolean
}

export interface ProviderServerOptions {
  registration: Registration
  call: CallProvider
  log: FastifyBaseLogger
  now: () => number
}

/** The start of the gateway waits no longer than this for an issuer. */
const longestStartMs = 3000
/** A login that finds the issuer unknown asks it again, but not more often than this. */
const askAgainAfterMs = 5000
const retryPauses = { firstMs: 10_000, longestMs: 60_000 }

export class ProviderServer {
  readonly #options: ProviderServerOptions
  #published: ProviderMetadata | undefined
  #wrong: WrongIssuer | undefined
  #asking: Promise<void> | undefined
  #askedAtMs = Number.NEGATIVE_INFINITY
  readonly #backOff = new BackOff(retryPauses)
  #closed = false

  constructor(options: ProviderServerOptions) {
    this.#options = options
  }

  /**
   * Asks the issuer, if there is one to be asked. One that does not answer is asked again until it does: the gateway also
   * serves those who are logged in already.
   *
   * @throws {WrongIssuer} when what is published cannot belong to this configuration
   */
  async open(): Promise<void> {
    if (this.#options.registration.issuerUri === undefined) return
    await within(longestStartMs, this.#ask())
    if (this.#wrong !== undefined) throw this.#wrong
    if (this.#published === undefined) this.#retryLater()
  }

  /** @throws {LoginFailure} unavailable, while the issuer has not said what is not configured */
  async current(): Promise<Server> {
    const known = this.#known()
    if (known !== undefined) return known
    if (
      this.#asking !== undefined ||
      elapsedMs(this.#options.now(), this.#askedAtMs) >= askAgainAfterMs
    )
      await this.#ask()
    const found = this.#known()
    if (found === undefined)
      throw new LoginFailure('unavailable', 'the issuer has not said yet how to log in with it')
    return found
  }

  close(): void {
    this.#closed = true
    this.#backOff.cancel()
  }

  #known(): Server | undefined {
    if (this.#wrong !== undefined) return undefined
    const { registration } = this.#options
    const endpoints = completeEndpoints(registration.endpoints, this.#published?.endpoints)
    const { authorizationUri, tokenUri, userInfoUri, jwkSetUri, issuer } = endpoints
    const isOpenId = registration.scopes.includes('openid') && (issuer ?? jwkSetUri) !== undefined
    if (authorizationUri === undefined || tokenUri === undefined) return undefined
    if (isOpenId ? jwkSetUri === undefined : userInfoUri === undefined) return undefined
    const { algorithms, namesItself = false } = this.#published ?? {}
    return { authorizationUri, tokenUri, userInfoUri, jwkSetUri, issuer, algorithms, namesItself }
  }

  #ask(): Promise<void> {
    this.#asking ??= this.#askOnce().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #askOnce(): Promise<void> {
    const { registration, call, log, now } = this.#options
    const { id, issuerUri } = registration
    if (issuerUri === undefined) return
    this.#askedAtMs = now()
    try {
      this.#published = await discover(issuerUri, call)
      this.#wrong = undefined
    } catch (error) {
      if (error instanceof WrongIssuer) this.#wrong = error
      else if (!(error instanceof LoginFailure)) throw error
      log.warn(
        { registration: id, issuer: issuerUri, reason: (error as Error).message },
        'the issuer cannot be used; logins with it fail until it answers as it should',
      )
      return
    }
    log.info({ registration: id, issuer: issuerUri }, 'the issuer answered; logins with it work')
  }

  #retryLater(): void {
    this.#backOff.startLater(() => {
      void this.#ask().then(() => {
        if (this.#published === undefined && !this.#closed) this.#retryLater()
      })
    })
  }
}
