/** Users of the login form: the file `users.db` in the data directory. */
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { BoundedMap } from '@fairlead/base/caches/bounded-map.ts'
import { GatewayError } from '@fairlead/base/errors.ts'
import { findNameObjection, toUserKey } from '@fairlead/base/names/user-name.ts'
import { openDatabaseFor } from '@fairlead/base/storage/database.ts'
import { migrate } from '@fairlead/base/storage/migrations.ts'
import { hashPassword, isOutdated, isPassword, maxPasswordLength } from './password-hash.ts'

/** Released steps are never edited. `version` goes up with every change that ends the sessions of the user. */
export const userMigrations = [
  `CREATE TABLE users (
     name TEXT PRIMARY KEY,
     password_hash TEXT NOT NULL,
     roles TEXT NOT NULL,
     version INTEGER NOT NULL,
     created_at_ms INTEGER NOT NULL,
     changed_at_ms INTEGER NOT NULL
   ) STRICT`,
  `ALTER TABLE users ADD COLUMN token_era INTEGER NOT NULL DEFAULT 0;
   UPDATE users SET token_era = created_at_ms`,
  `CREATE TABLE users_to_report (seq INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL) STRICT;
   CREATE TRIGGER roles_changed AFTER UPDATE OF roles ON users BEGIN INSERT INTO users_to_report (name) VALUES (NEW.name); END;
   CREATE TRIGGER user_removed AFTER DELETE ON users BEGIN INSERT INTO users_to_report (name) VALUES (OLD.name); END`,
]

export interface StoredUser {
  readonly name: string
  /** Lower case, sorted. */
  readonly roles: readonly string[]
  /** Changes whenever password or roles change. */
  readonly stamp: string
  /** API tokens of another era do not count: those of a former user of that name, and those that were withdrawn. */
  readonly tokenEra: number
  readonly createdAtMs: number
}

const minPasswordLength = 8

const checkIntervalMs = 100
const maxKnown = 1000

export class Users {
  readonly #db: DatabaseSync
  readonly #now: () => number
  readonly #statements: ReturnType<typeof prepare>

  /** Users as they stood when the database had the version below. */
  readonly #known = new BoundedMap<string, StoredUser>(maxKnown)
  #version = -1
  #changes = 0
  #nextCheckMs = 0

  constructor(db: DatabaseSync, now: () => number) {
    this.#db = db
    this.#now = now
    this.#statements = prepare(db)
  }

  isEmpty(): boolean {
    return this.#statements.any.get() === undefined
  }

  list(): StoredUser[] {
    return this.#statements.list.all().map(toUser)
  }

  /** Names are compared without case. */
  find(name: string): StoredUser | undefined {
    const key = toUserKey(name)
    this.#forgetIfChanged()
    return this.#known.get(key) ?? this.#read(key)?.user
  }

  /** The row of a user as it is now, which `find` returns from then on: a login and its first request agree on the user. */
  #read(key: string): { user: StoredUser; passwordHash: string } | undefined {
    const row = this.#statements.find.get(key)
    if (row === undefined) {
      this.#known.delete(key)
      return undefined
    }
    const user = toUser(row)
    this.#known.set(key, user)
    return { user, passwordHash: String(row['password_hash']) }
  }

  /** Every request of a session asks for its user, so whether a command has written meanwhile is asked now and then only. */
  #forgetIfChanged(): void {
    const nowMs = performance.now()
    if (nowMs < this.#nextCheckMs) return
    this.#nextCheckMs = nowMs + checkIntervalMs
    const version = Number(this.#statements.dataVersion.get()?.['data_version'])
    if (version === this.#version) return
    this.#version = version
    this.#forgetKnown()
  }

  #forgetKnown(): void {
    this.#known.clear()
    this.#changes++
  }

  /** Grows with every change that may end sessions, made by a command as well. */
  get changes(): number {
    this.#forgetIfChanged()
    return this.#changes
  }

  /** The user, if the password is right. Takes the same time when there is no such user. @throws {GatewayError} RATE_LIMITED */
  async verify(name: string, password: string): Promise<StoredUser | undefined> {
    const key = toUserKey(name)
    const stored = this.#read(key)
    if (!(await isPassword(password, stored?.passwordHash)) || stored === undefined)
      return undefined
    const { user, passwordHash } = stored
    if (isOutdated(passwordHash))
      this.#statements.rehash.run(await hashPassword(password), key, passwordHash)
    return user
  }

  /** @throws {GatewayError} BAD_ARGUMENT, CONFLICT when the name is taken */
  async add(name: string, password: string, roles: readonly string[]): Promise<StoredUser> {
    const key = checkName(name)
    const hash = await hashPassword(checkPassword(password))
    const { changes } = this.#statements.add.run(key, hash, formatRoles(roles), this.#now())
    if (Number(changes) === 0)
      throw new GatewayError(
        'CONFLICT',
        `There is a user "${key}" already. Choose another name, or set its password.`,
      )
    return this.#read(key)?.user as StoredUser
  }

  /**
   * Returns what adds the first user, at once: undefined, and nothing is changed, when there are users already.
   *
   * @throws {GatewayError} BAD_ARGUMENT
   */
  async prepareFirst(
    name: string,
    password: string,
    roles: readonly string[],
  ): Promise<() => StoredUser | undefined> {
    const key = checkName(name)
    const storedRoles = formatRoles(roles)
    const hash = await hashPassword(checkPassword(password))
    return () => {
      const { changes } = this.#statements.addFirst.run(key, hash, storedRoles, this.#now())
      return Number(changes) === 0 ? undefined : this.#read(key)?.user
    }
  }

  /** Undefined when there is no such user. Changes nothing. @throws {GatewayError} RATE_LIMITED */
  async hasPassword(name: string, password: string): Promise<boolean | undefined> {
    const stored = this.#read(toUserKey(name))
    return stored && isPassword(password, stored.passwordHash)
  }

  /**
   * Ends the sessions of the user.
   *
   * @param tokens Whether API tokens that the user has by now still count
   * @throws {GatewayError} BAD_ARGUMENT, NOT_FOUND
   */
  async setPassword(
    name: string,
    password: string,
    tokens: 'keep' | 'withdraw' = 'keep',
  ): Promise<void> {
    const hash = await hashPassword(checkPassword(password))
    this.#forgetKnown()
    const eras = tokens === 'withdraw' ? 1 : 0
    checkFound(
      name,
      this.#statements.setPassword.run(hash, this.#now(), eras, toUserKey(name)).changes,
    )
  }

  /** Ends the sessions of the user; the next login reports the new roles. @throws {GatewayError} BAD_ARGUMENT, NOT_FOUND */
  setRoles(name: string, roles: readonly string[]): void {
    this.#forgetKnown()
    checkFound(
      name,
      this.#statements.setRoles.run(formatRoles(roles), this.#now(), toUserKey(name)).changes,
    )
  }

  /** @throws {GatewayError} NOT_FOUND */
  remove(name: string): void {
    this.#forgetKnown()
    checkFound(name, this.#statements.remove.run(toUserKey(name)).changes)
  }

  /** Who was removed or has got other roles since the permission service was told, with the roles as they are, and the last such change. */
  unreported(): { readonly name: string; readonly seq: number; readonly roles: string[] }[] {
    return this.#statements.unreported.all().map(({ name, seq, roles }) => ({
      name: String(name),
      seq: Number(seq),
      roles: JSON.parse(String(roles ?? '[]')) as string[],
    }))
  }

  noteReport(name: string, seq: number): void {
    this.#statements.noteReport.run(name, seq)
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }
}

/** Opens the store, also while the gateway runs: the commands `fairlead user …` do. */
export function openUsers(dataDir: string, now: () => number = Date.now): Users {
  return openDatabaseFor(join(dataDir, 'users.db'), (db) => {
    migrate(db, 'users', userMigrations)
    return new Users(db, now)
  })
}

/** Version and era of a new user are a time, so that a name given away again revives neither sessions nor tokens of its former holder. */
function prepare(db: DatabaseSync) {
  const insert =
    'INSERT INTO users (name, password_hash, roles, created_at_ms, changed_at_ms, version, token_era)'
  return {
    any: db.prepare('SELECT 1 FROM users LIMIT 1'),
    list: db.prepare('SELECT * FROM users ORDER BY name'),
    /** Changes when another connection, such as that of a command, has written. */
    dataVersion: db.prepare('PRAGMA data_version'),
    find: db.prepare('SELECT * FROM users WHERE name = ?'),
    add: db.prepare(`${insert} VALUES (?1, ?2, ?3, ?4, ?4, ?4, ?4) ON CONFLICT (name) DO NOTHING`),
    addFirst: db.prepare(
      `${insert} SELECT ?1, ?2, ?3, ?4, ?4, ?4, ?4 WHERE NOT EXISTS (SELECT 1 FROM users)`,
    ),
    rehash: db.prepare('UPDATE users SET password_hash = ? WHERE name = ? AND password_hash = ?'),
    setPassword: db.prepare(
      'UPDATE users SET password_hash = ?, changed_at_ms = ?, version = version + 1, token_era = token_era + ? WHERE name = ?',
    ),
    setRoles: db.prepare(
      'UPDATE users SET roles = ?, changed_at_ms = ?, version = version + 1 WHERE name = ?',
    ),
    remove: db.prepare('DELETE FROM users WHERE name = ?'),
    unreported: db.prepare(
      'SELECT name, roles, max(seq) AS seq FROM users_to_report LEFT JOIN users USING (name) GROUP BY name',
    ),
    noteReport: db.prepare('DELETE FROM users_to_report WHERE name = ? AND seq <= ?'),
  }
}

function toUser(row: Record<string, unknown>): StoredUser {
  const name = String(row['name'])
  return {
    name,
    roles: JSON.parse(String(row['roles'])) as string[],
    stamp: String(row['version']),
    tokenEra: Number(row['token_era']),
    createdAtMs: Number(row['created_at_ms']),
  }
}

/** Whether a user may be added so, without adding one. @throws {GatewayError} BAD_ARGUMENT */
export function checkNewUser(name: string, password: string | undefined): void {
  checkName(name)
  if (password !== undefined) checkPassword(password)
}

const nameForm = /^[a-z0-9](?:[a-z0-9._@+-]{0,126}[a-z0-9])?$/
function checkName(name: string): string {
  const key = toUserKey(name)
  if (!nameForm.test(key) || findNameObjection(name) !== undefined) {
    throw new GatewayError(
      'BAD_ARGUMENT',
      `"${name.slice(0, 100)}" cannot be the name of a user. Use letters, digits, dots, hyphens, underscores, plus and @, up to 128 characters.`,
    )
  }
  return key
}

function checkPassword(password: string): string {
  if (password.length < minPasswordLength || password.length > maxPasswordLength) {
    throw new GatewayError(
      'BAD_ARGUMENT',
      `A password has ${minPasswordLength} to ${maxPasswordLength} characters.`,
    )
  }
  return password
}

function formatRoles(roles: readonly string[]): string {
  const names = roles.map((role) => role.trim().toLowerCase()).filter((role) => role !== '')
  const wrong = names.find((role) => !/^[^\p{Cc},"\\]{1,200}$/u.test(role))
  if (wrong !== undefined)
    throw new GatewayError('BAD_ARGUMENT', `"${wrong.slice(0, 100)}" cannot be the name of a role.`)
  return JSON.stringify([...new Set(names)].sort())
}

function checkFound(name: string, changes: number | bigint): void {
  if (Number(changes) === 0)
    throw new GatewayError('NOT_FOUND', `There is no user "${toUserKey(name).slice(0, 100)}".`)
}
