/** API tokens in a SQLite file, read anew for each request since commands change it. */
import type { DatabaseSync } from 'node:sqlite'
import { toUserKey } from '../../names/user-name.ts'
import { openDatabaseFor } from '../../storage/database.ts'
import { migrate } from '../../storage/migrations.ts'
import {
  type Principal,
  type PrincipalType,
  type StoredToken,
  StoredTokenLimits,
  type TokenSecret,
  type TokenStore,
} from './token-store.ts'

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
]

/** Opens the store, also while another process has it open. */
export function openSqliteTokenStore(file: string): TokenStore {
  return openDatabaseFor(file, (db) => {
    db.function('user_key', (name) => toUserKey(String(name)))
    migrate(db, 'tokens', tokenMigrations)
    return new SqliteTokenStore(db)
  })
}

class SqliteTokenStore implements TokenStore {
  readonly #db: DatabaseSync
  readonly #statements: ReturnType<typeof prepare>

  constructor(db: DatabaseSync) {
    this.#db = db
    this.#statements = prepare(db)
  }

  async insert(token: StoredToken): Promise<boolean> {
    const { principal, secret } = token
    const { changes } = this.#statements.insert.run(
      token.id,
      token.name,
      principal.type,
      principal.id,
      toUserKey(principal.id),
      token.method ?? null,
      token.era ?? null,
      token.createdBy,
      token.createdAtMs,
      token.expiresAtMs ?? null,
      JSON.stringify(token.limits),
      secret.hash,
      secret.sinceMs,
    )
    return Number(changes) > 0
  }

  async findByHash(hash: string): Promise<StoredToken | undefined> {
    return toToken(this.#statements.findByHash.get(hash))
  }

  async find(id: string): Promise<StoredToken | undefined> {
    return toToken(this.#statements.find.get(id))
  }

  async listOf({ type, id }: Principal): Promise<StoredToken[]> {
    return this.#statements.listOf.all(type, toUserKey(id)).flatMap((row) => toToken(row) ?? [])
  }

  async listAll(type: PrincipalType): Promise<StoredToken[]> {
    return this.#statements.listAll.all(type).flatMap((row) => toToken(row) ?? [])
  }

  async replaceSecret(id: string, before: string, secret: TokenSecret, expiresAtMs: number | undefined): Promise<boolean> {
    const { hash, sinceMs, former } = secret
    const ends = [former?.hash ?? null, former?.untilMs ?? null, expiresAtMs ?? null]
    const { changes } = this.#statements.replaceSecret.run(hash, sinceMs, ...ends, id, before)
    return Number(changes) > 0
  }

  async remove(id: string): Promise<boolean> {
    return Number(this.#statements.remove.run(id).changes) > 0
  }

  async recordUse(id: string, atMs: number): Promise<void> {
    this.#statements.recordUse.run(atMs, id)
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }
}

function prepare(db: DatabaseSync) {
  return {
    insert: db.prepare(
      `INSERT INTO tokens (id, name, principal_type, principal_id, principal_key, method, era, created_by, created_at_ms, expires_at_ms,
         limits, hash, hash_since_ms) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13
         WHERE NOT EXISTS (SELECT 1 FROM tokens WHERE name = ?2 AND principal_type = ?3 AND principal_key = ?5)`,
    ),
    findByHash: db.prepare('SELECT * FROM tokens WHERE hash = ?1 UNION ALL SELECT * FROM tokens WHERE former_hash = ?1 LIMIT 1'),
    find: db.prepare('SELECT * FROM tokens WHERE id = ?'),
    listOf: db.prepare('SELECT * FROM tokens WHERE principal_type = ? AND principal_key = ? ORDER BY name'),
    listAll: db.prepare('SELECT * FROM tokens WHERE principal_type = ? ORDER BY principal_key, name'),
    replaceSecret: db.prepare(
      `UPDATE tokens SET hash = ?, hash_since_ms = ?, former_hash = ?, former_until_ms = ?, expires_at_ms = ?
         WHERE id = ? AND hash = ?`,
    ),
    remove: db.prepare('DELETE FROM tokens WHERE id = ?'),
    recordUse: db.prepare('UPDATE tokens SET last_used_at_ms = ? WHERE id = ?'),
  }
}

/** Limits that cannot be read make the token unusable rather than unlimited. */
function toToken(row: Record<string, unknown> | undefined): StoredToken | undefined {
  if (row === undefined) return undefined
  const limits = StoredTokenLimits.parse(JSON.parse(String(row['limits'])))
  const formerHash = row['former_hash']
  return {
    id: String(row['id']),
    name: String(row['name']),
    principal: { type: row['principal_type'] as PrincipalType, id: String(row['principal_id']) },
    method: textOf(row['method']),
    era: numberOf(row['era']),
    createdBy: String(row['created_by']),
    createdAtMs: Number(row['created_at_ms']),
    expiresAtMs: numberOf(row['expires_at_ms']),
    lastUsedAtMs: numberOf(row['last_used_at_ms']),
    limits: { readOnly: limits.readOnly, applications: limits.applications, operations: limits.operations },
    secret: {
      hash: String(row['hash']),
      sinceMs: Number(row['hash_since_ms']),
      former: formerHash === null ? undefined : { hash: String(formerHash), untilMs: Number(row['former_until_ms']) },
    },
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function numberOf(value: unknown): number | undefined {
  return value === null ? undefined : Number(value)
}
