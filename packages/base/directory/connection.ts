/** One connection to an LDAP server: encrypted first, with timeouts, dropped after an error. */
import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions as TlsOptions } from 'node:tls'
import { Client, type Entry, type Filter, ResultCodeError } from 'ldapts'
import { within } from '../concurrency/within.ts'
import { screenData } from '../runtime/sockets.ts'
import { type AnswerAllowance, AnswerGate } from './answer-gate.ts'
import type { DirectorySettings, LdapServer } from './settings.ts'

/** The server cannot be asked: not there, silent, not who it should be, or too busy. Another one may do. */
export class DirectoryUnreachable extends Error {
  readonly server: string

  constructor(server: string, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.server = server
  }
}

/** The server's answer, other than success. */
export class DirectoryRefusal extends Error {
  readonly server: string
  /** @see RFC 4511, section 4.1.9 */
  readonly code: number

  constructor(server: string, code: number, message: string) {
    super(message)
    this.server = server
    this.code = code
  }
}

export interface SearchRequest {
  readonly base: string
  readonly scope: 'base' | 'sub'
  readonly filter: Filter
  readonly attributes: readonly string[]
  readonly maxEntries: number
}

export type { Entry } from 'ldapts'

/** Busy, unavailable, and no answer at all. */
const unreachableCodes = new Set([51, 52, 248])
const pageSize = 500
const sizeLimitExceeded = 4
const referral = 10
/** A user in thousands of groups fits, and so do thousands of groups. */
const maxAnswerBytes = 8 * 1024 * 1024
/** Messages beside the entries: the end of each page, references to other servers, and what a page has beyond its size. */
const spareMessages = pageSize + 100
const single: AnswerAllowance = { bytes: 256 * 1024, messages: 10 }

type TransportSettings = Pick<
  DirectorySettings,
  'startTls' | 'authorities' | 'connectTimeoutMs' | 'readTimeoutMs'
>

/** @throws {DirectoryUnreachable} also when the certificate is not the server's, before anything is said */
export async function openConnection(
  server: LdapServer,
  settings: TransportSettings,
): Promise<DirectoryConnection> {
  const connection = new DirectoryConnection(server, settings)
  try {
    if (settings.startTls) await connection.startTls()
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

export class DirectoryConnection {
  readonly #server: LdapServer
  readonly #settings: TransportSettings
  readonly #client: Client
  readonly #sockets: Socket[] = []
  readonly #gate = new AnswerGate()
  #openQuestions = 0
  #complaint: Error | undefined
  #broken = false

  constructor(server: LdapServer, settings: TransportSettings) {
    this.#server = server
    this.#settings = settings
    const { host, port, secure } = server
    this.#client = new Client({
      url: `${secure ? 'ldaps' : 'ldap'}://${host.includes(':') ? `[${host}]` : host}:${port}`,
      timeout: settings.readTimeoutMs,
      connectTimeout: settings.connectTimeoutMs,
      tlsOptions: secure ? this.#tlsOptions() : undefined,
      createConnection: this.#watched(connectPlain),
      createSecureConnection: this.#watched(connectTls),
    })
  }

  get server(): string {
    return this.#server.url
  }

  /** False once anything went wrong with it. */
  get usable(): boolean {
    return !this.#broken
  }

  /** @throws {DirectoryUnreachable} */
  async startTls(): Promise<void> {
    const { connectTimeoutMs, readTimeoutMs } = this.#settings
    // The library waits without limit for the handshake within a connection that is there already.
    const encrypt = () =>
      within(connectTimeoutMs + readTimeoutMs, this.#client.startTLS(this.#tlsOptions()), () => {
        throw new Error('the TLS handshake took too long')
      })
    try {
      await this.#ask(encrypt, single)
      // What came in clear text must not become the beginning of an answer within TLS.
      if (this.#gate.isInMessage)
        throw new DirectoryUnreachable(
          this.server,
          new Error('something precedes the TLS handshake'),
        )
    } catch (error) {
      // Without TLS nothing else is said, whatever the reason.
      throw error instanceof DirectoryRefusal
        ? new DirectoryUnreachable(this.server, new Error(`no TLS: ${error.message}`))
        : error
    }
  }

  /** @throws {DirectoryRefusal} @throws {DirectoryUnreachable} */
  async bind(dn: string, password: string): Promise<void> {
    // Either of them empty would be an anonymous bind, which succeeds.
    if (dn === '' || password === '') throw new Error('a bind needs a name and a password')
    await this.#ask(() => this.#client.bind(dn, password), single)
  }

  /**
   * Page by page, within limits for the whole. References to other servers are left out: Fairlead
   * connects only to servers of the settings.
   *
   * @throws {DirectoryRefusal} @throws {DirectoryUnreachable}
   */
  async search({ base, scope, filter, attributes, maxEntries }: SearchRequest): Promise<Entry[]> {
    const entries: Entry[] = []
    const timeLimit = Math.max(1, Math.ceil(this.#settings.readTimeoutMs / 1000))
    const options = {
      scope,
      filter,
      attributes: [...attributes],
      timeLimit,
      paged: { pageSize: Math.min(pageSize, maxEntries) },
    }
    const search = async () => {
      for await (const { searchEntries } of this.#client.searchPaginated(base, options)) {
        for (const entry of searchEntries.slice(0, maxEntries - entries.length)) entries.push(entry)
        if (entries.length >= maxEntries) return
      }
    }
    await this.#ask(search, { bytes: maxAnswerBytes, messages: maxEntries + spareMessages })
    return entries
  }

  close(): void {
    this.#broken = true
    const sockets = this.#sockets.splice(0)
    // Pending data is sent first; after that errors are ignored.
    const destroy = () => {
      for (const socket of sockets) socket.on('error', () => {}).destroy()
    }
    this.#client.unbind().then(destroy, destroy)
  }

  async #ask<T>(question: () => Promise<T>, allowance: AnswerAllowance): Promise<T> {
    if (this.#broken)
      throw new DirectoryUnreachable(this.server, new Error('the connection was closed'))
    if (this.#openQuestions++ === 0) this.#gate.reset()
    this.#gate.allow(allowance)
    try {
      return await question()
    } catch (error) {
      if (error instanceof ResultCodeError && !unreachableCodes.has(error.code)) {
        // The library knows no words for a referral, and does not read its addresses.
        const message =
          error.code === referral ? 'a referral to another server' : toLine(error.message)
        throw new DirectoryRefusal(this.server, error.code, message)
      }
      this.close()
      throw new DirectoryUnreachable(this.server, this.#complaint ?? error)
    } finally {
      this.#openQuestions--
    }
  }

  #tlsOptions(): TlsOptions {
    const { authorities } = this.#settings
    return { host: this.#server.host, ...(authorities !== undefined && { ca: authorities }) }
  }

  /** Sockets that close are noticed at once; the library does not notice it after StartTLS. */
  #watched<C extends typeof connectPlain | typeof connectTls>(connect: C): C {
    const watch = (...parameters: unknown[]): Socket => {
      const socket = Reflect.apply(connect, undefined, parameters) as Socket
      this.#sockets.push(socket)
      socket.once('close', () => {
        this.#broken = true
      })
      this.#screen(socket)
      return socket
    }
    return watch as C
  }

  /** The library gets whole messages that have passed the gate, and nothing after the first that has not. */
  #screen(socket: Socket): void {
    const noteFault = (error: Error) => {
      this.#complaint = error
    }
    screenData(socket, (data) => this.#gate.take(data), noteFault)
  }
}

/** Active Directory ends its messages with a zero byte. */
function toLine(text: string): string {
  return text
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, 500)
}

/** Whether a search went beyond what the directory gives at once. */
export function isSizeLimit(error: unknown): boolean {
  return error instanceof DirectoryRefusal && error.code === sizeLimitExceeded
}
