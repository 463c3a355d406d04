/**
 * Records in Redis or Valkey, for all replicas: one key each, whose time to live is its end, so that clocks of replicas may differ.
 * What others keep under a key is neither read nor in the way. Needs no more rights than docs/guides/replicas.md lists.
 */
import type { NewRecord, Records, StoredRecord } from '../storage/records.ts'
import { createRedisScript, isWrongType, type Redis, undefinedIfForeign } from './redis.ts'

interface RedisRecordsOptions {
  readonly prefix: string
  readonly now: () => number
  /** Records are this field of hashes, and are never written over blindly. Default: they are texts. */
  readonly field?: string
  readonly lists?: RedisLists
  /** Beginning of the keys that `removeAll` removes. Default: `prefix`. */
  readonly commonPrefix?: string
}

interface RedisLists {
  /** Beginning of the keys of lists. */
  readonly prefix: string
  /** Default: the owner's name as it is. */
  readonly toKey?: (owner: string) => string
  /** How long records live at most: they stand in sorted sets, by their end. Default: they have no order, and stand in sets. */
  readonly lifeMs?: number
}

/** A list outlives the last record in it by this much. */
const slackMs = 60_000

/** Content before or nothing, content, time to live or nothing, field or none. What has ended is gone at once. */
const replaceIfSame = createRedisScript(`
  local key, field = KEYS[1], ARGV[4]
  local held
  if field then held = redis.call('HGET', key, field) else held = redis.call('GET', key) end
  if (held or '') ~= ARGV[1] then return 0 end
  if field then redis.call('HSET', key, field, ARGV[2]) else redis.call('SET', key, ARGV[2]) end
  if ARGV[3] == '' then redis.call('PERSIST', key) else redis.call('PEXPIRE', key, ARGV[3]) end
  return 1
`)

/** The connection stays the caller's. */
export class RedisRecords implements Records {
  readonly #redis: Redis
  readonly #options: RedisRecordsOptions

  constructor(redis: Redis, options: RedisRecordsOptions) {
    this.#redis = redis
    this.#options = options
  }

  async get(key: string): Promise<StoredRecord | undefined> {
    const name = this.#options.prefix + key
    const { field } = this.#options
    const [content, restMs] = await Promise.all([
      (field === undefined
        ? this.#redis.send('get', name)
        : this.#redis.send('hget', name, field)
      ).catch(undefinedIfForeign),
      this.#redis.send('pttl', name),
    ])
    if (content === null || content === undefined) return undefined
    if (typeof content !== 'string' || typeof restMs !== 'number')
      throw new Error('Redis answered with values of wrong types')
    if (restMs === -1) return { content }
    return restMs > 0 ? { content, endsAtMs: this.#options.now() + restMs } : undefined
  }

  /** Listed before it exists: a record that was not confirmed may be listed, but none that was is missing. */
  async put(key: string, record: NewRecord, before?: string | null): Promise<boolean> {
    const { prefix, field } = this.#options
    const { content, endsAtMs, owner } = record
    if (owner !== undefined) await this.#list(key, owner, endsAtMs)
    const lifeMs = endsAtMs === undefined ? undefined : Math.ceil(endsAtMs - this.#options.now())
    if (field !== undefined || typeof before === 'string') {
      const fields = field === undefined ? [] : [field]
      return (
        (await this.#redis.run(
          replaceIfSame,
          prefix + key,
          before ?? '',
          content,
          lifeMs ?? '',
          ...fields,
        )) === 1
      )
    }
    const life = lifeMs === undefined ? [] : ['PX', Math.max(1, lifeMs)]
    return (
      (await this.#redis.send(
        'set',
        prefix + key,
        content,
        ...life,
        ...(before === null ? ['NX'] : []),
      )) === 'OK'
    )
  }

  async extend(
    key: string,
    { endsAtMs, owner }: { endsAtMs: number; owner: string },
  ): Promise<boolean> {
    const moved = await this.#redis.send(
      'pexpire',
      this.#options.prefix + key,
      Math.ceil(endsAtMs - this.#options.now()),
    )
    if (moved !== 1) return false
    await this.#list(key, owner, endsAtMs)
    return true
  }

  /** One by one: in a cluster, the keys of one command would have to live in one slot. */
  async remove(keys: readonly string[], owner?: string): Promise<number> {
    const list = this.#listKey(owner)
    const remove = async (key: string) => {
      const count = await this.#redis.send('unlink', this.#options.prefix + key)
      const command = this.#isOrdered ? 'zrem' : 'srem'
      if (list !== undefined) await this.#redis.send(command, list, key).catch(undefinedIfForeign)
      return Number(count)
    }
    return (await Promise.all(keys.map(remove))).reduce((sum, count) => sum + count, 0)
  }

  async keysOf(owner: string, offset: number, limit: number): Promise<string[]> {
    const list = this.#listKey(owner) ?? ''
    const answer = this.#isOrdered
      ? this.#redis.send('zrange', list, -offset - limit, -offset - 1)
      : this.#redis.send('smembers', list)
    const keys = ((await answer.catch(undefinedIfForeign)) as string[] | undefined) ?? []
    return this.#isOrdered ? keys.reverse() : keys.slice(offset, offset + limit)
  }

  async owners(beginning: string): Promise<string[]> {
    const found = new Set<string>()
    const pattern = (this.#listKey(beginning) ?? '').replaceAll(/[*?[\]\\]/g, '\\$&')
    for await (const lists of this.#redis.scan(`${pattern}*`)) {
      for (const list of lists) found.add(list.slice(this.#options.lists?.prefix.length))
    }
    return [...found].sort()
  }

  async removeAll(): Promise<number> {
    const { prefix, commonPrefix = prefix, lists } = this.#options
    let removed = 0
    for await (const names of this.#redis.scan(`${commonPrefix}*`)) {
      const counts = await Promise.all(names.map((name) => this.#redis.send('unlink', name)))
      const isRecord = (name: string) =>
        name.startsWith(prefix) && !(lists && name.startsWith(lists.prefix))
      removed += names.filter((name, index) => counts[index] === 1 && isRecord(name)).length
    }
    return removed
  }

  count(): undefined {}

  close(): void {}

  async #list(key: string, owner: string, endsAtMs: number | undefined): Promise<void> {
    const list = this.#listKey(owner)
    if (list === undefined) return
    const entry = this.#isOrdered ? [endsAtMs ?? '+inf', key] : [key]
    const add = () => this.#redis.send(this.#isOrdered ? 'zadd' : 'sadd', list, ...entry)
    await add().catch(async (error: unknown) => {
      if (!isWrongType(error)) throw error
      await this.#redis.send('unlink', list)
      await add()
    })
    const { lifeMs } = this.#options.lists ?? {}
    if (lifeMs === undefined) return
    await Promise.all([
      this.#redis.send('zremrangebyscore', list, '-inf', this.#options.now()),
      this.#redis.send('pexpire', list, lifeMs + slackMs),
    ])
  }

  #listKey(owner: string | undefined): string | undefined {
    const { lists } = this.#options
    return lists && owner !== undefined ? lists.prefix + (lists.toKey?.(owner) ?? owner) : undefined
  }

  get #isOrdered(): boolean {
    return this.#options.lists?.lifeMs !== undefined
  }
}
