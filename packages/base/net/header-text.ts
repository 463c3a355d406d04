/** Names in HTTP headers: printable ASCII, all else percent-encoded. */

const printable = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/
const looksEncoded = /%[0-9a-f]{2}/i

/** Besides what is not printable: blanks at either end, which HTTP drops, and a percent sign that would be read as a code. */
const needsEncoding = /[^\x20-\x7e]|^ | $|%(?=[0-9a-f]{2})/giu

export function toHeaderText(name: string): string {
  if (printable.test(name) && !looksEncoded.test(name)) return name
  return name.replace(needsEncoding, (character) => encodeURIComponent(character.toWellFormed()))
}

/** The name that `toHeaderText` was given. Codes that are no UTF-8 stay as they are. */
export function fromHeaderText<T extends string | undefined>(text: T): T | string {
  return text !== undefined && looksEncoded.test(text)
    ? text.replace(/(?:%[0-9a-f]{2})+/gi, decodeCodes)
    : text
}

function decodeCodes(codes: string): string {
  try {
    return decodeURIComponent(codes)
  } catch {
    return codes
  }
}
