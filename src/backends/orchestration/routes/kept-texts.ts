/** JSON of executions that lists show again and again: most have ended, and are written once. */

interface KeptText {
  readonly version: string
  readonly json: string
}

/** Some dozen polled lists. A longer record is not kept. */
const maxCharacters = 4 * 1024 * 1024
const maxLength = 128 * 1024

export class KeptTexts {
  /** The one used last at the end. */
  readonly #texts = new Map<string, KeptText>()
  #characters = 0

  /**
   * @param key Names the record and its form
   * @param version Another one after each change of the record
   * @param write Undefined: there is no such record
   */
  get(key: string, version: string, write: () => string | undefined): string | undefined {
    const known = this.#texts.get(key)
    if (known !== undefined) this.#drop(key, known)
    const json = known?.version === version ? known.json : write()
    if (json !== undefined && json.length <= maxLength) this.#keep(key, { version, json })
    return json
  }

  #keep(key: string, text: KeptText): void {
    this.#texts.set(key, text)
    this.#characters += text.json.length
    for (const [oldest, dropped] of this.#texts) {
      if (this.#characters <= maxCharacters) return
      this.#drop(oldest, dropped)
    }
  }

  #drop(key: string, { json }: KeptText): void {
    this.#texts.delete(key)
    this.#characters -= json.length
  }
}
