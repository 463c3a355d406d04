/** Portions of long JSON lists, so that requests get their turn in between. */
import { setImmediate } from 'node:timers/promises'
import { parseJson } from './json.ts'
import { splitJsonList } from './split-list.ts'

/** Characters; shorter texts are parsed at once. */
export const longList = 256 * 1024
const portionCharacters = 64 * 1024

/** Texts of entries, in order, some 64 KB at a time. @throws {SyntaxError} when the text is no list */
export function* portionsOfList(text: string): Generator<string[]> {
  let portion: string[] = []
  let characters = 0
  for (const entry of splitJsonList(text)) {
    portion.push(entry)
    characters += entry.length
    if (characters < portionCharacters) continue
    yield portion
    portion = []
    characters = 0
  }
  if (portion.length > 0) yield portion
}

/**
 * As `parseJson`; long lists are parsed in portions.
 *
 * @throws {SyntaxError} when the text is not JSON
 * @throws {UnsafeJsonError}
 */
export async function parseInPortions(text: string): Promise<unknown> {
  if (text.length <= longList || text.trimStart()[0] !== '[') return parseJson(text)
  const entries: unknown[] = []
  for (const portion of portionsOfList(text)) {
    for (const entry of portion) entries.push(parseJson(entry))
    await setImmediate()
  }
  return entries
}
