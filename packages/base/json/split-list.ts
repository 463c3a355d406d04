/** Splits the text of a JSON list into the texts of its entries, so that only entries that are new have to be parsed. */

/**
 * Yields the text of each entry. Brackets and quotes are matched and nothing else is checked: parse what it yields.
 *
 * @throws {SyntaxError} when the text is no list
 */
export function* splitJsonList(text: string): Generator<string> {
  let at = skipBlanks(text, 0)
  if (text[at] !== '[') throw new SyntaxError('The text is no JSON list.')
  at = skipBlanks(text, at + 1)
  if (text[at] !== ']') {
    for (;;) {
      const end = endOfEntry(text, at)
      yield text.slice(at, end)
      if (text[end] === ']') {
        at = end
        break
      }
      at = skipBlanks(text, end + 1)
    }
  }
  if (skipBlanks(text, at + 1) !== text.length)
    throw new SyntaxError('Something follows the JSON list.')
}

/** Index of the comma or bracket behind the entry. */
function endOfEntry(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 0x22:
        at = endOfString(text, at + 1)
        break
      case 0x7b: // {
      case 0x5b: // [
        depth++
        break
      case 0x7d: // }
      case 0x5d: // ]
        if (depth-- === 0) return at
        break
      case 0x2c: // ,
        if (depth === 0) return at
    }
  }
  throw new SyntaxError('The JSON list does not end.')
}

/** Index of the quote that ends the string. */
function endOfString(text: string, from: number): number {
  for (let at = from; ; at++) {
    at = text.indexOf('"', at)
    if (at === -1) throw new SyntaxError('A string in the JSON list does not end.')
    let escapes = 0
    while (text.charCodeAt(at - 1 - escapes) === 0x5c) escapes++
    if (escapes % 2 === 0) return at
  }
}

function skipBlanks(text: string, from: number): number {
  let at = from
  while (at < text.length && ' \t\r\n'.includes(text[at] as string)) at++
  return at
}
