/** Points in time and lengths of time. */
import { useMemo } from 'preact/hooks'
import { formatDuration, formatExact, formatRelative, isTime, now } from '../model/time.ts'

const dayMs = 86_400_000

interface TimeProps {
  readonly at: number | string | null | undefined
  /** Counts days instead of naming the date. */
  readonly inDays?: boolean
}

/** Relative, with the exact time on hover. */
export function Time({ at: given, inDays = false }: TimeProps) {
  const at = typeof given === 'string' ? Date.parse(given) : given
  const exact = useMemo(() => (isTime(at) ? formatExact(at) : undefined), [at])
  if (!isTime(at)) return <span class="muted">–</span>
  return (
    <time dateTime={new Date(at).toISOString()} title={exact}>
      {inDays && now.value - at >= dayMs ? `${Math.floor((now.value - at) / dayMs)} d ago` : formatRelative(at, now.value)}
    </time>
  )
}

/** A length of time that goes on while there is no end. */
export function Duration({ from, until }: { from: number | null | undefined; until?: number | null | undefined }) {
  if (!isTime(from)) return null
  return <span class="number">{formatDuration((isTime(until) ? until : now.value) - from)}</span>
}
