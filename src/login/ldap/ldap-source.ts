/** Passwords that a directory checks: finds the entry of a user, binds as the user, and reads attributes and groups. */
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { PresenceFilter } from 'ldapts'
import { GatewayError } from '../../errors.ts'
import type { User } from '../../http/request-state.ts'
import type { Credentials } from '../basic-credentials.ts'
import type { PasswordSource } from '../password-login.ts'
import { type Connection, DirectoryRefusal, DirectoryUnreachable, type Entry, isSizeLimit } from './connection.ts'
import { Directory } from './directory.ts'
import { fillDnPattern, isSameDn } from './distinguished-name.ts'
import { fillFilter, parseFilterTemplate } from './filter-template.ts'
import { createGroups, type Groups, type Search, valuesOf } from './groups.ts'
import { adviseOn, adviseOnConnection, explainRefusal, type Refusal } from './refusal.ts'
import type { LdapSettings } from './settings.ts'

export interface LdapSourceOptions {
  settings: LdapSettings
  log: FastifyBaseLogger
  /** Milliseconds since the epoch. */
  now: () => number
}

type Outcome = { kind: 'user'; user: User } | ({ kind: 'refused' } & Refusal)

/** A refusal takes so long in any case, so that its time does not tell whether the user exists. */
const refusalMs = 300
/** Logins that wait for the directory at once; more are told that it does not answer. */
const maxWaiting = 200
const anyEntry = new PresenceFilter({ attribute: 'objectClass' })

/** @throws {Error} when a filter of the settings is no filter */
export function createLdapSource({ settings, log, now }: LdapSourceOptions): PasswordSource {
  const directory = new Directory(settings, log, now)
  const login = new DirectoryLogin(settings, directory, log)
  let waiting = 0
  return {
    name: 'ldap',
    refusesOnOpenPaths: false,
    reportOf: () => ({ call: 'roles', attempts: 1 }),
    async check(credentials) {
      if (waiting >= maxWaiting) throw unavailable(new Error(`${waiting} logins wait for the directory`))
      waiting++
      try {
        const leastTime = wait(refusalMs)
        const outcome = await login.check(credentials)
        if (outcome.kind === 'user') return { user: outcome.user }
        log.info({ method: 'ldap', user: credentials.username, reason: outcome.reason }, 'the directory refused a login')
        await leastTime
        return outcome.notice === undefined ? undefined : { notice: outcome.notice }
      } catch (error) {
        log.error({ method: 'ldap', ...describe(error) }, 'a login failed because of the directory')
        throw unavailable(error)
      } finally {
        waiting--
      }
    },
    close: () => directory.close(),
  }
}

class DirectoryLogin {
  readonly #settings: LdapSettings
  readonly #directory: Directory
  readonly #log: FastifyBaseLogger
  readonly #groups: Groups
  readonly #userFilter: ReturnType<typeof parseFilterTemplate> | undefined
  readonly #attributes: readonly string[]

  constructor(settings: LdapSettings, directory: Directory, log: FastifyBaseLogger) {
    const { userSearch, memberOfAttribute, usernameAttribute } = settings
    this.#settings = settings
    this.#directory = directory
    this.#log = log
    this.#groups = createGroups(settings)
    this.#userFilter = userSearch && parseFilterTemplate(userSearch.filter)
    this.#attributes = ['mail', 'givenName', 'sn', memberOfAttribute, usernameAttribute].filter((name) => name !== undefined)
  }

  /** @throws {DirectoryRefusal} @throws {DirectoryUnreachable} */
  async check({ username, password }: Credentials): Promise<Outcome> {
    // A directory takes an empty password for a login as nobody, and says yes.
    if (username === '' || password === '') return { kind: 'refused', reason: 'user name or password is empty' }
    if (/\p{Cc}/u.test(username)) return { kind: 'refused', reason: 'the user name has control characters' }
    const { userDnPattern } = this.#settings
    const dn = userDnPattern && fillDnPattern(userDnPattern, username)
    const byPattern = dn && (await this.#bind(dn, { username, password }, undefined))
    if (byPattern && (byPattern.kind === 'user' || this.#userFilter === undefined)) return byPattern
    const found = await this.#findEntry(username)
    if (typeof found === 'string') return { kind: 'refused', reason: found }
    // The same entry again would count as a second wrong password.
    if (byPattern && isSameDn(found.dn, dn)) return byPattern
    return this.#bind(found.dn, { username, password }, found)
  }

  /** The one entry of a user, or why there is none. */
  async #findEntry(username: string): Promise<Entry | string> {
    const { userSearch } = this.#settings
    if (userSearch === undefined || this.#userFilter === undefined) throw new Error('there is no search for users')
    const filter = fillFilter(this.#userFilter, [username])
    const request = { base: userSearch.base, scope: 'sub', filter, attributes: this.#attributes, maxEntries: 2 } as const
    try {
      const [entry, ...more] = await this.#directory.search(request)
      if (more.length > 0) return 'several entries match the user name'
      return entry === undefined || entry.dn === '' ? 'the user is unknown' : entry
    } catch (error) {
      if (isSizeLimit(error)) return 'several entries match the user name'
      throw error
    }
  }

  async #bind(dn: string, credentials: Credentials, known: Entry | undefined): Promise<Outcome> {
    try {
      return await this.#directory.asUser(dn, credentials.password, async (connection) => {
        try {
          return { kind: 'user', user: await this.#toUser(dn, credentials.username, known, connection) }
        } catch (error) {
          if (error instanceof DirectoryRefusal) throw new AfterBind(error)
          throw error
        }
      })
    } catch (error) {
      if (error instanceof AfterBind) throw error.cause
      const refusal = error instanceof DirectoryRefusal ? explainRefusal(error.code, error.message) : undefined
      if (refusal === undefined) throw error
      return { kind: 'refused', ...refusal }
    }
  }

  async #toUser(dn: string, typed: string, known: Entry | undefined, connection: Connection): Promise<User> {
    const entry = known ?? (await this.#readEntry(dn, connection))
    const { memberOfAttribute, usernameAttribute } = this.#settings
    const first = (attribute: string) => valuesOf(entry, attribute)[0]?.trim() || null
    const memberOf = memberOfAttribute === undefined ? [] : valuesOf(entry, memberOfAttribute)
    const search: Search = (request) =>
      this.#settings.manager === undefined ? connection.search(request) : this.#directory.search(request)
    const { roles, cut } = await this.#groups.load({ dn, username: typed, memberOf }, search)
    if (cut) this.#log.warn({ method: 'ldap', user: typed }, 'the user has more groups, or levels of them, than are read')
    return {
      username: (usernameAttribute && first(usernameAttribute)) || typed,
      email: first('mail'),
      firstName: first('givenName'),
      lastName: first('sn'),
      roles,
      allowedAccounts: [],
      method: 'ldap',
    }
  }

  /** As the user; where users may not read themselves, as the manager. */
  async #readEntry(dn: string, connection: Connection): Promise<Entry> {
    const request = { base: dn, scope: 'base', filter: anyEntry, attributes: this.#attributes, maxEntries: 1 } as const
    const searches: Search[] = [(asked) => connection.search(asked)]
    if (this.#settings.manager !== undefined) searches.push((asked) => this.#directory.search(asked))
    for (const search of searches) {
      const [entry] = await search(request).catch((error: unknown) => {
        if (error instanceof DirectoryRefusal) return []
        throw error
      })
      if (entry !== undefined) return entry
    }
    this.#log.warn({ method: 'ldap', dn }, 'neither the user nor the manager may read the entry of the user')
    return { dn }
  }
}

/** The directory said no to something after it took the password. */
class AfterBind extends Error {
  constructor(cause: DirectoryRefusal) {
    super(cause.message, { cause })
  }
}

function unavailable(cause: unknown): GatewayError {
  return new GatewayError('LOGIN_UNAVAILABLE', 'The directory that knows the users does not answer. Try again in a moment.', {
    cause,
  })
}

/** For the log: which server, what it said, and what to do about it. */
function describe(error: unknown): Record<string, unknown> {
  if (error instanceof DirectoryRefusal) return { server: error.server, reason: error.message, advice: adviseOn(error.code) }
  if (error instanceof DirectoryUnreachable)
    return { server: error.server, reason: error.message, advice: adviseOnConnection(error.cause) }
  return { err: error }
}
