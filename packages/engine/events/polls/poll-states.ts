/** Store of what polls have found last. */
import type { DatabaseSync, SQLTagStore } from 'node:sqlite'
import { inTransaction } from '@fairlead/base/storage/database.ts'
import type { PolledChange, PolledState } from './polled-source.ts'

export const pollMigrations = [
  `
  CREATE TABLE events_polls (
    key TEXT PRIMARY KEY,
    -- Changes so far.
    turn INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE events_poll_versions (
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    PRIMARY KEY (key, name)
  ) STRICT, WITHOUT ROWID;
  `,
]

interface StoredState {
  readonly versions: PolledState
  /** Another number after each change. */
  readonly turn: number
}

export class PollStates {
  readonly #db: DatabaseSync
  readonly #sql: SQLTagStore

  constructor(db: DatabaseSync) {
    this.#db = db
    this.#sql = db.createTagStore()
  }

  /** Undefined: it was never polled. */
  load(key: string): StoredState | undefined {
    const row = this.#sql.get`SELECT turn FROM events_polls WHERE key = ${key}`
    if (row === undefined) return undefined
    const rows = this.#sql.all`SELECT name, version FROM events_poll_versions WHERE key = ${key}`
    return {
      turn: Number(row['turn']),
      versions: new Map(rows.map(({ name, version }) => [String(name), String(version)])),
    }
  }

  turnOf(key: string): number {
    return Number(this.#sql.get`SELECT turn FROM events_polls WHERE key = ${key}`?.['turn'] ?? 0)
  }

  begin(key: string, versions: PolledState): void {
    inTransaction(this.#db, () => {
      this.#sql.run`INSERT INTO events_polls VALUES (${key}, 0)`
      for (const [name, version] of versions) this.#put(key, name, version)
    })
  }

  /** Within the transaction that stores what the change starts. */
  advance(key: string, { name, after }: Pick<PolledChange, 'name' | 'after'>): void {
    this.#put(key, name, after)
    this.#sql.run`UPDATE events_polls SET turn = turn + 1 WHERE key = ${key}`
  }

  /** Changes that start nothing, and names that are gone. */
  settle(key: string, changes: readonly PolledChange[], gone: readonly string[]): void {
    if (changes.length + gone.length === 0) return
    inTransaction(this.#db, () => {
      for (const { name, after } of changes) this.#put(key, name, after)
      for (const name of gone)
        this.#sql.run`DELETE FROM events_poll_versions WHERE key = ${key} AND name = ${name}`
    })
  }

  /** Forgets what no trigger waits for: if one does so later, it begins anew. */
  keep(keys: ReadonlySet<string>): void {
    const gone = this.#sql.all`SELECT key FROM events_polls`
      .map(({ key }) => String(key))
      .filter((key) => !keys.has(key))
    if (gone.length === 0) return
    inTransaction(this.#db, () => {
      for (const key of gone) {
        this.#sql.run`DELETE FROM events_polls WHERE key = ${key}`
        this.#sql.run`DELETE FROM events_poll_versions WHERE key = ${key}`
      }
    })
  }

  #put(key: string, name: string, version: string): void {
    this.#sql.run`INSERT OR REPLACE INTO events_poll_versions VALUES (${key}, ${name}, ${version})`
  }
}
