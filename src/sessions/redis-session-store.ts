/**
 * Sessions in Redis or Valkey, for all replicas. One text per session, whose time to live is its end, below the prefix that
 * Spring Session uses, so that the command by which operators delete all sessions works. What others keep there, such as
 * the hashes of a Gate, is neither read nor in the way. Needs no more rights than docs/guides/replicas.md lists.
 */
import { hash } from 'node:crypto'
import { isWrongType, type Redis, undefinedIfForeign } from '../redis/redis.ts'
import { removedAtOnce, type SessionRange, type SessionStore, type StoredSession } from './session-store.ts'

interface RedisSessionStoreOptions {
  /** What a session may be idle for at most. */
  idleMs: number
  /** Milliseconds since the epoch. */
  now: () => number
}

/** What operators delete, and what `removeAll` deletes. */
const commonPrefix = 'spring:session'
const sessionPrefix = `${commonPrefix}:fairlead:`
/** Sorted sets of the keys of one user's sessions, by their end. */
const ownerPrefix = `${sessionPrefix}of:`
/** The set of a user outlives the last session in it by this much. */
const slackMs = 60_000
/** Keys that are read at once to find one of them. */
const searchedAtOnce = 1000

/** The connection stays the caller's. */
export class RedisSessionStore implements SessionStore {
  readonly #redis: Redis
  readonly #idleMs: number
  readonly #now: () => number

  constructor(redis: Redis, { idleMs, now }: RedisSessionStoreOptions) {
    this.#redis = redis
    this.#idleMs = idleMs
    this.#now = now
  }

  /** The end is computed from the time to live, so that clocks of replicas may differ. */
  async load(key: string): Promise<Omit<StoredSession, 'owner'> | undefined> {
    const name = sessionPrefix + key
    const [content, restMs] = await Promise.all([
      this.#redis.send('get', name).catch(undefinedIfForeign),
      this.#redis.send('pttl', name),
    ])
    if (content === null || content === undefined) return undefined
    if (typeof content !== 'string' || typeof restMs !== 'number') throw new Error('Redis answered with values of wrong types')
    return restMs > 0 ? { content, expiresAtMs: this.#now() + restMs } : undefined
  }

  /** Listed before it exists: a session that was not confirmed may be listed, but none that was is missing. */
  async insert(key: string, session: StoredSession): Promise<void> {
    await this.#list(key, session)
    await this.#redis.send('set', sessionPrefix + key, session.content, 'PX', this.#restMs(session))
  }

  async touch(key: string, session: Omit<StoredSession, 'content'>): Promise<boolean> {
    const moved = await this.#redis.send('pexpire', sessionPrefix + key, this.#restMs(session))
    if (moved !== 1) return false
    await this.#list(key, session)
    return true
  }

  async remove(key: string, owner: string): Promise<void> {
    await this.#redis.send('unlink', sessionPrefix + key)
    await this.#redis.send('zrem', toOwnerKey(owner), key).catch(undefinedIfForeign)
  }

  async listOf(owner: string, { offset, limit }: SessionRange): Promise<ReadonlyMap<string, StoredSession>> {
    const newestFirst = (await this.#keysOf(owner, -offset - limit, -offset - 1)).reverse()
    const loaded = await Promise.all(newestFirst.map(async (key) => [key, await this.load(key)] as const))
    return new Map(loaded.flatMap(([key, session]) => (session === undefined ? [] : [[key, { ...session, owner }]])))
  }

  async findKey(owner: string, beginning: string): Promise<string | undefined> {
    for (let offset = 0; ; offset += searchedAtOnce) {
      const keys = await this.#keysOf(owner, offset, offset + searchedAtOnce - 1)
      const found = keys.find((key) => key.startsWith(beginning))
      if (found !== undefined) return (await this.load(found)) === undefined ? undefined : found
      if (keys.length < searchedAtOnce) return undefined
    }
  }

  async removeOf(owner: string, { newest, key }: { newest: number; key: string | undefined }): Promise<string[]> {
    // Positions count from the oldest: there are as many to remove as positions from `newest` on.
    const surplus = await this.#keysOf(owner, newest, newest + removedAtOnce)
    const oldest = surplus.length === 0 ? [] : await this.#keysOf(owner, 0, surplus.length)
    const removed = oldest.filter((one) => one !== key).slice(0, Math.min(surplus.length, removedAtOnce))
    await Promise.all(removed.map((one) => this.remove(one, owner)))
    return removed
  }

  async #keysOf(owner: string, first: number, last: number): Promise<string[]> {
    const keys = await this.#redis.send('zrange', toOwnerKey(owner), first, last).catch(undefinedIfForeign)
    return (keys as string[] | undefined) ?? []
  }

  async removeAll(): Promise<number> {
    let removed = 0
    for await (const names of this.#redis.scan(`${commonPrefix}*`)) {
      // One by one: in a cluster, the keys of one command would have to live in one slot.
      const counts = await Promise.all(names.map((name) => this.#redis.send('unlink', name)))
      removed += names.filter((name, index) => counts[index] === 1 && isSession(name)).length
    }
    return removed
  }

  close(): void {}

  async #list(key: string, { owner, expiresAtMs }: Omit<StoredSession, 'content'>): Promise<void> {
    const name = toOwnerKey(owner)
    const add = () => this.#redis.send('zadd', name, expiresAtMs, key)
    await add().catch(async (error: unknown) => {
      if (!isWrongType(error)) throw error
      await this.#redis.send('unlink', name)
      await add()
    })
    await Promise.all([
      this.#redis.send('zremrangebyscore', name, '-inf', this.#now()),
      this.#redis.send('pexpire', name, this.#idleMs + slackMs),
    ])
  }

  #restMs({ expiresAtMs }: { expiresAtMs: number }): number {
    return Math.max(1, Math.round(expiresAtMs - this.#now()))
  }
}

function toOwnerKey(owner: string): string {
  return ownerPrefix + hash('sha256', owner, 'hex')
}

function isSession(name: string): boolean {
  return name.startsWith(sessionPrefix) && !name.startsWith(ownerPrefix)
}
