/** Passwords checked by LDAP: queue, constant time of refusals, log. */
import { setTimeout as wait } from 'node:timers/promises'
import { adviseOn, adviseOnConnection } from '@fairlead/base/directory/advice.ts'
import { DirectoryRefusal, DirectoryUnreachable } from '@fairlead/base/directory/connection.ts'
import { Directory } from '@fairlead/base/directory/directory.ts'
import { GatewayError } from '@fairlead/base/errors.ts'
import type { LoginReport } from '@fairlead/model/rights/permissions.ts'
import type { FastifyBaseLogger } from 'fastify'
import type { Credentials } from '../basic-credentials.ts'
import type { MethodContext } from '../method-type.ts'
import type { PasswordSource } from '../password-login.ts'
import type { Trace } from '../trace.ts'
import { AccountStates } from './account-states.ts'
import { DirectoryLogin } from './directory-login.ts'
import type { LdapSettings } from './settings.ts'

interface LdapSourceOptions extends Pick<MethodContext, 'log' | 'keep' | 'now'> {
  settings: LdapSettings
}

/** A refusal takes so long in any case, so that its time does not tell whether the user exists. */
const refusalMs = 300
/** Maximum number of logins that wait for the directory; more fail as if it did not answer. */
const maxWaiting = 200

export class LdapSource implements PasswordSource {
  readonly name = 'ldap'
  readonly refusesOnOpenPaths = false
  readonly #log: FastifyBaseLogger
  readonly #login: DirectoryLogin
  readonly #states: AccountStates
  #waiting = 0

  /** @throws {Error} when a filter of the settings is no filter */
  constructor({ settings, log, keep, now }: LdapSourceOptions) {
    this.#log = log
    this.#login = new DirectoryLogin(settings, keep(new Directory(settings, log, now)), log)
    this.#states = new AccountStates({
      ask: (username) => this.#login.isActive(username, now()),
      now,
    })
  }

  reportOf(): LoginReport {
    return { call: 'roles', attempts: 1 }
  }

  async check(credentials: Credentials): ReturnType<PasswordSource['check']> {
    if (this.#waiting >= maxWaiting)
      throw unavailable(new Error(`${this.#waiting} logins wait for the directory`))
    this.#waiting++
    try {
      const leastTime = wait(refusalMs, undefined, { ref: false })
      const outcome = await this.#login.check(credentials)
      if (outcome.kind === 'user') return { user: outcome.user }
      const { entry, reason, notice } = outcome
      this.#log.info({ method: this.name, entry, reason }, 'the directory refused a login')
      await leastTime
      return notice && { notice }
    } catch (error) {
      const { reason, ...others } = describe(error)
      const shown =
        typeof reason === 'string' ? withoutTyped(reason, credentials.username) : undefined
      this.#log.error(
        { method: this.name, ...others, reason: shown },
        'a login failed because of the directory',
      )
      throw unavailable(error)
    } finally {
      this.#waiting--
    }
  }

  async isActive(username: string): Promise<boolean> {
    try {
      return await this.#states.isActive(username)
    } catch (error) {
      this.#log.error(
        { method: this.name, ...describe(error) },
        'an API token failed because of the directory',
      )
      throw unavailable(error)
    }
  }

  async explain(
    { username, password }: { username: string; password: string | undefined },
    trace: Trace,
  ) {
    try {
      const login = this.#login
      const outcome = await (password === undefined
        ? login.look(username, trace)
        : login.check({ username, password }, trace))
      if (outcome.kind === 'user') return { user: outcome.user }
      trace('no', outcome.reason)
    } catch (error) {
      const { reason, advice } = describe(error)
      trace(
        'no',
        `the directory cannot say: ${reason ?? (error as Error).message}${advice === undefined ? '' : `; ${advice}`}`,
      )
    }
    return undefined
  }
}

function unavailable(cause: unknown): GatewayError {
  return new GatewayError(
    'LOGIN_UNAVAILABLE',
    'The directory that knows the users does not answer. Try again in a moment.',
    {
      cause,
    },
  )
}

/** A directory may repeat the name in its answer, and people type passwords in the wrong field. */
function withoutTyped(text: string, username: string): string {
  return username === '' ? text : text.replaceAll(username, '…')
}

/** For the log: which server, what it said, and what to do about it. */
function describe(error: unknown): Record<string, unknown> {
  if (error instanceof DirectoryRefusal)
    return { server: error.server, reason: error.message, advice: adviseOn(error) }
  if (error instanceof DirectoryUnreachable)
    return { server: error.server, reason: error.message, advice: adviseOnConnection(error.cause) }
  return { err: error }
}
