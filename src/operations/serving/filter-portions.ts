/** Filters long lists in portions, so that requests get their turn in between; entries that stay keep their text. */
import { setImmediate } from 'node:timers/promises'
import { JsonText } from '../../http/answer.ts'
import { formatJson, parseJson } from '../../json/json.ts'
import { portionsOfList } from '../../json/list-portions.ts'
import type { AnswerFilter } from '../access/answer-filter.ts'

/** @throws {Error} for what is no list, or not readable */
export async function filterInPortions(text: string, filter: AnswerFilter): Promise<JsonText> {
  const kept: string[] = []
  for (const portion of portionsOfList(text)) {
    const entries = portion.map((entry) => parseJson(entry))
    const texts = new Map(entries.map((entry, index) => [entry, portion[index] as string]))
    for (const entry of filter.apply(entries) as unknown[]) kept.push(texts.get(entry) ?? formatJson(entry))
    await setImmediate()
  }
  return new JsonText(`[${kept.join(',')}]`)
}
