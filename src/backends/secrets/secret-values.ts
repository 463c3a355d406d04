/** Values of secrets for what refers to them: `secret:NAME`. */

/** Who uses secrets, and where; written down for the list of uses. */
export interface SecretUse {
  /** Its secrets may be used; undefined: none of an application. */
  readonly application?: string | undefined
  /** Its secrets may be used too, unless the application has one of that name. */
  readonly account?: string | undefined
  readonly user: string
  /** For people: `build web/main 7`, `stage Deploy of pipeline web/main`. Uses of the same place are counted together. */
  readonly place: string
}

export interface Revealed<T> {
  readonly value: T
  /** The values of secrets in it, longest first, for masking. */
  readonly secrets: readonly string[]
}

export interface SecretValues {
  /**
   * A copy of JSON data with values in place of references; itself where there are none.
   *
   * @throws {BackendError} 400 naming the reference and the remedy: unknown, or its store cannot be read
   */
  reveal<T>(value: T, use: SecretUse): Promise<Revealed<T>>
}
