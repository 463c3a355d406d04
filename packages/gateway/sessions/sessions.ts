/** Sessions: found by cookie, started and ended, with a short cache. */
import { hash, randomBytes } from 'node:crypto'
import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { BoundedMap } from '@fairlead/base/caches/bounded-map.ts'
import { createCache, type ExpiringCache } from '@fairlead/base/caches/expiring-cache.ts'
import { GatewayError } from '@fairlead/base/errors.ts'
import { toUserKey } from '@fairlead/base/names/user-name.ts'
import type { Redis } from '@fairlead/base/redis/redis.ts'
import { RedisRecords } from '@fairlead/base/redis/redis-records.ts'
import { storageFaultOf } from '@fairlead/base/storage/database-fault.ts'
import type { NewRecord, Records } from '@fairlead/base/storage/records.ts'
import { openSqliteRecords } from '@fairlead/base/storage/sqlite-records.ts'
import type { FastifyBaseLogger } from 'fastify'
import { formatSession, parseSession, type Session, type SessionContent } from './session.ts'
import {
  type CookieRules,
  formatClearedCookie,
  formatSessionCookie,
  parseSessionCookie,
} from './session-cookie.ts'
import type { SessionSettings } from './settings.ts'

interface SessionsOptions {
  settings: SessionSettings
  /** By the hash of the identifier, in the list of the user: a stolen copy opens no session. */
  store: Records
  contextPath: string
  log: FastifyBaseLogger
  onStarted?: (() => void) | undefined
  now?: () => number
}

interface StartedSession {
  readonly session: Session
  readonly id: string
}

export interface UserSession {
  /** Names the session and opens nothing: the beginning of its key. */
  readonly id: string
  readonly key: string
  readonly content: SessionContent
  /** Milliseconds since the epoch, to about a minute; earlier than the truth close to the absolute limit. */
  readonly lastUseMs: number
}

interface SessionRange {
  readonly offset: number
  readonly limit: number
}

const shownLength = 24
const shownId = /^[0-9a-f]{24}$/

/** How long this process answers from memory; for as long, a session ended by another replica may still be seen here. */
const cacheMs = 3000
/** Sessions that are ended in one step, as requests wait meanwhile. */
const endedAtOnce = 500
const searchedAtOnce = 1000
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
  readonly #store: Records
  readonly cookieRules: CookieRules
  readonly #log: FastifyBaseLogger
  readonly #onStarted: () => void
  readonly #now: () => number
  readonly #cache: ExpiringCache<CacheEntry>
  /** Keys of live sessions by the whole header that led to them: a request that repeats it is neither parsed nor hashed. */
  readonly #keys = new BoundedMap<string, string>(maxKnownHeaders)
  #endings = 0

  constructor({
    settings,
    store,
    contextPath,
    log,
    onStarted = () => {},
    now = Date.now,
  }: SessionsOptions) {
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
    return this.#isLiveAt(session, nowMs) && !this.#needsTouch(session, nowMs)
      ? session
      : this.#search(cookieHeader)
  }

  /** A browser may send cookies of other paths and domains; another site of the domain may have placed one that belongs to its own user. */
  async #search(cookieHeader: string): Promise<Session | undefined> {
    const { name } = this.#settings.cookie
    let found: Session | undefined
    for (const id of parseSessionCookie(cookieHeader, name)) {
      const session = await this.#load(toKey(id))
      if (found !== undefined && session !== undefined && !isSameUser(found, session))
        throw severalUsers(name)
      found ??= session
    }
    if (found !== undefined && cookieHeader.length <= maxKnownHeader)
      this.#keys.set(cookieHeader, found.key)
    return found
  }

  async isLive({ key }: Session): Promise<boolean> {
    const session = await this.#read(key)
    const nowMs = this.#now()
    return session !== undefined && this.#isLiveAt(session, nowMs)
  }

  get endings(): number {
    return this.#endings
  }

  /** Starts a session under a fresh identifier; one that a client chose is never adopted. @throws SESSIONS_UNAVAILABLE */
  async start(content: SessionContent): Promise<StartedSession> {
    const id = randomBytes(32).toString('base64url')
    const session = this.#toSession(toKey(id), content)
    await askStore(() => this.#store.put(session.key, toRecord(session)))
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
      const ended = await this.#endOldest(ownerOf(content), maxPerUser, key)
      if (ended === 0) return
      this.#log.info(
        { user: content.user.username, ended },
        'a user had too many sessions: the oldest were ended',
      )
    } catch (error) {
      this.#log.warn({ err: error }, 'the oldest sessions of a user could not be ended')
    }
  }

  /** Ends `old` and starts another session with a new identifier: what a login does. @throws SESSIONS_UNAVAILABLE */
  async replace(old: Session | undefined, content: SessionContent): Promise<StartedSession> {
    if (old !== undefined) await this.end(old)
    return this.start(content)
  }

  async end(session: Session): Promise<void> {
    await askStore(() => this.#store.remove([session.key], ownerOf(session.content)))
    this.#setCached(session.key, undefined)
  }

  /**
   * Live sessions of a user, the one used last first. There may be more as long as `next` is given.
   *
   * @throws {GatewayError} SESSIONS_UNAVAILABLE
   */
  async ofUser(
    username: string,
    { offset, limit }: SessionRange,
  ): Promise<{ sessions: UserSession[]; next?: number }> {
    const keys = await askStore(() => this.#store.keysOf(toUserKey(username), offset, limit + 1))
    const listed = await Promise.all(keys.slice(0, limit).map((key) => this.#toListed(key)))
    const sessions = listed.filter((session) => session !== undefined)
    return keys.length > limit ? { sessions, next: offset + limit } : { sessions }
  }

  async #toListed(key: string): Promise<UserSession | undefined> {
    const session = await this.#fetch(key)
    const nowMs = this.#now()
    if (session === undefined || !this.#isLiveAt(session, nowMs)) return undefined
    const { content, expiresAtMs } = session
    const lastUseMs = Math.max(content.loggedInAtMs ?? 0, expiresAtMs - this.#settings.idleMs)
    return { id: key.slice(0, shownLength), key, content, lastUseMs: Math.min(lastUseMs, nowMs) }
  }

  async endOne(username: string, id: string): Promise<boolean> {
    if (!shownId.test(id)) return false
    const owner = toUserKey(username)
    for (let offset = 0; ; offset += searchedAtOnce) {
      const keys = await askStore(() => this.#store.keysOf(owner, offset, searchedAtOnce))
      const key = keys.find((one) => one.startsWith(id))
      if (key !== undefined) return (await this.#endAll([key], owner)) > 0
      if (keys.length < searchedAtOnce) return false
    }
  }

  async endOthers(username: string, exceptKey: string | undefined): Promise<number> {
    for (let count = 0; ; ) {
      const ended = await this.#endOldest(toUserKey(username), 0, exceptKey)
      if (ended === 0) return count
      count += ended
      await setImmediate()
    }
  }

  /** Ends at most 500 sessions of a user: all but those that end last, among which `key` counts. @returns how many */
  async #endOldest(owner: string, newest: number, key: string | undefined): Promise<number> {
    const others = key === undefined ? newest : Math.max(0, newest - 1)
    const found = await askStore(() => this.#store.keysOf(owner, others, endedAtOnce + 1))
    const rest = found.filter((one) => one !== key)
    // Where `key` is not among them it stands before them, in the place of another one that stays.
    const surplus =
      key !== undefined && others > 0 && rest.length === found.length ? rest.slice(1) : rest
    const ended = surplus.slice(0, endedAtOnce)
    if (ended.length > 0) await this.#endAll(ended, owner)
    return ended.length
  }

  async #endAll(keys: readonly string[], owner: string): Promise<number> {
    const count = await askStore(() => this.#store.remove(keys, owner))
    for (const key of keys) this.#setCached(key, undefined)
    return count
  }

  async endAll(): Promise<number> {
    const ended = await askStore(() => this.#store.removeAll())
    this.#forgetAll()
    return ended
  }

  /** How many are live; undefined where the store cannot tell cheaply, or at present. */
  count(): number | undefined {
    try {
      return this.#store.count()
    } catch (error) {
      this.#log.warn({ err: error }, 'the sessions could not be counted')
      return undefined
    }
  }

  cookie(id: string, secure: boolean): string {
    return formatSessionCookie(id, secure, this.cookieRules)
  }

  clearedCookie(secure: boolean): string {
    return formatClearedCookie(secure, this.cookieRules)
  }

  close(): void {
    this.#store.close()
  }

  async #load(key: string): Promise<Session | undefined> {
    const session = await this.#read(key)
    const nowMs = this.#now()
    if (session === undefined || !this.#isLiveAt(session, nowMs)) return undefined
    return this.#touch(session, nowMs)
  }

  async #read(key: string): Promise<Session | undefined> {
    const before = this.#cache.get(key)
    if (before !== undefined) return before.session
    const session = await this.#fetch(key)
    const meanwhile = this.#cache.get(key)
    if (meanwhile !== undefined && meanwhile.session === undefined) return undefined
    if (session !== undefined) this.#setCached(key, session)
    return session
  }

  async #fetch(key: string): Promise<Session | undefined> {
    const record = await askStore(() => this.#store.get(key))
    const content = record && parseSession(key, record.content)
    return content && { key, content, expiresAtMs: record.endsAtMs ?? Number.MAX_SAFE_INTEGER }
  }

  #isLiveAt({ content, expiresAtMs }: Session, nowMs: number): boolean {
    return expiresAtMs > nowMs && !this.#isTooOld(content, nowMs)
  }

  /** The end is moved in memory at once, and in the store only when that is worth a write. */
  async #touch(session: Session, nowMs: number): Promise<Session | undefined> {
    const expiresAtMs = this.#endOf(session.content, nowMs)
    if (!this.#needsTouch(session, nowMs)) return session
    const touched = { ...session, expiresAtMs }
    try {
      if (
        !(await this.#store.extend(session.key, {
          endsAtMs: expiresAtMs,
          owner: ownerOf(session.content),
        }))
      ) {
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
    return (
      absoluteMs !== undefined &&
      content.loggedInAtMs !== undefined &&
      content.loggedInAtMs + absoluteMs <= nowMs
    )
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

/** What operators delete, and what ends all sessions; Spring Session, as in a Gate, keeps its own there. */
const commonPrefix = 'spring:session'
const prefix = `${commonPrefix}:fairlead:`

/** Sessions in the Redis that replicas share, or else in the data directory, file `sessions.db`. */
export function openSessions(
  options: Omit<SessionsOptions, 'store'> & { dataDir: string; redis?: Redis },
): Sessions {
  const { settings, dataDir, redis, log, now = Date.now } = options
  const store =
    redis === undefined
      ? openFile(join(dataDir, 'sessions.db'), log, now)
      : createRedisSessions(redis, { idleMs: settings.idleMs, now })
  return new Sessions({ ...options, store })
}

export function createRedisSessions(
  redis: Redis,
  { idleMs, now }: { idleMs: number; now: () => number },
): Records {
  const toKey = (owner: string) => hash('sha256', owner, 'hex')
  return new RedisRecords(redis, {
    prefix,
    commonPrefix,
    now,
    lists: { prefix: `${prefix}of:`, toKey, lifeMs: idleMs },
  })
}

/** A damaged database costs users a login, not the start of the gateway. */
function openFile(file: string, log: FastifyBaseLogger, now: () => number): Records {
  // Another layout of the content gets another table: what a different version has written is neither read nor in the way.
  const open = () => openSqliteRecords(file, 'sessions_2', { log, now })
  try {
    return open()
  } catch (error) {
    if (storageFaultOf((error as Error).cause ?? {}) !== 'damaged') throw error
    const aside = `${file}.unreadable`
    renameSync(file, aside)
    for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true })
    log.warn(
      { err: error, file, aside },
      'the session file was unreadable and has been put aside; users have to log in again',
    )
    return open()
  }
}

export async function askStore<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question()
  } catch (cause) {
    throw new GatewayError(
      'SESSIONS_UNAVAILABLE',
      'The session store does not answer. Try again in a moment.',
      { cause },
    )
  }
}

function toKey(id: string): string {
  return hash('sha256', id, 'hex')
}

function toRecord({ key, content, expiresAtMs }: Session): NewRecord {
  return { content: formatSession(key, content), endsAtMs: expiresAtMs, owner: ownerOf(content) }
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
