/**
 * The store of API tokens: a record for each token, in the list of its principal, and names that lead to it: the hash of each
 * secret, and its name among the tokens of the principal. It contains hashes only, so a stolen copy opens nothing.
 *
 * @see docs/contracts/authentication.md#api-tokens
 */
import { join } from 'node:path'
import { toUserKey } from '@fairlead/base/names/user-name.ts'
import type { Redis } from '@fairlead/base/redis/redis.ts'
import { RedisRecords } from '@fairlead/base/redis/redis-records.ts'
import type { Records } from '@fairlead/base/storage/records.ts'
import { openSqliteRecords } from '@fairlead/base/storage/sqlite-records.ts'
import type { Logger } from 'pino'
import { z } from 'zod'

/** Whom a token speaks for; found under every spelling of the name that has the same key (`packages/base/names/user-name.ts`). */
const Principal = z.object({ type: z.enum(['USER', 'SERVICE_ACCOUNT']), id: z.string() })
export type Principal = z.infer<typeof Principal>
export type PrincipalType = Principal['type']

/** What a token may be used for, beyond what its principal may do. Undefined does not limit. */
const TokenLimits = z.object({
  readOnly: z.boolean(),
  /** Lower case. */
  applications: z.array(z.string()).readonly().optional(),
  operations: z.array(z.string()).readonly().optional(),
})
export type TokenLimits = z.infer<typeof TokenLimits>

const TokenSecret = z.object({
  /** SHA-256 in hexadecimal. */
  hash: z.string(),
  sinceMs: z.number(),
  /** The secret before the last rotation, accepted until `untilMs`. */
  former: z.object({ hash: z.string(), untilMs: z.number() }).optional(),
})
export type TokenSecret = z.infer<typeof TokenSecret>

const StoredToken = z.object({
  id: z.string(),
  /** Unique among the tokens of one principal. */
  name: z.string(),
  principal: Principal,
  /** The login method of the user when the token was created; undefined without a login, or in tokens of Gate. */
  method: z.string().optional(),
  /** The era of the user, see `CurrentUser`; undefined for service accounts, and for users that only their provider knows. */
  era: z.number().optional(),
  createdBy: z.string(),
  createdAtMs: z.number(),
  /** Undefined: never expires. */
  expiresAtMs: z.number().optional(),
  lastUsedAtMs: z.number().optional(),
  limits: TokenLimits,
  secret: TokenSecret,
})
export type StoredToken = z.infer<typeof StoredToken>

const version = 1
/** An unreadable token is none: what cannot be read must not become unlimited. */
const StoredContent = StoredToken.extend({ version: z.literal(version) })

interface LoadedToken {
  readonly token: StoredToken
  readonly content: object
  readonly text: string
}

interface TokenRecords {
  /** By id, in the list of `TYPE:key of the user`. */
  readonly tokens: Records
  /** What leads to tokens: each holds an id. */
  readonly names: Records
  /** When tokens were used last, as far as earlier versions have noted it. */
  readonly formerUses?: Pick<Records, 'get'>
}

interface TokenStoreOptions {
  dataDir: string
  redis?: Redis
  redisKeyPrefix: string
  now: () => number
  log: Pick<Logger, 'warn'>
}

/** A token is still listed for this long after its end, so that its owner sees why a program is refused. */
const keptAfterEndMs = 30 * 86_400_000
/** How often a change is tried again that a note of a use has anticipated. */
const maxAttempts = 5

/**
 * Every function rejects when the store cannot be asked; the caller turns that into TOKENS_UNAVAILABLE. A removed token is
 * no longer found by any process once `remove` has resolved.
 */
export class TokenStore {
  readonly #records: TokenRecords

  constructor(records: TokenRecords) {
    this.#records = records
  }

  /**
   * What leads to a token is written after it, so that an interruption leaves an unusable token.
   *
   * @returns false when the principal has a token of this name already
   */
  async insert(token: StoredToken): Promise<boolean> {
    const { id, principal, secret } = token
    const owner = toOwner(principal)
    const endsAtMs = endOf(token)
    await this.#records.tokens.put(
      id,
      { content: JSON.stringify({ version, ...token }), endsAtMs, owner },
      null,
    )
    if (!(await this.#takeName(token))) {
      await this.#records.tokens.remove([id], owner)
      return false
    }
    await this.#records.names.put(hashKey(secret.hash), { content: id, endsAtMs })
    return true
  }

  /** By the hash of the present or the former secret; whether they still count is for the caller to say. */
  async findByHash(hash: string): Promise<StoredToken | undefined> {
    const lead = await this.#records.names.get(hashKey(hash))
    const token = lead && (await this.find(lead.content))
    return token?.secret.hash === hash || token?.secret.former?.hash === hash ? token : undefined
  }

  async find(id: string): Promise<StoredToken | undefined> {
    const [found, formerUse] = await Promise.all([
      this.#load(id),
      this.#records.formerUses?.get(id),
    ])
    if (found === undefined) return undefined
    const usedAtMs = Math.max(found.token.lastUsedAtMs ?? 0, Number(formerUse?.content ?? 0))
    return usedAtMs > 0 ? { ...found.token, lastUsedAtMs: usedAtMs } : found.token
  }

  ofPrincipal(principal: Principal): Promise<StoredToken[]> {
    return this.#ownedBy(toOwner(principal))
  }

  async listAll(type: PrincipalType): Promise<StoredToken[]> {
    const owners = await this.#records.tokens.owners(`${type}:`)
    return (await Promise.all(owners.map((owner) => this.#ownedBy(owner)))).flat()
  }

  /** False when the present secret is not `before`: the token is gone, or another request has rotated it. */
  async replaceSecret(
    id: string,
    before: string,
    secret: TokenSecret,
    expiresAtMs: number | undefined,
  ): Promise<boolean> {
    const endsAtMs = endOf({ expiresAtMs })
    await this.#records.names.put(hashKey(secret.hash), { content: id, endsAtMs })
    const over = await this.#change(id, (token) =>
      token.secret.hash === before ? { secret, expiresAtMs } : undefined,
    )
    if (over === undefined) {
      await this.#records.names.remove([hashKey(secret.hash)])
      return false
    }
    const hashes = hashesOf(over).filter((hash) => hash !== secret.former?.hash)
    await this.#records.names.remove(hashes.map(hashKey))
    if (secret.former !== undefined)
      await this.#records.names.put(hashKey(secret.former.hash), { content: id, endsAtMs })
    return true
  }

  /** The token itself goes first: from then on nothing leads to it any more. @returns false when there was no such token */
  async remove(id: string): Promise<boolean> {
    const token = (await this.#load(id))?.token
    const removed = await this.#records.tokens.remove([id], token && toOwner(token.principal))
    if (token !== undefined) {
      await this.#records.names.remove(hashesOf(token).map(hashKey))
      // It ends, unless another token has taken it already.
      await this.#records.names.put(
        nameKey(token.principal, token.name),
        { content: id, endsAtMs: 0 },
        id,
      )
    }
    return removed === 1
  }

  /** Notes a use; does nothing when the token is gone. */
  async recordUse(id: string, atMs: number): Promise<void> {
    await this.#change(id, () => ({ lastUsedAtMs: atMs }))
  }

  close(): void {
    this.#records.tokens.close()
  }

  async #ownedBy(owner: string): Promise<StoredToken[]> {
    const ids = await this.#records.tokens.keysOf(owner, 0, Number.MAX_SAFE_INTEGER)
    const found = await Promise.all(ids.map((id) => this.find(id)))
    return found.filter((token) => token !== undefined).sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** False when another token of the principal has the name. One that is gone does not keep it. */
  async #takeName(token: StoredToken): Promise<boolean> {
    const key = nameKey(token.principal, token.name)
    const record = { content: token.id, endsAtMs: endOf(token) }
    if (await this.#records.names.put(key, record, null)) return true
    const holder = (await this.#records.names.get(key))?.content
    if (holder === undefined) return this.#records.names.put(key, record, null)
    return (await this.#load(holder)) === undefined && this.#records.names.put(key, record, holder)
  }

  /** @returns the token as it was; undefined when nothing was changed */
  async #change(
    id: string,
    change: (token: StoredToken) => Partial<StoredToken> | undefined,
  ): Promise<StoredToken | undefined> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const found = await this.#load(id)
      const changed = found && change(found.token)
      if (changed === undefined) return undefined
      const record = {
        content: JSON.stringify({ ...found?.content, ...changed }),
        endsAtMs: endOf({ ...found?.token, ...changed }),
      }
      if (await this.#records.tokens.put(id, record, found?.text)) return found?.token
    }
    return undefined
  }

  async #load(id: string): Promise<LoadedToken | undefined> {
    const record = await this.#records.tokens.get(id)
    const loaded = record && parseRecord(record.content)
    return loaded?.token.id === id ? loaded : undefined
  }
}

/** Released steps are never edited. */
export const tokenMigrations = [
  `CREATE TABLE tokens (
     id TEXT PRIMARY KEY,
     name TEXT NOT NULL,
     principal_type TEXT NOT NULL,
     principal_id TEXT NOT NULL,
     method TEXT,
     created_by TEXT NOT NULL,
     created_at_ms INTEGER NOT NULL,
     expires_at_ms INTEGER,
     last_used_at_ms INTEGER,
     limits TEXT NOT NULL,
     hash TEXT NOT NULL UNIQUE,
     hash_since_ms INTEGER NOT NULL,
     former_hash TEXT UNIQUE,
     former_until_ms INTEGER,
     UNIQUE (principal_type, principal_id, name)
   ) STRICT`,
  `ALTER TABLE tokens ADD COLUMN principal_key TEXT NOT NULL DEFAULT '';
   UPDATE tokens SET principal_key = user_key(principal_id);
   CREATE INDEX tokens_by_principal ON tokens (principal_type, principal_key)`,
  'ALTER TABLE tokens ADD COLUMN era INTEGER',
  `CREATE TEMP VIEW ended AS SELECT *, coalesce(expires_at_ms + 2592000000, 9007199254740991) AS ends FROM tokens;
   INSERT INTO token_records SELECT id,
     json_patch('{}', json_object('version', 1, 'id', id, 'name', name, 'method', method, 'era', era,
       'principal', json_object('type', principal_type, 'id', principal_id),
       'createdBy', created_by, 'createdAtMs', created_at_ms, 'expiresAtMs', expires_at_ms, 'lastUsedAtMs', last_used_at_ms,
       'limits', json(iif(json_valid(limits), limits, '0')),
       'secret', json_object('hash', hash, 'sinceMs', hash_since_ms,
         'former', json(iif(former_hash IS NULL, 'null', json_object('hash', former_hash, 'untilMs', former_until_ms)))))),
     ends, principal_type || ':' || principal_key FROM ended;
   INSERT OR IGNORE INTO token_records SELECT 'hash:' || hash, id, ends, NULL FROM ended;
   INSERT OR IGNORE INTO token_records SELECT 'hash:' || former_hash, id, ends, NULL FROM ended WHERE former_hash IS NOT NULL;
   INSERT OR IGNORE INTO token_records SELECT name_key(principal_type, principal_id, name), id, ends, NULL FROM ended;
   DROP VIEW ended;
   DROP TABLE tokens`,
]

/** In the Redis that replicas share, or else in the data directory, file `tokens.db`; also while another process has it open. */
export function openTokenStore({
  dataDir,
  redis,
  redisKeyPrefix,
  now,
  log,
}: TokenStoreOptions): TokenStore {
  if (redis === undefined) {
    const name_key = (type: string, id: string, name: string) => nameKey({ type, id }, name)
    const moves = {
      owner: 'tokens',
      migrations: tokenMigrations,
      functions: { user_key: toUserKey, name_key },
    }
    const records = openSqliteRecords(join(dataDir, 'tokens.db'), 'token_records', {
      now,
      log,
      moves,
    })
    return new TokenStore({ tokens: records, names: records })
  }
  const prefix = `${redisKeyPrefix}:id:`
  const lists = { prefix: `${redisKeyPrefix}:principal:` }
  return new TokenStore({
    tokens: new RedisRecords(redis, { prefix, now, field: 'content', lists }),
    names: new RedisRecords(redis, { prefix: `${redisKeyPrefix}:`, now }),
    formerUses: new RedisRecords(redis, { prefix, now, field: 'usedAtMs' }),
  })
}

function endOf({ expiresAtMs }: Pick<StoredToken, 'expiresAtMs'>): number | undefined {
  return expiresAtMs === undefined ? undefined : expiresAtMs + keptAfterEndMs
}

function toOwner({ type, id }: Principal): string {
  return `${type}:${toUserKey(id)}`
}

function hashKey(hash: string): string {
  return `hash:${hash}`
}

function nameKey({ type, id }: { type: string; id: string }, name: string): string {
  return `name:${type}:${[toUserKey(id), name].map((part) => encodeURIComponent(part.toWellFormed())).join(':')}`
}

function hashesOf({ secret: { hash, former } }: StoredToken): string[] {
  return former === undefined ? [hash] : [hash, former.hash]
}

function parseRecord(text: string): LoadedToken | undefined {
  try {
    const content = JSON.parse(text) as object
    const { version: _, ...token } = StoredContent.parse(content)
    return { token, content, text }
  } catch {
    return undefined
  }
}
