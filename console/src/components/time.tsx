/** Points in time and lengths of time. */
import { formatDuration, formatExact, formatRelative, now } from '../model/time.ts'

/** Relative, with the exact time on hover. */
export function Time({ at }: { at: number | null | undefined }) {
  if (!at) return <span class="muted">–</span>
  return (
    <time dateTime={new Date(at).toISOString()} title={formatExact(at)}>
      {formatRelative(at, now.value)}
    </time>
  )
}

/** A length of time that goes on while there is no end. */
export function Duration({ from, until }: { from: number | null | undefined; until?: number | null | undefined }) {
  if (!from) return null
  return <span class="number">{formatDuration((until ?? now.value) - from)}</span>
}
