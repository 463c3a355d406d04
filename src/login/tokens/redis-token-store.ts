/**
 * API tokens in Redis or Valkey, for all replicas. `<prefix>:id:<uuid>` holds a token, `:hash:<hex>` leads to it, and
 * `:principal:<TYPE>:<key of the user>` lists those of a user. An unreadable value is ignored.
 *
 * @see docs/contracts/authentication.md#api-tokens
 */
import { z } from 'zod'
import { toUserKey } from '../../names/user-name.ts'
import { createRedisScript, type Redis, undefinedIfForeign } from '../../redis/redis.ts'
import {
  type Principal,
  type PrincipalType,
  type StoredToken,
  StoredTokenLimits,
  type TokenSecret,
  type TokenStore,
} from './token-store.ts'

interface RedisTokenStoreOptions {
  /** Beginning of the keys. */
  keyPrefix: string
  /** Milliseconds since the epoch. */
  now: () => number
}

const StoredContent = z.looseObject({
  version: z.literal(1),
  id: z.string(),
  name: z.string(),
  principal: z.object({ type: z.enum(['USER', 'SERVICE_ACCOUNT']), id: z.string() }),
  method: z.string().optional(),
  era: z.number().optional(),
  createdBy: z.string(),
  createdAtMs: z.number(),
  expiresAtMs: z.number().optional(),
  limits: StoredTokenLimits,
  secret: z.object({
    hash: z.string(),
    sinceMs: z.number(),
    former: z.object({ hash: z.string(), untilMs: z.number() }).optional(),
  }),
})
type StoredContent = z.infer<typeof StoredContent>

/** A token is still listed for this long after its end, so that its owner sees why a program is refused. */
const keptAfterEndMs = 30 * 86_400_000

const replaceIfHash = createRedisScript(`
  if redis.call('HGET', KEYS[1], 'hash') ~= ARGV[1] then return 0 end
  redis.call('HSET', KEYS[1], 'hash', ARGV[2], 'content', ARGV[3])
  return 1
`)
const noteUse = createRedisScript(`
  if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('HSET', KEYS[1], 'usedAtMs', ARGV[1]) end
`)
/** Sets a name only while it leads to a certain token. */
const moveName = createRedisScript(`
  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
  redis.call('SET', KEYS[1], ARGV[2])
  return 1
`)
const freeName = createRedisScript(`
  if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('UNLINK', KEYS[1]) end
  return 0
`)

/** The connection stays the caller's. */
export class RedisTokenStore implements TokenStore {
  readonly #redis: Redis
  readonly #prefix: string
  readonly #now: () => number

  constructor(redis: Redis, { keyPrefix, now }: RedisTokenStoreOptions) {
    this.#redis = redis
    this.#prefix = keyPrefix
    this.#now = now
  }

  /** What leads to a token is written after it, so that an interruption leaves an unusable token. */
  async insert(token: StoredToken): Promise<boolean> {
    const { lastUsedAtMs: _, ...content } = token
    const key = this.#idKey(token.id)
    await this.#redis.send('hset', key, 'hash', token.secret.hash, 'content', JSON.stringify({ version: 1, ...content }))
    await this.#limitLife(key, token.expiresAtMs)
    if (!(await this.#takeName(token))) {
      await this.#redis.send('unlink', key)
      return false
    }
    await this.#redis.send('sadd', this.#principalKey(token.principal), token.id)
    await this.#lead(token.secret.hash, token)
    return true
  }

  async findByHash(hash: string): Promise<StoredToken | undefined> {
    const id = await this.#redis.send('get', this.#hashKey(hash)).catch(undefinedIfForeign)
    const token = typeof id === 'string' ? await this.find(id) : undefined
    return token?.secret.hash === hash || token?.secret.former?.hash === hash ? token : undefined
  }

  async find(id: string): Promise<StoredToken | undefined> {
    const found = await this.#load(id)
    return found && toToken(found.content, found.usedAtMs)
  }

  async listOf(principal: Principal): Promise<StoredToken[]> {
    const tokens = await this.#listKey(this.#principalKey(principal))
    return tokens.sort((a, b) => compare(a.name, b.name))
  }

  async listAll(type: PrincipalType): Promise<StoredToken[]> {
    const tokens: StoredToken[] = []
    const pattern = `${this.#prefix}:principal:${type}:`.replaceAll(/[*?[\]\\]/g, '\\$&')
    for await (const keys of this.#redis.scan(`${pattern}*`)) {
      for (const key of keys) tokens.push(...(await this.#listKey(key)))
    }
    const unique = [...new Map(tokens.map((token) => [token.id, token])).values()]
    return unique.sort((a, b) => compare(a.principal.id, b.principal.id) || compare(a.name, b.name))
  }

  async replaceSecret(id: string, before: string, secret: TokenSecret, expiresAtMs: number | undefined): Promise<boolean> {
    const found = await this.#load(id)
    if (found === undefined) return false
    const content = JSON.stringify({ ...found.content, secret, expiresAtMs })
    await this.#lead(secret.hash, { id, expiresAtMs })
    if ((await this.#redis.run(replaceIfHash, this.#idKey(id), before, secret.hash, content)) !== 1) {
      await this.#redis.send('unlink', this.#hashKey(secret.hash))
      return false
    }
    await this.#limitLife(this.#idKey(id), expiresAtMs)
    const { former, hash } = found.content.secret
    for (const over of [former?.hash, hash]) {
      if (over === undefined || over === secret.former?.hash) continue
      await this.#redis.send('unlink', this.#hashKey(over))
    }
    if (secret.former !== undefined) await this.#limitLife(this.#hashKey(secret.former.hash), expiresAtMs)
    return true
  }

  /** The token itself goes first: from then on nothing leads to it any more. */
  async remove(id: string): Promise<boolean> {
    const found = await this.#load(id)
    const removed = await this.#redis.send('unlink', this.#idKey(id))
    if (found === undefined) return removed === 1
    const { principal, secret, name } = found.content
    await this.#redis.send('unlink', this.#hashKey(secret.hash))
    if (secret.former !== undefined) await this.#redis.send('unlink', this.#hashKey(secret.former.hash))
    await this.#redis.run(freeName, this.#nameKey(principal, name), id)
    await this.#redis.send('srem', this.#principalKey(principal), id)
    return removed === 1
  }

  async recordUse(id: string, atMs: number): Promise<void> {
    await this.#redis.run(noteUse, this.#idKey(id), atMs)
  }

  close(): void {}

  /** False when another token of the principal has the name. One that is gone does not keep it. */
  async #takeName({ id, principal, name }: StoredToken): Promise<boolean> {
    const key = this.#nameKey(principal, name)
    if ((await this.#redis.send('set', key, id, 'NX')) === 'OK') return true
    const holder = await this.#redis.send('get', key)
    if (typeof holder !== 'string') return (await this.#redis.send('set', key, id, 'NX')) === 'OK'
    if ((await this.#load(holder)) !== undefined) return false
    return (await this.#redis.run(moveName, key, holder, id)) === 1
  }

  async #lead(hash: string, { id, expiresAtMs }: Pick<StoredToken, 'id' | 'expiresAtMs'>): Promise<void> {
    await this.#redis.send('set', this.#hashKey(hash), id)
    await this.#limitLife(this.#hashKey(hash), expiresAtMs)
  }

  async #limitLife(key: string, expiresAtMs: number | undefined): Promise<void> {
    if (expiresAtMs === undefined) await this.#redis.send('persist', key)
    else await this.#redis.send('pexpire', key, Math.max(1, Math.round(expiresAtMs - this.#now() + keptAfterEndMs)))
  }

  async #listKey(principalKey: string): Promise<StoredToken[]> {
    const ids = await this.#redis.send('smembers', principalKey).catch(undefinedIfForeign)
    const found = await Promise.all(((ids as string[] | undefined) ?? []).map((id) => this.find(id)))
    return found.filter((token) => token !== undefined)
  }

  async #load(id: string): Promise<{ content: StoredContent; usedAtMs: number | undefined } | undefined> {
    const answer = await this.#redis.send('hmget', this.#idKey(id), 'content', 'usedAtMs').catch(undefinedIfForeign)
    const [text, used] = (answer as (string | null)[] | undefined) ?? []
    const content = parseContent(text ?? '')
    const usedAtMs = used === null || used === undefined ? undefined : Number(used)
    return content?.id === id ? { content, usedAtMs } : undefined
  }

  #idKey(id: string): string {
    return `${this.#prefix}:id:${id}`
  }

  #hashKey(hash: string): string {
    return `${this.#prefix}:hash:${hash}`
  }

  #principalKey({ type, id }: Principal): string {
    return `${this.#prefix}:principal:${type}:${toUserKey(id)}`
  }

  #nameKey({ type, id }: Principal, name: string): string {
    const parts = [toUserKey(id), name].map((part) => encodeURIComponent(part.toWellFormed()))
    return `${this.#prefix}:name:${type}:${parts.join(':')}`
  }
}

function parseContent(text: string): StoredContent | undefined {
  try {
    return StoredContent.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

function toToken(content: StoredContent, lastUsedAtMs: number | undefined): StoredToken {
  const { id, name, principal, method, era, createdBy, createdAtMs, expiresAtMs, limits, secret } = content
  const { readOnly, applications, operations } = limits
  return {
    id,
    name,
    principal,
    method,
    era,
    createdBy,
    createdAtMs,
    expiresAtMs,
    lastUsedAtMs,
    limits: { readOnly, applications, operations },
    secret: { hash: secret.hash, sinceMs: secret.sinceMs, former: secret.former },
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
