/** Administration of the users of the login form while the gateway runs, by the rules that keep an administrator in it. */
import { GatewayError } from '@fairlead/base/errors.ts'
import { toUserKey } from '@fairlead/base/names/user-name.ts'
import { readers } from '@fairlead/model/rights/built-in-roles.ts'
import { generatePassword } from './generate-password.ts'
import type { RoleReports } from './role-reports.ts'
import type { StoredUser, Users } from './users.ts'

export interface FormUser extends StoredUser {
  readonly isAdmin: boolean
}

export class FormUsers {
  readonly #users: Users
  readonly #reports: Pick<RoleReports, 'send'>
  readonly #adminRoles: ReadonlySet<string>

  /** @param adminRoles Roles that make a user an administrator, lower case. */
  constructor(users: Users, adminRoles: readonly string[], reports: Pick<RoleReports, 'send'>) {
    this.#users = users
    this.#reports = reports
    this.#adminRoles = new Set(adminRoles)
  }

  list(): FormUser[] {
    return this.#users.list().map((user) => ({ ...user, isAdmin: this.#makesAdmin(user.roles) }))
  }

  /** @throws {GatewayError} NOT_FOUND */
  find(name: string): FormUser {
    const user = this.#users.find(name)
    if (user !== undefined) return { ...user, isAdmin: this.#makesAdmin(user.roles) }
    throw new GatewayError(
      'NOT_FOUND',
      `There is no user "${toUserKey(name).slice(0, 100)}". GET /auth/users lists all of them.`,
    )
  }

  /** @returns the password: the given one, or a generated one. @throws {GatewayError} BAD_ARGUMENT, CONFLICT when the name is taken */
  async add(
    name: string,
    roles: readonly string[],
    password = generatePassword(),
  ): Promise<string> {
    await this.#users.add(name, password, roles.length > 0 ? roles : [readers])
    return password
  }

  /** Ends the sessions of the user. @returns the password, as `add`. @throws {GatewayError} BAD_ARGUMENT, NOT_FOUND */
  async setPassword(
    name: string,
    tokens: 'keep' | 'withdraw',
    password = generatePassword(),
  ): Promise<string> {
    await this.#users.setPassword(name, password, tokens)
    return password
  }

  /** Ends the sessions of the user. @throws {GatewayError} BAD_ARGUMENT, NOT_FOUND, CONFLICT without an administrator */
  async setRoles(name: string, roles: readonly string[]): Promise<void> {
    if (!this.#makesAdmin(roles))
      this.#checkDispensable(this.find(name), 'lose the roles of an administrator')
    this.#users.setRoles(name, roles)
    await this.#reports.send()
  }

  /** @throws {GatewayError} NOT_FOUND, CONFLICT without an administrator */
  async remove(name: string): Promise<void> {
    this.#checkDispensable(this.find(name), 'be removed')
    this.#users.remove(name)
    await this.#reports.send()
  }

  #makesAdmin(roles: readonly string[]): boolean {
    return roles.some((role) => this.#adminRoles.has(role.trim().toLowerCase()))
  }

  #checkDispensable({ name, isAdmin }: FormUser, what: string): void {
    if (!isAdmin || this.list().some((other) => other.isAdmin && other.name !== name)) return
    throw new GatewayError(
      'CONFLICT',
      `${name} is the only administrator of the login form and cannot ${what}. Give another user the roles of an administrator first.`,
    )
  }
}
