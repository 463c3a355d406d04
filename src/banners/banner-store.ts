/** Store of banners: one document in the data directory or in Redis. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRedisScript, type Redis } from '../redis/redis.ts'
import { writePrivateFile } from '../storage/private-files.ts'

/** Both functions reject when the store cannot be asked. */
export interface BannerStore {
  /** Undefined while nothing has been stored. */
  load(): Promise<string | undefined>
  /** False when the document is not `before` any more. */
  replace(before: string | undefined, after: string): Promise<boolean>
}

/** One process has the data directory. */
export function createFileBannerStore(dataDir: string): BannerStore {
  const file = join(dataDir, 'banners.json')
  const load = async () => {
    try {
      return readFileSync(file, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }
  return {
    load,
    replace: async (before, after) => {
      if ((await load()) !== before) return false
      writePrivateFile(file, after)
      return true
    },
  }
}

/** Gate keeps each banner in a key of its own, below another prefix; those are neither read nor in the way. */
const redisKey = 'fairlead:banners'
const replaceIfSame = createRedisScript(`
  if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
  redis.call('SET', KEYS[1], ARGV[2])
  return 1
`)

export function createRedisBannerStore(redis: Redis): BannerStore {
  return {
    load: async () => {
      const stored = await redis.send('get', redisKey)
      return typeof stored === 'string' ? stored : undefined
    },
    replace: async (before, after) => (await redis.run(replaceIfSame, redisKey, before ?? '', after)) === 1,
  }
}
