/** Groups of users in a directory (LDAP, Active Directory), read without their passwords. */

import { DirectoryRefusal, type Entry } from '@fairlead/base/directory/connection.ts'
import { Directory } from '@fairlead/base/directory/directory.ts'
import { fillFilter, parseFilterTemplate } from '@fairlead/base/directory/filter-template.ts'
import { attributeValuesOf, createGroups, type Groups } from '@fairlead/base/directory/groups.ts'
import type { DirectorySettings } from '@fairlead/base/directory/settings.ts'
import { fillDnPattern } from '@fairlead/base/names/distinguished-name.ts'
import type { FastifyBaseLogger } from 'fastify'
import { type Filter, PresenceFilter } from 'ldapts'
import type { LoadedRoles, RoleSource } from './role-source.ts'
import { toRoleNames } from './roles.ts'

const anyEntry = new PresenceFilter({ attribute: 'objectClass' })
const noSuchObject = 32

export class DirectoryRoles implements RoleSource {
  readonly #settings: DirectorySettings
  readonly #directory: Directory
  readonly #log: FastifyBaseLogger
  readonly #groups: Groups
  readonly #userFilter: Filter | undefined

  /** @throws {Error} when a filter of the settings is no filter */
  constructor(settings: DirectorySettings, log: FastifyBaseLogger, now: () => number) {
    this.#settings = settings
    this.#directory = new Directory(settings, log, now)
    this.#log = log
    this.#groups = createGroups(settings, (name) => name)
    this.#userFilter = settings.userSearch && parseFilterTemplate(settings.userSearch.filter)
  }

  /** One user after the other; the first failure ends it, since the others would wait for the same. */
  async load(users: readonly string[]): Promise<LoadedRoles> {
    const roles = new Map<string, string[]>()
    try {
      for (const user of users) roles.set(user, await this.#rolesOf(user))
      return { roles }
    } catch (error) {
      return { roles, problem: `the directory does not say: ${(error as Error).message}` }
    }
  }

  close(): void {
    this.#directory.close()
  }

  /** Users missing in the directory, such as those of another login method, have no roles there. */
  async #rolesOf(username: string): Promise<string[]> {
    if (username === '' || /\p{Cc}/u.test(username)) return []
    const entry = await this.#findEntry(username)
    if (entry === undefined) return []
    const { memberOfAttribute } = this.#settings
    const memberOf =
      memberOfAttribute === undefined ? [] : attributeValuesOf(entry, memberOfAttribute)
    const search = (request: Parameters<Directory['search']>[0]) => this.#directory.search(request)
    const { roles, cut } = await this.#groups.load({ dn: entry.dn, username, memberOf }, search)
    if (cut)
      this.#log.warn(
        { user: username },
        'the user has more groups, or levels of them, than are read',
      )
    return toRoleNames(roles)
  }

  /** By the filter if there is one, as Fiat does, else by the pattern. */
  async #findEntry(username: string): Promise<Entry | undefined> {
    const { userSearch, userDnPattern, memberOfAttribute } = this.#settings
    const attributes = memberOfAttribute === undefined ? ['1.1'] : [memberOfAttribute]
    if (userSearch === undefined || this.#userFilter === undefined) {
      const dn = fillDnPattern(userDnPattern ?? '', username)
      if (memberOfAttribute === undefined) return { dn }
      return this.#readEntry(dn, attributes)
    }
    const filter = fillFilter(this.#userFilter, [username])
    const found = await this.#directory.search({
      base: userSearch.base,
      scope: 'sub',
      filter,
      attributes,
      maxEntries: 2,
    })
    if (found.length > 1)
      this.#log.warn(
        { user: username },
        'several entries of the directory match the user, who has no roles there',
      )
    return found.length === 1 ? found[0] : undefined
  }

  async #readEntry(dn: string, attributes: readonly string[]): Promise<Entry | undefined> {
    try {
      const [entry] = await this.#directory.search({
        base: dn,
        scope: 'base',
        filter: anyEntry,
        attributes,
        maxEntries: 1,
      })
      return entry
    } catch (error) {
      if (error instanceof DirectoryRefusal && error.code === noSuchObject) return undefined
      throw error
    }
  }
}
