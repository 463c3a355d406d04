/** Times of the API server. */
import { textOf } from '../../../../../json/values.ts'

/** Milliseconds since the epoch of an RFC 3339 time; undefined for anything else. */
export function millisecondsOf(time: unknown): number | undefined {
  const ms = Date.parse(textOf(time) ?? '')
  return Number.isNaN(ms) ? undefined : ms
}
