/** The choice of an instance for one request: after a failure another one, the same after a pause, or the next that is healthy. */
import type { ConnectionFailure } from '@fairlead/proxy/connection.ts'
import type { Entrance } from './entrance.ts'
import type { RunningBalancer, Waiter } from './load-balancer.ts'
import type { Member } from './member.ts'

/** The request or connection that needs an instance. */
export interface InstanceSeeker {
  /** Called at once, or later where the request has to wait. */
  onInstance(member: Member): void
  onNoInstance(): void
}

export const nothingTried: readonly Member[] = []

export class InstanceChoice implements Waiter {
  readonly #entrance: Entrance
  readonly #seeker: InstanceSeeker
  #failures = 0
  #repeats = 0
  #tried: readonly Member[] = nothingTried
  /** Had the request last. */
  #last: Member | undefined
  /** Where it waits. */
  #balancer: RunningBalancer | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(entrance: Entrance, seeker: InstanceSeeker) {
    this.#entrance = entrance
    this.#seeker = seeker
  }

  seek(): void {
    const { balancer, bounds } = this.#entrance
    const member = balancer.pick(this.#tried, this.#last)
    if (member !== undefined) return void this.#seeker.onInstance(member)
    if (balancer.hasInstance) {
      // All have lost it. They may be about to end, which shows when they refuse connections.
      this.#timer = setTimeout(() => this.onTurn(), bounds.firstRepeatMs * 2 ** this.#repeats++).unref()
    } else if (balancer.mayWait) {
      this.#balancer = balancer
      balancer.wait(this)
    } else {
      this.#seeker.onNoInstance()
    }
  }

  /** What was tried before may have been started again meanwhile. */
  onTurn(): void {
    this.#balancer = undefined
    this.#timer = undefined
    this.#tried = nothingTried
    this.seek()
  }

  get isWaiting(): boolean {
    return this.#balancer !== undefined || this.#timer !== undefined
  }

  /** Tells the instance's health about the failure. @returns whether a further attempt is within the bounds */
  fail(member: Member, { error, wasConnected, wasKept }: ConnectionFailure): boolean {
    const isRefused = !wasConnected && error.code === 'ECONNREFUSED'
    if (isRefused) member.health.noteRefused()
    else member.health.probeSoon()
    this.#last = member
    // A new connection to the same instance may not fail.
    if (!wasKept) this.#tried = [...this.#tried, member]
    // A refusal costs nothing, and every instance refuses once at most until it is healthy again.
    if (!isRefused) this.#failures++
    return this.#failures < this.#entrance.bounds.maxAttempts
  }

  /** The client has gone away. */
  abandon(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#balancer?.stopWaiting(this)
    this.#balancer = undefined
  }
}
