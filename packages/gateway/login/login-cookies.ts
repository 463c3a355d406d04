/**
 * State of a login under way, in sealed cookies of the browser: the requested address, and the values to compare when the identity
 * provider sends the browser back. So nothing is stored without a login, and tabs do not overwrite each other.
 */
import { hash } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type Cookie, readCookies, setCookie } from '../http/cookies.ts'
import type { RequestState } from '../http/request-state.ts'
import { type CookieRules, formatLoginCookie } from '../sessions/session-cookie.ts'
import { askStore } from '../sessions/sessions.ts'
import type { LoginSecrets } from './login-keys.ts'
import type { SavedRequest } from './saved-request.ts'
import { seal, unseal } from './seal.ts'

/** A login that was started at an identity provider and has not come back yet; never a token. */
export interface PendingLogin {
  readonly method: string
  /** Milliseconds since the epoch. */
  readonly startedAtMs: number
  readonly values: Readonly<Record<string, string>>
}

interface LoginCookiesOptions {
  rules: CookieRules
  keys: LoginSecrets
  now: () => number
}

const ReturnTarget = z.object({
  path: z.string().startsWith('/'),
  isReturn: z.boolean(),
  untilMs: z.number(),
})
type ReturnTarget = z.infer<typeof ReturnTarget>

const Pending = z.object({
  method: z.string(),
  startedAtMs: z.number(),
  values: z.record(z.string(), z.string()),
  target: z.string().startsWith('/').optional(),
  untilMs: z.number(),
})
type Pending = z.infer<typeof Pending>

/** A browser sends several cookies of one name when domains or paths overlap. */
const maxCandidates = 3
/** Cookies of pending logins; more than these were not set by Fairlead. */
const maxPendingRead = 20
const lifetimeMs = 60 * 60_000
/**
 * Proxies read responses into buffers of 4 KB and requests into such of 8 KB, all cookies included. A target that does not fit is
 * dropped: the login then leads to the web UI.
 */
const limits = {
  targetPath: 1800,
  pendingCookie: 1024,
  allPending: 4096,
  pendingLogins: 10,
} as const

export class LoginCookies {
  readonly #options: LoginCookiesOptions

  constructor(options: LoginCookiesOptions) {
    this.#options = options
  }

  /** Keeps where a browser wanted to go. A page that the web UI has asked for stays. @throws {GatewayError} SESSIONS_UNAVAILABLE */
  async saveTarget(request: FastifyRequest, { path, isReturn }: SavedRequest): Promise<void> {
    if (
      path.length > limits.targetPath ||
      (!isReturn && (await this.#readTarget(request))?.isReturn)
    )
      return
    const target: ReturnTarget = { path, isReturn, untilMs: this.#options.now() + lifetimeMs }
    this.#set(request, this.#targetName, await this.#seal(this.#targetName, target))
  }

  /** The page that the browser requested; undefined when unknown. @throws {GatewayError} SESSIONS_UNAVAILABLE */
  async findTarget(request: FastifyRequest): Promise<string | undefined> {
    return (await this.#readTarget(request))?.path
  }

  forgetTarget(request: FastifyRequest): void {
    this.#clear(request, this.#targetName)
  }

  /** Keeps what has to be compared when the provider sends the browser back. @throws {GatewayError} SESSIONS_UNAVAILABLE */
  async remember(
    request: FastifyRequest,
    id: string,
    { method, startedAtMs, values }: PendingLogin,
  ): Promise<void> {
    const name = this.#pendingName(id)
    const pending: Pending = {
      method,
      startedAtMs,
      values: { ...values },
      untilMs: this.#options.now() + lifetimeMs,
    }
    const target = await this.findTarget(request)
    const complete = await this.#seal(name, { ...pending, target })
    const value =
      complete.length <= limits.pendingCookie ? complete : await this.#seal(name, pending)
    await this.#makeRoom(request, value.length)
    this.#set(request, name, value)
  }

  /** A login that this browser has under way, and where it shall lead if that is known. @throws {GatewayError} SESSIONS_UNAVAILABLE */
  async find(
    request: FastifyRequest,
    id: string,
  ): Promise<{ pending: PendingLogin; target: string | undefined } | undefined> {
    const pending = await this.#read(request, this.#pendingName(id), Pending)
    return pending && { pending, target: pending.target ?? (await this.findTarget(request)) }
  }

  forget(request: FastifyRequest, id: string): void {
    this.#clear(request, this.#pendingName(id))
  }

  get #targetName(): string {
    return `${this.#options.rules.settings.name}_TARGET`
  }

  get #pendingPrefix(): string {
    return `${this.#options.rules.settings.name}_LOGIN_`
  }

  #pendingName(id: string): string {
    return this.#pendingPrefix + hash('sha256', id, 'base64url').slice(0, 16)
  }

  #readTarget(request: FastifyRequest): Promise<ReturnTarget | undefined> {
    return this.#read(request, this.#targetName, ReturnTarget)
  }

  /** Tabs that were left alone do not add up: the oldest give way. */
  async #makeRoom(request: FastifyRequest, bytes: number): Promise<void> {
    const sent = readCookies(request.headers.cookie, (name) =>
      name.startsWith(this.#pendingPrefix),
    ).slice(0, maxPendingRead)
    const started = await Promise.all(
      sent.map(async (cookie) => (await this.#open(cookie, Pending))?.startedAtMs ?? 0),
    )
    const newestFirst = sent.map((cookie, index) => ({
      ...cookie,
      startedAtMs: started[index] ?? 0,
    }))
    newestFirst.sort((a, b) => b.startedAtMs - a.startedAtMs)
    let allBytes = bytes
    newestFirst.forEach(({ name, value }, index) => {
      allBytes += name.length + value.length
      if (index + 1 >= limits.pendingLogins || allBytes > limits.allPending)
        this.#clear(request, name)
    })
  }

  async #read<T extends { untilMs: number }>(
    request: FastifyRequest,
    name: string,
    schema: z.ZodType<T>,
  ): Promise<T | undefined> {
    for (const cookie of this.#sent(request, name).slice(0, maxCandidates)) {
      const content = await this.#open(cookie, schema)
      if (content !== undefined) return content
    }
    return undefined
  }

  /** Undefined for what Fairlead has not sealed, and for what is too old. */
  async #open<T extends { untilMs: number }>(
    { name, value }: Cookie,
    schema: z.ZodType<T>,
  ): Promise<T | undefined> {
    const text = await askStore(() => unseal(this.#options.keys, name, value))
    const content = text === undefined ? undefined : schema.safeParse(JSON.parse(text)).data
    return content !== undefined && content.untilMs > this.#options.now() ? content : undefined
  }

  #sent(request: FastifyRequest, name: string): Cookie[] {
    return readCookies(request.headers.cookie, (one) => one === name)
  }

  #seal(name: string, content: unknown): Promise<string> {
    return askStore(() => seal(this.#options.keys, name, JSON.stringify(content)))
  }

  #set({ state }: FastifyRequest, name: string, value: string): void {
    this.#send(state, { name, value, maxAgeSeconds: lifetimeMs / 1000 })
  }

  /** Only what the browser has: others need not learn that there is such a cookie. */
  #clear(request: FastifyRequest, name: string): void {
    if (this.#sent(request, name).length > 0)
      this.#send(request.state, { name, value: '', maxAgeSeconds: 0 })
  }

  #send(state: RequestState, cookie: Parameters<typeof formatLoginCookie>[0]): void {
    setCookie(state, formatLoginCookie(cookie, state.scheme === 'https', this.#options.rules))
  }
}
