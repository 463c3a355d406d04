/** Spans of time as people type them: `30s`, `5m`, `2h`, `7d`. */
import { misuse } from './failure.ts'

const unitsMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/** @param source Named in the error. @returns milliseconds. @throws {Failure} with 3 */
export function parseSpan(source: string, text: string): number {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)(ms|[smhd])$/.exec(text) ?? []
  const unitMs = unitsMs[unit]
  if (amount !== undefined && unitMs !== undefined) return Number(amount) * unitMs
  throw misuse(`${source} is a span of time, not "${text}".`, 'Write it as 30s, 5m, 2h or 7d.')
}

/** @returns such as `3d`, `5m 20s` */
export function formatSpan(ms: number): string {
  const seconds = Math.round(ms / 1000)
  const [minutes, hours, days] = [60, 3600, 86_400].map((size) => Math.floor(seconds / size)) as [
    number,
    number,
    number,
  ]
  if (days > 0) return `${days}d${hours % 24 > 0 ? ` ${hours % 24}h` : ''}`
  if (hours > 0) return `${hours}h${minutes % 60 > 0 ? ` ${minutes % 60}m` : ''}`
  return minutes > 0 ? `${minutes}m ${seconds % 60}s` : `${seconds}s`
}
