/** How the watches of one cluster come back after a loss: one goes ahead, the others follow, and not all at once. */
import { setTimeout as sleep } from 'node:timers/promises'
import { backOffMs } from '@fairlead/base/concurrency/back-off.ts'
import { ConcurrencyLimit } from '@fairlead/base/stores/in-turns.ts'

export interface RecoveryLimits {
  /** Pauses between attempts to reach the cluster again. */
  readonly firstMs: number
  readonly longestMs: number
  /** Requests that follow a loss, within any time of this length; more where there are more watches. */
  readonly maxRequests: number
  readonly windowMs: number
}

const usualRecovery: RecoveryLimits = {
  firstMs: 100,
  longestMs: 5000,
  maxRequests: 55,
  windowMs: 10_000,
}

const maxLists = 4

type Go = (isScout: boolean) => void

/** It has no timers while nothing waits. */
export class Recovery {
  readonly #limits: RecoveryLimits
  watches = 0
  /** The versions from before the loss have expired; a watch that asks nevertheless finds out itself. */
  isExpired = false
  #isOpen = true
  #failures = 0
  #hasScout = false
  #waiting: Go[] = []
  #timer: NodeJS.Timeout | undefined
  /** Lists of watches. */
  readonly lists = new ConcurrencyLimit(maxLists)
  /** Requests that followed a loss, of the last window. */
  #sentAtMs: number[] = []

  constructor(limits: RecoveryLimits = usualRecovery) {
    this.#limits = limits
  }

  /** The cluster does not answer; only one watch at a time tries again. */
  lost(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.isExpired = false
    this.#failures = 0
  }

  /** Resolves when a watch may go on, with true when it is the one that goes ahead: it must call `reached` or `failed`. */
  enter(signal: AbortSignal): Promise<boolean> {
    if (this.#isOpen || signal.aborted) return Promise.resolve(false)
    const { promise, resolve } = Promise.withResolvers<boolean>()
    this.#waiting.push(resolve)
    const leave = () => {
      this.#waiting = this.#waiting.filter((each) => each !== resolve)
      resolve(false)
    }
    signal.addEventListener('abort', leave)
    this.#sendScout()
    return promise.finally(() => signal.removeEventListener('abort', leave))
  }

  /** The one that went ahead has come through: the others follow. */
  reached(isExpired: boolean): void {
    this.#hasScout = false
    this.#isOpen = true
    this.isExpired = isExpired
    const waiting = this.#waiting
    this.#waiting = []
    for (const go of waiting) go(false)
  }

  failed(): void {
    this.#hasScout = false
    this.#failures++
    this.#sendScout()
  }

  /** Resolves when another request that follows a loss may be sent. */
  async turn(signal: AbortSignal): Promise<void> {
    const { windowMs, maxRequests } = this.#limits
    while (!signal.aborted) {
      const nowMs = performance.now()
      while (this.#sentAtMs.length > 0 && nowMs - (this.#sentAtMs[0] ?? 0) >= windowMs)
        this.#sentAtMs.shift()
      if (this.#sentAtMs.length < Math.max(maxRequests, this.watches * 1.1)) {
        this.#sentAtMs.push(nowMs)
        return
      }
      const pauseMs = (this.#sentAtMs[0] ?? nowMs) + windowMs - nowMs
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  close(): void {
    clearTimeout(this.#timer)
  }

  #sendScout(): void {
    if (this.#isOpen || this.#hasScout || this.#waiting.length === 0 || this.#timer !== undefined)
      return
    const pauseMs = backOffMs(this.#limits, this.#failures) * (0.5 + Math.random() / 2)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      const scout = this.#waiting.shift()
      this.#hasScout = scout !== undefined
      scout?.(true)
    }, pauseMs).unref()
  }
}

/** What a watch that goes ahead after a loss tells the others, once. */
export class Contact {
  readonly #recovery: Recovery
  #isOpen: boolean
  #timer: NodeJS.Timeout | undefined

  constructor(recovery: Recovery, isScout: boolean) {
    this.#recovery = recovery
    this.#isOpen = isScout
  }

  reached(isExpired: boolean): void {
    if (this.#settle()) this.#recovery.reached(isExpired)
  }

  /** Unless the contact reports something else before. */
  reachedSoon(ms: number): void {
    if (this.#isOpen) this.#timer = setTimeout(() => this.reached(false), ms).unref()
  }

  /** Unless the contact has reported something else. */
  failed(): void {
    if (this.#settle()) this.#recovery.failed()
  }

  /** @returns whether this one had gone ahead */
  lost(): boolean {
    const wasScout = this.#settle()
    if (wasScout) this.#recovery.failed()
    else this.#recovery.lost()
    return wasScout
  }

  #settle(): boolean {
    clearTimeout(this.#timer)
    const wasOpen = this.#isOpen
    this.#isOpen = false
    return wasOpen
  }
}
