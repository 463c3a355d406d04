/** Reads `Authorization: Basic`, and remembers for some seconds which credentials were right. */
import { createHmac, randomBytes } from 'node:crypto'
import {
  createCache,
  type ExpiringCache,
  forget,
  loadOnce,
} from '@fairlead/base/caches/expiring-cache.ts'

export interface Credentials {
  readonly username: string
  readonly password: string
}

/** Undefined when there is no such header; `unreadable` when there is one without a user name. */
export function parseBasic(header: string | undefined): Credentials | 'unreadable' | undefined {
  const match = /^basic(?: (.*))?$/i.exec(header ?? '')
  if (match === null) return undefined
  const encoded = (match[1] ?? '').trim()
  if (encoded.length > 4096 || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(encoded)) return 'unreadable'
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  return colon < 1
    ? 'unreadable'
    : { username: text.slice(0, colon).trim(), password: text.slice(colon + 1) }
}

/** Scripts send their password with each request; checking it that often would keep a processor busy. */
const cacheMs = 20_000
const maxCached = 1000

/** Results by a keyed hash of the credentials; the key is new with each process and never leaves it. */
export class VerifiedCredentials<Result> {
  readonly #key = randomBytes(32)
  readonly #results: ExpiringCache<Promise<Result | undefined>>

  constructor(now: () => number) {
    this.#results = createCache({ maxSize: maxCached, ttlMs: cacheMs, now })
  }

  /** What `verify` says, asked once for requests that come together. Only a result is remembered; undefined and errors are not. */
  get(
    credentials: Credentials,
    verify: () => Promise<Result | undefined>,
  ): Promise<Result | undefined> {
    const key = this.#keyOf(credentials)
    const result = loadOnce(this.#results, key, verify)
    result.then(
      (found) => found ?? forget(this.#results, key, result),
      () => {},
    )
    return result
  }

  forget(credentials: Credentials): void {
    this.#results.delete(this.#keyOf(credentials))
  }

  #keyOf({ username, password }: Credentials): string {
    return createHmac('sha256', this.#key)
      .update(`${username.length}:${username}${password}`)
      .digest('base64')
  }
}
