/** Points in time and lengths of time. */
import { useMemo } from 'preact/hooks'
import { formatDuration, formatExact, formatRelative, isTime, now } from '../model/time.ts'

/** Relative, with the exact time on hover. */
export function Time({ at }: { at: number | null | undefined }) {
  const exact = useMemo(() => (isTime(at) ? formatExact(at) : undefined), [at])
  if (!isTime(at)) return <span class="muted">–</span>
  return (
    <time dateTime={new Date(at).toISOString()} title={exact}>
      {formatRelative(at, now.value)}
    </time>
  )
}

/** A length of time that goes on while there is no end. */
export function Duration({ from, until }: { from: number | null | undefined; until?: number | null | undefined }) {
  if (!isTime(from)) return null
  return <span class="number">{formatDuration((isTime(until) ? until : now.value) - from)}</span>
}
