/** The embedded back ends of another process, as a gateway sees them: over a link that tells when rights change. */
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import type { Socket } from 'node:net'
import { BackOff } from '@fairlead/base/concurrency/back-off.ts'
import { within } from '@fairlead/base/concurrency/within.ts'
import { Channel } from '@fairlead/base/net/channel.ts'
import { backendKeyHeader, type RemotePlace } from '@fairlead/base/services/backend-place.ts'
import type { ServiceTls } from '@fairlead/base/services/service-tls.ts'
import type { BackendState } from '@fairlead/base/telemetry/metrics.ts'
import type { FastifyBaseLogger } from 'fastify'
import type { Embedded } from './embedded.ts'
import {
  type BackendDuties,
  type GatewayDuties,
  type LinkBegin,
  linkProtocol,
} from './gateway-links.ts'

interface RemoteOptions {
  readonly place: RemotePlace
  readonly tls?: ServiceTls
  /** Whether this gateway checks permissions. */
  readonly authorization: boolean
  readonly log: FastifyBaseLogger
  readonly onChanged?: (() => void) | undefined
  readonly onPermissionsChanged?: ((version: number) => Promise<void>) | undefined
}

type BackendLink = Channel<GatewayDuties, BackendDuties>

const pauses = { firstMs: 50, longestMs: 500 }
const connectMs = 3000
const pingMs = 5000
const observeMs = 3000
/** Requests wait for back ends that restart; a balancer need not hear of it before that. */
const graceMs = 20_000

export class RemoteBackends implements Embedded {
  readonly #options: RemoteOptions
  /** Each address is asked by itself, so that one without answer delays no other. */
  readonly #backOffs: ReadonlyMap<string, BackOff>
  #link: BackendLink | undefined
  /** Socket of the link, or of one that is about to begin. */
  #socket: Socket | undefined
  #address: string | undefined
  #ping: NodeJS.Timeout | undefined
  #grace: NodeJS.Timeout | undefined
  #isListening = false
  #isClosed = false
  #version = 0
  /** The failures that were logged since the last link, so that equal ones are not. */
  readonly #logged = new Set<string>()

  constructor(options: RemoteOptions) {
    this.#options = options
    this.#backOffs = new Map(
      options.place.baseUrls.map((baseUrl) => [baseUrl, new BackOff(pauses)]),
    )
    for (const baseUrl of options.place.baseUrls) this.#connect(baseUrl)
  }

  /** They may come much later, after a start that a service manager would give up: until then requests wait, and `/readyz` answers 503. */
  readonly ready = Promise.resolve()

  isListening(): boolean {
    return this.#isListening
  }

  address(): string | undefined {
    return this.#address
  }

  /** Without a link changes are not heard of, so that no earlier decision counts. */
  permissionVersion(): number {
    return this.#link === undefined ? ++this.#version : this.#version
  }

  async observe(): Promise<BackendState | undefined> {
    return within(
      observeMs,
      this.#link?.ask('observe', null).catch(() => undefined) ?? Promise.resolve(undefined),
    )
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const backOff of this.#backOffs.values()) backOff.cancel()
    clearInterval(this.#ping)
    clearTimeout(this.#grace)
    this.#socket?.destroy()
  }

  #connect(baseUrl: string): void {
    const { key } = this.#options.place
    const { request, tls } = baseUrl.startsWith('https:')
      ? { request: https.request, tls: this.#options.tls }
      : { request: http.request, tls: {} }
    const asked = request(baseUrl, {
      ...tls,
      agent: false,
      timeout: connectMs,
      headers: {
        connection: 'Upgrade',
        upgrade: linkProtocol,
        ...(key !== undefined && { [backendKeyHeader]: key }),
      },
    })
    asked.on('upgrade', (_answer: IncomingMessage, socket: Socket, head: Buffer) => {
      // What came with the answer already.
      socket.unshift(head)
      this.#open(socket, baseUrl)
    })
    asked.on('response', (answer) => {
      answer.resume()
      const { statusCode = 0 } = answer
      const advice =
        statusCode === 401
          ? 'set the same backends.key here and there'
          : 'check services.embedded.baseUrl'
      this.#retry(baseUrl, `${baseUrl} answers with ${statusCode}: ${advice}`)
    })
    asked.on('timeout', () => asked.destroy(new Error(`no answer within ${connectMs} ms`)))
    asked.on('error', (error) =>
      this.#retry(baseUrl, `${baseUrl} cannot be reached: ${error.message}`),
    )
    asked.end()
  }

  #retry(baseUrl: string, reason: string): void {
    if (this.#isClosed || this.#socket !== undefined) return
    if (!this.#logged.has(reason))
      this.#options.log.warn({ reason }, 'the back ends are not there; requests wait for them')
    this.#logged.add(reason)
    this.#backOffs.get(baseUrl)?.startLater(() => this.#connect(baseUrl))
  }

  #open(socket: Socket, baseUrl: string): void {
    if (this.#isClosed || this.#socket !== undefined) return void socket.destroy()
    for (const backOff of this.#backOffs.values()) backOff.cancel()
    socket.setTimeout(0)
    const link: BackendLink = new Channel(socket, {
      begin: (state) => this.#begin(link, state, baseUrl),
      permissions: () => this.#notePermissions(),
    })
    this.#socket = socket
    socket.once('close', () => this.#lose())
    this.#ping = setInterval(() => void this.#check(link, socket), pingMs).unref()
  }

  #begin(link: BackendLink, { authorization, version }: LinkBegin, baseUrl: string): void {
    const { log, onChanged } = this.#options
    if (authorization !== this.#options.authorization) {
      const differs = authorization
        ? 'check permissions, and this gateway does not'
        : 'check no permissions, and this gateway does'
      log.error(`the back ends at ${baseUrl} ${differs}; give both the same login settings`)
      return void this.#socket?.destroy()
    }
    clearTimeout(this.#grace)
    this.#grace = undefined
    for (const backOff of this.#backOffs.values()) backOff.reset()
    this.#logged.clear()
    this.#link = link
    this.#address = baseUrl
    this.#isListening = true
    log.info({ address: baseUrl, version }, 'connected with the back ends')
    void this.#notePermissions()
    onChanged?.()
  }

  async #notePermissions(): Promise<void> {
    this.#version++
    await this.#options.onPermissionsChanged?.(this.#version)
  }

  async #check(link: BackendLink, socket: Socket): Promise<void> {
    const late = Symbol('late')
    const answer = await within(
      pingMs,
      link.ask('ping', null).catch(() => {}),
      () => late,
    )
    if (answer === late) socket.destroy()
  }

  #lose(): void {
    clearInterval(this.#ping)
    this.#link = undefined
    this.#socket = undefined
    this.#address = undefined
    if (this.#isClosed) return
    this.#grace ??= setTimeout(() => this.#noteAbsence(), graceMs).unref()
    this.#options.onChanged?.()
    for (const baseUrl of this.#options.place.baseUrls) this.#retry(baseUrl, 'the link broke off')
  }

  #noteAbsence(): void {
    this.#grace = undefined
    if (this.#link !== undefined) return
    this.#isListening = false
    this.#options.onChanged?.()
  }
}
