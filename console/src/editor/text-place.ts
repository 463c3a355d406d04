/** Where the cursor stands in the text of a definition, which may be incomplete: the path, and whether a key or a value is typed. */
import type { TextFormat } from './definition-text.ts'
import type { Path } from './json-path.ts'

export interface TextPlace {
  /** Leads to the value; for a key, to the object that it belongs to. */
  readonly path: Path
  readonly role: 'key' | 'value'
  /** Where the word begins that is typed. */
  readonly from: number
  readonly isQuoted: boolean
}

/** Undefined where neither key nor value can be typed. */
export function placeAt(text: string, offset: number, format: TextFormat): TextPlace | undefined {
  return format === 'json' ? placeInJson(text, offset) : placeInYaml(text, offset)
}

interface Frame {
  readonly isList: boolean
  key: string | undefined
  index: number
  expectsKey: boolean
}

function placeInJson(text: string, offset: number): TextPlace | undefined {
  const frames: Frame[] = []
  const place = (from: number, isQuoted: boolean): TextPlace | undefined => {
    const top = frames.at(-1)
    if (top === undefined) return undefined
    const role = top.expectsKey && !top.isList ? 'key' : 'value'
    return { path: pathOf(role === 'key' ? frames.slice(0, -1) : frames), role, from, isQuoted }
  }
  for (let at = 0; at < offset; at++) {
    const top = frames.at(-1)
    switch (text[at]) {
      case '"': {
        const end = endOfString(text, at)
        if (end >= offset) return place(at + 1, true)
        if (top?.expectsKey === true && !top.isList) top.key = unquote(text.slice(at, end + 1))
        at = end
        break
      }
      case '{':
        frames.push({ isList: false, key: undefined, index: 0, expectsKey: true })
        break
      case '[':
        frames.push({ isList: true, key: undefined, index: 0, expectsKey: false })
        break
      case '}':
      case ']':
        frames.pop()
        break
      case ':':
        if (top !== undefined) top.expectsKey = false
        break
      case ',':
        if (top !== undefined) {
          top.index++
          top.expectsKey = true
        }
    }
  }
  const word = /[\w.$-]*$/.exec(text.slice(0, offset))?.[0].length ?? 0
  return place(offset - word, false)
}

function pathOf(frames: readonly Frame[]): Path {
  return frames.map(({ isList, index, key }) => (isList ? index : (key ?? '')))
}

/** Position of the closing quote, or the end of the line. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '"') return at
    else if (text[at] === '\n') return at - 1
  }
  return text.length
}

function unquote(text: string): string {
  try {
    return String(JSON.parse(text))
  } catch {
    return text.slice(1, -1)
  }
}

/** A key or an item of a block of YAML, by the column in which it begins. */
interface Entry {
  readonly column: number
  readonly key: string | undefined
  /** What follows the colon. */
  readonly rest: string
}

const keyPattern = /^(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s#"'[{&*!|>%@,][^#]*?))\s*:(?=\s|$)/

/** Entries of a line, from left to right, and what is left of it. */
function readLine(line: string): { readonly entries: readonly Entry[]; readonly column: number; readonly left: string } {
  const entries: Entry[] = []
  let column = line.length - line.trimStart().length
  let left = line.slice(column)
  for (let item = /^-(\s+|$)/.exec(left); item !== null; item = /^-(\s+|$)/.exec(left)) {
    entries.push({ column, key: undefined, rest: '' })
    column += item[0].length
    left = left.slice(item[0].length)
  }
  const found = keyPattern.exec(left)
  if (found === null) return { entries, column, left }
  const after = left.slice(found[0].length)
  entries.push({ column, key: found[1] ?? found[2] ?? found[3] ?? '', rest: after.trim() })
  const spaces = after.length - after.trimStart().length
  return { entries, column: column + found[0].length + spaces, left: after.trimStart() }
}

function placeInYaml(text: string, offset: number): TextPlace | undefined {
  const lines = text.slice(0, offset).split('\n')
  const current = lines.pop() ?? ''
  if (/(?:^|\s)#/.test(current)) return undefined
  const { entries, column, left } = readLine(current)
  const last = entries.at(-1)
  const isValue = last?.key !== undefined
  const quote = /^["']/.test(left) ? 1 : 0
  const role = isValue ? 'value' : 'key'
  const path = pathInYaml(lines, isValue ? entries : [...entries, { column, key: '', rest: '' }])
  if (path === undefined) return undefined
  return { path: isValue ? path : path.slice(0, -1), role, from: offset - left.length + quote, isQuoted: quote === 1 }
}

/** Walks up to what is further left. Undefined inside a text of several lines. */
function pathInYaml(lines: readonly string[], here: readonly Entry[]): Path | undefined {
  const above = lines.map((line) => (line.trim() === '' || line.trimStart().startsWith('#') ? [] : readLine(line).entries))
  const path: (string | number)[] = []
  const start = here.at(-1)
  if (start === undefined) return []
  let at: { entry: Entry; row: number } | undefined = { entry: start, row: above.length }
  while (at !== undefined) {
    const { entry, row }: { entry: Entry; row: number } = at
    path.unshift(entry.key ?? countItems(above, entry.column, row))
    at = parentOf(entry, row, above, here)
    if (at !== undefined && /^[|>]/.test(at.entry.rest)) return undefined
  }
  return path
}

function parentOf(
  entry: Entry,
  row: number,
  above: readonly (readonly Entry[])[],
  here: readonly Entry[],
): { entry: Entry; row: number } | undefined {
  for (let line = row; line >= 0; line--) {
    const entries = line === above.length ? here : (above[line] ?? [])
    const found = entries.findLast(
      (each) =>
        each !== entry &&
        // The items of a list may begin in the column of their key.
        (each.column < entry.column ||
          (line < row && entry.key === undefined && each.key !== undefined && each.column === entry.column)),
    )
    if (found !== undefined) return { entry: found, row: line }
  }
  return undefined
}

/** Items of the same list in the lines above. */
function countItems(above: readonly (readonly Entry[])[], column: number, row: number): number {
  let count = 0
  for (let line = row - 1; line >= 0; line--) {
    const [first] = above[line] ?? []
    if (first === undefined || first.column > column) continue
    if (first.column < column || first.key !== undefined) break
    count++
  }
  return count
}
