/** Results by their subject, made anew only where something that they were made of is another. */

interface Made<Result> {
  readonly from: readonly unknown[]
  readonly result: Result
}

export class Memo<Subject extends object, Result> {
  readonly #made = new WeakMap<Subject, Made<Result>>()

  /** @param from What the result is made of, besides the subject */
  remember(subject: Subject, from: readonly unknown[], make: () => Result): Result {
    const known = this.#made.get(subject)
    if (known !== undefined && isSameList(known.from, from)) return known.result
    const result = make()
    this.#made.set(subject, { from, result })
    return result
  }
}

function isSameList(one: readonly unknown[], other: readonly unknown[]): boolean {
  if (one.length !== other.length) return false
  for (let index = 0; index < one.length; index++) if (one[index] !== other[index]) return false
  return true
}
