/** Durations as authors of stages write them: in seconds, or by ISO 8601. */
import { numberOf } from '@fairlead/base/json/values.ts'

const iso = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/i

/** Undefined for anything else. */
export function secondsOf(value: unknown): number | undefined {
  const parts = iso.exec(String(value))
  if (parts === null) return numberOf(value)
  const [days = 0, hours = 0, minutes = 0, rest = 0] = parts
    .slice(1)
    .map((part) => Number(part ?? 0))
  const seconds = ((days * 24 + hours) * 60 + minutes) * 60 + rest
  return Number.isFinite(seconds) ? seconds : undefined
}
