/**
 * Synchronises the roles of users with their provider: at each login, and for all users at intervals.
 *
 * An unavailable provider locks no user out: users keep their last roles, and the log reports it.
 */
import { within } from '@fairlead/base/concurrency/within.ts'
import { elapsedMs } from '@fairlead/base/settings/time-span.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import { type LoadedRoles, type RoleSource, roleOriginOf } from './role-source.ts'
import type { HeldRole } from './roles.ts'
import type { RoleSourceSettings } from './settings.ts'
import type { UserRoles } from './user-roles.ts'

interface SyncOutcome {
  /** Every known user with the roles before and after. */
  readonly users: ReadonlyMap<string, readonly HeldRole[]>
  /** Why roles stayed as they were, for some or all. */
  readonly problem?: string
}

interface RoleSyncOptions {
  context: BackendContext
  users: UserRoles
  source: RoleSourceSettings | undefined
  /** From the end of one synchronisation to the beginning of the next. */
  delayMs: number
}

/** A login waits so long for the provider, and not at all while it was just found silent. */
const loginTimeoutMs = 5000
const silentForMs = 10_000

export class UserRoleSync {
  readonly #parts: RoleSyncOptions
  #source: Promise<RoleSource> | undefined
  #full: Promise<unknown> = Promise.resolve()
  #first = Promise.withResolvers<void>()
  #timer: NodeJS.Timeout | undefined
  #problem: string | undefined
  #silentSinceMs = Number.NEGATIVE_INFINITY
  #closed = false

  constructor(parts: RoleSyncOptions) {
    this.#parts = parts
    // What stands in a file counts from the first request on; a directory may be silent, and answers when it can.
    if (parts.source?.kind !== 'file') this.#first.resolve()
  }

  get ready(): Promise<void> {
    return this.#first.promise
  }

  start(): void {
    if (this.#parts.source !== undefined) void this.#syncAndPlanNext()
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#first.resolve()
    const source = await this.#source?.catch(() => undefined)
    source?.close?.()
  }

  /** @param external Roles that the login brought */
  async login(user: string, external: readonly string[]): Promise<void> {
    const source = await this.#open()
    const loaded = source && !this.#isSilent() ? await this.#loadForLogin(source, user) : undefined
    this.#parts.users.put(user, external)
    if (source === undefined || this.#closed) return
    if (loaded !== undefined) this.#apply(loaded)
    if (loaded?.roles.has(user) !== true) {
      const problem = loaded?.problem ?? this.#problem
      this.#parts.context.log.warn(
        { user, problem },
        'a user logs in with the roles that the provider gave last, if any',
      )
    }
  }

  /**
   * Asks the provider for the roles of all users, or of users with one of some roles.
   *
   * @param wanted In lower case; empty: all users
   */
  async sync(wanted: readonly string[] = []): Promise<SyncOutcome> {
    if (wanted.length > 0) return this.#syncNow(wanted)
    const run = this.#full.then(() => this.#syncNow([]))
    this.#full = run.catch(() => {})
    return run
  }

  async #syncNow(wanted: readonly string[]): Promise<SyncOutcome> {
    const before = this.#parts.users.everyUser()
    const source = await this.#open()
    if (source === undefined) return { users: before }
    const isForAll = wanted.length === 0 || source.hasChanged?.() === true
    const isWanted = (roles: readonly HeldRole[]) =>
      isForAll || roles.some(({ name }) => wanted.includes(name))
    // Saving an application queries its roles, and should not wait for an unavailable directory.
    if (wanted.length > 0 && this.#isSilent()) return { users: before, problem: this.#problem }
    const concerned = [...before].filter(([, roles]) => isWanted(roles)).map(([user]) => user)
    // Without a query there is no answer: that is no sign of life.
    if (concerned.length === 0 && this.#parts.source?.kind === 'ldap') return { users: before }
    const loaded = await source.load(concerned)
    if (this.#closed) return { users: before }
    this.#apply(loaded)
    const users = new Map(
      [...this.#parts.users.everyUser()].map(([user, roles]) => [
        user,
        [...(before.get(user) ?? []), ...roles],
      ]),
    )
    return { users, problem: loaded.problem }
  }

  async #syncAndPlanNext(): Promise<void> {
    try {
      await this.sync()
    } catch (error) {
      this.#parts.context.log.error(
        { err: error },
        'the roles of users cannot be brought up to date',
      )
    }
    this.#first.resolve()
    if (!this.#closed)
      this.#timer = setTimeout(() => void this.#syncAndPlanNext(), this.#parts.delayMs).unref()
  }

  #open(): Promise<RoleSource | undefined> {
    if (this.#parts.source === undefined || this.#closed) return Promise.resolve(undefined)
    this.#source ??= openRoleSource(this.#parts.source, this.#parts.context)
    return this.#source
  }

  /** What comes too late for the login still counts afterwards. */
  async #loadForLogin(source: RoleSource, user: string): Promise<LoadedRoles> {
    const loading = source.load(
      source.hasChanged?.() ? [user, ...this.#parts.users.everyUser().keys()] : [user],
    )
    return within(loginTimeoutMs, loading, (): LoadedRoles => {
      loading
        .then((result) => this.#closed || this.#apply(result))
        .catch((error: unknown) => {
          const text =
            'roles that came late are not kept; the next synchronisation asks for them again'
          this.#parts.context.log.error({ err: error }, text)
        })
      return { roles: new Map(), problem: `there is no answer within ${loginTimeoutMs} ms` }
    })
  }

  #isSilent(): boolean {
    return elapsedMs(this.#parts.context.now(), this.#silentSinceMs) < silentForMs
  }

  #apply({ roles, problem }: LoadedRoles): void {
    this.#parts.users.provide(roles)
    this.#note(problem)
  }

  /** Once for each trouble, and once when it is over: a synchronisation every few minutes would fill the log with it. */
  #note(problem: string | undefined): void {
    const { log, now } = this.#parts.context
    const source = roleOriginOf(this.#parts.source)
    this.#silentSinceMs =
      problem !== undefined && source === 'LDAP' ? now() : Number.NEGATIVE_INFINITY
    if (problem !== undefined && problem !== this.#problem) {
      log.error(
        { source, problem },
        'the provider of roles cannot be asked: users keep the roles that it gave last',
      )
    }
    if (problem === undefined && this.#problem !== undefined)
      log.info({ source }, 'the provider of roles can be asked again')
    this.#problem = problem
  }
}

/** Loaded late: most installations have no source but the login. */
async function openRoleSource(
  settings: RoleSourceSettings,
  { log, now }: BackendContext,
): Promise<RoleSource> {
  switch (settings.kind) {
    case 'file':
      return new (await import('./role-file.ts')).RoleFile(settings.path)
    case 'ldap':
      return new (await import('./directory-roles.ts')).DirectoryRoles(settings.directory, log, now)
  }
}
