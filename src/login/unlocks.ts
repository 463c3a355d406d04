/** Unlocked users: `fairlead user unlock` notes them, and running gateways forget their wrong passwords. */
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { createCache, type ExpiringCache } from '../caches/expiring-cache.ts'
import { toUserKey } from '../names/user-name.ts'
import type { Redis } from '../redis/redis.ts'
import { openDatabaseFor } from '../storage/database.ts'
import { migrate } from '../storage/migrations.ts'
import { guessWindowMs } from './form/guess-limit.ts'

export const unlockMigrations = [`CREATE TABLE unlocks (user TEXT PRIMARY KEY, at_ms INTEGER NOT NULL) STRICT`]
const redisPrefix = 'fairlead:login:unlocked:'
/** An unlock is seen within this time: a flood of guesses must not become a flood of lookups. */
const cacheMs = 1000
const maxCached = 1000

/** Times are in milliseconds since the epoch. */
interface UnlockStore {
  find(user: string): Promise<number | undefined> | number | undefined
  add(user: string, atMs: number): Promise<void> | void
  close(): void
}

interface UnlocksOptions {
  dataDir: string
  /** Shared by replicas; without it, processes share the data directory. */
  redis: Redis | undefined
  /** Milliseconds since the epoch. */
  now: () => number
}

export class Unlocks {
  readonly #store: UnlockStore
  readonly #now: () => number
  readonly #found: ExpiringCache<{ atMs: number | undefined }>

  constructor({ dataDir, redis, now }: UnlocksOptions) {
    this.#store = redis === undefined ? createFileStore(dataDir) : createRedisStore(redis)
    this.#now = now
    this.#found = createCache({ maxSize: maxCached, ttlMs: cacheMs, now })
  }

  /** When the user was unlocked last; undefined if that is longer ago than wrong passwords count. @throws {Error} as SQLite, Redis */
  async find(username: string): Promise<number | undefined> {
    const user = toStoredKey(username)
    const known = this.#found.get(user)
    if (known !== undefined) return known.atMs
    const atMs = await this.#store.find(user)
    const recent = atMs !== undefined && atMs > this.#now() - guessWindowMs ? atMs : undefined
    this.#found.set(user, { atMs: recent })
    return recent
  }

  /** @throws {Error} as SQLite, Redis */
  async add(username: string): Promise<void> {
    const user = toStoredKey(username)
    await this.#store.add(user, this.#now())
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

function createFileStore(dataDir: string): UnlockStore {
  return openDatabaseFor(join(dataDir, 'users.db'), (db) => {
    migrate(db, 'unlocks', unlockMigrations)
    const find = db.prepare('SELECT at_ms FROM unlocks WHERE user = ?')
    const add = db.prepare('INSERT OR REPLACE INTO unlocks (user, at_ms) VALUES (?, ?)')
    const forget = db.prepare('DELETE FROM unlocks WHERE at_ms < ?')
    return {
      find(user) {
        const row = find.get(user)
        return row && Number(row['at_ms'])
      },
      add(user, atMs) {
        forget.run(atMs - guessWindowMs)
        add.run(user, atMs)
      },
      close: () => db.close(),
    }
  })
}

function createRedisStore(redis: Redis): UnlockStore {
  return {
    async find(user) {
      const text = await redis.send('get', redisPrefix + user)
      return typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : undefined
    },
    async add(user, atMs) {
      await redis.send('set', redisPrefix + user, String(atMs), 'PX', guessWindowMs)
    },
    close() {},
  }
}
