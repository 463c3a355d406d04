/** Secrets of applications and accounts in the database, encrypted, one version of each. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { inTransaction } from '@fairlead/base/storage/database.ts'
import type { SecretVersion } from '@fairlead/ports/secrets.ts'
import { decrypt, encrypt, keyIdOf } from './encryption.ts'
import type { SecretKey } from './keys.ts'

/** A removed secret keeps its row without a value, so that versions never begin anew. */
export const secretMigrations = [
  `CREATE TABLE secrets_entries (
     scope TEXT NOT NULL,
     name TEXT NOT NULL,
     version INTEGER NOT NULL,
     sealed TEXT,
     set_ms INTEGER NOT NULL,
     set_by TEXT NOT NULL,
     note TEXT,
     PRIMARY KEY (scope, name)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE secrets_uses (
     scope TEXT NOT NULL,
     name TEXT NOT NULL,
     version INTEGER NOT NULL,
     place TEXT NOT NULL,
     user TEXT NOT NULL,
     run TEXT NOT NULL,
     first_ms INTEGER NOT NULL,
     last_ms INTEGER NOT NULL,
     count INTEGER NOT NULL,
     PRIMARY KEY (scope, name, version, place, user, run)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE secrets_keys (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;`,
] as const

export interface SecretEntry extends SecretVersion {
  /** Milliseconds since the epoch. */
  readonly setMs: number
  readonly setBy: string
  readonly note: string | undefined
}

export interface NewSecret {
  readonly value: string
  readonly note?: string
  readonly user: string
}

const maxSecrets = 500

export function scopeOf(kind: 'application' | 'account', name: string): string {
  return `${kind}:${foldName(name)}`
}

type Statement =
  | 'list'
  | 'get'
  | 'put'
  | 'remove'
  | 'count'
  | 'sealed'
  | 'replace'
  | 'noteKey'
  | 'keys'

export class SecretStore {
  readonly #db: DatabaseSync
  readonly #now: () => number
  readonly #statements: Record<Statement, StatementSync>

  constructor(db: DatabaseSync, now: () => number) {
    this.#db = db
    this.#now = now
    this.#statements = {
      list: db.prepare(
        'SELECT * FROM secrets_entries WHERE scope = ? AND sealed IS NOT NULL ORDER BY name',
      ),
      get: db.prepare('SELECT * FROM secrets_entries WHERE scope = ? AND name = ?'),
      put: db.prepare('INSERT OR REPLACE INTO secrets_entries VALUES (?, ?, ?, ?, ?, ?, ?)'),
      remove: db.prepare(
        'UPDATE secrets_entries SET sealed = NULL, note = NULL WHERE scope = ? AND name = ? AND sealed IS NOT NULL',
      ),
      noteKey: db.prepare('INSERT OR IGNORE INTO secrets_keys VALUES (?)'),
      keys: db.prepare('SELECT id FROM secrets_keys ORDER BY id'),
      count: db.prepare(
        'SELECT count(*) AS count FROM secrets_entries WHERE scope = ? AND sealed IS NOT NULL AND name <> ?',
      ),
      sealed: db.prepare(
        'SELECT scope, name, version, sealed FROM secrets_entries WHERE sealed IS NOT NULL ORDER BY scope, name',
      ),
      replace: db.prepare(
        'UPDATE secrets_entries SET sealed = ? WHERE scope = ? AND name = ? AND version = ?',
      ),
    }
  }

  list(scope: string): SecretEntry[] {
    return this.#statements.list.all(scope).map(toEntry)
  }

  find(scope: string, name: string): SecretEntry | undefined {
    const row = this.#statements.get.get(scope, name)
    return row === undefined || row['sealed'] === null ? undefined : toEntry(row)
  }

  /** Its present value. @throws {PortError} 400 when it cannot be decrypted */
  value(entry: SecretVersion, keys: readonly SecretKey[]): string {
    const sealed = this.#statements.get.get(entry.scope, entry.name)?.['sealed']
    return decrypt(String(sealed), placeOf(entry), keys)
  }

  /** Makes a new version. @throws {PortError} 400 when there are too many */
  set(scope: string, name: string, { value, note, user }: NewSecret, key: SecretKey): SecretEntry {
    return inTransaction(this.#db, () => {
      if (Number(this.#statements.count.get(scope, name)?.['count']) >= maxSecrets) {
        throw new PortError(
          400,
          `The application or account has ${maxSecrets} secrets, the maximum. Delete unused ones.`,
        )
      }
      const version = Number(this.#statements.get.get(scope, name)?.['version'] ?? 0) + 1
      const entry = { scope, name, version, setMs: this.#now(), setBy: user, note }
      this.#statements.put.run(
        scope,
        name,
        version,
        encrypt(value, placeOf(entry), key),
        entry.setMs,
        user,
        note ?? null,
      )
      return entry
    })
  }

  /** @returns whether it was there */
  remove(scope: string, name: string): boolean {
    return this.#statements.remove.run(scope, name).changes > 0
  }

  /** Names of what is encrypted with a key that is not there, by the id of the key. */
  missingKeys(keys: readonly SecretKey[]): ReadonlyMap<string, readonly string[]> {
    const known = new Set(keys.map(({ id }) => id))
    const lost = this.#statements.sealed
      .all()
      .filter(({ sealed }) => !known.has(keyIdOf(String(sealed))))
    const byKey = Map.groupBy(lost, ({ sealed }) => keyIdOf(String(sealed)))
    return new Map(
      [...byKey].map(([id, rows]) => [id, rows.map(({ scope, name }) => `${scope}/${name}`)]),
    )
  }

  usedKeys(): string[] {
    return this.#statements.keys.all().map(({ id }) => String(id))
  }

  noteKey({ id }: SecretKey): void {
    this.#statements.noteKey.run(id)
  }

  /** Encrypts with the newest key what an older one of the file encrypts. @returns how many */
  reencrypt(keys: readonly SecretKey[]): number {
    const [newest] = keys
    const older = new Set(keys.slice(1).map(({ id }) => id))
    if (newest === undefined) return 0
    const rows = this.#statements.sealed
      .all()
      .filter(({ sealed }) => older.has(keyIdOf(String(sealed))))
    inTransaction(this.#db, () => {
      for (const row of rows) {
        const entry = {
          scope: String(row['scope']),
          name: String(row['name']),
          version: Number(row['version']),
        }
        const text = decrypt(String(row['sealed']), placeOf(entry), keys)
        this.#statements.replace.run(
          encrypt(text, placeOf(entry), newest),
          entry.scope,
          entry.name,
          entry.version,
        )
      }
    })
    return rows.length
  }
}

/** Authenticated with the value: rows cannot be exchanged for each other. */
function placeOf({ scope, name, version }: SecretVersion): string {
  return `${scope}\n${name}\n${version}`
}

function toEntry(row: Record<string, unknown>): SecretEntry {
  return {
    scope: String(row['scope']),
    name: String(row['name']),
    version: Number(row['version']),
    setMs: Number(row['set_ms']),
    setBy: String(row['set_by']),
    note: row['note'] === null ? undefined : String(row['note']),
  }
}

/** Removes all secrets of an application or account. May be part of a transaction of the caller. */
export function removeSecretsOf(db: DatabaseSync, scope: string): void {
  db.prepare('UPDATE secrets_entries SET sealed = NULL, note = NULL WHERE scope = ?').run(scope)
}
