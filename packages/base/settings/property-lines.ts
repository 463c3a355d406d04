/** The lines of Java property files. */

export interface PropertyLine {
  readonly line: number
  readonly key: string | undefined
  readonly value: string
}

/**
 * Keys with their values, and comments: with continued lines, escape sequences, and `=`, `:` or a blank after the key.
 *
 * @see java.util.Properties.load
 */
export function* propertyLines(text: string): Generator<PropertyLine, void> {
  const lines = text.split(/\r\n|\r|\n/).map((each) => each.trimStart())
  for (let at = 0; at < lines.length; at++) {
    const [line, first] = [at + 1, lines[at] as string]
    if (first === '') continue
    if (/^[#!]/.test(first)) {
      yield { line, key: undefined, value: first }
      continue
    }
    const parts = [first]
    while (isContinued(lines[at] ?? '')) parts.push(lines[++at] ?? '')
    const whole = parts
      .map((part, index) => (index < parts.length - 1 ? part.slice(0, -1) : part))
      .join('')
    const [, key = '', value = ''] = /^((?:[^\\=:\s]|\\.)*)\s*[=:]?\s*(.*)$/s.exec(whole) ?? []
    yield { line, key: readEscapes(key), value: readEscapes(value) }
  }
}

/** It ends with a backslash that is not escaped. */
function isContinued(line: string): boolean {
  let end = line.length
  while (line[end - 1] === '\\') end--
  return (line.length - end) % 2 === 1
}

const named: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', f: '\f' }

function readEscapes(text: string): string {
  return text.replaceAll(/\\(?:u([\da-fA-F]{4})|(.))/gs, (_all, code?: string, character = '') =>
    code === undefined
      ? (named[character] ?? character)
      : String.fromCharCode(Number.parseInt(code, 16)),
  )
}
