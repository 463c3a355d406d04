/** Loop of one forwarded request: chooses a server, waits for one where it has to, and tries again after failures. */

/**
 * `proceed` is called with the server, or without, to choose anew: what has failed before may be well by then.
 *
 * @returns ends the wait
 */
export type Wait<S> = (
  proceed: (server?: S) => void,
  giveUp: (error: unknown) => void,
) => () => void

export interface ForwardProgress<S> {
  /** Have failed for this request. */
  readonly tried: readonly S[]
  /** Had the request last. */
  readonly last: S | undefined
  /** How often it has waited. */
  readonly waits: number
  /** Number of the present attempt, from 1. */
  readonly number: number
  /** When the first attempt failed, by `performance.now()`. */
  readonly firstFailedMs: number | undefined
}

/** What follows from a failed attempt. */
export interface RetryDecision {
  /** Until the next attempt; undefined: none is made. */
  readonly retryMs: number | undefined
  /** It does not count as an attempt. */
  readonly isFree?: boolean
  /** The same server may be well on another connection. */
  readonly mayBeSame?: boolean
}

/** The rules and the effects of a request; `F` says how an attempt failed. */
export interface ForwardedRequest<S, F> {
  /** Undefined: there is no server. @throws why there is none */
  choose(progress: ForwardProgress<S>): S | Wait<S> | undefined
  /** `fail` or `leave` follows. */
  send(server: S): void
  decideRetry(server: S, failure: F, progress: ForwardProgress<S>): RetryDecision
  /** The server has the request no more. */
  leave(server: S): void
  /** No further attempt is made. @param reason The last failure, or why there is no server */
  giveUp(reason: unknown): void
}

const none: readonly never[] = []

export class Forward<S extends object, F> implements ForwardProgress<S> {
  readonly #request: ForwardedRequest<S, F>
  /** Has the request. */
  server: S | undefined
  tried: readonly S[] = none
  last: S | undefined
  waits = 0
  number = 1
  firstFailedMs: number | undefined
  /** Ends what it waits for. */
  #stop: (() => void) | undefined

  constructor(request: ForwardedRequest<S, F>) {
    this.#request = request
  }

  get isWaiting(): boolean {
    return this.#stop !== undefined
  }

  attempt(): void {
    this.#stop = undefined
    let found: S | Wait<S> | undefined
    try {
      found = this.#request.choose(this)
    } catch (error) {
      return void this.#request.giveUp(error)
    }
    if (typeof found === 'function') this.#wait(found)
    else if (found === undefined) this.#request.giveUp(undefined)
    else this.#send(found)
  }

  #wait(wait: Wait<S>): void {
    this.waits++
    const proceed = (server?: S) => {
      if (server !== undefined) return void this.#send(server)
      this.tried = none
      this.attempt()
    }
    this.#stop = wait(proceed, (error) => this.#request.giveUp(error))
  }

  #send(server: S): void {
    this.#stop = undefined
    this.server = server
    this.#request.send(server)
  }

  /** The attempt is over, whatever came of it. */
  leave(): void {
    const server = this.handOver()
    if (server !== undefined) this.#request.leave(server)
  }

  /** The server keeps what became of the request, such as a tunnel. */
  handOver(): S | undefined {
    const { server } = this
    this.server = undefined
    return server
  }

  fail(failure: F): void {
    const { server } = this
    if (server === undefined) return
    const { retryMs, isFree, mayBeSame } = this.#request.decideRetry(server, failure, this)
    if (retryMs === undefined) {
      this.leave()
      return void this.#request.giveUp(failure)
    }
    this.firstFailedMs ??= performance.now()
    this.last = server
    if (isFree !== true) this.number++
    if (mayBeSame !== true) this.tried = [...this.tried, server]
    if (retryMs === 0) return void this.#again()
    const timer = setTimeout(() => this.#again(), retryMs)
    this.#stop = () => clearTimeout(timer)
  }

  #again(): void {
    this.leave()
    this.attempt()
  }

  /** The client has gone away. */
  abandon(): void {
    this.#stop?.()
    this.#stop = undefined
    this.leave()
  }
}
