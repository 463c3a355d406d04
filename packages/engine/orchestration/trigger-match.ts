/** Comparison of a trigger with the pattern of a search. @see docs/contracts/orchestration.md#search */
import { isRawNumber, parseJson } from '@fairlead/base/json/json.ts'
import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { matchesIfValid } from '@fairlead/base/regex/bounded-regex.ts'
import type { Meter } from '@fairlead/base/regex/meter.ts'
import { RegexError } from '@fairlead/base/regex/regex-syntax.ts'

/**
 * @param text Base64 of a JSON object.
 * @throws {PortError} 400
 */
export function parseTriggerPattern(text: string | undefined): JsonObject | undefined {
  if (text === undefined || text === '') return undefined
  try {
    const pattern = parseJson(Buffer.from(text, 'base64').toString())
    if (isObject(pattern)) return pattern
  } catch {
    // Said below, together with the case of a list or a number.
  }
  throw new PortError(400, '"trigger" must be a JSON object in base64.')
}

/** @throws {PortError} 400 when a pattern is not supported, or the search takes too long */
export function matchesTrigger(value: unknown, wanted: unknown, meter: Meter): boolean {
  try {
    return matches(value, wanted, meter)
  } catch (error) {
    if (error instanceof RegexError)
      throw new PortError(400, `The search by trigger cannot be carried out: ${error.message}`)
    throw error
  }
}

function matches(value: unknown, wanted: unknown, meter: Meter): boolean {
  meter.spend()
  if (typeof value === 'string' && typeof wanted === 'string')
    return matchesText(value, wanted, meter)
  if (Array.isArray(value) && Array.isArray(wanted)) return matchesList(value, wanted, meter)
  if (isObject(value) && isObject(wanted)) {
    return Object.entries(wanted).every(
      ([key, member]) => Object.hasOwn(value, key) && matches(value[key], member, meter),
    )
  }
  if (isRawNumber(value) && isRawNumber(wanted)) return String(value) === String(wanted)
  return value === wanted
}

/** What Java would not take for a pattern only equals. */
function matchesText(value: string, wanted: string, meter: Meter): boolean {
  meter.spendOnText(value.length + wanted.length)
  return value.toLowerCase() === wanted.toLowerCase() || matchesIfValid(wanted, value, meter)
}

/** Each wanted element needs a different one of the value: a bipartite matching, grown one element at a time. */
function matchesList(value: readonly unknown[], wanted: readonly unknown[], meter: Meter): boolean {
  const candidates = wanted.map((each) =>
    value.flatMap((element, index) => (matches(element, each, meter) ? [index] : [])),
  )
  const takenBy = new Map<number, number>()
  const place = (position: number, tried: Set<number>): boolean =>
    (candidates[position] as number[]).some((index) => {
      meter.spend()
      if (tried.has(index)) return false
      tried.add(index)
      const holder = takenBy.get(index)
      if (holder !== undefined && !place(holder, tried)) return false
      takenBy.set(index, position)
      return true
    })
  return wanted.every((_each, position) => place(position, new Set()))
}
