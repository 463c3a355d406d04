/** Stored roles of each user, from the last login and from the provider. */
import type { SQLTagStore } from 'node:sqlite'
import { toUserKey } from '@fairlead/base/names/user-name.ts'
import { inTransaction } from '@fairlead/base/storage/database.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { type HeldRole, mergeRoles, type ProvidedOrigin, toRoleNames } from './roles.ts'

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

type RoleTools = Pick<BackendContext, 'db' | 'now' | 'permissionsChanged'>

/** Users are kept by their key, roles in lower case. */
export class UserRoles {
  readonly #parts: RoleTools
  readonly #provider: ProvidedOrigin | undefined
  readonly #sql: SQLTagStore

  /** @param provider Roles that another one gave count no longer */
  constructor(parts: RoleTools, provider?: ProvidedOrigin) {
    this.#parts = parts
    this.#provider = provider
    this.#sql = parts.db.createTagStore()
  }

  /** The roles of a login. Writes only what is new, so that people who are known get in while the disk is full. */
  put(user: string, roles: readonly string[]): void {
    const { changes } = this.#sql.run`
      INSERT INTO permissions_users (name, roles, updated_ms)
      VALUES (${toUserKey(user)}, ${JSON.stringify(toRoleNames(roles))}, ${this.#parts.now()})
      ON CONFLICT (name) DO UPDATE SET roles = excluded.roles, updated_ms = excluded.updated_ms
      WHERE roles <> excluded.roles`
    if (changes > 0) this.#parts.permissionsChanged()
  }

  /** The roles of the provider, by user; users who have logged out meanwhile stay out. */
  provide(byUser: ReadonlyMap<string, readonly string[]>): void {
    const [provider, now] = [this.#provider ?? '', this.#parts.now()]
    const hasChanged = inTransaction(this.#parts.db, () => {
      let changed = false
      for (const [user, names] of byUser) {
        const roles = JSON.stringify(toRoleNames(names).sort())
        const { changes } = this.#sql.run`
          UPDATE permissions_users SET provided = ${roles}, provider = ${provider}, updated_ms = ${now}
          WHERE name = ${toUserKey(user)} AND (provided <> ${roles} OR provider <> ${provider})`
        changed ||= Number(changes) > 0
      }
      return changed
    })
    if (hasChanged) this.#parts.permissionsChanged()
  }

  /** Undefined when the user never logged in, or was removed since. */
  rolesOf(user: string): HeldRole[] | undefined {
    const row = this.#sql.get`SELECT * FROM permissions_users WHERE name = ${toUserKey(user)}`
    return row && this.#toRoles(row)
  }

  everyUser(): Map<string, HeldRole[]> {
    return new Map(
      this.#sql.all`SELECT * FROM permissions_users`.map((row) => [
        String(row['name']),
        this.#toRoles(row),
      ]),
    )
  }

  remove(user: string): void {
    const { changes } = this.#sql.run`DELETE FROM permissions_users WHERE name = ${toUserKey(user)}`
    if (changes > 0) this.#parts.permissionsChanged()
  }

  #toRoles(row: Record<string, unknown>): HeldRole[] {
    const counts = this.#provider !== undefined && row['provider'] === this.#provider
    const provided = counts ? JSON.parse(String(row['provided'])) : []
    return mergeRoles(JSON.parse(String(row['roles'])), provided, this.#provider)
  }
}
