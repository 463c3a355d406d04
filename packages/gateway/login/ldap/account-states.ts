/** States of accounts in a directory, asked for users who do not log in: the owners of API tokens. */
import { createCache, type ExpiringCache } from '@fairlead/base/caches/expiring-cache.ts'
import type { Entry } from '@fairlead/base/directory/connection.ts'
import { attributeValuesOf } from '@fairlead/base/directory/groups.ts'
import { toUserKey } from '@fairlead/base/names/user-name.ts'

interface AccountStatesOptions {
  /** @throws {Error} when the directory cannot say */
  ask: (username: string) => Promise<boolean>
  now: () => number
}

/** A state is asked for once in this time. */
const freshMs = 60_000
/** While the directory cannot be asked, its last answer counts for so long. */
const lastKnownMs = 3600_000
const maxKept = 10_000

export class AccountStates {
  readonly #options: AccountStatesOptions
  readonly #known: ExpiringCache<boolean>
  readonly #asking = new Map<string, Promise<boolean>>()

  constructor(options: AccountStatesOptions) {
    this.#options = options
    this.#known = createCache({ maxSize: maxKept, ttlMs: freshMs, now: options.now })
  }

  /** @throws {Error} when the directory cannot be asked, and has not been asked for an hour */
  async isActive(username: string): Promise<boolean> {
    const key = toUserKey(username)
    const known = this.#known.get(key)
    if (known !== undefined) return known
    try {
      return await this.#askOnce(key, username)
    } catch (error) {
      const last = this.#known.peek(key, { allowStale: true })
      const expiredMs = -this.#known.getRemainingTTL(key)
      if (last !== undefined && freshMs + expiredMs < lastKnownMs) return last
      throw error
    }
  }

  /** Requests that come together share a question. */
  #askOnce(key: string, username: string): Promise<boolean> {
    return this.#asking.getOrInsertComputed(key, () =>
      this.#ask(key, username).finally(() => this.#asking.delete(key)),
    )
  }

  async #ask(key: string, username: string): Promise<boolean> {
    const isActive = await this.#options.ask(username)
    this.#known.set(key, isActive)
    return isActive
  }
}

/** Attributes by which directories disable accounts. Locks that end by themselves do not count: strangers can cause them. */
export const accountStateAttributes = [
  'userAccountControl',
  'accountExpires',
  'nsAccountLock',
  'pwdAccountLockedTime',
  'shadowExpire',
]

const disabledBit = 2
/** Times of Active Directory count 100 ns since 1601; this one means never, as 0 does. */
const neverExpires = 9_223_372_036_854_775_807n
const windowsEpochMs = 11_644_473_600_000
const dayMs = 86_400_000

/** Whether the entry of an account is disabled or has expired. @param nowMs Milliseconds since the epoch */
export function isDisabled(entry: Entry, nowMs: number): boolean {
  const first = (name: string) => attributeValuesOf(entry, name)[0]?.trim() ?? ''
  const number = (name: string) => (/^\d{1,19}$/.test(first(name)) ? BigInt(first(name)) : 0n)
  const expires = number('accountExpires')
  const hasExpired =
    expires > 0n && expires < neverExpires && Number(expires / 10_000n) - windowsEpochMs <= nowMs
  const shadowDays = /^\d{1,9}$/.test(first('shadowExpire'))
    ? Number(first('shadowExpire'))
    : undefined
  return (
    (number('userAccountControl') & BigInt(disabledBit)) !== 0n ||
    hasExpired ||
    first('nsAccountLock').toLowerCase() === 'true' ||
    // RFC draft behera-ldap-password-policy, section 5.3.3: locked until an administrator unlocks it.
    first('pwdAccountLockedTime') === '000001010000Z' ||
    (shadowDays !== undefined && shadowDays * dayMs <= nowMs)
  )
}
