/** Bounds how many lines of the log one cause and all causes together may have in a minute. */

const periodMs = 60_000
/** Causes that have lines of their own; all others share. */
const maxCauses = 1000
/** Causes that are reported by name, those with the most lines. */
const maxNamed = 20

interface LineBudgetOptions {
  /** Lines a minute; 0 for any number. */
  perCause: number
  total: number
  onWithheld: (cause: string | undefined, lines: number) => void
}

export class LineBudget {
  readonly #options: LineBudgetOptions
  readonly #timer: NodeJS.Timeout
  readonly #causes = new Map<string | undefined, { written: number; withheld: number }>()
  #written = 0
  #withheld = 0

  constructor(options: LineBudgetOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.endPeriod(), periodMs).unref()
  }

  get withheld(): number {
    return this.#withheld
  }

  allows(cause: string): boolean {
    const { perCause, total } = this.#options
    const name = this.#causes.has(cause) || this.#causes.size < maxCauses ? cause : undefined
    const lines = this.#causes.getOrInsertComputed(name, () => ({ written: 0, withheld: 0 }))
    if ((perCause === 0 || lines.written < perCause) && (total === 0 || this.#written < total)) {
      lines.written++
      this.#written++
      return true
    }
    lines.withheld++
    this.#withheld++
    return false
  }

  endPeriod(): void {
    const withheldCauses = [...this.#causes]
      .filter(([, { withheld }]) => withheld > 0)
      .sort(([, a], [, b]) => b.withheld - a.withheld)
    this.#causes.clear()
    this.#written = 0
    let others = 0
    let named = 0
    for (const [cause, { withheld }] of withheldCauses) {
      if (cause === undefined || ++named > maxNamed) others += withheld
      else this.#options.onWithheld(cause, withheld)
    }
    if (others > 0) this.#options.onWithheld(undefined, others)
  }

  close(): void {
    clearInterval(this.#timer)
    this.endPeriod()
  }
}
