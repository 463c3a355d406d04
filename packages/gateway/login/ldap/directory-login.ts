/** LDAP login: finds the entry, binds as the user, reads attributes and groups. */

import {
  type DirectoryConnection,
  DirectoryRefusal,
  type Entry,
  isSizeLimit,
} from '@fairlead/base/directory/connection.ts'
import type { Directory } from '@fairlead/base/directory/directory.ts'
import { fillFilter, parseFilterTemplate } from '@fairlead/base/directory/filter-template.ts'
import {
  attributeValuesOf,
  createGroups,
  type DirectorySearch,
  type Groups,
} from '@fairlead/base/directory/groups.ts'
import { fillDnPattern, isSameDn } from '@fairlead/base/names/distinguished-name.ts'
import type { FastifyBaseLogger } from 'fastify'
import { EqualityFilter, PresenceFilter } from 'ldapts'
import type { User } from '../../http/request-state.ts'
import type { Credentials } from '../basic-credentials.ts'
import { joinNames, type Trace } from '../trace.ts'
import { createUser } from '../user.ts'
import { accountStateAttributes, isDisabled } from './account-states.ts'
import { explainRefusal, hasToChangePassword, mustChange, type Refusal } from './refusal.ts'
import type { LdapSettings } from './settings.ts'

type DirectoryOutcome =
  | { kind: 'user'; user: User }
  /** `entry`: the name of the entry that a search found; what was typed is in no log, it may be a password. */
  | ({ kind: 'refused'; entry?: string } & Refusal)

const noSuchObject = 32
const anyEntry = new PresenceFilter({ attribute: 'objectClass' })

export class DirectoryLogin {
  readonly #settings: LdapSettings
  readonly #directory: Directory
  readonly #log: FastifyBaseLogger
  readonly #groups: Groups
  readonly #userFilter: ReturnType<typeof parseFilterTemplate> | undefined
  readonly #attributes: readonly string[]

  /** @throws {Error} when a filter of the settings is no filter */
  constructor(settings: LdapSettings, directory: Directory, log: FastifyBaseLogger) {
    const { userSearch, memberOfAttribute, usernameAttribute } = settings
    this.#settings = settings
    this.#directory = directory
    this.#log = log
    this.#groups = createGroups(settings)
    this.#userFilter = userSearch && parseFilterTemplate(userSearch.filter)
    this.#attributes = [
      'mail',
      'givenName',
      'sn',
      'pwdReset',
      memberOfAttribute,
      usernameAttribute,
    ].filter((name) => name !== undefined)
  }

  /** @throws {DirectoryRefusal} @throws {DirectoryUnreachable} */
  async check({ username, password }: Credentials, trace?: Trace): Promise<DirectoryOutcome> {
    // A directory accepts an empty password as an anonymous bind.
    if (username === '' || password === '')
      return { kind: 'refused', reason: 'user name or password is empty' }
    if (/\p{Cc}/u.test(username))
      return { kind: 'refused', reason: 'the user name has control characters' }
    const dn = this.#fillPattern(username, trace)
    const byPattern = dn && (await this.#bind(dn, { username, password }, undefined, trace))
    if (byPattern && (byPattern.kind === 'user' || this.#userFilter === undefined)) return byPattern
    const found = await this.#findEntry(username, trace)
    if (typeof found === 'string') return { kind: 'refused', reason: found }
    // The same entry again would count as a second wrong password.
    if (byPattern && isSameDn(found.dn, dn)) return byPattern
    return this.#bind(found.dn, { username, password }, found, trace)
  }

  /**
   * What can be found out without a password. Where there is no manager, attributes and groups are read as the user, so they
   * stay unknown.
   *
   * @throws {DirectoryRefusal} @throws {DirectoryUnreachable}
   */
  async look(username: string, trace: Trace): Promise<DirectoryOutcome> {
    if (username === '' || /\p{Cc}/u.test(username))
      return { kind: 'refused', reason: 'the user name is empty or has control characters' }
    const dn = this.#fillPattern(username, trace)
    const found =
      this.#userFilter === undefined ? dn && { dn } : await this.#findEntry(username, trace)
    if (found === undefined || typeof found === 'string')
      return { kind: 'refused', reason: found || 'the user is unknown' }
    if (this.#settings.manager === undefined) {
      trace(
        'note',
        `attributes and groups of ${found.dn} are read as the user, so they are seen with the password only`,
      )
      return { kind: 'user', user: createUser('ldap', username) }
    }
    const search: DirectorySearch = (request) => this.#directory.search(request)
    return {
      kind: 'user',
      user: await this.#toUser(
        found.dn,
        username,
        this.#userFilter && (found as Entry),
        search,
        trace,
      ),
    }
  }

  /**
   * Whether a user who logged in before has an account that is neither disabled nor expired, as the manager sees it. Without a
   * manager, or a way from the name to the entry, it is taken for active.
   *
   * @throws {DirectoryRefusal} @throws {DirectoryUnreachable}
   */
  async isActive(username: string, nowMs: number): Promise<boolean> {
    const { manager, usernameAttribute, userSearch } = this.#settings
    const dn = usernameAttribute === undefined ? this.#fillPattern(username, undefined) : undefined
    if (manager === undefined || (dn === undefined && userSearch === undefined)) return true
    const entries = dn === undefined ? [] : await this.#accountAt(dn)
    if (entries.length === 0 && userSearch !== undefined && this.#userFilter !== undefined) {
      const ofName =
        usernameAttribute && new EqualityFilter({ attribute: usernameAttribute, value: username })
      const filter = ofName || fillFilter(this.#userFilter, [username])
      const request = {
        base: userSearch.base,
        scope: 'sub',
        filter,
        attributes: accountStateAttributes,
        maxEntries: 2,
      } as const
      entries.push(...(await this.#directory.search(request)))
    }
    return entries.length === 1 && entries.every((entry) => !isDisabled(entry, nowMs))
  }

  async #accountAt(dn: string): Promise<Entry[]> {
    const request = {
      base: dn,
      scope: 'base',
      filter: anyEntry,
      attributes: accountStateAttributes,
      maxEntries: 1,
    } as const
    try {
      return [...(await this.#directory.search(request))]
    } catch (error) {
      if (error instanceof DirectoryRefusal && error.code === noSuchObject) return []
      throw error
    }
  }

  #fillPattern(username: string, trace: Trace | undefined): string | undefined {
    const { userDnPattern } = this.#settings
    const dn = userDnPattern && fillDnPattern(userDnPattern, username)
    if (dn) trace?.('note', `ldap.userDnPattern leads to the entry ${dn}`)
    return dn
  }

  /** The one entry of a user, or why there is none. */
  async #findEntry(username: string, trace: Trace | undefined): Promise<Entry | string> {
    const { userSearch } = this.#settings
    if (userSearch === undefined || this.#userFilter === undefined)
      throw new Error('there is no search for users')
    const filter = fillFilter(this.#userFilter, [username])
    const request = {
      base: userSearch.base,
      scope: 'sub',
      filter,
      attributes: this.#attributes,
      maxEntries: 2,
    } as const
    const search = traced(
      (asked) => this.#directory.search(asked),
      'users',
      this.#managerName,
      trace,
    )
    try {
      const [entry, ...more] = await search(request)
      if (more.length > 0) return 'several entries match the user name'
      return entry === undefined || entry.dn === '' ? 'the user is unknown' : entry
    } catch (error) {
      if (isSizeLimit(error)) return 'several entries match the user name'
      throw error
    }
  }

  get #managerName(): string {
    return this.#settings.manager?.dn ?? 'anonymous'
  }

  async #bind(
    dn: string,
    credentials: Credentials,
    known: Entry | undefined,
    trace: Trace | undefined,
  ): Promise<DirectoryOutcome> {
    try {
      return await this.#directory.asUser(dn, credentials.password, async (connection) => {
        trace?.('yes', `bind as ${dn} with the password`)
        try {
          const { manager } = this.#settings
          const search: DirectorySearch = (request) =>
            manager === undefined ? connection.search(request) : this.#directory.search(request)
          const entry = known ?? (await this.#readEntry(dn, connection))
          // OpenLDAP takes the password, and expects its client to do nothing else than to change it.
          if (attributeValuesOf(entry, 'pwdReset')[0]?.toUpperCase() === 'TRUE')
            throw new Refused(mustChange)
          return {
            kind: 'user',
            user: await this.#toUser(dn, credentials.username, entry, search, trace),
          }
        } catch (error) {
          if (error instanceof DirectoryRefusal)
            throw hasToChangePassword(error) ? new Refused(mustChange) : new AfterBind(error)
          throw error
        }
      })
    } catch (error) {
      if (error instanceof AfterBind) throw error.cause
      const refusal = refusalIn(error)
      if (refusal === undefined) throw error
      trace?.('no', `bind as ${dn} with the password: ${refusal.reason}`)
      return { kind: 'refused', ...refusal, entry: known?.dn }
    }
  }

  /** @param known Undefined: what stands in the entry is not known, and neither are its groups */
  async #toUser(
    dn: string,
    typed: string,
    known: Entry | undefined,
    search: DirectorySearch,
    trace: Trace | undefined,
  ): Promise<User> {
    const entry = known ?? (await this.#readAs(search, dn)) ?? { dn }
    const { memberOfAttribute, usernameAttribute, manager } = this.#settings
    const first = (attribute: string) => attributeValuesOf(entry, attribute)[0]?.trim() || null
    const memberOf =
      memberOfAttribute === undefined ? [] : attributeValuesOf(entry, memberOfAttribute)
    const renamed = usernameAttribute && first(usernameAttribute)
    trace?.(
      'note',
      `user name ${renamed || typed}, ${renamed ? `from the attribute ${usernameAttribute}` : 'as it was typed'}`,
    )
    trace?.('note', `e-mail address ${first('mail') ?? 'none'}, from the attribute mail`)
    if (memberOfAttribute !== undefined)
      trace?.('note', `${memberOfAttribute} lists ${joinNames(memberOf)}`)
    const as = manager?.dn ?? 'the user'
    const { roles, cut } = await this.#groups.load(
      { dn, username: typed, memberOf },
      traced(search, 'groups', as, trace),
    )
    if (cut)
      this.#log.warn(
        { method: 'ldap', user: typed },
        'the user has more groups, or levels of them, than are read',
      )
    const names = { firstName: first('givenName'), lastName: first('sn') }
    return createUser('ldap', renamed || typed, { email: first('mail'), ...names, roles })
  }

  /** Reads as the user; where users may not read themselves, as the manager. */
  async #readEntry(dn: string, connection: DirectoryConnection): Promise<Entry> {
    const found =
      (await this.#readAs((asked) => connection.search(asked), dn)) ??
      (this.#settings.manager && (await this.#readAs((asked) => this.#directory.search(asked), dn)))
    if (found === undefined) {
      this.#log.warn(
        { method: 'ldap', dn },
        'neither the user nor the manager may read the entry of the user',
      )
    }
    return found ?? { dn }
  }

  async #readAs(search: DirectorySearch, dn: string): Promise<Entry | undefined> {
    const request = {
      base: dn,
      scope: 'base',
      filter: anyEntry,
      attributes: this.#attributes,
      maxEntries: 1,
    } as const
    const [entry] = await search(request).catch((error: unknown) => {
      if (error instanceof DirectoryRefusal && !hasToChangePassword(error)) return []
      throw error
    })
    return entry
  }
}

/** The directory took the password, and the user may not log in. */
class Refused extends Error {
  readonly refusal: Refusal

  constructor(refusal: Refusal) {
    super(refusal.reason)
    this.refusal = refusal
  }
}

function refusalIn(error: unknown): Refusal | undefined {
  if (error instanceof Refused) return error.refusal
  return error instanceof DirectoryRefusal ? explainRefusal(error.code, error.message) : undefined
}

/** The directory said no to something after it took the password. */
class AfterBind extends Error {
  constructor(cause: DirectoryRefusal) {
    super(cause.message, { cause })
  }
}

function traced(
  search: DirectorySearch,
  what: string,
  as: string,
  trace: Trace | undefined,
): DirectorySearch {
  if (trace === undefined) return search
  return async (request) => {
    const question = `search for ${what} as ${as}: base "${request.base}", filter ${request.filter.toString()}`
    try {
      const entries = await search(request)
      const shown = entries.slice(0, 20).map(({ dn }) => dn)
      const more =
        entries.length > shown.length ? `, and ${entries.length - shown.length} more` : ''
      trace(
        entries.length > 0 ? 'yes' : 'no',
        `${question}: ${entries.length} found${shown.length > 0 ? `, ${shown.join(' | ')}${more}` : ''}`,
      )
      return entries
    } catch (error) {
      trace('no', `${question}: ${(error as Error).message}`)
      throw error
    }
  }
}
