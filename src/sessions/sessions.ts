/** Sessions: found by cookie, started and ended, with a short cache. */
import { hash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { BoundedMap } from '../caches/bounded-map.ts'
import { createCache, type ExpiringCache } from '../caches/expiring-cache.ts'
import { GatewayError } from '../errors.ts'
import { toUserKey } from '../names/user-name.ts'
import type { Redis } from '../redis/redis.ts'
import { RedisSessionStore } from './redis-session-store.ts'
import { formatSession, parseSession, type Session, type SessionContent } from './session.ts'
import { type CookieRules, formatClearedCookie, formatSessionCookie, parseSessionCookie } from './session-cookie.ts'
import { askStore, type SessionRange, type SessionStore, type StoredSession } from './session-store.ts'
import type { SessionSettings } from './settings.ts'
import { openSqliteSessionStore } from './sqlite-session-store.ts'

interface SessionsOptions {
  settings: SessionSettings
  store: SessionStore
  /** Empty, or a prefix such as `/api/v1`. */
  contextPath: string
  log: FastifyBaseLogger
  /** Called for every session that starts. */
  onStarted?: (() => void) | undefined
  /** Milliseconds since the epoch. */
  now?: () => number
}

/** A session that was just started, with the identifier that only the browser gets to keep. */
interface StartedSession {
  readonly session: Session
  readonly id: string
}

/** A session as its user sees it in a list. */
export interface UserSession {
  /** Names the session and opens nothing: the beginning of its key. */
  readonly id: string
  readonly key: string
  readonly content: SessionContent
  /** Milliseconds since the epoch, to about a minute; earlier than the truth close to the absolute limit. */
  readonly lastUseMs: number
}

const shownLength = 24
const shownId = /^[0-9a-f]{24}$/

/** How long this process answers from memory; for as long, a session ended by another replica may still be seen here. */
const cacheMs = 3000
const maxCached = 10_000
/** A user may send any cookies besides, so few and short headers are kept. */
const maxKnownHeaders = 4096
const maxKnownHeader = 1000

interface CacheEntry {
  /** Undefined: ended here, so that a slower reader of the store does not bring it back. */
  readonly session: Session | undefined
}

export class Sessions {
  readonly #settings: SessionSettings
  readonly #store: SessionStore
  readonly cookieRules: CookieRules
  readonly #log: FastifyBaseLogger
  readonly #onStarted: () => void
  readonly #now: () => number
  readonly #cache: ExpiringCache<CacheEntry>
  /** Keys of live sessions by the whole header that led to them: a request that repeats it is neither parsed nor hashed. */
  readonly #keys = new BoundedMap<string, string>(maxKnownHeaders)
  #endings = 0

  constructor({ settings, store, contextPath, log, onStarted = () => {}, now = Date.now }: SessionsOptions) {
    this.#settings = settings
    this.#store = store
    this.cookieRules = { settings: settings.cookie, contextPath }
    this.#log = log
    this.#onStarted = onStarted
    this.#now = now
    this.#cache = createCache({ maxSize: maxCached, ttlMs: cacheMs, now })
  }

  /**
   * The live session of a `Cookie` header. An unreadable cookie is no session.
   *
   * @returns at once while the session is cached
   * @throws {GatewayError} SESSIONS_UNAVAILABLE when the store cannot be asked, BAD_ARGUMENT for sessions of several users
   */
  find(cookieHeader: string | undefined): Session | undefined | Promise<Session | undefined> {
    if (cookieHeader === undefined) return undefined
    const key = this.#keys.get(cookieHeader)
    const session = key === undefined ? undefined : this.#cache.get(key)?.session
    if (session === undefined) return this.#search(cookieHeader)
    const nowMs = this.#now()
    const counts = session.expiresAtMs > nowMs && !this.#isTooOld(session.content, nowMs)
    return counts && !this.#needsTouch(session, nowMs) ? session : this.#search(cookieHeader)
  }

  /** A browser may send cookies of other paths and domains; another site of the domain may have placed one that belongs to its own user. */
  async #search(cookieHeader: string): Promise<Session | undefined> {
    const { name } = this.#settings.cookie
    let found: Session | undefined
    for (const id of parseSessionCookie(cookieHeader, name)) {
      const session = await this.#load(toKey(id))
      if (found !== undefined && session !== undefined && !isSameUser(found, session)) throw severalUsers(name)
      found ??= session
    }
    if (found !== undefined && cookieHeader.length <= maxKnownHeader) this.#keys.set(cookieHeader, found.key)
    return found
  }

  /** Whether a session has not ended; it is not prolonged. @throws {GatewayError} SESSIONS_UNAVAILABLE */
  async isLive({ key }: Session): Promise<boolean> {
    const session = await this.#read(key)
    const nowMs = this.#now()
    return session !== undefined && session.expiresAtMs > nowMs && !this.#isTooOld(session.content, nowMs)
  }

  /** How often sessions were ended by this process. */
  get endings(): number {
    return this.#endings
  }

  /** Starts a session under a fresh identifier; one that a client chose is never adopted. @throws SESSIONS_UNAVAILABLE */
  async start(content: SessionContent): Promise<StartedSession> {
    const id = randomBytes(32).toString('base64url')
    const session = this.#toSession(toKey(id), content)
    await askStore(() => this.#store.insert(session.key, toStored(session)))
    this.#setCached(session.key, session)
    this.#onStarted()
    await this.#endSurplus(session)
    return { session, id }
  }

  /** A login does not fail because older sessions could not be ended. */
  async #endSurplus({ key, content }: Session): Promise<void> {
    const { maxPerUser } = this.#settings
    if (maxPerUser === undefined) return
    try {
      const ended = await this.#store.removeOf(ownerOf(content), { newest: maxPerUser, key })
      if (ended.length === 0) return
      for (const one of ended) this.#setCached(one, undefined)
      this.#log.info({ user: content.user.username, ended: ended.length }, 'a user had too many sessions: the oldest were ended')
    } catch (error) {
      this.#log.warn({ err: error }, 'the oldest sessions of a user could not be ended')
    }
  }

  /** Ends `old` and starts another session with a new identifier: what a login does. @throws SESSIONS_UNAVAILABLE */
  async replace(old: Session | undefined, content: SessionContent): Promise<StartedSession> {
    if (old !== undefined) await this.end(old)
    return this.start(content)
  }

  /** @throws {GatewayError} SESSIONS_UNAVAILABLE */
  async end(session: Session): Promise<void> {
    await askStore(() => this.#store.remove(session.key, ownerOf(session.content)))
    this.#setCached(session.key, undefined)
  }

  /**
   * Live sessions of a user, the one used last first. There may be more as long as `next` is given.
   *
   * @throws {GatewayError} SESSIONS_UNAVAILABLE
   */
  async listOf(username: string, { offset, limit }: SessionRange): Promise<{ sessions: UserSession[]; next?: number }> {
    const stored = await askStore(() => this.#store.listOf(toUserKey(username), { offset, limit: limit + 1 }))
    const sessions = this.#toList([...stored].slice(0, limit))
    return stored.size > limit ? { sessions, next: offset + limit } : { sessions }
  }

  #toList(stored: readonly (readonly [string, StoredSession])[]): UserSession[] {
    return stored.flatMap(([key, { content: text, expiresAtMs }]) => {
      const content = parseSession(key, text)
      const nowMs = this.#now()
      if (content === undefined || expiresAtMs <= nowMs || this.#isTooOld(content, nowMs)) return []
      const lastUseMs = Math.max(content.loggedInAtMs ?? 0, expiresAtMs - this.#settings.idleMs)
      return [{ id: key.slice(0, shownLength), key, content, lastUseMs: Math.min(lastUseMs, nowMs) }]
    })
  }

  /** Ends one session of a user, by the `id` of `listOf`; false when there is none. @throws {GatewayError} SESSIONS_UNAVAILABLE */
  async endOne(username: string, id: string): Promise<boolean> {
    if (!shownId.test(id)) return false
    const owner = toUserKey(username)
    const key = await askStore(() => this.#store.findKey(owner, id))
    if (key === undefined) return false
    await askStore(() => this.#store.remove(key, owner))
    this.#setCached(key, undefined)
    return true
  }

  /** Ends all sessions of a user but one, and says how many there were. @throws {GatewayError} SESSIONS_UNAVAILABLE */
  async endOthers(username: string, exceptKey: string | undefined): Promise<number> {
    for (let count = 0; ; ) {
      const ended = await askStore(() => this.#store.removeOf(toUserKey(username), { newest: 0, key: exceptKey }))
      if (ended.length === 0) return count
      for (const key of ended) this.#setCached(key, undefined)
      count += ended.length
      // Requests get their turn in between.
      await setImmediate()
    }
  }

  /** Logs all users out and returns the number of their sessions. @throws {GatewayError} SESSIONS_UNAVAILABLE */
  async endAll(): Promise<number> {
    const ended = await askStore(() => this.#store.removeAll())
    this.#forgetAll()
    return ended
  }

  /** How many are live; undefined where the store cannot tell cheaply, or at present. */
  count(): number | undefined {
    try {
      return this.#store.count?.()
    } catch (error) {
      this.#log.warn({ err: error }, 'the sessions could not be counted')
      return undefined
    }
  }

  /** The value of `Set-Cookie`. `secure`: the browser's connection is TLS. */
  cookie(id: string, secure: boolean): string {
    return formatSessionCookie(id, secure, this.cookieRules)
  }

  clearedCookie(secure: boolean): string {
    return formatClearedCookie(secure, this.cookieRules)
  }

  close(): void | Promise<void> {
    return this.#store.close()
  }

  async #load(key: string): Promise<Session | undefined> {
    const session = await this.#read(key)
    const nowMs = this.#now()
    if (session === undefined || session.expiresAtMs <= nowMs || this.#isTooOld(session.content, nowMs)) return undefined
    return this.#touch(session, nowMs)
  }

  async #read(key: string): Promise<Session | undefined> {
    const before = this.#cache.get(key)
    if (before !== undefined) return before.session
    const stored = await askStore(() => this.#store.load(key))
    const meanwhile = this.#cache.get(key)
    if (meanwhile !== undefined && meanwhile.session === undefined) return undefined
    const content = stored && parseSession(key, stored.content)
    if (stored === undefined || content === undefined) return undefined
    const session: Session = { key, content, expiresAtMs: stored.expiresAtMs }
    this.#setCached(key, session)
    return session
  }

  /** The end is moved in memory at once, and in the store only when that is worth a write. */
  async #touch(session: Session, nowMs: number): Promise<Session | undefined> {
    const expiresAtMs = this.#endOf(session.content, nowMs)
    if (!this.#needsTouch(session, nowMs)) return session
    const touched = { ...session, expiresAtMs }
    try {
      if (!(await this.#store.touch(session.key, { expiresAtMs, owner: ownerOf(session.content) }))) {
        this.#setCached(session.key, undefined)
        return undefined
      }
    } catch (error) {
      this.#log.warn({ err: error }, 'the session store did not take a sign of life')
      return session
    }
    if (this.#cache.get(session.key)?.session !== undefined) this.#setCached(session.key, touched)
    return touched
  }

  #needsTouch({ content, expiresAtMs }: Session, nowMs: number): boolean {
    return this.#endOf(content, nowMs) - expiresAtMs >= Math.min(60_000, this.#settings.idleMs / 20)
  }

  #toSession(key: string, content: SessionContent): Session {
    return { key, content, expiresAtMs: this.#endOf(content, this.#now()) }
  }

  #endOf(content: SessionContent, nowMs: number): number {
    const idleEnd = nowMs + this.#settings.idleMs
    const { absoluteMs } = this.#settings
    return absoluteMs === undefined || content.loggedInAtMs === undefined
      ? idleEnd
      : Math.min(idleEnd, content.loggedInAtMs + absoluteMs)
  }

  /** Checked against the settings of today, in case the limit was lowered since. */
  #isTooOld(content: SessionContent, nowMs: number): boolean {
    const { absoluteMs } = this.#settings
    return absoluteMs !== undefined && content.loggedInAtMs !== undefined && content.loggedInAtMs + absoluteMs <= nowMs
  }

  #forgetAll(): void {
    this.#endings++
    for (const key of [...this.#cache.keys()]) this.#setCached(key, undefined)
  }

  #setCached(key: string, session: Session | undefined): void {
    if (session === undefined) this.#endings++
    this.#cache.set(key, { session })
  }
}

/** Sessions in the Redis that replicas share, or else in the data directory, file `sessions.db`. */
export function openSessions(options: Omit<SessionsOptions, 'store'> & { dataDir: string; redis?: Redis }): Sessions {
  const { settings, dataDir, redis, log, now = Date.now } = options
  const store =
    redis === undefined
      ? openSqliteSessionStore(join(dataDir, 'sessions.db'), { log, now })
      : new RedisSessionStore(redis, { idleMs: settings.idleMs, now })
  return new Sessions({ ...options, store })
}

function toKey(id: string): string {
  return hash('sha256', id, 'hex')
}

function toStored({ key, content, expiresAtMs }: Session): StoredSession {
  return { content: formatSession(key, content), expiresAtMs, owner: ownerOf(content) }
}

function ownerOf({ user }: SessionContent): string {
  return toUserKey(user.username)
}

function isSameUser(one: Session, other: Session): boolean {
  return toUserKey(one.content.user.username) === toUserKey(other.content.user.username)
}

/** No login: its cookie would stand beside the others again. */
function severalUsers(name: string): GatewayError {
  return new GatewayError(
    'BAD_ARGUMENT',
    `The browser sends cookies ${name} of sessions of several users. Delete the cookies of this site and of its parent domains, and log in again.`,
  )
}
