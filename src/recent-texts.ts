/** Values by texts that requests repeat. */

/**
 * A cache of fixed size, in which a text may displace another one. V8 enters each new text that a `Map` is asked for into the table of all texts
 * of the program, which is too large for the caches of a processor.
 */
export class RecentTexts<Value> {
  readonly #texts: string[]
  readonly #values: (Value | undefined)[]

  /** @param size A power of two. */
  constructor(size: number) {
    this.#texts = new Array<string>(size).fill('')
    this.#values = new Array<Value | undefined>(size).fill(undefined)
  }

  get(text: string): Value | undefined {
    const place = this.#placeOf(text)
    return this.#texts[place] === text ? this.#values[place] : undefined
  }

  set(text: string, value: Value): void {
    const place = this.#placeOf(text)
    this.#texts[place] = text
    this.#values[place] = value
  }

  /** By some 32 characters, spread over the text. */
  #placeOf(text: string): number {
    const { length } = text
    const step = 1 + (length >> 5)
    let hash = length
    for (let at = 0; at < length; at += step) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) | 0
    return (hash ^ (hash >>> 16)) & (this.#texts.length - 1)
  }
}
