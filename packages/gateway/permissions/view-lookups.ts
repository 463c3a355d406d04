/**
 * Calls of the permission service: shared by concurrent requests, with retries and timeouts. A slow or dead service takes
 * neither the time of the requests nor the connections.
 */

import { elapsedMs } from '@fairlead/base/settings/time-span.ts'
import type { PermissionAnswer, PermissionView } from '@fairlead/model/rights/permissions.ts'
import type { FastifyBaseLogger } from 'fastify'
import type { PermissionSettings } from './settings.ts'

/** `mayPass`: asking again may help. */
export interface LookupResult {
  readonly answer: PermissionAnswer
  readonly mayPass: boolean
}

interface ViewLookupOptions {
  ask: (username: string, signal: AbortSignal) => Promise<LookupResult>
  /** Gets a view when it arrives, even if no request waits for it. */
  cache: (key: string, view: PermissionView, version: number) => void
  settings: Pick<PermissionSettings, 'lookupTimeoutMs' | 'retry'>
  /** Grows with every change of permissions that this process makes. */
  version: () => number
  /** The service restarts by itself: failures do not last. */
  comesBack: boolean
  log: FastifyBaseLogger
  /** Milliseconds since the epoch. */
  now: () => number
}

interface ViewQuestion {
  readonly username: string
  readonly version: number
}

interface Lookup extends ViewQuestion {
  readonly key: string
  readonly startedAtMs: number
  /** In flight, the oldest first: it may be answered late; the newest finds out whether the service is back. */
  readonly questions: Set<AbortController>
  backoffMs: number
  /** Resolves with the outcome, or when it is time to stop waiting. */
  turn: PromiseWithResolvers<void>
  timer?: NodeJS.Timeout
  givenUpAtMs?: number
  outcome?: PermissionAnswer
}

/** For this long after a failure the service counts as troubled: requests wait for a moment only, and failures are final. */
const failureMemoryMs = 10_000
/** Wait for a service that comes back, whatever the settings say. */
const comebackMs = 60_000
const momentMs = 1000
/** Concurrent lookups at a failing service: connections stay free for detecting that it is back. */
const maxWhileFailing = 10
/** A question is given up in the background, too, even where reads may take for ever. */
const longestQuestionMs = 300_000

export class ViewLookups {
  readonly #options: ViewLookupOptions
  /** Lookups without outcome, by user id. */
  readonly #lookups = new Map<string, Lookup>()
  readonly #timeoutMs: number
  readonly #momentMs: number
  #failedAtMs = Number.NEGATIVE_INFINITY
  #closed = false

  constructor(options: ViewLookupOptions) {
    this.#options = options
    const { lookupTimeoutMs } = options.settings
    this.#timeoutMs = options.comesBack ? Math.max(comebackMs, lookupTimeoutMs) : lookupTimeoutMs
    this.#momentMs = Math.min(momentMs, lookupTimeoutMs)
  }

  get isFailing(): boolean {
    return (
      !this.#options.comesBack && elapsedMs(this.#options.now(), this.#failedAtMs) < failureMemoryMs
    )
  }

  async find(key: string, question: ViewQuestion): Promise<PermissionAnswer> {
    const known = this.#lookups.get(key)
    if (known !== undefined && known.version < question.version)
      return this.#findAfter(known, question)
    const lookup = known ?? this.#start(key, question.username)
    if (lookup === undefined) return this.#findAfterOthers(key, question)
    if (lookup.givenUpAtMs !== undefined) {
      if (elapsedMs(this.#options.now(), lookup.givenUpAtMs) < this.#momentMs) return silent()
      this.#askAgain(lookup)
    }
    await lookup.turn.promise
    return lookup.outcome ?? silent()
  }

  /** A pending lookup serves the requests that already wait for it, no later ones. */
  forget(key: string): void {
    this.#lookups.delete(key)
  }

  forgetAll(): void {
    this.#lookups.clear()
  }

  /** The service was found not to answer; until it does, it counts as troubled. */
  noteFailure(cause: unknown): void {
    const known = this.isFailing
    this.#failedAtMs = this.#options.now()
    if (known || this.#closed) return
    this.#options.log.warn(
      { err: cause },
      'the permission service does not answer; users without a cached view have to wait',
    )
    const waiting = [...this.#lookups.values()]
    for (const lookup of waiting.slice(maxWhileFailing)) this.#drop(lookup)
    for (const lookup of waiting.slice(0, maxWhileFailing))
      if (lookup.givenUpAtMs === undefined) this.#limitWait(lookup)
  }

  close(): void {
    this.#closed = true
    for (const lookup of this.#lookups.values()) this.#drop(lookup)
  }

  async #findAfter(earlier: Lookup, question: ViewQuestion): Promise<PermissionAnswer> {
    await earlier.turn.promise
    // A lookup without waiting requests makes room.
    if (this.#lookups.get(earlier.key) === earlier) this.#lookups.delete(earlier.key)
    return this.find(earlier.key, question)
  }

  #start(key: string, username: string): Lookup | undefined {
    if (
      this.#closed ||
      (this.isFailing && this.#lookups.size >= maxWhileFailing && !this.#makeRoom())
    )
      return undefined
    const lookup: Lookup = {
      key,
      username,
      version: this.#options.version(),
      startedAtMs: performance.now(),
      questions: new Set(),
      backoffMs: this.#options.settings.retry.initialBackoffMs,
      turn: Promise.withResolvers(),
    }
    this.#lookups.set(key, lookup)
    this.#limitWait(lookup)
    this.#put(lookup)
    return lookup
  }

  /** Drops the newest lookup without waiting requests; a slow service may still answer the others. */
  #makeRoom(): boolean {
    const idle = [...this.#lookups.values()].findLast(
      ({ givenUpAtMs }) => givenUpAtMs !== undefined,
    )
    if (idle !== undefined) this.#drop(idle)
    return idle !== undefined
  }

  async #findAfterOthers(key: string, question: ViewQuestion): Promise<PermissionAnswer> {
    if (this.#closed) return silent()
    await Promise.race([...this.#lookups.values()].map(({ turn }) => turn.promise))
    return this.isFailing ? silent() : this.find(key, question)
  }

  /** The connection of the first question may be dead although the service lives. */
  #askAgain(lookup: Lookup): void {
    lookup.givenUpAtMs = undefined
    lookup.turn = Promise.withResolvers()
    this.#limitWait(lookup)
    for (const later of [...lookup.questions].slice(1)) later.abort()
    this.#put(lookup)
  }

  #limitWait(lookup: Lookup): void {
    clearTimeout(lookup.timer)
    const forMs = this.isFailing ? this.#momentMs : this.#timeoutMs
    lookup.timer = setTimeout(() => {
      lookup.givenUpAtMs = this.#options.now()
      lookup.turn.resolve()
      this.noteFailure(new Error(`no answer about ${lookup.username} within ${forMs} ms`))
    }, forMs).unref()
  }

  #put(lookup: Lookup): void {
    const question = new AbortController()
    const limit = setTimeout(() => question.abort(), longestQuestionMs).unref()
    lookup.questions.add(question)
    void this.#options.ask(lookup.username, question.signal).then((asked) => {
      clearTimeout(limit)
      lookup.questions.delete(question)
      if (lookup.outcome !== undefined) return
      if (asked.answer.kind === 'unavailable') this.#takeFailure(lookup, asked)
      else this.#takeAnswer(lookup, asked.answer)
    })
  }

  #takeAnswer(lookup: Lookup, answer: PermissionAnswer): void {
    if (this.isFailing) this.#options.log.info('the permission service answers again')
    this.#failedAtMs = Number.NEGATIVE_INFINITY
    const isCurrent = this.#lookups.get(lookup.key) === lookup
    if (isCurrent && answer.kind === 'view')
      this.#options.cache(lookup.key, answer.view, lookup.version)
    this.#settle(lookup, answer)
  }

  #takeFailure(lookup: Lookup, { answer, mayPass }: LookupResult): void {
    if (lookup.questions.size > 0) return
    const { backoffMs } = lookup
    const { maxElapsedMs, multiplier } = this.#options.settings.retry
    const isInTime = performance.now() - lookup.startedAtMs + backoffMs <= maxElapsedMs
    if (mayPass && isInTime && !this.isFailing && !this.#closed) {
      lookup.backoffMs *= multiplier
      setTimeout(() => {
        if (lookup.outcome === undefined && lookup.questions.size === 0) this.#put(lookup)
      }, backoffMs).unref()
      return
    }
    this.#settle(lookup, answer)
    const cause = answer.kind === 'unavailable' ? answer.cause : undefined
    if (mayPass) this.noteFailure(cause)
    else
      this.#options.log.warn(
        { err: cause, user: lookup.username },
        'what a user may do cannot be read',
      )
  }

  #settle(lookup: Lookup, outcome: PermissionAnswer): void {
    clearTimeout(lookup.timer)
    lookup.outcome = outcome
    if (this.#lookups.get(lookup.key) === lookup) this.#lookups.delete(lookup.key)
    for (const question of lookup.questions) question.abort()
    lookup.turn.resolve()
  }

  #drop(lookup: Lookup): void {
    this.#settle(lookup, silent())
  }
}

function silent(): PermissionAnswer {
  return { kind: 'unavailable', cause: new Error('the permission service does not answer') }
}
