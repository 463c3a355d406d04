/** LDAP client: fails over between servers and keeps the manager's connection. */
import type { FastifyBaseLogger } from 'fastify'
import { elapsedMs } from '../settings/time-span.ts'
import {
  type DirectoryConnection,
  DirectoryUnreachable,
  type Entry,
  openConnection,
  type SearchRequest,
} from './connection.ts'
import type { DirectorySettings, LdapServer } from './settings.ts'

/** A server that failed is asked last for so long. */
const restMs = 30_000
/** Firewalls silently drop idle connections. */
const maxIdleMs = 60_000

export class Directory {
  readonly #settings: DirectorySettings
  readonly #log: FastifyBaseLogger
  readonly #now: () => number
  readonly #restingUntilMs = new Map<LdapServer, number>()
  #manager: { connection: Promise<DirectoryConnection>; usedMs: number } | undefined
  #closed = false

  constructor(settings: DirectorySettings, log: FastifyBaseLogger, now: () => number) {
    this.#settings = settings
    this.#log = log
    this.#now = now
  }

  /**
   * Binds as the user on a connection of its own, does some work on it and closes it.
   *
   * @throws {DirectoryRefusal} the bind, or the work @throws {DirectoryUnreachable} no server can be asked
   */
  asUser<T>(
    dn: string,
    password: string,
    work: (connection: DirectoryConnection) => Promise<T>,
  ): Promise<T> {
    return this.#onSomeServer(async (server) => {
      const connection = await openConnection(server, this.#settings)
      try {
        await connection.bind(dn, password)
        return await work(connection)
      } finally {
        connection.close()
      }
    })
  }

  /** Searches as the manager, or anonymously without a manager. Errors as with `asUser`. */
  async search(request: SearchRequest): Promise<Entry[]> {
    const connection = await this.#managerConnection()
    try {
      return await connection.search(request)
    } catch (error) {
      if (!(error instanceof DirectoryUnreachable)) throw error
      this.#rest(error)
      return await (await this.#managerConnection()).search(request)
    }
  }

  close(): void {
    this.#closed = true
    this.#dropManager()
  }

  async #managerConnection(): Promise<DirectoryConnection> {
    const known = this.#manager
    if (known !== undefined) {
      const isFresh = elapsedMs(this.#now(), known.usedMs) < maxIdleMs
      const connection = isFresh ? await known.connection.catch(() => undefined) : undefined
      if (connection?.usable) {
        known.usedMs = this.#now()
        return connection
      }
      if (this.#manager === known) this.#dropManager()
    }
    this.#manager ??= { connection: this.#openManager(), usedMs: this.#now() }
    return this.#manager.connection
  }

  #openManager(): Promise<DirectoryConnection> {
    if (this.#closed) throw new Error('the directory is closed')
    const { manager } = this.#settings
    return this.#onSomeServer(async (server) => {
      const connection = await openConnection(server, this.#settings)
      try {
        if (manager !== undefined) await connection.bind(manager.dn, manager.password)
        return connection
      } catch (error) {
        connection.close()
        throw error
      }
    })
  }

  #dropManager(): void {
    this.#manager?.connection.then(
      (connection) => connection.close(),
      () => {},
    )
    this.#manager = undefined
  }

  async #onSomeServer<T>(attempt: (server: LdapServer) => Promise<T>): Promise<T> {
    let last: unknown
    for (const server of this.#inOrder()) {
      try {
        const result = await attempt(server)
        this.#restingUntilMs.delete(server)
        return result
      } catch (error) {
        if (!(error instanceof DirectoryUnreachable)) throw error
        this.#rest(error)
        last = error
      }
    }
    throw last
  }

  #inOrder(): LdapServer[] {
    const rests = (server: LdapServer) => (this.#restingUntilMs.get(server) ?? 0) > this.#now()
    const { servers } = this.#settings
    return [...servers.filter((server) => !rests(server)), ...servers.filter(rests)]
  }

  #rest(error: DirectoryUnreachable): void {
    const server = this.#settings.servers.find(({ url }) => url === error.server)
    if (server === undefined) return
    this.#restingUntilMs.set(server, this.#now() + restMs)
    this.#log.warn(
      { method: 'ldap', server: error.server, reason: error.message },
      'a server of the directory cannot be asked',
    )
  }
}
