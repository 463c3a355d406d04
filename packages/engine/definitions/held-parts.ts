/** Table of the parts of definitions that wait for a user with the right. */
import type { DatabaseSync } from 'node:sqlite'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import type { HeldPart } from '@fairlead/ports/definitions.ts'

export const heldMigrations = [
  `CREATE TABLE definitions_held (
     key TEXT NOT NULL,
     -- The service account of a trigger; empty for stages.
     account TEXT NOT NULL,
     user TEXT NOT NULL,
     since_ms INTEGER NOT NULL,
     PRIMARY KEY (key, account)
   ) STRICT, WITHOUT ROWID;`,
] as const

/** Each write belongs into a transaction of the caller. */
export class HeldParts {
  readonly #sql: ReturnType<DatabaseSync['createTagStore']>
  readonly #now: () => number

  constructor(db: DatabaseSync, now: () => number) {
    this.#sql = db.createTagStore()
    this.#now = now
  }

  /** @param id Of the pipeline or strategy */
  of(id: string): HeldPart[] {
    return this.#sql
      .all`SELECT account, user FROM definitions_held WHERE key = ${foldName(id)} ORDER BY account`.map(
      ({ account, user }) => ({ account: String(account) || undefined, user: String(user) }),
    )
  }

  replace(id: string, parts: readonly HeldPart[]): void {
    const key = foldName(id)
    this.#sql.run`DELETE FROM definitions_held WHERE key = ${key}`
    for (const { account = '', user } of parts)
      this.#sql
        .run`INSERT OR REPLACE INTO definitions_held VALUES (${key}, ${foldName(account)}, ${user}, ${this.#now()})`
  }
}
