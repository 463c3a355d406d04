/** The health of one instance: probed at intervals, down at once when it refuses connections. */
import { isDeepStrictEqual } from 'node:util'
import type { HealthCheck, ObservedMember } from '@fairlead/base/net/agent-protocol.ts'
import { type ProbeResult, probe, strangerAnswers } from '../probe.ts'
import type { Bounds } from './bounds.ts'

const quickGrowth = 1.25

export interface HealthWatchOptions {
  readonly place: { readonly host: string; readonly port: number }
  readonly check: HealthCheck
  readonly bounds: Bounds
  /** If anything answers on its port, it is another program. */
  readonly isDown: () => boolean
  /** It was healthy a moment ago. */
  readonly isBelieved: boolean
  readonly onChange: () => void
}

export class HealthWatch {
  state: ObservedMember['health'] = 'starting'
  reason: string | undefined = 'no health check has ended yet'
  readonly #options: HealthWatchOptions
  readonly #closing = new AbortController()
  #check: HealthCheck
  #timer: NodeJS.Timeout | undefined
  #isProbing = false
  /** Another probe is wanted as soon as the running one has ended. */
  #again = false
  #successes = 0
  #failures = 0
  /** Pause before the next probe while a first success is awaited; grows with each failure. */
  #quickMs: number
  /** Nothing listens on the port. What listens there next is a new process: its first success counts. */
  #refused = false

  constructor(options: HealthWatchOptions) {
    this.#options = options
    this.#check = options.check
    this.#quickMs = options.bounds.quickCheckMs
    if (options.isBelieved) {
      this.state = 'up'
      this.reason = undefined
    }
    this.#schedule(0)
  }

  /** Down by its health checks alone: something listens on the port, or did when it was last seen. */
  get isDoubtful(): boolean {
    return this.state === 'down' && !this.#refused
  }

  /** Changed rules hold from the next probe on. */
  setCheck(check: HealthCheck): void {
    if (isDeepStrictEqual(this.#check, check)) return
    this.#check = check
    this.probeSoon()
  }

  /** A connection was refused: no probe can say otherwise. */
  noteRefused(): void {
    if (!this.#refused) this.#quickMs = this.#options.bounds.quickCheckMs
    this.#refused = true
    this.#set('down', `nothing listens on port ${this.#options.place.port}`)
    this.probeSoon()
  }

  /** Something went wrong that may be the instance's fault. */
  probeSoon(): void {
    if (this.#isProbing) this.#again = true
    else this.#schedule(0)
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#closing.abort()
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer)
    if (!this.#closing.signal.aborted)
      this.#timer = setTimeout(() => void this.#probe(), ms).unref()
  }

  async #probe(): Promise<void> {
    this.#isProbing = true
    this.#again = false
    const { kind, path, timeoutMs } = this.#check
    const found = await probe(
      { kind, path, timeoutMs, ...this.#options.place },
      this.#closing.signal,
    )
    const result =
      found.kind === 'healthy' && this.#options.isDown()
        ? strangerAnswers(this.#options.place.port)
        : found
    this.#isProbing = false
    if (result.kind === 'cancelled') return
    this.#evaluate(result)
    this.#schedule(this.#again ? 0 : this.#pauseMs())
  }

  #pauseMs(): number {
    const { intervalMs } = this.#check
    if (this.state !== 'starting' && !this.#refused) return intervalMs
    const pauseMs = Math.min(this.#quickMs, intervalMs)
    this.#quickMs = Math.min(this.#quickMs * quickGrowth, this.#options.bounds.longestQuickCheckMs)
    return pauseMs
  }

  #evaluate(result: Exclude<ProbeResult, { kind: 'cancelled' }>): void {
    const { healthyThreshold, unhealthyThreshold } = this.#check
    if (result.kind === 'healthy') {
      this.#failures = 0
      this.#successes++
      const isNew = this.state === 'starting' || this.#refused
      this.#refused = false
      this.#quickMs = this.#options.bounds.quickCheckMs
      if (isNew || this.state === 'up' || this.#successes >= healthyThreshold)
        this.#set('up', undefined)
      else this.#set('down', `${this.#successes} of ${healthyThreshold} successful health checks`)
      return
    }
    this.#successes = 0
    this.#failures++
    this.#refused ||= result.refused && this.state !== 'starting'
    if (this.state === 'starting') this.#set('starting', result.reason)
    else if (this.state === 'down' || result.refused || this.#failures >= unhealthyThreshold)
      this.#set('down', result.reason)
  }

  #set(state: ObservedMember['health'], reason: string | undefined): void {
    if (this.state === state && this.reason === reason) return
    this.state = state
    this.reason = reason
    this.#options.onChange()
  }
}
