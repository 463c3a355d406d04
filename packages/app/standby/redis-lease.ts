/** The lease in the Redis or Valkey of the sessions. */

import { createRedisScript, type Redis } from '@fairlead/base/redis/redis.ts'
import { z } from 'zod'
import { createVersion, type LeaseRecord, type LeaseStore } from './lease.ts'

export const leaseKey = 'fairlead:backends:lease'

const Stored = z.object({
  id: z.string(),
  holder: z.string(),
  term: z.int(),
  written: z.int().optional(),
  copy: z.string().optional(),
  released: z.boolean().optional(),
})

const replace = createRedisScript(`
if (redis.call('hget', KEYS[1], 'version') or '') ~= ARGV[1] then return false end
redis.call('hset', KEYS[1], 'version', ARGV[2], 'record', ARGV[3])
return ARGV[2]`)

/** Needs EVAL, HGET, HMGET and HSET on its key. The connection is closed with it. */
export function createRedisLease(redis: Pick<Redis, 'send' | 'run' | 'close'>): LeaseStore {
  return {
    name: 'Redis',
    removal: `redis-cli DEL ${leaseKey}`,
    async read() {
      const [version, record] = (await redis.send('hmget', leaseKey, 'version', 'record')) as (
        | string
        | null
      )[]
      if (typeof version !== 'string' || typeof record !== 'string') return undefined
      return { version, record: Stored.parse(JSON.parse(record)) satisfies LeaseRecord }
    },
    async write(record, seen = '') {
      const answer = await redis.run(
        replace,
        leaseKey,
        seen,
        createVersion(),
        JSON.stringify(record),
      )
      return typeof answer === 'string' ? answer : undefined
    },
    close: () => redis.close(),
  }
}
