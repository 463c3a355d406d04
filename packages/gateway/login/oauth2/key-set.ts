/** Signing keys of a provider: cached, reloaded for unknown keys, with a rate limit. */

import { sharedWork } from '@fairlead/base/concurrency/shared-work.ts'
import { elapsedMs } from '@fairlead/base/settings/time-span.ts'
import {
  type CompactVerifyGetKey,
  compactVerify,
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
} from 'jose'
import { LoginFailure } from './login-failure.ts'
import { type CallProvider, readProviderObject } from './provider-http.ts'

/** Keys that a provider has withdrawn are forgotten after this time at the latest. */
const maxAgeMs = 3_600_000
/** Unknown keys make us ask the provider again, but invented keys do not cause a request each. */
const pauseMs = 30_000

/** A shared secret never verifies here: it would be a public key. */
const asymmetric = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]
const byDefault = ['RS256']

export class KeySet {
  readonly #url: string
  readonly #call: CallProvider
  readonly #now: () => number
  #keys: { find: CompactVerifyGetKey; loadedAtMs: number } | undefined
  readonly #load = sharedWork(() => this.#ask())
  #askedForUnknownAtMs = Number.NEGATIVE_INFINITY

  /** @param now Milliseconds since the epoch. */
  constructor(url: string, call: CallProvider, now: () => number) {
    this.#url = url
    this.#call = call
    this.#now = now
  }

  /**
   * Checks the signature of a JWT, and nothing else.
   *
   * @param algorithms As the provider publishes them; RS256 unless given
   * @throws {LoginFailure} refused: the signature is wrong; unavailable: the keys cannot be loaded
   */
  async verify(
    jwt: string,
    algorithms: readonly string[] = byDefault,
  ): Promise<Record<string, unknown>> {
    const options = { algorithms: algorithms.filter((name) => asymmetric.includes(name)) }
    const find: CompactVerifyGetKey = async (header, token) => {
      try {
        return await (await this.#current())(header, token)
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey) || !this.#mayAskAgain()) throw error
        return (await this.#load())(header, token)
      }
    }
    try {
      const { payload } = await compactVerify(jwt, find, options)
      return JSON.parse(new TextDecoder().decode(payload)) as Record<string, unknown>
    } catch (error) {
      if (error instanceof LoginFailure) throw error
      throw new LoginFailure('refused', `the signature does not count: ${(error as Error).message}`)
    }
  }

  #mayAskAgain(): boolean {
    if (elapsedMs(this.#now(), this.#askedForUnknownAtMs) < pauseMs) return false
    this.#askedForUnknownAtMs = this.#now()
    return true
  }

  async #current(): Promise<CompactVerifyGetKey> {
    const known = this.#keys
    if (known !== undefined && elapsedMs(this.#now(), known.loadedAtMs) < maxAgeMs)
      return known.find
    return this.#load()
  }

  async #ask(): Promise<CompactVerifyGetKey> {
    const what = 'key set'
    const answer = await this.#call({
      what,
      url: this.#url,
      init: { headers: { accept: 'application/json' } },
    })
    if (answer.status !== 200)
      throw new LoginFailure('refused', `the ${what} answered ${answer.status}`)
    const found = await readProviderObject(what, answer)
    try {
      const find = createLocalJWKSet(found as unknown as JSONWebKeySet)
      this.#keys = { find, loadedAtMs: this.#now() }
      return find
    } catch {
      throw new LoginFailure('refused', `the ${what} is not a set of keys`)
    }
  }
}
