/** Times and durations as the console writes them. */
import { computed, signal } from '@preact/signals'

const minute = 60_000

/** How much the clock of the server is ahead of the reader's. */
let aheadMs = 0

/** Times that the server writes are compared with its own clock, whatever the reader's shows. */
export function noteServerTime(date: string | null): void {
  const difference = Date.parse(date ?? '') - Date.now()
  // Answers take their time, and name whole seconds.
  if (!Number.isNaN(difference)) aheadMs = Math.abs(difference) < 5000 ? 0 : difference
}

/** The present of the server. */
export function presentMs(): number {
  return Date.now() + aheadMs
}

/** The present in milliseconds, moved every second while the tab is visible. */
export const now = signal(presentMs())
/** The minute of the present, for what many elements show. */
export const thisMinute = computed(() => now.value - (now.value % minute))

export function startClock(isHidden: () => boolean): void {
  setInterval(() => {
    if (!isHidden()) now.value = presentMs()
  }, 1000)
}

const hour = 60 * minute
const day = 24 * hour

const dateFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })
const exactFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' })

/** Whether it is a point in time that can be written: services write other things as well. */
export function isTime(at: unknown): at is number {
  return typeof at === 'number' && at > 0 && at <= 8.64e15
}

/** "12 min ago", "in 5 min", or the date from a day on. */
export function formatRelative(atMs: number, nowMs: number): string {
  const distance = Math.abs(nowMs - atMs)
  if (distance < 5000) return 'now'
  if (distance >= day) return dateFormat.format(atMs)
  const [unit, ms] =
    distance < minute ? ['s', 1000] : distance < hour ? ['min', minute] : ['h', hour]
  const text = `${Math.floor(distance / Number(ms))} ${unit}`
  return atMs <= nowMs ? `${text} ago` : `in ${text}`
}

/** Has the zone of the reader, and UTC. */
export function formatExact(atMs: number): string {
  return `${exactFormat.format(atMs)} (${new Date(atMs).toISOString()})`
}

export const formatMinute = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' }).format
export const formatClock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' }).format

/** "Mon 23 Nov, 10:00; Tue 24 Nov, 10:00", in the zone of the reader unless one is given. */
export function formatTimes(times: readonly number[], timeZone?: string): string {
  const format = new Intl.DateTimeFormat(undefined, {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    ...(times.some((at) => at % minute !== 0) && { second: '2-digit' }),
    timeZone,
  })
  return times.map((at) => format.format(at)).join('; ')
}

export const readersZone = exactFormat.resolvedOptions().timeZone

/** "850 ms", "40 s", "1m 40s", "2h 05m", "3 d". */
export function formatDuration(ms: number): string {
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < minute) return `${Math.round(ms / 1000)} s`
  if (ms < hour) return `${Math.floor(ms / minute)}m ${two((ms % minute) / 1000)}s`
  if (ms < day) return `${Math.floor(ms / hour)}h ${two((ms % hour) / minute)}m`
  const days = Math.floor(ms / day)
  return days < 10 ? `${days} d ${Math.floor((ms % day) / hour)} h` : `${days} d`
}
