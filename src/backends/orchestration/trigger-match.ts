/** Whether a trigger contains what a search asks for (orchestration contract, E18). */

import { parseJson } from '../../http/json.ts'
import { BackendError } from '../backend.ts'
import type { JsonObject } from './model.ts'
import { isJsonObject } from './model.ts'
import { matchesWhole } from './regex/bounded-regex.ts'
import { RegexError } from './regex/regex-syntax.ts'

/**
 * @param text Base64 of a JSON object.
 * @throws {BackendError} 400
 */
export function parseTriggerPattern(text: string | undefined): JsonObject | undefined {
  if (text === undefined || text === '') return undefined
  try {
    const pattern = parseJson(Buffer.from(text, 'base64').toString())
    if (isJsonObject(pattern)) return pattern
  } catch {
    // Said below, together with the case of a list or a number.
  }
  throw new BackendError(400, '"trigger" must be a JSON object in base64.')
}

export function matchesTrigger(value: unknown, wanted: unknown): boolean {
  if (typeof value === 'string' && typeof wanted === 'string') return matchesText(value, wanted)
  if (Array.isArray(value) && Array.isArray(wanted)) return matchesList(value, wanted)
  if (isJsonObject(value) && isJsonObject(wanted)) {
    return Object.entries(wanted).every(([key, member]) => Object.hasOwn(value, key) && matchesTrigger(value[key], member))
  }
  return value === wanted
}

function matchesText(value: string, wanted: string): boolean {
  if (value.toLowerCase() === wanted.toLowerCase()) return true
  try {
    return matchesWhole(wanted, value)
  } catch (error) {
    if (error instanceof RegexError) return false
    throw error
  }
}

/** Each wanted element needs a different one of the value: a bipartite matching, grown one element at a time. */
function matchesList(value: readonly unknown[], wanted: readonly unknown[]): boolean {
  const candidates = wanted.map((each) => value.flatMap((element, index) => (matchesTrigger(element, each) ? [index] : [])))
  const takenBy = new Map<number, number>()
  const place = (position: number, tried: Set<number>): boolean =>
    (candidates[position] as number[]).some((index) => {
      if (tried.has(index)) return false
      tried.add(index)
      const holder = takenBy.get(index)
      if (holder !== undefined && !place(holder, tried)) return false
      takenBy.set(index, position)
      return true
    })
  return wanted.every((_each, position) => place(position, new Set()))
}
