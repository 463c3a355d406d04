/** Sessions in a SQLite file: they survive a restart, a crash and a power failure. */
import { renameSync, rmSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import type { FastifyBaseLogger } from 'fastify'
import { explainDatabaseFault, storageFaultOf } from '../storage/database-fault.ts'
import { openPrivateDatabase } from '../storage/private-files.ts'
import { removedAtOnce, type SessionRange, type SessionStore, type StoredSession } from './session-store.ts'

interface SqliteSessionStoreOptions {
  /** Milliseconds since the epoch. */
  now: () => number
  log: FastifyBaseLogger
  sweepIntervalMs?: number
}

/** Another layout of the table gets another name: what a different version has written is neither read nor in the way. */
const schema = `
  CREATE TABLE IF NOT EXISTS sessions_2 (
    key TEXT PRIMARY KEY,
    content TEXT NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    owner TEXT
  ) STRICT;
  CREATE INDEX IF NOT EXISTS sessions_2_by_end ON sessions_2 (expires_at_ms);
  CREATE INDEX IF NOT EXISTS sessions_2_by_owner ON sessions_2 (owner, expires_at_ms);
`

const sweepChunk = 2000

export function openSqliteSessionStore(file: string, options: SqliteSessionStoreOptions): SessionStore {
  const store = new SqliteSessionStore(openFile(file, options.log), options)
  store.start(options.sweepIntervalMs ?? 30_000)
  return store
}

class SqliteSessionStore implements SessionStore {
  readonly #db: DatabaseSync
  readonly #options: SqliteSessionStoreOptions
  readonly #statements: ReturnType<typeof prepare>
  #timer: NodeJS.Timeout | undefined

  constructor(db: DatabaseSync, options: SqliteSessionStoreOptions) {
    this.#db = db
    this.#options = options
    this.#statements = prepare(db)
  }

  start(sweepIntervalMs: number): void {
    this.#timer = setInterval(() => this.#sweep(), sweepIntervalMs).unref()
  }

  async load(key: string): Promise<StoredSession | undefined> {
    const row = this.#statements.load.get(key)
    return row && toStored(row)
  }

  async insert(key: string, session: StoredSession): Promise<void> {
    this.#write(true, () => this.#statements.insert.run(key, session.content, session.expiresAtMs, session.owner))
  }

  async touch(key: string, { expiresAtMs }: Omit<StoredSession, 'content'>): Promise<boolean> {
    return this.#write(false, () => this.#statements.touch.run(expiresAtMs, key)) > 0
  }

  async remove(key: string): Promise<void> {
    this.#write(true, () => this.#statements.remove.run(key))
  }

  async listOf(owner: string, { offset, limit }: SessionRange): Promise<ReadonlyMap<string, StoredSession>> {
    const rows = this.#statements.listOf.all(owner, this.#options.now(), limit, offset)
    return new Map(rows.map((row) => [String(row['key']), toStored(row)]))
  }

  async findKey(owner: string, beginning: string): Promise<string | undefined> {
    const row = this.#statements.findKey.get(beginning, `${beginning}~`, owner, this.#options.now())
    return row === undefined ? undefined : String(row['key'])
  }

  async removeOf(owner: string, { newest, key }: { newest: number; key: string | undefined }): Promise<string[]> {
    // Deleted only if there are any: every login asks, and a write waits for the disk.
    const others = key === undefined ? newest : Math.max(0, newest - 1)
    const removed = this.#statements.surplus.all(owner, key ?? '', removedAtOnce, others).map((row) => String(row['key']))
    if (removed.length > 0) this.#write(true, () => this.#statements.removeKeys.run(JSON.stringify(removed)))
    return removed
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

  /**
   * Every commit survives the end of the process. One that says who is logged in waits for the disk besides; a sign of life
   * does not.
   *
   * @returns how many sessions it changed
   */
  #write(durably: boolean, run: () => { changes: number | bigint }): number {
    this.#db.exec(durably ? 'PRAGMA synchronous = FULL' : 'PRAGMA synchronous = NORMAL')
    return Number(run().changes)
  }

  /** In small pieces, because requests wait meanwhile. */
  #sweep(): void {
    try {
      this.#write(false, () => this.#statements.removeExpired.run(this.#options.now(), sweepChunk))
    } catch (error) {
      this.#options.log.warn({ err: error }, 'expired sessions could not be removed')
    }
  }
}

function prepare(db: DatabaseSync) {
  return {
    load: db.prepare('SELECT content, expires_at_ms, owner FROM sessions_2 WHERE key = ?'),
    insert: db.prepare('INSERT INTO sessions_2 (key, content, expires_at_ms, owner) VALUES (?, ?, ?, ?)'),
    touch: db.prepare('UPDATE sessions_2 SET expires_at_ms = ? WHERE key = ?'),
    remove: db.prepare('DELETE FROM sessions_2 WHERE key = ?'),
    listOf: db.prepare(
      `SELECT key, content, expires_at_ms, owner FROM sessions_2 WHERE owner = ? AND expires_at_ms > ?
         ORDER BY expires_at_ms DESC LIMIT ? OFFSET ?`,
    ),
    findKey: db.prepare('SELECT key FROM sessions_2 WHERE key >= ? AND key < ? AND owner = ? AND expires_at_ms > ?'),
    surplus: db.prepare('SELECT key FROM sessions_2 WHERE owner = ? AND key <> ? ORDER BY expires_at_ms DESC LIMIT ? OFFSET ?'),
    removeKeys: db.prepare('DELETE FROM sessions_2 WHERE key IN (SELECT value FROM json_each(?))'),
    removeAll: db.prepare('DELETE FROM sessions_2'),
    count: db.prepare('SELECT count(*) AS n FROM sessions_2 WHERE expires_at_ms > ?'),
    removeExpired: db.prepare(
      `DELETE FROM sessions_2 WHERE key IN (
         SELECT key FROM sessions_2 WHERE expires_at_ms <= ? LIMIT ?)`,
    ),
  }
}

function toStored(row: Record<string, unknown>): StoredSession {
  return { content: String(row['content']), expiresAtMs: Number(row['expires_at_ms']), owner: String(row['owner'] ?? '') }
}

/** A damaged database costs users a login, not the start of the gateway. */
function openFile(file: string, log: FastifyBaseLogger): DatabaseSync {
  try {
    return openDatabase(file)
  } catch (error) {
    if (storageFaultOf(error) !== 'damaged') throw explainDatabaseFault(error, file)
    const aside = `${file}.unreadable`
    renameSync(file, aside)
    for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true })
    log.warn({ err: error, file, aside }, 'the session file was unreadable and has been put aside; users have to log in again')
    return openDatabase(file)
  }
}

function openDatabase(file: string): DatabaseSync {
  const db = openPrivateDatabase(file)
  try {
    db.exec('PRAGMA journal_mode = WAL; PRAGMA busy_timeout = 1000')
    db.exec(schema)
    prepare(db)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}
