/** Meter of the work that expressions and patterns of authors cause, with a limit. */

export class Meter {
  readonly #limit: number
  readonly #refuse: () => Error
  #spent = 0

  /** @param refuse Makes the error that ends the work. */
  constructor(limit: number, refuse: () => Error) {
    this.#limit = limit
    this.#refuse = refuse
  }

  /** @throws what `refuse` makes, beyond the limit: from then on at every call */
  spend(steps = 1): void {
    this.#spent += steps
    if (this.#spent > this.#limit) throw this.#refuse()
  }

  /** For work that the runtime does at its own speed: copying, comparing or searching text once from end to end. */
  spendOnText(characters: number): void {
    this.spend(characters / charactersPerStep)
  }

  get spent(): number {
    return this.#spent
  }
}

/** Characters of a text that cost as much as one step. */
const charactersPerStep = 64
