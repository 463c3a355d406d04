/**
 * Server-Sent Events, read with `fetch` so that the end of a login is seen. They only say that something changed; the read that
 * follows brings what. Where the API offers no stream, reads at intervals go on alone.
 *
 * Browsers keep few connections to a server, so the tabs of a browser share them: for each path one tab streams and passes on, and all
 * together have at most `maxStreams`. The other tabs wait for its lock, and take over when it closes or is hidden.
 */
import { effect } from '@preact/signals'
import { apiPath } from '../address.ts'
import { objectOf, textOf, textsOf } from '../model/read.ts'
import { isReachable, loginEnded } from './login-state.ts'

/** Parts of an application, as its stream names them. */
export type Part = 'executions' | 'tasks' | 'infrastructure' | 'definitions'

/** A stream of the API, and the part of it that concerns a read; without one, all of it does. */
export interface Events {
  readonly path: string
  readonly part?: Part
}

/** What a stream reports at present. */
interface StreamState {
  /** Parts of an application; undefined: it is about one run. */
  readonly parts: readonly string[] | undefined
  /** When it was asked for, in milliseconds of this page; undefined: another tab reads it. */
  readonly askedAtMs: number | undefined
}

interface Follower {
  /** @param part Undefined: all of them may have changed */
  onChange(part: string | undefined): void
  /**
   * @param state Undefined: no changes are reported at present
   * @param isNew Whether changes may have been missed before
   */
  onState(state: StreamState | undefined, isNew: boolean): void
}

const retryMs = 5000
/** A hidden tab needs no stream. */
const hiddenMs = 60_000
/** The next screen may follow the same. */
const lingerMs = 2000
/** A stream that the server ends counts as one that goes on until the next attempt has had this time, besides the pause before it. */
const graceMs = 10_000
/** After so many heartbeats without a byte, the connection is dead. */
const missedHeartbeats = 3
/** HTTP/1.1 allows six connections, and reads need some. */
const maxStreams = 3
const channelName = 'fairlead.events'

type Message = { readonly path: string } & (
  | { readonly kind: 'ask' }
  | { readonly kind: 'change'; readonly part: string | undefined }
  | { readonly kind: 'state'; readonly state: StreamState | undefined; readonly isNew: boolean }
)

export function applicationEvents(application: string, part: Part): Events {
  return { path: `/applications/${encodeURIComponent(application)}/executions/events`, part }
}

/** Such a stream says when it begins. */
function isOfApplication(path: string): boolean {
  return path.startsWith('/applications/')
}

/** The streams of this tab, by path. */
const streams = new Map<string, SharedStream>()

/** @returns ends it */
export function followEvents(path: string, follower: Follower): () => void {
  const stream = streams.get(path) ?? new SharedStream(path)
  streams.set(path, stream)
  clearTimeout(stream.lingering)
  stream.followers.add(follower)
  if (stream.state !== undefined) follower.onState(stream.state, false)
  return () => {
    stream.followers.delete(follower)
    if (stream.followers.size > 0) return
    stream.lingering = setTimeout(() => {
      streams.delete(path)
      stream.close()
    }, lingerMs)
  }
}

/** The stream of a path: this tab reads it, or another one that passes on what it reports. */
class SharedStream {
  readonly followers = new Set<Follower>()
  lingering: ReturnType<typeof setTimeout> | undefined
  state: StreamState | undefined
  readonly #path: string
  readonly #channel = new BroadcastChannel(channelName)
  #hasEnded = false
  /** Whether this tab streams, and no other. */
  #leads = false
  #stop: AbortController | undefined
  #askedAtMs: number | undefined
  #hiding: ReturnType<typeof setTimeout> | undefined
  #grace: ReturnType<typeof setTimeout> | undefined

  constructor(path: string) {
    this.#path = path
    this.#channel.onmessage = ({ data }: MessageEvent<Message>) => this.#onMessage(data)
    this.#tell({ path, kind: 'ask' })
    document.addEventListener('visibilitychange', this.#onVisibility)
    if (document.visibilityState === 'visible') this.#lead()
  }

  close(): void {
    clearTimeout(this.#hiding)
    clearTimeout(this.#grace)
    this.#stop?.abort()
    this.#hasEnded = true
    this.#channel.close()
    document.removeEventListener('visibilitychange', this.#onVisibility)
  }

  #onMessage(message: Message): void {
    if (message.path !== this.#path) return
    if (message.kind === 'ask') {
      if (this.#leads) this.#tellState(false)
    } else if (this.#leads) return
    else if (message.kind === 'change') this.#pass(message.part)
    else this.#show(message.state, message.isNew)
  }

  #tell(message: Message): void {
    if (!this.#hasEnded) this.#channel.postMessage(message)
  }

  #tellState(isNew: boolean): void {
    const state = this.state && { ...this.state, askedAtMs: undefined }
    this.#tell({ path: this.#path, kind: 'state', state, isNew })
  }

  #show(state: StreamState | undefined, isNew: boolean): void {
    this.state = state
    for (const follower of this.followers) follower.onState(state, isNew)
  }

  #pass(part: string | undefined): void {
    for (const follower of this.followers) follower.onChange(part)
  }

  readonly #begin = (parts: StreamState['parts']): void => {
    clearTimeout(this.#grace)
    this.#show({ parts, askedAtMs: this.#askedAtMs }, true)
    this.#tellState(true)
  }

  readonly #change = (part: string | undefined): void => {
    this.#pass(part)
    this.#tell({ path: this.#path, kind: 'change', part })
  }

  readonly #breakOff = (): void => {
    clearTimeout(this.#grace)
    if (this.state === undefined) return
    this.#show(undefined, false)
    this.#tellState(false)
  }

  #lead(): void {
    this.#stop = new AbortController()
    const { signal } = this.#stop
    // Rejected when it is stopped while it waits.
    void withLock(`fairlead.stream ${this.#path}`, { signal }, () => this.#stream(signal)).catch(() => {})
  }

  async #stream(signal: AbortSignal): Promise<void> {
    this.#leads = true
    const reader = { path: this.#path, signal, begin: this.#begin, change: this.#change }
    for (let lastId = ''; !signal.aborted; ) {
      const end = await inFreeSlot(() => {
        this.#askedAtMs = performance.now()
        return readStream(reader, lastId)
      }).catch((): StreamEnd => ({ isOffered: true, lastId }))
      const pauseMs = end?.retryMs ?? retryMs
      if (end?.isPlanned !== true || signal.aborted) this.#breakOff()
      else this.#grace = setTimeout(this.#breakOff, pauseMs + graceMs)
      if (end?.isOffered === false) break
      lastId = end?.lastId ?? lastId
      if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, pauseMs))
      await untilLoggedIn()
    }
    this.#breakOff()
    this.#leads = false
  }

  readonly #onVisibility = (): void => {
    clearTimeout(this.#hiding)
    if (document.visibilityState === 'hidden') this.#hiding = setTimeout(() => this.#stop?.abort(), hiddenMs)
    else if (this.#stop === undefined || this.#stop.signal.aborted) this.#lead()
  }
}

/** A stream that was refused because the login has ended begins again after the next one. */
function untilLoggedIn(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const stop = effect(() => {
    if (!loginEnded.value) resolve()
  })
  return promise.then(stop)
}

/** Pages of plain HTTP from other machines have no locks: each of their tabs streams for itself. */
async function withLock<Result>(name: string, options: LockOptions, run: (lock: unknown) => Promise<Result>): Promise<Result> {
  const { locks } = navigator as { readonly locks?: LockManager }
  return locks === undefined ? run({}) : locks.request(name, options, run)
}

/** Undefined when as many streams as there may be are open. */
async function inFreeSlot<Result>(run: () => Promise<Result>): Promise<Result | undefined> {
  for (let slot = 0; slot < maxStreams; slot++) {
    const result = await withLock(`fairlead.stream-slot ${slot}`, { ifAvailable: true }, async (lock) =>
      lock === null ? undefined : { value: await run() },
    )
    if (result !== undefined) return result.value
  }
  return undefined
}

interface StreamReader {
  readonly path: string
  readonly signal: AbortSignal
  readonly begin: (parts: StreamState['parts']) => void
  readonly change: (part: string | undefined) => void
}

interface StreamEnd {
  /** Whether there is such a stream. */
  readonly isOffered: boolean
  /** The id of the last event, for the next attempt. */
  readonly lastId: string
  /** Whether the server has asked to connect again. */
  readonly isPlanned?: boolean
  /** The pause that it has asked for. */
  readonly retryMs?: number | undefined
}

async function readStream({ path, signal, begin, change }: StreamReader, after: string): Promise<StreamEnd> {
  const headers: Record<string, string> = {
    Accept: 'text/event-stream',
    'X-RateLimit-App': 'console',
    'X-Requested-With': 'XMLHttpRequest',
    ...(after !== '' && { 'Last-Event-ID': after }),
  }
  const response = await fetch(apiPath + path, { headers, signal, redirect: 'manual', credentials: 'same-origin' })
  isReachable.value = true
  if (response.type === 'opaqueredirect' || response.status === 401) {
    loginEnded.value = true
    return { isOffered: true, lastId: after }
  }
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  if (!response.ok || !isStream || response.body === null) {
    await response.body?.cancel()
    return { isOffered: response.status >= 500 || response.status === 429, lastId: after }
  }
  const ofApplication = isOfApplication(path)
  if (!ofApplication) begin(undefined)
  const end = { isOffered: true, lastId: after, isPlanned: false, retryMs: undefined as number | undefined }
  await readEvents(response.body, (event) => {
    // An application's lists are read again after a break, whatever has happened.
    if (!ofApplication) end.lastId = event.id ?? end.lastId
    end.retryMs = event.retryMs ?? end.retryMs
    if (event.data === undefined) return
    const data = objectOf(event.data)
    if (event.name === 'end') end.isPlanned = data['reason'] === 'age' || data['reason'] === 'stopping'
    // Streams that say nothing of parts report executions.
    else if (event.name === 'ready') begin(data['parts'] === undefined ? ['executions'] : textsOf(data['parts']))
    else if (event.name === 'changed') change(textOf(data['part']))
    else change(ofApplication && (event.name === 'execution' || event.name === 'removed') ? 'executions' : undefined)
  })
  return end
}

/** Ends with the stream, also with one that breaks off: it is read again from its last event. */
async function readEvents(body: ReadableStream<Uint8Array<ArrayBuffer>>, onEvent: (event: StreamEvent) => void): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let silentMs: number | undefined
  let silence: ReturnType<typeof setTimeout> | undefined
  let rest = ''
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      clearTimeout(silence)
      const texts = (rest + part.value).split(/\r?\n\r?\n/)
      rest = texts.pop() ?? ''
      for (const event of texts.map(parseEvent)) {
        if (event.name === 'ready') silentMs = Number(objectOf(event.data)['heartbeatMs']) * missedHeartbeats || undefined
        onEvent(event)
      }
      if (silentMs !== undefined) silence = setTimeout(() => void reader.cancel(), silentMs)
    }
  } catch {
    // The next attempt goes on.
  }
  clearTimeout(silence)
}

interface StreamEvent {
  readonly name: string | undefined
  readonly id: string | undefined
  readonly retryMs: number | undefined
  readonly data: unknown
}

function parseEvent(text: string): StreamEvent {
  const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(text)?.[1]
  const [retry, data] = [field('retry'), field('data')]
  return {
    name: field('event'),
    id: field('id'),
    retryMs: retry === undefined ? undefined : Number(retry),
    data: data && JSON.parse(data),
  }
}
