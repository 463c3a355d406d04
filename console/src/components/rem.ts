/** Lengths that grow with the text size of the reader, for what is placed by script. */

/** Below that, one column. */
export const phoneWidth = '(max-width: 37.49em)'

/** @param length In CSS pixels at the usual text size of 16. */
export function rem(length: number): string {
  return `${length / 16}rem`
}

/** The reader's text size in units of the usual one. */
export function textScale(): number {
  return Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16 || 1
}
