/** Text search in linear time, where that of the runtime may be quadratic. */
import type { Meter } from '@fairlead/base/regex/meter.ts'

/** Characters that cost as much as one step. */
const charactersPerStep = 8

/**
 * Every position of `part`, which is not empty, in `text`, from left to right; they may overlap.
 *
 * @see Knuth, Morris, Pratt: Fast pattern matching in strings
 */
export function* occurrences(text: string, part: string, meter: Meter): Generator<number> {
  meter.spend((text.length + part.length) / charactersPerStep)
  const overlaps = overlapsOf(part)
  let matched = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    while (matched > 0 && part.charCodeAt(matched) !== code)
      matched = overlaps[matched - 1] as number
    if (part.charCodeAt(matched) === code) matched++
    if (matched < part.length) continue
    yield at - part.length + 1
    matched = overlaps[matched - 1] as number
  }
}

/** For each beginning of the text, how much of it is also its end. */
function overlapsOf(part: string): Int32Array {
  const overlaps = new Int32Array(part.length)
  let matched = 0
  for (let at = 1; at < part.length; at++) {
    const code = part.charCodeAt(at)
    while (matched > 0 && part.charCodeAt(matched) !== code)
      matched = overlaps[matched - 1] as number
    if (part.charCodeAt(matched) === code) matched++
    overlaps[at] = matched
  }
  return overlaps
}
