/** Names, points in time, states and icons, as they stand in texts and tables. */
import { computed } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { to } from '../address.ts'
import type { Kind, Status } from '../model/execution.ts'
import { cutMiddle, markHidden, showHidden } from '../model/names.ts'
import { formatDuration, formatExact, formatRelative, isTime, now } from '../model/time.ts'

/** Below that, one column. */
export const phoneWidth = '(max-width: 37.49em)'

/** @param length In CSS pixels at the usual text size of 16. */
export function rem(length: number): string {
  return `${length / 16}rem`
}

/** The reader's text size in units of the usual one. */
export function textScale(): number {
  return Number.parseFloat(getComputedStyle(document.documentElement).fontSize) / 16 || 1
}

/** Lines on a grid of 16. */
const paths = {
  home: 'M2.5 7.5 8 3l5.5 4.5M4 6.5V13h8V6.5M6.5 13V9.5h3V13',
  apps: 'M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9M10.4 10.4l3.3 3.3',
  user: 'M8 8a2.75 2.75 0 1 0 0-5.5A2.75 2.75 0 0 0 8 8M2.75 13.5c.6-2.5 2.6-3.75 5.25-3.75s4.65 1.25 5.25 3.75',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  bell: 'M8 2a3.5 3.5 0 0 0-3.5 3.5C4.5 9 3 10 3 11h10c0-1-1.5-2-1.5-5.5A3.5 3.5 0 0 0 8 2M6.75 13a1.25 1.25 0 0 0 2.5 0',
  down: 'm4 6 4 4 4-4',
  up: 'm4 10 4-4 4 4',
  right: 'm6 4 4 4-4 4',
  left: 'm10 4-4 4 4 4',
  close: 'm4 4 8 8M12 4l-8 8',
  check: 'm3.5 8.5 3 3 6-6.5',
  plus: 'M8 3v10M3 8h10',
  play: 'M5 3.5v9l7-4.5z',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  stop: 'M4 4h8v8H4z',
  refresh: 'M13 3.5v3h-3M3 12.5v-3h3M12.6 6.5A5 5 0 0 0 4 5M3.4 9.5A5 5 0 0 0 12 11',
  copy: 'M5.5 5.5h7v7h-7zM3.5 10.5v-7h7',
  link: 'M6.5 9.5 9.5 6.5M7 4.5l1-1a2.6 2.6 0 0 1 3.7 0l.8.8a2.6 2.6 0 0 1 0 3.7l-1 1M9 11.5l-1 1a2.6 2.6 0 0 1-3.7 0l-.8-.8a2.6 2.6 0 0 1 0-3.7l1-1',
  graph: 'M2.5 6h3.5v4H2.5zM10 2.5h3.5v4H10zM10 9.5h3.5v4H10zM6 8h2M8 4.5v7M8 4.5h2M8 11.5h2',
  list: 'M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01',
  clock: 'M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11M8 5v3l2 1.5',
  skip: 'M4 3.5v9l6-4.5zM12 3.5v9',
  redo: 'M10.5 3l3 3-3 3M13.5 6H7a4 4 0 0 0 0 8h3',
  settings: 'M3 4.5h6M12 4.5h1M10.5 3v3M3 8h1M7 8h6M5.5 6.5v3M3 11.5h6M12 11.5h1M10.5 10v3',
  edit: 'M3 13l.6-2.6L10.5 3.5l2 2L5.6 12.4zM9 5l2 2',
  undo: 'M5.5 3 2.5 6l3 3M2.5 6h6.5a4 4 0 0 1 0 8H6',
  trash: 'M3 4.5h10M6 4.5v-2h4v2M4.5 4.5l.5 9h6l.5-9',
  resize: 'M3 9v4h4M13 7V3H9M3 13l4.5-4.5M13 3 8.5 7.5',
  terminal: 'M2.5 3.5h11v9h-11zM5 6.5 6.5 8 5 9.5M8 9.5h3',
  warn: 'M8 2.5 14 13H2zM8 6.5v3M8 11.5h.01',
  info: 'M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11M8 7.5v3.5M8 5h.01',
  lock: 'M4 7.5h8v6H4zM5.5 7.5v-2a2.5 2.5 0 0 1 5 0v2',
  power: 'M8 2.5v5M4.7 4.7a4.7 4.7 0 1 0 6.6 0',
  balance: 'M2.5 8h4M6.5 8c2 0 2-4 4.5-4h2.5M6.5 8c2 0 2 4 4.5 4h2.5M6.5 8h7',
  project: 'M2.5 3.5h4l1.5 2h5.5v7h-11zM5 8.5h6M5 10.5h4',
  box: 'm8 2.5 5 2.5v6l-5 2.5-5-2.5V5zM3 5l5 2.5L13 5M8 7.5v6',
  layers: 'm8 2.5 5.5 2.75L8 8 2.5 5.25zM2.5 8 8 10.75 13.5 8M2.5 10.75 8 13.5l5.5-2.75',
  moon: 'M12.5 9.5A5 5 0 0 1 6.5 3.5a5 5 0 1 0 6 6',
  sun: 'M8 10.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5M8 2v1.5M8 12.5V14M2 8h1.5M12.5 8H14M3.8 3.8l1 1M11.2 11.2l1 1M3.8 12.2l1-1M11.2 4.8l1-1',
  signout: 'M9.5 3.5h-6v9h6M7 8h6.5M11 5.5 13.5 8 11 10.5',
  pipeline: 'M3.5 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4M12.5 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4M5.5 8h5',
  people:
    'M6 7.5a2.25 2.25 0 1 0 0-4.5 2.25 2.25 0 0 0 0 4.5M2 13c.4-2.3 1.9-3.5 4-3.5s3.6 1.2 4 3.5M10.5 7.5a2 2 0 1 0-.5-4M11.5 9.7c1.5.3 2.3 1.4 2.5 3.3',
  task: 'M3 3h10v10H3zM5.5 8l2 2 3-4',
  download: 'M8 2.5v8M4.5 7 8 10.5 11.5 7M3 13.5h10',
  external: 'M9 3h4v4M13 3 7.5 8.5M11 9.5V13H3V5h3.5',
} as const

export type IconName = keyof typeof paths

/** Decoration: the word stands beside it, or the button has a name. */
export function Icon({ name, size = 16 }: { name: IconName; size?: 16 | 20 }) {
  return (
    <svg
      class={`icon is-${name}`}
      width={rem(size)}
      height={rem(size)}
      viewBox="0 0 16 16"
      aria-hidden="true"
      focusable="false"
    >
      <path d={paths[name]} />
    </svg>
  )
}

/** The ring through which the line of a ship is led. */
export function Mark({ size = 24 }: { size?: number }) {
  return (
    <svg
      class="mark"
      viewBox="0 0 48 48"
      width={rem(size)}
      height={rem(size)}
      aria-hidden="true"
      focusable="false"
    >
      <circle cx="24" cy="24" r="15" fill="none" stroke="currentColor" stroke-width="6" />
      <path
        d="M2 31c9 0 13-14 22-14s13 14 22 14"
        fill="none"
        stroke="currentColor"
        stroke-width="3.5"
        stroke-linecap="round"
      />
    </svg>
  )
}

interface NameProps {
  readonly text: string
  readonly max?: number
  readonly class?: string
}

export function Name({ text, max, class: style }: NameProps) {
  const shown = showHidden(text)
  const cut = cutMiddle(shown, max)
  return (
    <bdi class={style} title={cut === shown ? undefined : shown.slice(0, 1000)}>
      {cut}
    </bdi>
  )
}

export function NameLink({
  href,
  text,
  max,
  class: style,
}: NameProps & { href: string | undefined }) {
  if (href === undefined) return <Name class={style} text={text} max={max} />
  return (
    <a class={style} href={href}>
      <Name text={text} max={max} />
    </a>
  )
}

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
  const words = useMemo(
    () =>
      computed(() => {
        if (!isTime(at)) return ''
        const days = inDays ? Math.floor((now.value - at) / dayMs) : 0
        return days > 0 ? `${days} d ago` : formatRelative(at, now.value)
      }),
    [at, inDays],
  )
  if (!isTime(at)) return <span class="muted">–</span>
  return (
    <time dateTime={new Date(at).toISOString()} title={exact}>
      {words}
    </time>
  )
}

/** A length of time that goes on while there is no end. */
export function Duration({
  from,
  until,
}: {
  from: number | null | undefined
  until?: number | null
}) {
  if (!isTime(from)) return null
  return <span class="number">{formatDuration((isTime(until) ? until : now.value) - from)}</span>
}

const disc = 'M8 1a7 7 0 1 0 0 14A7 7 0 0 0 8 1'
const ring = 'M8 14.25A6.25 6.25 0 1 0 8 1.75a6.25 6.25 0 0 0 0 12.5'
const diamond = 'M8 .75 15.25 8 8 15.250.75 8z'

/** Each kind has a shape of its own, on a grid of 16: paths by their class. `ground` is cut out of it. */
const shapes: Readonly<Record<Kind, Readonly<Record<string, string>>>> = {
  succeeded: { fill: disc, ground: 'm4.75 8.25 2.25 2.25 4.25-4.75' },
  running: {
    'line faint': ring,
    'line arc': 'M8 1.75a6.25 6.25 0 0 1 6.25 6.25',
    fill: 'M6.5 5.25v5.5L11 8z',
  },
  failed: {
    fill: 'M5.1 1h5.8L15 5.1v5.8L10.9 15H5.1L1 10.9V5.1z',
    ground: 'm5.5 5.5 5 5M10.5 5.5l-5 5',
  },
  warning: { fill: 'M8 1 15.5 14.5H.5z', ground: 'M8 6v4M8 12.25h.01' },
  waiting: {
    fill: diamond,
    ground: 'M6.25 6.5a1.75 1.75 0 1 1 2.5 1.55c-.5.25-.75.5-.75 1.2M8 11.25h.01',
  },
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
  const look = {
    class: `status-mark is-${kind}`,
    width: rem(size),
    height: rem(size),
    viewBox: '0 0 16 16',
  }
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

export type Fact = readonly [name: string, value: ComponentChildren]

/** Facts without a value are left out; a text is shown as a name. */
export function KeyValue({
  facts,
  look = 'key-value',
}: {
  facts: readonly Fact[]
  look?: 'key-value' | 'numbers'
}) {
  const given = facts.filter(
    ([, value]) => value !== undefined && value !== null && value !== false && value !== '',
  )
  return (
    <dl class={look}>
      {given.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{typeof value === 'string' ? <Name text={value} max={400} /> : value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** Whether the page has one column. */
export const usePhone = () => useMedia(phoneWidth)

/** Whether there is room for what is chosen beside its list. */
export const useWide = () => useMedia('(min-width: 68.75em)')

function useMedia(query: string) {
  const [matches, setMatches] = useState(() => matchMedia(query).matches)
  useEffect(() => {
    const width = matchMedia(query)
    const onChange = () => setMatches(width.matches)
    width.addEventListener('change', onChange)
    return () => width.removeEventListener('change', onChange)
  }, [])
  return matches
}

/** An address, or the id of an execution. */
const linked = 'https?:\\/\\/[^\\s<>"\']+[^\\s<>"\'.,;:!?)\\]]|\\b01[0-9A-HJKMNP-TV-Z]{24}\\b'

/** @param links Where things lead that the text may name */
export function PlainText({
  text,
  links = new Map(),
}: {
  text: string
  links?: ReadonlyMap<string, string>
}) {
  // Longer names first: one may begin with another.
  const names = [...links.keys()].toSorted((a, b) => b.length - a.length)
  const known = names.map(
    (name) => `(?<![\\w-])${name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')}(?![\\w-])`,
  )
  const parts = text.slice(0, 20_000).split(new RegExp(`(${[...known, linked].join('|')})`))
  return (
    <bdi class="plain-text">
      {parts.map((part, index) => {
        // Line breaks stay.
        if (index % 2 === 0) return part.split(/\r?\n/).map(markHidden).join('\n')
        const isAddress = part.startsWith('http')
        const outside = isAddress && { target: '_blank', rel: 'noopener noreferrer' }
        return (
          <a
            key={index}
            href={links.get(part) ?? (isAddress ? part : to.execution(part))}
            {...outside}
          >
            {showHidden(part)}
          </a>
        )
      })}
    </bdi>
  )
}
