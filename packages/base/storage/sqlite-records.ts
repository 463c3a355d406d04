/** Records in a table of a SQLite file. Commands and the gateway may have it open at the same time. */
import type { DatabaseSync } from 'node:sqlite'
import type { Logger } from 'pino'
import { openDatabaseFor } from './database.ts'
import { migrate } from './migrations.ts'
import type { NewRecord, Records, StoredRecord } from './records.ts'

interface SqliteRecordsOptions {
  readonly now: () => number
  readonly log: Pick<Logger, 'warn'>
  readonly sweepIntervalMs?: number
  /** What moves rows of earlier versions into the table, which exists by then. Released steps are never edited. */
  readonly moves?: {
    readonly owner: string
    readonly migrations: readonly string[]
    readonly functions?: Readonly<Record<string, (...values: string[]) => string | null>>
  }
}

/** The end of what never ends. */
const never = Number.MAX_SAFE_INTEGER
/** Records that are swept away in one step, as requests wait meanwhile. */
const sweepChunk = 2000

/** @throws {Error} when the file cannot be used; the message names it and says what to do */
export function openSqliteRecords(
  file: string,
  table: string,
  options: SqliteRecordsOptions,
): Records {
  return openDatabaseFor(file, (db) => {
    db.exec(`
      CREATE TABLE IF NOT EXISTS ${table} (
        key TEXT PRIMARY KEY,
        content TEXT NOT NULL,
        expires_at_ms INTEGER NOT NULL,
        owner TEXT
      ) STRICT;
      CREATE INDEX IF NOT EXISTS ${table}_by_end ON ${table} (expires_at_ms);
      CREATE INDEX IF NOT EXISTS ${table}_by_owner ON ${table} (owner, expires_at_ms);
    `)
    const { moves } = options
    for (const [name, run] of Object.entries(moves?.functions ?? {})) {
      db.function(name, { varargs: true }, (...values) => run(...values.map(String)))
    }
    if (moves !== undefined) migrate(db, moves.owner, moves.migrations)
    return new SqliteRecords(db, table, options)
  })
}

class SqliteRecords implements Records {
  readonly #db: DatabaseSync
  readonly #options: SqliteRecordsOptions
  readonly #statements: ReturnType<typeof prepare>
  readonly #timer: NodeJS.Timeout

  constructor(db: DatabaseSync, table: string, options: SqliteRecordsOptions) {
    this.#db = db
    this.#options = options
    this.#statements = prepare(db, table)
    this.#timer = setInterval(() => this.#sweep(), options.sweepIntervalMs ?? 30_000).unref()
  }

  async get(key: string): Promise<StoredRecord | undefined> {
    const row = this.#statements.get.get(key, this.#options.now())
    if (row === undefined) return undefined
    const endsAtMs = Number(row['expires_at_ms'])
    return { content: String(row['content']), endsAtMs: endsAtMs === never ? undefined : endsAtMs }
  }

  async put(
    key: string,
    { content, endsAtMs = never, owner }: NewRecord,
    before?: string | null,
  ): Promise<boolean> {
    const values = [key, content, Math.round(endsAtMs), owner ?? null]
    const { put, replace } = this.#statements
    return (
      this.#write(true, () =>
        typeof before === 'string'
          ? replace.run(...values, before, this.#options.now())
          : put.run(...values, before === undefined ? never : this.#options.now()),
      ) > 0
    )
  }

  async extend(key: string, { endsAtMs }: { endsAtMs: number }): Promise<boolean> {
    return this.#write(false, () => this.#statements.extend.run(endsAtMs, key)) > 0
  }

  async remove(keys: readonly string[]): Promise<number> {
    return this.#write(true, () => this.#statements.remove.run(JSON.stringify(keys)))
  }

  async keysOf(owner: string, offset: number, limit: number): Promise<string[]> {
    return this.#statements.keysOf
      .all(owner, this.#options.now(), limit, offset)
      .map((row) => String(row['key']))
  }

  async owners(beginning: string): Promise<string[]> {
    return this.#statements.owners
      .all(beginning, beginning.length, beginning)
      .map((row) => String(row['owner']))
  }

  async removeAll(): Promise<number> {
    return this.#write(true, () => this.#statements.removeAll.run())
  }

  count(): number {
    return Number(this.#statements.count.get(this.#options.now())?.['n'])
  }

  close(): void {
    clearInterval(this.#timer)
    if (this.#db.isOpen) this.#db.close()
  }

  /** Every commit survives the end of the process. @param durably Whether it waits for the disk besides @returns how many changed */
  #write(durably: boolean, run: () => { changes: number | bigint }): number {
    this.#db.exec(`PRAGMA synchronous = ${durably ? 'FULL' : 'NORMAL'}`)
    return Number(run().changes)
  }

  #sweep(): void {
    try {
      this.#write(false, () => this.#statements.sweep.run(this.#options.now(), sweepChunk))
    } catch (error) {
      this.#options.log.warn(
        { err: error },
        `what has ended could not be removed from ${this.#db.location()}`,
      )
    }
  }
}

function prepare(db: DatabaseSync, table: string) {
  return {
    get: db.prepare(
      `SELECT content, expires_at_ms FROM ${table} WHERE key = ? AND expires_at_ms > ?`,
    ),
    /** What ends later than the last value stays. */
    put: db.prepare(
      `INSERT INTO ${table} (key, content, expires_at_ms, owner) VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE
         SET content = excluded.content, expires_at_ms = excluded.expires_at_ms, owner = excluded.owner WHERE ${table}.expires_at_ms <= ?`,
    ),
    replace: db.prepare(
      `UPDATE ${table} SET content = ?2, expires_at_ms = ?3, owner = coalesce(?4, owner)
         WHERE key = ?1 AND content = ?5 AND expires_at_ms > ?6`,
    ),
    extend: db.prepare(`UPDATE ${table} SET expires_at_ms = ? WHERE key = ?`),
    remove: db.prepare(`DELETE FROM ${table} WHERE key IN (SELECT value FROM json_each(?))`),
    keysOf: db.prepare(
      `SELECT key FROM ${table} WHERE owner = ? AND expires_at_ms > ? ORDER BY expires_at_ms DESC LIMIT ? OFFSET ?`,
    ),
    owners: db.prepare(
      `SELECT DISTINCT owner FROM ${table} WHERE owner >= ? AND substr(owner, 1, ?) = ? ORDER BY owner`,
    ),
    removeAll: db.prepare(`DELETE FROM ${table}`),
    count: db.prepare(`SELECT count(*) AS n FROM ${table} WHERE expires_at_ms > ?`),
    sweep: db.prepare(
      `DELETE FROM ${table} WHERE key IN (SELECT key FROM ${table} WHERE expires_at_ms <= ? LIMIT ?)`,
    ),
  }
}
