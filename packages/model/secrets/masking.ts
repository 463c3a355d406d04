/** Masks values of secrets, and their known forms, in output that arrives piece by piece. */

import { formsOf } from './masked-forms.ts'
import { mask } from './secret-names.ts'

/** One such line alone says little, and may be an ordinary word; a text of this length is masked across lines, too. */
const minLineLength = 8
/** Line breaks and colours that may stand in what is held back, besides one for each of its bytes. */
const spareBytes = 1024
/** Line breaks with the next indentation; and colours, of which the end may not have arrived. */
const layout = /[\r\n][ \t\r\n]*|(?![\r\n\t])\p{Cc}(?:\[[0-?]*[ -/]*(?:[@-~]|$)|$)/gu

/** What is masked: the values in all known forms, and the lines of those that have several; longest first. */
export function maskedTexts(values: readonly string[]): string[] {
  const lines = values.flatMap((value) =>
    value.split(/\r?\n/).filter((line) => line !== value && line.length >= minLineLength),
  )
  const forms = values.flatMap((value) => [value, ...formsOf(value)])
  const texts = new Set([...forms, ...lines].filter((text) => text !== ''))
  return [...texts].sort((one, other) => other.length - one.length)
}

/** Bytes as Latin-1. */
interface Secret {
  readonly raw: string
  /** Without line breaks and colours. */
  readonly joined: string
}

type Span = [start: number, end: number]

/** Tools wrap and indent long lines, and colour parts of them, so that texts are compared without line breaks and colours. */
export class Masking {
  readonly #secrets: readonly Secret[]
  readonly #maxHeld: number
  #held = ''
  /** So much of the beginning of what is held back belongs to a secret of which the mask is shown already. */
  #covered = 0

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets
      .map((secret) => Buffer.from(secret).toString('latin1'))
      .map((raw) => ({ raw, joined: raw.replaceAll(layout, '') }))
      .filter(({ joined }) => joined !== '')
    this.#maxHeld =
      3 * Math.max(0, ...this.#secrets.map(({ joined }) => joined.length)) + spareBytes
  }

  /** What can be shown by now: the beginning of a secret is held back until it is clear whether the rest follows. */
  feed(piece: Buffer): Buffer {
    return this.#show(this.#held + piece.toString('latin1'), false)
  }

  /** The rest, when nothing follows. */
  end(): Buffer {
    return this.#show(this.#held, true)
  }

  #show(text: string, isLast: boolean): Buffer {
    const { joined, places } = joinLines(text)
    let end = isLast
      ? joined.length
      : joined.length - Math.max(0, ...this.#secrets.map((secret) => commonLength(joined, secret)))
    let endPlace = end === joined.length ? text.length : (places[end] ?? text.length)
    // Of line breaks, there may be any number.
    if (text.length - endPlace > this.#maxHeld) [end, endPlace] = [joined.length, text.length]
    let shown = ''
    let at = 0
    let covered = 0
    for (const [start, stop] of this.#spans(text, joined, places)) {
      const isContinued = start === 0 && this.#covered > 0
      if (start >= end && !isContinued) break
      shown += text.slice(at, places[start]) + (isContinued ? '' : mask)
      at = Math.min(endPlace, (places[stop - 1] ?? text.length) + 1)
      covered = stop - end
    }
    shown += text.slice(at, endPlace)
    this.#held = text.slice(endPlace)
    this.#covered = Math.max(0, covered)
    return Buffer.from(shown, 'latin1')
  }

  /** Where secrets stand in the joined text; those that overlap are one. */
  #spans(text: string, joined: string, places: Uint32Array): Span[] {
    const spans: Span[] = this.#covered > 0 ? [[0, this.#covered]] : []
    for (const secret of this.#secrets) {
      const { length } = secret.joined
      for (
        let at = joined.indexOf(secret.joined);
        at !== -1;
        at = joined.indexOf(secret.joined, at + length)
      ) {
        const isWhole = length >= minLineLength || text.startsWith(secret.raw, places[at])
        if (isWhole) spans.push([at, at + length])
      }
    }
    const merged: Span[] = []
    for (const span of spans.sort(([one], [other]) => one - other)) {
      const last = merged.at(-1)
      if (last !== undefined && span[0] < last[1]) last[1] = Math.max(last[1], span[1])
      else merged.push(span)
    }
    return merged
  }
}

/** The text in one line, with the place of each of its bytes in the former. */
function joinLines(text: string): { joined: string; places: Uint32Array } {
  const places = new Uint32Array(text.length)
  const lines: string[] = []
  let count = 0
  const add = (from: number, to: number) => {
    lines.push(text.slice(from, to))
    for (let at = from; at < to; at++) places[count++] = at
  }
  let from = 0
  for (const { index, 0: found } of text.matchAll(layout)) {
    add(from, index)
    from = index + found.length
  }
  add(from, text.length)
  return { joined: lines.join(''), places }
}

/** Length of the longest end of the text that begins the secret, and is not all of it. */
function commonLength(text: string, { joined: secret }: Secret): number {
  const [first = ''] = secret
  for (
    let at = text.indexOf(first, Math.max(0, text.length - secret.length + 1));
    at !== -1;
    at = text.indexOf(first, at + 1)
  ) {
    if (secret.startsWith(text.slice(at))) return text.length - at
  }
  return 0
}
