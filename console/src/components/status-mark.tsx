/** A state as a shape; colour never carries it alone. */
import type { Kind, Status } from '../model/status.ts'
import { rem } from './rem.ts'

const disc = 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1'
const ring = 'M8 14.25A6.25 6.25 0 1 0 8 1.75a6.25 6.25 0 0 0 0 12.5'
const diamond = 'M8 .75 15.25 8 8 15.250.75 8z'

/** Each kind has a shape of its own, on a grid of 16: paths by their class. `ground` is cut out of it. */
const shapes: Readonly<Record<Kind, Readonly<Record<string, string>>>> = {
  succeeded: { fill: disc, ground: 'm4.75 8.25 2.25 2.25 4.25-4.75' },
  running: { 'line faint': ring, 'line arc': 'M8 1.75a6.25 6.25 0 0 1 6.25 6.25', fill: 'M6.5 5.25v5.5L11 8z' },
  failed: { fill: 'M5.1 1h5.8L15 5.1v5.8L10.9 15H5.1L1 10.9V5.1z', ground: 'm5.5 5.5 5 5M10.5 5.5l-5 5' },
  warning: { fill: 'M8 1 15.5 14.5H.5z', ground: 'M8 6v4M8 12.25h.01' },
  waiting: { fill: diamond, ground: 'M6.25 6.5a1.75 1.75 0 1 1 2.5 1.55c-.5.25-.75.5-.75 1.2M8 11.25h.01' },
  paused: { fill: diamond, ground: 'M6.5 5.75v4.5M9.5 5.75v4.5' },
  queued: { line: ring },
  skipped: { line: 'M3 12.5h10M3.5 8.5C5 4 10 3.5 12 7.5M12.5 4v3.75H8.75' },
  cancelled: { line: `${ring}M4 12l8-8` },
  disabled: { 'line thick': 'M2.5 8h11' },
  unknown: { 'line dotted': ring },
}

interface StatusMarkProps {
  readonly kind: Kind
  /** Its name where no text stands beside it. */
  readonly label?: string
  readonly size?: number
}

export function StatusMark({ kind, label, size = 16 }: StatusMarkProps) {
  const look = { class: `status-mark is-${kind}`, width: rem(size), height: rem(size), viewBox: '0 0 16 16' }
  return (
    <svg
      {...look}
      role={label === undefined ? undefined : 'img'}
      aria-label={label}
      aria-hidden={label === undefined || undefined}
    >
      {label !== undefined && <title>{label}</title>}
      {Object.entries(shapes[kind]).map(([style, d]) => (
        <path key={style} class={style} d={d} />
      ))}
    </svg>
  )
}

/** On a ground of its colour, beside a title. */
export function StatusBadge({ status: { kind, word } }: { status: Status }) {
  return (
    <span class={`status-badge is-${kind}`}>
      <StatusMark kind={kind} /> {word}
    </span>
  )
}

/** The shape with its word. */
export function StatusText({ status }: { status: Status }) {
  return (
    <span class={`status-text is-${status.kind}`}>
      <StatusMark kind={status.kind} />
      <span>{status.word}</span>
    </span>
  )
}
