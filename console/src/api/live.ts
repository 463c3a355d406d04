/**
 * Reads that stay current: each is made once for all panels that show it, repeated at the pace of the fastest of them, and asks
 * by ETag for changes only. Changed answers reach the screen together, at most four times a second.
 */
import { batch, effect, type Signal, signal, untracked } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { type ApiError, asApiError, toApiError } from './api-error.ts'
import { parseAnswer, readAgain, urlOf } from './client.ts'
import { isReachable, loginEnded } from './login-state.ts'
import type { paths } from './schema.d.ts'
import { type Events, followEvents } from './streams.ts'

/**
 * `live` is read every 2 s while something that it shows is running, otherwise every 10 s; `steady` every 15 s, `slow` every minute,
 * `rare` every fifteen, `open` when it is shown, and again on return to the tab after a minute.
 */
export type Refresh = 'live' | 'steady' | 'slow' | 'rare' | 'open'

export type ReadPath = { [Path in keyof paths]: paths[Path] extends { get: unknown } ? Path : never }[keyof paths]
type Get<Path extends ReadPath> = paths[Path] extends { get: infer Operation } ? Operation : never
export type ReadParameters<Path extends ReadPath> = Get<Path> extends { parameters: infer Parameters } ? Parameters : never
export type Answer<Path extends ReadPath> =
  Get<Path> extends { responses: { 200: { content: { 'application/json': infer Body } } } } ? Body : unknown

interface LiveOptions<Body> {
  readonly refresh?: Refresh
  /** For `live`: whether the answer shows something that is running. */
  readonly isBusy?: (body: Body) => boolean
  /**
   * Where the API reports changes. While it does, a list is read after a change, and otherwise rarely; a list that changes all the time
   * is not read more often than without.
   */
  readonly events?: Events
}

/** What panels show of a read. */
export interface Reading<Body> {
  readonly body: Body | undefined
  readonly error: ApiError | undefined
  /** When the last good answer was read, in milliseconds since the epoch. */
  readonly readAtMs: number | undefined
  /** When the read is tried again after an error. */
  readonly nextTryAtMs: number | undefined
  /** Failed reads since the last good one. */
  readonly failures: number
}

export interface Live<Body> {
  readonly reading: Signal<Reading<Body>>
  /** Reads at once. */
  refresh(): void
}

/**
 * How current the page is. `connected`: streams report the changes of what follows one; `polling`: reads at intervals find them;
 * `reconnecting`: a read has failed, or a stream has broken off while what it follows runs; `stale`: two reads in a row have failed.
 */
export type Connection = 'connected' | 'polling' | 'reconnecting' | 'stale'

/** How current everything is that the page shows. */
export const connection = signal<Connection>('polling')

const batchMs = 250
const busyMs = 2000
/** Pause between two reads of a list whose changes are reported. */
const followedMs = 300_000
const intervals: Readonly<Record<Refresh, number>> = {
  live: 10_000,
  steady: 15_000,
  slow: 60_000,
  rare: 900_000,
  open: Number.POSITIVE_INFINITY,
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
  options: LiveOptions<Answer<Path>> = {},
): Live<Answer<Path>> {
  const key = parameters === undefined ? '' : `${path} ${JSON.stringify(parameters)}`
  const resource = useMemo(() => (parameters === undefined ? idle<Answer<Path>>() : find(key, path, parameters)), [key])
  useEffect(() => {
    if (resource instanceof Resource) return resource.subscribe(options)
  }, [resource, options.refresh, options.events?.path, options.events?.part])
  return resource
}

/** Reads everything that is shown again, as after a login. */
export function refreshAll(): void {
  for (const resource of resources.values()) resource.refresh()
}

/** Once the server answers again, reads that did not reach it wait no longer. */
function retryUnreached(): void {
  for (const resource of resources.values()) resource.retry()
}

/** After a change, everything below these words of a path may be different. */
export function refreshMatching(...words: readonly string[]): void {
  for (const [key, resource] of resources) if (words.every((word) => key.includes(word))) resource.refresh()
}

function idle<Body>(): Live<Body> {
  return { reading: signal(noReading()), refresh() {} }
}

export function noReading<Body>(): Reading<Body> {
  return { body: undefined, error: undefined, readAtMs: undefined, nextTryAtMs: undefined, failures: 0 }
}

function find<Path extends ReadPath>(key: string, path: Path, parameters: unknown): Live<Answer<Path>> {
  const known = resources.get(key) ?? new Resource<unknown>(key, path, parameters)
  resources.set(key, known)
  return known as unknown as Live<Answer<Path>>
}

const pending: (() => void)[] = []
let lastFlushMs = 0
let isFlushing = false

function applySoon(change: () => void): void {
  pending.push(change)
  if (isFlushing) return
  isFlushing = true
  setTimeout(flush, Math.max(0, lastFlushMs + batchMs - performance.now()))
}

/** What the page shows has changed, though no answer has. */
function judgeSoon(): void {
  applySoon(() => {})
}

function flush(): void {
  isFlushing = false
  lastFlushMs = performance.now()
  const changes = pending.splice(0)
  batch(() => {
    for (const change of changes) change()
    const states = new Set([...resources.values()].map((resource) => resource.connection()))
    connection.value = gravest.find((state) => states.has(state)) ?? 'polling'
  })
}

const gravest: readonly Connection[] = ['stale', 'reconnecting', 'polling', 'connected']

class Resource<Body> implements Live<Body> {
  readonly reading = signal<Reading<Body>>(noReading())
  readonly #key: string
  readonly #path: ReadPath
  readonly #url: string
  readonly #subscribers = new Set<LiveOptions<Body>>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #isReading = false
  #etag: string | undefined
  #text: string | undefined
  #again = false
  /** As it is known; panels see it with the next batch. */
  #latest: Reading<Body> = noReading()
  #events: Events | undefined
  #stopEvents: (() => void) | undefined
  #isFollowing = false
  #wasFollowing = false
  #readBeganMs = Number.NEGATIVE_INFINITY
  #followedAtMs = Number.NEGATIVE_INFINITY
  /** A read that began later knows what the stream has not reported. */
  #isCurrentSinceMs = Number.POSITIVE_INFINITY
  /** A change was reported since the last read began. */
  #hasChanged = false
  /** When the last read began that a change has caused. */
  #changeReadAtMs = 0

  constructor(key: string, path: ReadPath, parameters: unknown) {
    this.#key = key
    this.#path = path
    this.#url = urlOf(path, parameters)
    this.#forgetLater()
  }

  subscribe(options: LiveOptions<Body>): () => void {
    // What another panel shows is read at its pace: rows that come into view do not ask again.
    const maxAgeMs = this.#subscribers.size === 0 ? freshMs : openAgainMs
    const isRetried = this.#latest.nextTryAtMs !== undefined && this.#subscribers.size > 0
    this.#subscribers.add(options)
    if (!this.#isReading && !isRetried && this.#ageMs() > maxAgeMs) this.refresh()
    else this.#schedule()
    if (options.events !== undefined && this.#stopEvents === undefined) {
      this.#events = options.events
      this.#stopEvents = this.#follow(options.events)
    }
    return () => {
      this.#subscribers.delete(options)
      if (this.#subscribers.size > 0) return
      clearTimeout(this.#timer)
      this.#stopEvents?.()
      this.#stopEvents = undefined
      this.#events = undefined
      this.#isFollowing = false
      this.#wasFollowing = false
      this.#forgetLater()
      judgeSoon()
    }
  }

  /** Milliseconds since the last good answer. */
  #ageMs(): number {
    const { readAtMs } = this.#latest
    return readAtMs === undefined ? Number.POSITIVE_INFINITY : Math.max(0, Date.now() - readAtMs)
  }

  #follow({ path, part }: Events): () => void {
    return followEvents(path, {
      onChange: (changed) => {
        if (part === undefined || changed === undefined || changed === part) this.#noteChange()
      },
      onState: (state, isNew) => {
        this.#isFollowing = state !== undefined && (part === undefined || state.parts?.includes(part) === true)
        this.#wasFollowing ||= this.#isFollowing
        // The stream of a run begins with what has changed; that of an application does not.
        if (isNew) this.#followedAtMs = performance.now()
        this.#isCurrentSinceMs = (state?.askedAtMs ?? Number.POSITIVE_INFINITY) - togetherMs
        const mayHaveMissed = isNew && part !== undefined && this.#readBeganMs < this.#isCurrentSinceMs
        if (this.#isFollowing && mayHaveMissed && hiddenSinceMs === undefined) this.refresh()
        else this.#schedule()
        judgeSoon()
      },
    })
  }

  /** A hidden tab reads on return. */
  #noteChange(): void {
    if (hiddenSinceMs !== undefined) return
    if (this.#events?.part === undefined) {
      // The first events of a stream say how things were when it began, as does a read that was sent with it.
      const isFirst = performance.now() - this.#followedAtMs < togetherMs && this.#readBeganMs >= this.#isCurrentSinceMs
      if (!isFirst) this.refresh()
      return
    }
    this.#hasChanged = true
    this.#schedule()
  }

  connection(): Connection | undefined {
    if (this.#subscribers.size === 0) return undefined
    const { error, failures } = this.#latest
    if (error !== undefined && isOutage(error)) return failures > 1 ? 'stale' : 'reconnecting'
    if (this.#events === undefined) return undefined
    if (this.#isFollowing) return 'connected'
    return this.#wasFollowing && this.#isBusy() ? 'reconnecting' : 'polling'
  }

  refresh(): void {
    if (this.#subscribers.size === 0) return
    if (this.#isReading) {
      this.#again = true
      return
    }
    clearTimeout(this.#timer)
    void this.#read()
  }

  /** An answer about something else says nothing about a service that fails. */
  retry(): void {
    if (!this.#isReading && this.#latest.error?.status === 0) this.refresh()
  }

  /** On return to the tab. */
  wake(): void {
    if (this.#interval() !== Number.POSITIVE_INFINITY || this.#ageMs() > openAgainMs) this.refresh()
  }

  async #read(): Promise<void> {
    this.#isReading = true
    this.#readBeganMs = performance.now()
    if (this.#hasChanged) this.#changeReadAtMs = Date.now()
    this.#hasChanged = false
    try {
      await this.#ask()
    } catch (error) {
      this.#fail(asApiError(error))
    }
    this.#isReading = false
    if (this.#subscribers.size === 0) return
    if (this.#again) {
      this.#again = false
      this.refresh()
    } else this.#schedule()
  }

  async #ask(): Promise<void> {
    // What is read once, as a verification of the audit log, may take its time.
    const isQuick = this.#latest.body !== undefined && this.#interval() !== Number.POSITIVE_INFINITY
    const { response, text } = await readAgain(this.#url, this.#etag, isQuick ? longestAgainMs : longestMs)
    if (response.status === 304) return this.#confirm()
    if (!response.ok) throw toApiError(response, text)
    this.#etag = response.headers.get('etag') ?? undefined
    if (text === this.#text) return this.#confirm()
    const body = parseAnswer(this.#path, text) as Body
    this.#text = text
    this.#latest = { ...noReading(), body, readAtMs: Date.now() }
    this.#show()
  }

  /** The last answer still holds. Panels are told only if they show an error. */
  #confirm(): void {
    const { body, error } = this.#latest
    this.#latest = { ...noReading(), body, readAtMs: Date.now() }
    if (error === undefined) Object.assign(this.reading.peek(), { readAtMs: this.#latest.readAtMs })
    else this.#show()
  }

  #fail(error: ApiError): void {
    const failures = this.#latest.failures + 1
    this.#latest = { ...this.#latest, error, failures, nextTryAtMs: Date.now() + waitAfter(error, failures) }
    this.#show()
  }

  #show(): void {
    applySoon(() => {
      this.reading.value = this.#latest
    })
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
    return Math.min(...[...paces].map((refresh) => (refresh === 'live' && this.#isBusy() ? busyMs : intervals[refresh])))
  }

  #isBusy(): boolean {
    const { body } = this.#latest
    const questions = new Set([...this.#subscribers].flatMap(({ refresh, isBusy }) => (refresh === 'live' && isBusy) || []))
    return body !== undefined && [...questions].some((isBusy) => isBusy(body))
  }

  #schedule(): void {
    if (this.#subscribers.size === 0 || this.#isReading) return
    clearTimeout(this.#timer)
    const { nextTryAtMs } = this.#latest
    const changeMs = this.#hasChanged
      ? this.#changeReadAtMs + Math.min(this.#pace(), intervals.steady) - Date.now()
      : Number.POSITIVE_INFINITY
    const usualMs = Math.min(this.#interval() - this.#ageMs(), changeMs)
    if (nextTryAtMs === undefined && usualMs === Number.POSITIVE_INFINITY) return
    const waitMs = nextTryAtMs === undefined ? usualMs : nextTryAtMs - Date.now()
    this.#timer = setTimeout(
      () => {
        const hidesLong = hiddenSinceMs !== undefined && Date.now() - hiddenSinceMs > hiddenMs
        // A login in another tab, or the return to this one, begins anew.
        if (!hidesLong && !loginEnded.peek()) this.refresh()
      },
      Math.max(0, waitMs),
    )
  }

  #forgetLater(): void {
    this.#timer = setTimeout(() => {
      if (this.#subscribers.size === 0 && resources.get(this.#key) === (this as unknown)) resources.delete(this.#key)
    }, keptMs)
  }
}

/** Refusals and missing things are answers. */
function isOutage({ status }: ApiError): boolean {
  return status === 0 || status >= 500
}

/** 2, 4, 8 … 60 s with jitter, or 15 s where no server answers, unless the server says when. */
function waitAfter({ status, retryAfterMs }: ApiError, failures: number): number {
  return retryAfterMs ?? Math.min(status === 0 ? 15_000 : 60_000, 1000 * 2 ** failures) * (0.9 + Math.random() / 5)
}

addEventListener('online', retryUnreached)
effect(() => {
  if (isReachable.value) untracked(retryUnreached)
})

document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'hidden') {
    hiddenSinceMs = Date.now()
    return
  }
  hiddenSinceMs = undefined
  for (const resource of resources.values()) resource.wake()
})
