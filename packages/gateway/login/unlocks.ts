/** Unlocked users: `fairlead user unlock` notes them, and running gateways forget their wrong passwords. */
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { createCache, type ExpiringCache } from '@fairlead/base/caches/expiring-cache.ts'
import { toUserKey } from '@fairlead/base/names/user-name.ts'
import type { Redis } from '@fairlead/base/redis/redis.ts'
import { RedisRecords } from '@fairlead/base/redis/redis-records.ts'
import type { Records } from '@fairlead/base/storage/records.ts'
import { openSqliteRecords } from '@fairlead/base/storage/sqlite-records.ts'
import type { Logger } from 'pino'
import { guessWindowMs } from './form/guess-limit.ts'

/** Released steps are never edited. */
export const unlockMigrations = [
  `CREATE TABLE unlocks (user TEXT PRIMARY KEY, at_ms INTEGER NOT NULL) STRICT`,
  `INSERT INTO unlocked SELECT user, at_ms, at_ms + 900000, NULL FROM unlocks;
   DROP TABLE unlocks`,
]
/** An unlock is seen within this time: a flood of guesses must not become a flood of lookups. */
const cacheMs = 1000
const maxCached = 1000

interface UnlocksOptions {
  dataDir: string
  /** Shared by replicas; without it, processes share the data directory. */
  redis: Redis | undefined
  log: Pick<Logger, 'warn'>
  now: () => number
}

export class Unlocks {
  /** A record for each user: when the unlock was, until no wrong password from before it counts. */
  readonly #store: Records
  readonly #now: () => number
  readonly #found: ExpiringCache<{ atMs: number | undefined }>

  constructor(options: UnlocksOptions) {
    const { now } = options
    this.#store = openStore(options)
    this.#now = now
    this.#found = createCache({ maxSize: maxCached, ttlMs: cacheMs, now })
  }

  /** When the user was unlocked last; undefined if that is longer ago than wrong passwords count. @throws {Error} as SQLite, Redis */
  async find(username: string): Promise<number | undefined> {
    const user = toStoredKey(username)
    const known = this.#found.get(user)
    if (known !== undefined) return known.atMs
    const content = (await this.#store.get(user))?.content ?? ''
    const atMs = /^\d{1,15}$/.test(content) ? Number(content) : undefined
    this.#found.set(user, { atMs })
    return atMs
  }

  /** @throws {Error} as SQLite, Redis */
  async add(username: string): Promise<void> {
    const user = toStoredKey(username)
    const atMs = this.#now()
    await this.#store.put(user, { content: String(atMs), endsAtMs: atMs + guessWindowMs })
    this.#found.delete(user)
  }

  close(): void {
    this.#store.close()
  }
}

/** Users type passwords in the wrong field, so the name itself is not stored. */
function toStoredKey(username: string): string {
  return hash('sha256', toUserKey(username), 'base64url')
}

function openStore({ dataDir, redis, now, log }: UnlocksOptions): Records {
  if (redis !== undefined)
    return new RedisRecords(redis, { prefix: 'fairlead:login:unlocked:', now })
  const moves = { owner: 'unlocks', migrations: unlockMigrations }
  return openSqliteRecords(join(dataDir, 'users.db'), 'unlocked', { now, log, moves })
}
