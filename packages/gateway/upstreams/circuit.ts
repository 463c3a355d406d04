/** Circuit breaker of one address: suspends calls that would fail, until a probe is answered. */

export const usualCircuit = {
  /** Fewer failures than this within a window never open it. */
  failures: 10,
  /** Milliseconds in which failures and successes are counted together. */
  windowMs: 10_000,
  openMs: 1000,
  maxOpenMs: 5000,
}
export type CircuitSettings = Readonly<typeof usualCircuit>

/** `half-open`: a probe is under way. */
export type CircuitState = 'closed' | 'open' | 'half-open'

interface CircuitSurroundings {
  probe: () => Promise<boolean>
  changed: (state: CircuitState, cause?: unknown) => void
}

const failingShare = 0.5
const failuresWithAlternative = 3

/**
 * It opens when at least half of the calls of a window failed, and closes with the first answer: of a probe, or of a call that
 * was under way. Counting a call costs an addition while it is closed; a clock is read for failures only.
 */
export class Circuit {
  readonly #settings: CircuitSettings
  readonly #surroundings: CircuitSurroundings
  #state: CircuitState = 'closed'
  #failures = 0
  #successes = 0
  #windowStartMs = -Infinity
  #openMs: number
  #probeAtMs = 0
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(settings: CircuitSettings, surroundings: CircuitSurroundings) {
    this.#settings = settings
    this.#surroundings = surroundings
    this.#openMs = settings.openMs
  }

  get state(): CircuitState {
    return this.#state
  }

  get isClosed(): boolean {
    return this.#state === 'closed'
  }

  get remainingMs(): number {
    return this.#state === 'open' ? Math.max(0, this.#probeAtMs - performance.now()) : 0
  }

  succeed(): void {
    this.#successes++
    if (this.#state !== 'closed') this.#close()
  }

  /** @param cause For the log @param hasAlternative Another address can take the calls, so few failures suffice. */
  fail(cause: unknown, hasAlternative = false): void {
    if (this.#state !== 'closed') return
    const nowMs = performance.now()
    if (nowMs - this.#windowStartMs > this.#settings.windowMs) {
      this.#windowStartMs = nowMs
      this.#failures = 0
      this.#successes = 0
    }
    this.#failures++
    const { failures } = this.#settings
    if (this.#failures < (hasAlternative ? Math.min(failures, failuresWithAlternative) : failures))
      return
    if (this.#failures < failingShare * (this.#failures + this.#successes)) return
    this.#open(cause)
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  #open(cause: unknown): void {
    if (this.#isStopped) return
    this.#openMs = this.#settings.openMs
    this.#scheduleProbe()
    this.#surroundings.changed('open', cause)
  }

  #scheduleProbe(): void {
    this.#state = 'open'
    this.#probeAtMs = performance.now() + this.#openMs
    this.#timer = setTimeout(() => void this.#probe(), this.#openMs).unref()
    this.#openMs = Math.min(this.#openMs * 2, this.#settings.maxOpenMs)
  }

  async #probe(): Promise<void> {
    this.#state = 'half-open'
    const answers = await this.#surroundings.probe()
    // A call that was under way may have been answered meanwhile.
    if (this.#isStopped || this.#state !== 'half-open') return
    if (answers) this.#close()
    else this.#scheduleProbe()
  }

  #close(): void {
    clearTimeout(this.#timer)
    this.#state = 'closed'
    this.#windowStartMs = -Infinity
    this.#surroundings.changed('closed')
  }
}
