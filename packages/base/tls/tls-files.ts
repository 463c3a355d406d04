/** Reloads TLS files when they change; an invalid file changes nothing. */
import { randomBytes } from 'node:crypto'
import type { Server } from 'node:https'
import type { FastifyBaseLogger } from 'fastify'
import type { Certificate } from './certificate.ts'
import { TlsFileError } from './key-material.ts'
import type { RevocationList, Revocations } from './revocation.ts'
import {
  findExpiry,
  loadTlsMaterial,
  stampOf,
  type TlsMaterial,
  type TlsSettings,
  toSecureContext,
} from './tls-material.ts'

const checkIntervalMs = 1000
const ticketKeyBytes = 48

interface TlsListener {
  server: Server
  asksForCertificates: boolean
}

export class TlsFiles {
  readonly #settings: TlsSettings
  readonly #log: FastifyBaseLogger
  readonly #listeners: TlsListener[] = []
  #material: TlsMaterial
  #loadedStamp: string
  #seenStamp: string
  #timer: NodeJS.Timeout | undefined
  readonly #outdated = new WeakSet<RevocationList>()

  constructor(settings: TlsSettings, material: TlsMaterial, stamp: string, log: FastifyBaseLogger) {
    this.#settings = settings
    this.#material = material
    this.#loadedStamp = stamp
    this.#seenStamp = stamp
    this.#log = log
  }

  get authorities(): readonly Certificate[] {
    return this.#material.authorities
  }

  get revocations(): Revocations {
    return this.#material.revocations
  }

  /** What a listener starts with. @throws {Error} of OpenSSL */
  contextFor(asksForCertificates: boolean): ReturnType<typeof toSecureContext> {
    return toSecureContext(this.#settings, this.#material, asksForCertificates)
  }

  /** Has a listener follow the files from now on. */
  follow(server: Server, asksForCertificates: boolean): void {
    this.#listeners.push({ server, asksForCertificates })
  }

  /** Certificates in headers are checked by these files, too, where no listener is encrypted. */
  start(): void {
    this.#warnOfLists()
    this.#timer = setInterval(() => this.check(), checkIntervalMs).unref()
  }

  /** Reads the files anew when they have changed and then stayed as they are for one check: the writer has finished. */
  check(): void {
    this.#warnOfLists()
    const stamp = stampOf(this.#settings)
    const settled = stamp === this.#seenStamp
    this.#seenStamp = stamp
    if (settled && stamp !== this.#loadedStamp) this.load()
  }

  /** Reads the files now. What cannot be used changes nothing. */
  load(): void {
    this.#loadedStamp = stampOf(this.#settings)
    this.#seenStamp = this.#loadedStamp
    try {
      this.#use(loadTlsMaterial(this.#settings))
      this.#log.info('certificates, trusted authorities and revocations were read anew')
    } catch (error) {
      const setting = error instanceof TlsFileError ? { setting: error.key } : {}
      this.#log.error(
        { err: error, ...setting },
        'changed TLS files cannot be used; what was read before stays in force',
      )
    }
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** All listeners or none: every context is built before the first one is set. */
  #use(material: TlsMaterial): void {
    const contexts = this.#listeners.map((listener) => ({
      listener,
      context: toSecureContext(this.#settings, material, listener.asksForCertificates),
    }))
    this.#material = material
    for (const { listener, context } of contexts) {
      listener.server.setSecureContext(context)
      // Connections must not be taken up again past authorities and revocations that have changed meanwhile.
      if (listener.asksForCertificates) listener.server.setTicketKeys(randomBytes(ticketKeyBytes))
    }
    const expiry = findExpiry(material)
    if (expiry !== undefined) this.#log.warn(expiry)
  }

  /** Once for each list, when it runs out. */
  #warnOfLists(): void {
    for (const list of this.#material.revocations.lists) {
      const { issuerKey, nextUpdateMs } = list
      if (nextUpdateMs === undefined || nextUpdateMs > Date.now() || this.#outdated.has(list))
        continue
      this.#outdated.add(list)
      const due = new Date(nextUpdateMs).toISOString()
      this.#log.error(
        { issuer: issuerKey, due },
        'a revocation list is out of date: certificates of this issuer are rejected; replace its file',
      )
    }
  }
}

/** @throws {TlsFileError} when a file cannot be used */
export function openTlsFiles(settings: TlsSettings, log: FastifyBaseLogger): TlsFiles {
  const stamp = stampOf(settings)
  const material = loadTlsMaterial(settings)
  const files = new TlsFiles(settings, material, stamp, log)
  files.start()
  return files
}
