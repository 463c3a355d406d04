/** Remembers used assertions, so that none logs a user in twice: a record for each, until it would count no more. */
import { hash } from 'node:crypto'
import { join } from 'node:path'
import type { Redis } from '@fairlead/base/redis/redis.ts'
import { RedisRecords } from '@fairlead/base/redis/redis-records.ts'
import type { Records } from '@fairlead/base/storage/records.ts'
import { openSqliteRecords } from '@fairlead/base/storage/sqlite-records.ts'
import type { MethodContext } from '../method-type.ts'

/** The name under which an assertion is remembered: identifiers are unique for an issuer, and may be long. */
export function toAssertionKey(issuer: string, id: string): string {
  return hash('sha256', `${issuer.length}:${issuer}${id}`)
}

/** Released steps are never edited. */
export const assertionMigrations = [
  `CREATE TABLE used_assertions (key TEXT PRIMARY KEY, until_ms INTEGER NOT NULL) STRICT;
   CREATE INDEX used_assertions_by_end ON used_assertions (until_ms);`,
  `INSERT INTO assertions SELECT key, '1', until_ms, NULL FROM used_assertions;
   DROP TABLE used_assertions`,
]

/** In the Redis of all replicas, or else in the data directory, file `saml.db`. */
export function openUsedAssertions({
  dataDir,
  redis,
  now,
  log,
}: Pick<MethodContext, 'dataDir' | 'redis' | 'now' | 'log'>): Records {
  if (redis !== undefined) return createRedisAssertions(redis, now)
  const moves = { owner: 'used-assertions', migrations: assertionMigrations }
  return openSqliteRecords(join(dataDir, 'saml.db'), 'assertions', { now, log, moves })
}

export function createRedisAssertions(redis: Redis, now: () => number): Records {
  return new RedisRecords(redis, { prefix: 'fairlead:saml:', now })
}

/** Marks an assertion as used, in one step; false when it has been before. @throws when that cannot be ensured; the login must fail then */
export function useAssertion(records: Records, key: string, endsAtMs: number): Promise<boolean> {
  return records.put(key, { content: '1', endsAtMs }, null)
}
