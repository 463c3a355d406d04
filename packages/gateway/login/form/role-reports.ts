/**
 * Tells the permission service of users whose roles have changed, or who were removed: by an operation, or by a command, also while the
 * gateway was stopped. Their runs and schedules go on, with the roles that it knows.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Permissions } from '../../permissions/fiat-permissions.ts'
import { createUser } from '../user.ts'
import type { Users } from './users.ts'

const lookMs = 1000

export class RoleReports {
  readonly #users: Users
  readonly #permissions: Pick<Permissions, 'reportLogin'>
  readonly #log: Pick<FastifyBaseLogger, 'warn'>
  readonly #timer: NodeJS.Timeout
  /** Of the users, when all had been told. */
  #seen = -1
  #isFailing = false
  #sending = Promise.resolve()

  constructor(
    users: Users,
    permissions: Pick<Permissions, 'reportLogin'>,
    log: Pick<FastifyBaseLogger, 'warn'>,
  ) {
    this.#users = users
    this.#permissions = permissions
    this.#log = log
    this.#timer = setInterval(() => void this.send(), lookMs).unref()
  }

  /** Resolves when all changes until now are told, or could not be; they are told later then. */
  send(): Promise<void> {
    this.#sending = this.#sending.then(() => this.#send())
    return this.#sending
  }

  async #send(): Promise<void> {
    try {
      const { changes } = this.#users
      if (changes === this.#seen) return
      for (const { name, seq, roles } of this.#users.unreported()) {
        const user = createUser('form', name, { roles })
        await this.#permissions.reportLogin(user, { call: 'roles', attempts: 1 })
        this.#users.noteReport(name, seq)
      }
      this.#seen = changes
      this.#isFailing = false
    } catch (err) {
      if (!this.#isFailing)
        this.#log.warn({ err }, 'the permission service could not be told of changed users yet')
      this.#isFailing = true
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#sending
  }
}
