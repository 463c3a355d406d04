/** Filters long lists in portions, so that requests get their turn in between; entries that stay keep their text. */
import { setImmediate } from 'node:timers/promises'
import { JsonText } from '../../http/answer.ts'
import { formatJson, parseJson } from '../../json/json.ts'
import { splitJsonList } from '../../json/split-list.ts'
import type { AnswerFilter } from '../access/answer-filter.ts'

/** Shorter ones are filtered at once. */
export const longList = 256 * 1024
const portionCharacters = 64 * 1024

/** @throws {Error} for what is no list, or not readable */
export async function filterInPortions(text: string, filter: AnswerFilter): Promise<JsonText> {
  const kept: string[] = []
  for (const portion of portionsOf(splitJsonList(text))) {
    const entries = portion.map((entry) => parseJson(entry))
    const texts = new Map(entries.map((entry, index) => [entry, portion[index] as string]))
    for (const entry of filter.apply(entries) as unknown[]) kept.push(texts.get(entry) ?? formatJson(entry))
    await setImmediate()
  }
  return new JsonText(`[${kept.join(',')}]`)
}

function* portionsOf(entries: Iterable<string>): Generator<string[]> {
  let portion: string[] = []
  let characters = 0
  for (const entry of entries) {
    portion.push(entry)
    characters += entry.length
    if (characters < portionCharacters) continue
    yield portion
    portion = []
    characters = 0
  }
  if (portion.length > 0) yield portion
}
