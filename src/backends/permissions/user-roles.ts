/** Which roles each user brought along at the last login, kept across restarts. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

export const userRolesMigrations = [
  `CREATE TABLE permissions_users (
     name TEXT PRIMARY KEY,
     roles TEXT NOT NULL,
     updated_ms INTEGER NOT NULL
   ) STRICT`,
]

/** Names of users and roles are compared without case, so both are kept in lower case. */
export class UserRoles {
  readonly #now: () => number
  readonly #put: StatementSync
  readonly #get: StatementSync
  readonly #all: StatementSync
  readonly #remove: StatementSync

  constructor(db: DatabaseSync, now: () => number) {
    this.#now = now
    this.#put = db.prepare(
      `INSERT INTO permissions_users (name, roles, updated_ms) VALUES (?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET roles = excluded.roles, updated_ms = excluded.updated_ms
       WHERE roles <> excluded.roles`,
    )
    this.#get = db.prepare('SELECT roles FROM permissions_users WHERE name = ?')
    this.#all = db.prepare('SELECT roles FROM permissions_users')
    this.#remove = db.prepare('DELETE FROM permissions_users WHERE name = ?')
  }

  /** Writes only what is new, so that people who are known get in while the disk is full. */
  put(user: string, roles: readonly string[]): void {
    this.#put.run(toKey(user), JSON.stringify(toRoles(roles)), this.#now())
  }

  /** Undefined when the user never logged in, or was removed since. */
  rolesOf(user: string): string[] | undefined {
    const row = this.#get.get(toKey(user))
    return row === undefined ? undefined : JSON.parse(String(row['roles']))
  }

  /** The roles of every known user. */
  everyUser(): string[][] {
    return this.#all.all().map((row) => JSON.parse(String(row['roles'])))
  }

  remove(user: string): void {
    this.#remove.run(toKey(user))
  }
}

export function toKey(name: string): string {
  return name.trim().toLowerCase()
}

/** Trimmed, in lower case, without blanks and repetitions. */
export function toRoles(names: readonly string[]): string[] {
  return [...new Set(names.map(toKey))].filter((role) => role !== '')
}
