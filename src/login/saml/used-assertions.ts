/** Stores used assertions, so that none logs a user in twice. */
import { hash } from 'node:crypto'
import { join } from 'node:path'
import type { Redis } from '../../redis/redis.ts'
import { openDatabaseFor } from '../../storage/database.ts'
import { migrate } from '../../storage/migrations.ts'

export interface UsedAssertions {
  /**
   * Marks an assertion as used, in one step; false when it has been before.
   *
   * @param untilMs Milliseconds since the epoch; from then on it may be forgotten.
   * @throws when that cannot be ensured; the login must fail then
   */
  use(key: string, untilMs: number): Promise<boolean>
  close(): void | Promise<void>
}

/** The name under which an assertion is remembered: identifiers are unique for an issuer, and may be long. */
export function toAssertionKey(issuer: string, id: string): string {
  return hash('sha256', `${issuer.length}:${issuer}${id}`)
}

export const assertionMigrations = [
  `CREATE TABLE used_assertions (key TEXT PRIMARY KEY, until_ms INTEGER NOT NULL) STRICT;
   CREATE INDEX used_assertions_by_end ON used_assertions (until_ms);`,
]

/** In the data directory, file `saml.db`. */
export function openUsedAssertions(dataDir: string, now: () => number): UsedAssertions {
  return openDatabaseFor(join(dataDir, 'saml.db'), (db) => {
    migrate(db, 'used-assertions', assertionMigrations)
    const insert = db.prepare('INSERT INTO used_assertions (key, until_ms) VALUES (?, ?) ON CONFLICT (key) DO NOTHING')
    const forget = db.prepare('DELETE FROM used_assertions WHERE until_ms <= ?')
    return {
      use: async (key, untilMs) => {
        forget.run(now())
        return Number(insert.run(key, untilMs).changes) === 1
      },
      close: () => {
        if (db.isOpen) db.close()
      },
    }
  })
}

const redisPrefix = 'fairlead:saml:'

/** In Redis, for all replicas; needs SET with NX and PX on `fairlead:saml:*`. The connection stays the caller's. */
export function createRedisUsedAssertions(redis: Redis, now: () => number): UsedAssertions {
  return {
    use: async (key, untilMs) => {
      // A time from now, because the clock of Redis may differ.
      const restMs = Math.max(1, Math.ceil(untilMs - now()))
      return (await redis.send('set', redisPrefix + key, '1', 'PX', restMs, 'NX')) === 'OK'
    },
    close: () => {},
  }
}
