/** Messages of API servers without the values that they print in full. */

/** Longer values in braces are left out. */
const longestValue = 120

/** Also without the comparison of two specifications that some messages end with. */
export function withoutDumps(message: string): string {
  const [head = ''] = message.split(/\n(?=@@|[ \t]*[{}]|[ \t]+[\w.*&]+\{)/)
  let kept = ''
  let at = 0
  for (let next = nextValue(head, 0); next !== undefined; next = nextValue(head, at)) {
    const before = head.slice(at, next.start)
    const isTyped = head[next.start] === '{' && /[\w\])]$/.test(before)
    const isLong = next.end - next.start > longestValue || isTyped
    const shown = isTyped ? before.replace(/(?<![\w.*&[\]])[\w.*&[\]]+$/, '') : before
    kept += isLong ? `${shown}…` : head.slice(at, next.end)
    at = next.end
  }
  return kept + head.slice(at)
}

interface ValueSpan {
  readonly start: number
  readonly end: number
}

/** The next text in quotes, or value in braces. */
function nextValue(text: string, from: number): ValueSpan | undefined {
  const open = text.slice(from).search(/["{]/)
  if (open < 0) return undefined
  const start = from + open
  return { start, end: text[start] === '{' ? endOfBraces(text, start) : endOfQuotes(text, start) }
}

function endOfQuotes(text: string, open: number): number {
  for (let at = open + 1; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '"') return at + 1
  }
  return text.length
}

/** The index after the brace that closes the one at `open`; texts in quotes do not count. */
function endOfBraces(text: string, open: number): number {
  let depth = 0
  let isText = false
  for (let at = open; at < text.length; at++) {
    const letter = text[at]
    if (isText) {
      if (letter === '\\') at++
      else if (letter === '"') isText = false
    } else if (letter === '"') isText = true
    else if (letter === '{') depth++
    else if (letter === '}' && --depth === 0) return at + 1
  }
  return text.length
}
