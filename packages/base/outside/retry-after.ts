/** How long a server asks its callers to wait: the header `Retry-After`. */
import type { OutsideAnswer } from './call-outside.ts'

const longestRetryAfterMs = 60 * 60_000

/** Seconds, or a date. */
export function retryAfterOf({ headers }: Pick<OutsideAnswer, 'headers'>, nowMs: number = Date.now()): number | undefined {
  const value = String(headers['retry-after'] ?? '').trim()
  if (value === '') return undefined
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), longestRetryAfterMs) : undefined
}
