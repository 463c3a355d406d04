/** Masks values of secrets in output that arrives piece by piece. */
import { withoutSecrets } from '../../pipelines/secret-names.ts'

/** One such line alone says little, and may be an ordinary word. */
const minLineLength = 8

/** What is masked: the values, and the lines of those that have several; longest first. */
export function maskedTexts(values: readonly string[]): string[] {
  const lines = values.flatMap((value) => value.split(/\r?\n/).filter((line) => line !== value && line.length >= minLineLength))
  const texts = new Set([...values, ...lines].filter((text) => text !== ''))
  return [...texts].sort((one, other) => other.length - one.length)
}

export class Masking {
  /** Their bytes, as Latin-1. */
  readonly #secrets: readonly string[]
  #held = ''

  /** @param secrets Longest first */
  constructor(secrets: readonly string[]) {
    this.#secrets = secrets.map((secret) => Buffer.from(secret).toString('latin1'))
  }

  /** What can be shown by now: the beginning of a secret is held back until it is clear whether the rest follows. */
  feed(piece: Buffer): Buffer {
    const text = this.#held + piece.toString('latin1')
    const end = this.#endOfShown(text)
    this.#held = text.slice(end)
    return this.#mask(text.slice(0, end))
  }

  /** The rest, when nothing follows. */
  end(): Buffer {
    const text = this.#held
    this.#held = ''
    return this.#mask(text)
  }

  #mask(text: string): Buffer {
    return Buffer.from(withoutSecrets(text, this.#secrets), 'latin1')
  }

  #endOfShown(text: string): number {
    let end = text.length - Math.max(0, ...this.#secrets.map((secret) => commonLength(text, secret)))
    // No secret may be cut in two by that end.
    for (let before = -1; before !== end; ) {
      before = end
      for (const secret of this.#secrets) {
        const at = text.indexOf(secret, Math.max(0, end - secret.length + 1))
        if (at !== -1 && at < end && at + secret.length > end) end = at
      }
    }
    return end
  }
}

/** Length of the longest end of the text that begins the secret, and is not all of it. */
function commonLength(text: string, secret: string): number {
  for (let length = Math.min(text.length, secret.length - 1); length > 0; length--) {
    if (text.endsWith(secret.slice(0, length))) return length
  }
  return 0
}
