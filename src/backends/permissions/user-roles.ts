/** Stored roles of each user, from the last login and from the provider. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { toUserKey } from '../../names/user-name.ts'
import { inTransaction } from '../../storage/database.ts'
import { mergeRoles, type ProvidedOrigin, type Role, toRoleNames } from './roles.ts'

export const userRolesMigrations = [
  `CREATE TABLE permissions_users (
     name TEXT PRIMARY KEY,
     roles TEXT NOT NULL,
     updated_ms INTEGER NOT NULL
   ) STRICT`,
  // `roles` are those of the login, as before.
  `ALTER TABLE permissions_users ADD COLUMN provided TEXT NOT NULL DEFAULT '[]';
   ALTER TABLE permissions_users ADD COLUMN provider TEXT NOT NULL DEFAULT ''`,
]

/** Users are kept by their key, roles in lower case. */
export class UserRoles {
  readonly #db: DatabaseSync
  readonly #now: () => number
  readonly #provider: ProvidedOrigin | undefined
  readonly #put: StatementSync
  readonly #provide: StatementSync
  readonly #get: StatementSync
  readonly #all: StatementSync
  readonly #remove: StatementSync

  /** @param provider Roles that another one gave count no longer */
  constructor(db: DatabaseSync, now: () => number, provider?: ProvidedOrigin) {
    this.#db = db
    this.#now = now
    this.#provider = provider
    this.#put = db.prepare(
      `INSERT INTO permissions_users (name, roles, updated_ms) VALUES (?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET roles = excluded.roles, updated_ms = excluded.updated_ms
       WHERE roles <> excluded.roles`,
    )
    this.#provide = db.prepare(
      `UPDATE permissions_users SET provided = :roles, provider = :provider, updated_ms = :now
       WHERE name = :name AND (provided <> :roles OR provider <> :provider)`,
    )
    this.#get = db.prepare('SELECT name, roles, provided, provider FROM permissions_users WHERE name = ?')
    this.#all = db.prepare('SELECT name, roles, provided, provider FROM permissions_users')
    this.#remove = db.prepare('DELETE FROM permissions_users WHERE name = ?')
  }

  /** The roles of a login. Writes only what is new, so that people who are known get in while the disk is full. */
  put(user: string, roles: readonly string[]): void {
    this.#put.run(toUserKey(user), JSON.stringify(toRoleNames(roles)), this.#now())
  }

  /** The roles of the provider, by user; users who have logged out meanwhile stay out. @returns whether any user has other roles now */
  provide(byUser: ReadonlyMap<string, readonly string[]>): boolean {
    const [provider, now] = [this.#provider ?? '', this.#now()]
    return inTransaction(this.#db, () => {
      let changed = false
      for (const [user, names] of byUser) {
        const roles = JSON.stringify(toRoleNames(names).sort())
        changed = Number(this.#provide.run({ name: toUserKey(user), roles, provider, now }).changes) > 0 || changed
      }
      return changed
    })
  }

  /** Undefined when the user never logged in, or was removed since. */
  rolesOf(user: string): Role[] | undefined {
    const row = this.#get.get(toUserKey(user))
    return row === undefined ? undefined : this.#toRoles(row)
  }

  /** Every known user, by name. */
  everyUser(): Map<string, Role[]> {
    return new Map(this.#all.all().map((row) => [String(row['name']), this.#toRoles(row)]))
  }

  remove(user: string): void {
    this.#remove.run(toUserKey(user))
  }

  #toRoles(row: Record<string, unknown>): Role[] {
    const counts = this.#provider !== undefined && row['provider'] === this.#provider
    const provided = counts ? JSON.parse(String(row['provided'])) : []
    return mergeRoles(JSON.parse(String(row['roles'])), provided, this.#provider)
  }
}
