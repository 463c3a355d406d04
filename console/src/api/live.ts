/**
 * Reads that stay current: each is made once for all panels that show it, repeated at the pace of the fastest of them, and asks
 * by ETag for changes only. Changed answers reach the screen together, at most four times a second.
 */
import { batch, effect, type Signal, signal, untracked } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { type ApiError, asApiError, parseAnswer, readAgain, toApiError, urlOf } from './client.ts'
import { isReachable, loginEnded } from './login-state.ts'
import type { paths } from './schema.d.ts'
import { applicationEvents, type Events, followEvents, type Part } from './streams.ts'

/**
 * `live` is read every 2 s while something that it shows is running, otherwise every 10 s; `steady` every 15 s, `slow` every minute,
 * `rare` every fifteen, `open` when it is shown, and again on return to the tab after a minute.
 */
export type Refresh = 'live' | 'steady' | 'slow' | 'rare' | 'open'

export type ReadPath = {
  [Path in keyof paths]: paths[Path] extends { get: unknown } ? Path : never
}[keyof paths]
type Get<Path extends ReadPath> = paths[Path] extends { get: infer Operation } ? Operation : never
export type ReadParameters<Path extends ReadPath> =
  Get<Path> extends { parameters: infer Parameters } ? Parameters : never
export type Answer<Path extends ReadPath> =
  Get<Path> extends { responses: { 200: { content: { 'application/json': infer Body } } } }
    ? Body
    : unknown

export interface LiveOptions<Body> {
  readonly refresh?: Refresh
  /** For `live`: whether the answer shows something that is running. */
  readonly isBusy?: (body: Body) => boolean
  /**
   * Where the API reports changes. While it does, a list is read after a change, and otherwise rarely; a list that changes all the time
   * is not read more often than without. A part is one of the application in the path.
   */
  readonly events?: Part | Events
}

/** What panels show of a read. */
export interface Reading<Body> {
  readonly body?: Body
  readonly error?: ApiError
  /** When the last good answer was read, in milliseconds since the epoch. */
  readonly readAtMs?: number
  /** When the read is tried again after an error. */
  readonly nextTryAtMs?: number
  /** Failed reads since the last good one. */
  readonly failures: number
}

export interface Live<Body> extends Pick<Reading<Body>, 'body' | 'error'> {
  readonly reading: Signal<Reading<Body>>
  /** Reads at once. */
  refresh(): void
}

/**
 * How current the page is. `connected`: streams report the changes of what follows one; `polling`: reads at intervals find them;
 * `reconnecting`: a read has failed; `stale`: two reads in a row have failed.
 */
export type Connection = 'connected' | 'polling' | 'reconnecting' | 'stale'

/** How current everything is that the page shows. */
export const connection = signal<Connection>('polling')

const never = Number.POSITIVE_INFINITY
const batchMs = 250
const busyMs = 2000
/** Pause between two reads of a list whose changes are reported. */
const followedMs = 300_000
const intervals: Readonly<Record<Refresh, number>> = {
  live: 10_000,
  steady: 15_000,
  slow: 60_000,
  rare: 900_000,
  open: never,
}
/** Reads in a hidden tab end after that. */
const hiddenMs = 600_000
/** How long an answer that no panel shows is kept for the next one. */
const keptMs = 120_000
const openAgainMs = 60_000
/** A read and a stream that are asked for within this time see the same. */
const togetherMs = 250
/** How long a read may take: one that is repeated, and others. */
const longestAgainMs = 60_000
const longestMs = 600_000
/** An answer of that age is shown to a panel that opens without another read. */
const freshMs = 1000

const resources = new Map<string, Resource<unknown>>()
let hiddenSinceMs: number | undefined

/** The shared read of this path and these parameters while the component is shown; undefined parameters read nothing. */
export function useLive<Path extends ReadPath>(
  path: Path,
  parameters: ReadParameters<Path> | undefined,
  how: Refresh | LiveOptions<Answer<Path>> = {},
): Live<Answer<Path>> {
  const key = parameters && `${path} ${JSON.stringify(parameters)}`
  const resource = useMemo(() => {
    if (key === undefined) return new Resource<Answer<Path>>('', path, '')
    const known = resources.get(key) ?? new Resource<unknown>(key, path, urlOf(path, parameters))
    resources.set(key, known)
    return known as Live<unknown> as Resource<Answer<Path>>
  }, [key])
  const { refresh, isBusy, events } = typeof how === 'string' ? { refresh: how } : how
  const followed = typeof events === 'string' ? eventsOf(events, parameters) : events
  useEffect(() => {
    if (key !== undefined) return resource.subscribe({ refresh, isBusy, events: followed })
  }, [resource, refresh, followed?.path, followed?.part])
  return resource
}

function eventsOf(part: Part, parameters: unknown) {
  const { path } = (parameters ?? {}) as { readonly path?: Readonly<Record<string, string>> }
  return applicationEvents(path?.['application'] ?? path?.['applicationName'] ?? '', part)
}

/** Reads everything that is shown again, as after a login. */
export function refreshAll(): void {
  for (const resource of resources.values()) resource.refresh()
}

/** Refreshes everything below these words of a path, after a change. */
export function refreshMatching(...words: readonly string[]): void {
  for (const [key, resource] of resources)
    if (words.every((word) => key.includes(word))) resource.refresh()
}

/** Resources whose answers wait for the next batch. */
const changed = new Set<Resource<unknown>>()
let flushing: ReturnType<typeof setTimeout> | undefined
let lastFlushMs = 0

/** At once where nothing was shown yet. Without a resource: what the page shows has changed, though no answer has. */
function showSoon(resource?: Resource<unknown>) {
  if (resource !== undefined) changed.add(resource)
  const isFirst = resource?.isBlank() === true
  if (flushing !== undefined && !isFirst) return
  clearTimeout(flushing)
  flushing = setTimeout(flush, isFirst ? 0 : Math.max(0, lastFlushMs + batchMs - performance.now()))
}

function flush() {
  flushing = undefined
  lastFlushMs = performance.now()
  batch(() => {
    for (const resource of changed) resource.show()
    changed.clear()
    const states = new Set([...resources.values()].map((resource) => resource.connection()))
    connection.value = gravest.find((state) => states.has(state)) ?? 'polling'
  })
}

const gravest: readonly Connection[] = ['stale', 'reconnecting', 'polling', 'connected']

interface Subscriber<Body> extends Omit<LiveOptions<Body>, 'events' | 'refresh'> {
  readonly refresh: Refresh | undefined
  readonly events: Events | undefined
}

class Resource<Body> implements Live<Body> {
  readonly reading = signal<Reading<Body>>({ failures: 0 })
  readonly #key: string
  readonly #path: ReadPath
  readonly #url: string
  readonly #subscribers = new Set<Subscriber<Body>>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #etag: string | undefined
  #text: string | undefined
  /** Latest reading; panels see it with the next batch. */
  #latest: Reading<Body> = { failures: 0 }
  #isReading = false
  #readBeganMs = -never
  /** When the next read is due whatever the pace, in milliseconds since the epoch. */
  #wantedAtMs = never
  /** A change was reported since the last read began, and when the last read began that a change has caused. */
  #hasChanged = false
  #changeReadAtMs = 0
  #events: Events | undefined
  #stopEvents: (() => void) | undefined
  #isFollowing = false

  constructor(key: string, path: ReadPath, url: string) {
    this.#key = key
    this.#path = path
    this.#url = url
  }

  get body() {
    return this.reading.value.body
  }

  get error() {
    return this.reading.value.error
  }

  subscribe(options: Subscriber<Body>): () => void {
    // What another panel shows is read at its pace: rows that come into view do not ask again.
    const isShown = this.#subscribers.size > 0
    const isRetried = isShown && this.#latest.nextTryAtMs !== undefined
    this.#subscribers.add(options)
    if (!isRetried && this.#ageMs() > (isShown ? openAgainMs : freshMs)) this.#wantedAtMs = 0
    this.#schedule()
    if (options.events !== undefined && this.#stopEvents === undefined)
      this.#stopEvents = this.#follow(options.events)
    return () => this.#leave(options)
  }

  #leave(options: Subscriber<Body>): void {
    this.#subscribers.delete(options)
    if (this.#subscribers.size > 0) return
    this.#stopEvents?.()
    this.#stopEvents = undefined
    this.#events = undefined
    this.#isFollowing = false
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => resources.delete(this.#key), keptMs)
    showSoon()
  }

  #follow(events: Events): () => void {
    const { path, part } = events
    this.#events = events
    return followEvents(path, {
      onChange: (what) => {
        if (part === undefined || what === undefined || what === part) this.#noteChange()
      },
      onState: (state, isNew) => {
        this.#isFollowing =
          state !== undefined && (part === undefined || state.parts?.includes(part) === true)
        const mayHaveMissed = isNew && this.#readBeganMs < (state?.askedAtMs ?? never) - togetherMs
        if (this.#isFollowing && mayHaveMissed && hiddenSinceMs === undefined) this.refresh()
        else this.#schedule()
        showSoon()
      },
    })
  }

  /**
   * A hidden tab reads on return. Changes of a list are read no more often than it would be without them, and after an error not before
   * the next try.
   */
  #noteChange(): void {
    if (hiddenSinceMs !== undefined) return
    const pauseMs = this.#events?.part === undefined ? 0 : Math.min(this.#pace(), intervals.steady)
    const { nextTryAtMs = 0 } = this.#latest
    this.#wantedAtMs = Math.min(
      this.#wantedAtMs,
      Math.max(nextTryAtMs, this.#changeReadAtMs + pauseMs),
    )
    this.#hasChanged = true
    this.#schedule()
  }

  connection(): Connection | undefined {
    if (this.#subscribers.size === 0) return undefined
    const { error, failures } = this.#latest
    // Refusals and missing things are answers.
    if (error !== undefined && (error.status === 0 || error.status >= 500))
      return failures > 1 ? 'stale' : 'reconnecting'
    return this.#events && (this.#isFollowing ? 'connected' : 'polling')
  }

  refresh(): void {
    this.#wantedAtMs = 0
    this.#schedule()
  }

  /** An answer about something else says nothing about a service that fails. */
  retry(): void {
    if (this.#latest.error?.status === 0) this.refresh()
  }

  /** Runs on return to the tab. */
  wake(): void {
    if (this.#interval() !== never || this.#ageMs() > openAgainMs) this.refresh()
  }

  /** Nothing was shown yet. */
  isBlank(): boolean {
    const { body, error } = this.reading.peek()
    return body === undefined && error === undefined
  }

  show(): void {
    this.reading.value = this.#latest
  }

  /** Milliseconds since the last good answer. */
  #ageMs(): number {
    const { readAtMs } = this.#latest
    return readAtMs === undefined ? never : Math.max(0, Date.now() - readAtMs)
  }

  async #read(): Promise<void> {
    this.#isReading = true
    this.#readBeganMs = performance.now()
    if (this.#hasChanged) this.#changeReadAtMs = Date.now()
    this.#hasChanged = false
    this.#wantedAtMs = never
    await this.#ask().catch((error: unknown) => this.#fail(asApiError(error)))
    this.#isReading = false
    this.#schedule()
  }

  async #ask(): Promise<void> {
    // What is read once, as a verification of the audit log, may take its time.
    const isQuick = this.#latest.body !== undefined && this.#interval() !== never
    const { response, text } = await readAgain(
      this.#url,
      this.#etag,
      isQuick ? longestAgainMs : longestMs,
    )
    const isSame = response.status === 304 || (response.ok && text === this.#text)
    if (!response.ok && !isSame) throw toApiError(response, text)
    const hadError = this.#latest.error !== undefined
    const body = isSame ? this.#latest.body : (parseAnswer(this.#path, text) as Body)
    this.#latest = { body, readAtMs: Date.now(), failures: 0 }
    if (response.status !== 304) {
      this.#etag = response.headers.get('etag') ?? undefined
      this.#text = text
    }
    // While the last answer holds, panels are told only if they show an error.
    if (isSame && !hadError) Object.assign(this.reading.peek(), { readAtMs: this.#latest.readAtMs })
    else showSoon(this as Resource<unknown>)
  }

  #fail(error: ApiError): void {
    const failures = this.#latest.failures + 1
    this.#latest = {
      ...this.#latest,
      error,
      failures,
      nextTryAtMs: Date.now() + waitAfter(error, failures),
    }
    showSoon(this as Resource<unknown>)
  }

  /** Milliseconds between reads. */
  #interval(): number {
    const paceMs = this.#pace()
    if (!this.#isFollowing) return paceMs
    return Math.max(paceMs, this.#events?.part === undefined ? intervals.steady : followedMs)
  }

  /** Milliseconds between reads without events, for the fastest of those that show it. */
  #pace(): number {
    // Rows of a list have the same pace and ask the same of one long answer.
    const paces = new Set([...this.#subscribers].map(({ refresh = 'steady' }) => refresh))
    const questions = new Set(
      [...this.#subscribers].flatMap(({ refresh, isBusy }) => (refresh === 'live' && isBusy) || []),
    )
    const { body } = this.#latest
    if (body !== undefined && [...questions].some((isBusy) => isBusy(body))) return busyMs
    return Math.min(...[...paces].map((refresh) => intervals[refresh]))
  }

  #schedule(): void {
    if (this.#subscribers.size === 0 || this.#isReading) return
    clearTimeout(this.#timer)
    if (this.#wantedAtMs <= Date.now()) return void this.#read()
    const { readAtMs = 0, nextTryAtMs = readAtMs + this.#interval() } = this.#latest
    const dueAtMs = Math.min(this.#wantedAtMs, nextTryAtMs)
    if (dueAtMs === never) return
    this.#timer = setTimeout(
      () => {
        const hidesLong = hiddenSinceMs !== undefined && Date.now() - hiddenSinceMs > hiddenMs
        // A login in another tab, or the return to this one, begins anew.
        if (!hidesLong && !loginEnded.peek()) this.refresh()
      },
      Math.max(0, dueAtMs - Date.now()),
    )
  }
}

/** 2, 4, 8 … 60 s with jitter, or 15 s where no server answers, unless the server says when. */
function waitAfter({ status, retryAfterMs }: ApiError, failures: number) {
  return (
    retryAfterMs ??
    Math.min(status === 0 ? 15_000 : 60_000, 1000 * 2 ** failures) * (0.9 + Math.random() / 5)
  )
}

/** Once the server answers again, reads that did not reach it wait no longer. */
function retryUnreached() {
  for (const resource of resources.values()) resource.retry()
}

addEventListener('online', retryUnreached)
effect(() => {
  if (isReachable.value) untracked(retryUnreached)
})

document.addEventListener('visibilitychange', () => {
  hiddenSinceMs = document.visibilityState === 'hidden' ? Date.now() : undefined
  if (hiddenSinceMs === undefined) for (const resource of resources.values()) resource.wake()
})
