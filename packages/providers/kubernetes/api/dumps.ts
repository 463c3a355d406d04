/** Messages of API servers without the values that they print in full. */

/** Longer values in braces are left out. */
const longestValue = 120

/** Also without the comparison of two specifications that some messages end with. */
export function withoutDumps(message: string): string {
  const [head = ''] = message.split(/\n(?=@@|[ \t]*[{}]|[ \t]+[\w.*&]+\{)/)
  let kept = ''
  for (let at = 0; at < head.length; ) {
    const open = head.indexOf('{', at)
    if (open < 0) return kept + head.slice(at)
    const end = endOfBraces(head, open)
    const before = head.slice(at, open)
    const isLong = end - open > longestValue || /[\w\])]$/.test(before)
    kept += isLong ? `${before.replace(/(?<![\w.*&[\]])[\w.*&[\]]+$/, '')}…` : head.slice(at, end)
    at = end
  }
  return kept
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
