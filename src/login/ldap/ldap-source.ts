/** Passwords checked by LDAP: queue, constant time of refusals, log. */
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import type { Keep } from '../../concurrency/open-parts.ts'
import { adviseOn, adviseOnConnection } from '../../directory/advice.ts'
import { DirectoryRefusal, DirectoryUnreachable } from '../../directory/connection.ts'
import { Directory } from '../../directory/directory.ts'
import { GatewayError } from '../../errors.ts'
import type { PasswordSource } from '../password-login.ts'
import { AccountStates } from './account-states.ts'
import { DirectoryLogin } from './directory-login.ts'
import type { LdapSettings } from './settings.ts'

interface LdapSourceOptions {
  settings: LdapSettings
  log: FastifyBaseLogger
  keep: Keep
  /** Milliseconds since the epoch. */
  now: () => number
}

/** A refusal takes so long in any case, so that its time does not tell whether the user exists. */
const refusalMs = 300
/** Maximum number of logins that wait for the directory; more fail as if it did not answer. */
const maxWaiting = 200

/** @throws {Error} when a filter of the settings is no filter */
export function openLdapSource({ settings, log, keep, now }: LdapSourceOptions): PasswordSource {
  const directory = keep(new Directory(settings, log, now))
  const login = new DirectoryLogin(settings, directory, log)
  const states = new AccountStates({ ask: (username) => login.isActive(username, now()), now })
  let waiting = 0
  return {
    name: 'ldap',
    refusesOnOpenPaths: false,
    reportOf: () => ({ call: 'roles', attempts: 1 }),
    async check(credentials) {
      if (waiting >= maxWaiting) throw unavailable(new Error(`${waiting} logins wait for the directory`))
      waiting++
      try {
        const leastTime = wait(refusalMs, undefined, { ref: false })
        const outcome = await login.check(credentials)
        if (outcome.kind === 'user') return { user: outcome.user }
        log.info({ method: 'ldap', entry: outcome.entry, reason: outcome.reason }, 'the directory refused a login')
        await leastTime
        return outcome.notice === undefined ? undefined : { notice: outcome.notice }
      } catch (error) {
        const { reason, ...others } = describe(error)
        const shown = typeof reason === 'string' ? withoutTyped(reason, credentials.username) : undefined
        log.error({ method: 'ldap', ...others, reason: shown }, 'a login failed because of the directory')
        throw unavailable(error)
      } finally {
        waiting--
      }
    },
    async isActive(username) {
      try {
        return await states.isActive(username)
      } catch (error) {
        log.error({ method: 'ldap', ...describe(error) }, 'an API token failed because of the directory')
        throw unavailable(error)
      }
    },
    async explain({ username, password }, trace) {
      try {
        const outcome = await (password === undefined ? login.look(username, trace) : login.check({ username, password }, trace))
        if (outcome.kind === 'user') return { user: outcome.user }
        trace('no', outcome.reason)
        return undefined
      } catch (error) {
        const { reason, advice } = describe(error)
        trace('no', `the directory cannot say: ${reason ?? (error as Error).message}${advice === undefined ? '' : `; ${advice}`}`)
        return undefined
      }
    },
  }
}

function unavailable(cause: unknown): GatewayError {
  return new GatewayError('LOGIN_UNAVAILABLE', 'The directory that knows the users does not answer. Try again in a moment.', {
    cause,
  })
}

/** A directory may repeat the name in its answer, and people type passwords in the wrong field. */
function withoutTyped(text: string, username: string): string {
  return username === '' ? text : text.replaceAll(username, '…')
}

/** For the log: which server, what it said, and what to do about it. */
function describe(error: unknown): Record<string, unknown> {
  if (error instanceof DirectoryRefusal) return { server: error.server, reason: error.message, advice: adviseOn(error) }
  if (error instanceof DirectoryUnreachable)
    return { server: error.server, reason: error.message, advice: adviseOnConnection(error.cause) }
  return { err: error }
}
