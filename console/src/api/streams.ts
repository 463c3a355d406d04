/**
 * Server-Sent Events, read with `fetch` so that the end of a login is seen. They only say that something changed; the read that
 * follows brings what. Where the API offers no stream, reads at intervals go on alone.
 *
 * Browsers keep few connections to a server, so the tabs of a browser share them: for each path one tab streams and passes on, and all
 * together have at most `maxStreams`. The other tabs wait for its lock, and take over when it closes or is hidden.
 */

import { objectOf, scalarOf, textsOf } from '@fairlead/base/json/values.ts'
import { effect } from '@preact/signals'
import { apiPath } from '../address.ts'
import { headers } from './client.ts'
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

/** Pause before the next attempt, unless the server says another. */
const retryMs = 5000
/** A hidden tab needs no stream. */
const hiddenMs = 60_000
/** The next screen may follow the same. */
const lingerMs = 2000
/** A stream that the server ends counts as one that goes on until the next attempt has had this time, besides the pause before it. */
const graceMs = 10_000
/** The first events of a run's stream say how things were when it began, as the read does that was sent with it. */
const firstMs = 250
/** After so many heartbeats without a byte, the connection is dead. */
const missedHeartbeats = 3
/** HTTP/1.1 allows six connections, and reads need some. */
const maxStreams = 3

type Message = { readonly path: string } & (
  | { readonly kind: 'ask' }
  | { readonly kind: 'change'; readonly part: string | undefined }
  | { readonly kind: 'state'; readonly state: StreamState | undefined; readonly isNew: boolean }
)

export function applicationEvents(application: string, part: Part): Events {
  return { path: `/applications/${encodeURIComponent(application)}/executions/events`, part }
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
  readonly #channel = new BroadcastChannel('fairlead.events')
  /** Whether this tab streams, and no other. */
  #leads = false
  #stop: AbortController | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #hiding: ReturnType<typeof setTimeout> | undefined

  constructor(path: string) {
    this.#path = path
    this.#channel.onmessage = ({ data }: MessageEvent<Message>) => {
      if (data.path !== path) return
      if (data.kind === 'ask') {
        if (this.#leads) this.#tellState(false)
      } else if (this.#leads) return
      else if (data.kind === 'change') this.#pass(data.part)
      else this.#show(data.state, data.isNew)
    }
    this.#channel.postMessage({ path, kind: 'ask' } satisfies Message)
    document.addEventListener('visibilitychange', this.#onVisibility)
    if (document.visibilityState === 'visible') this.#lead()
  }

  close(): void {
    clearTimeout(this.#hiding)
    document.removeEventListener('visibilitychange', this.#onVisibility)
    this.#stop?.abort()
    this.#breakOff()
    this.#channel.close()
  }

  readonly #onVisibility = (): void => {
    clearTimeout(this.#hiding)
    if (document.visibilityState === 'hidden')
      this.#hiding = setTimeout(() => this.#stop?.abort(), hiddenMs)
    else if (this.#stop === undefined || this.#stop.signal.aborted) this.#lead()
  }

  #tellState(isNew: boolean): void {
    const state = this.state && { ...this.state, askedAtMs: undefined }
    this.#channel.postMessage({ path: this.#path, kind: 'state', state, isNew } satisfies Message)
  }

  #show(state: StreamState | undefined, isNew: boolean): void {
    this.state = state
    for (const follower of this.followers) follower.onState(state, isNew)
  }

  #pass(part: string | undefined): void {
    for (const follower of this.followers) follower.onChange(part)
  }

  #breakOff(): void {
    clearTimeout(this.#timer)
    if (this.state === undefined) return
    this.#show(undefined, false)
    if (this.#leads) this.#tellState(false)
  }

  #lead(): void {
    this.#stop = new AbortController()
    const { signal } = this.#stop
    // Rejected when it is stopped while it waits.
    void withLock(`fairlead.stream ${this.#path}`, { signal }, () => this.#stream(signal)).catch(
      () => {},
    )
  }

  async #stream(signal: AbortSignal): Promise<void> {
    this.#leads = true
    for (let end: StreamEnd = { lastId: '' }; end.isMissing !== true && !signal.aborted; ) {
      const { lastId } = end
      end = await inFreeSlot({ lastId }, () => this.#read(lastId, signal)).catch(() => ({ lastId }))
      const pauseMs = end.retryMs ?? retryMs
      if (end.isPlanned && !signal.aborted)
        this.#timer = setTimeout(() => this.#breakOff(), pauseMs + graceMs)
      else this.#breakOff()
      if (end.isMissing !== true && !signal.aborted)
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
      await untilLoggedIn()
    }
    this.#leads = false
  }

  async #read(lastId: string, signal: AbortSignal): Promise<StreamEnd> {
    const askedAtMs = performance.now()
    const sent = {
      ...headers,
      Accept: 'text/event-stream',
      ...(lastId !== '' && { 'Last-Event-ID': lastId }),
    }
    const response = await fetch(apiPath + this.#path, {
      headers: sent,
      signal,
      redirect: 'manual',
      credentials: 'same-origin',
    })
    isReachable.value = true
    if (response.type === 'opaqueredirect' || response.status === 401) {
      loginEnded.value = true
      return { lastId }
    }
    if (
      !response.ok ||
      response.body === null ||
      !response.headers.get('content-type')?.startsWith('text/event-stream')
    ) {
      await response.body?.cancel()
      return { lastId, isMissing: response.status < 500 && response.status !== 429 }
    }
    const ofApplication = this.#path.startsWith('/applications/')
    const begin = (parts: readonly string[] | undefined) => {
      clearTimeout(this.#timer)
      this.#show({ parts, askedAtMs }, true)
      this.#tellState(true)
    }
    let isFirst = true
    const change = (part: string | undefined) => {
      // The stream of a run begins with its state, which the read beside it has seen unless that was earlier.
      const isKnown = isFirst && !ofApplication && performance.now() - askedAtMs < firstMs
      isFirst = false
      if (isKnown) return
      this.#pass(part)
      this.#channel.postMessage({ path: this.#path, kind: 'change', part } satisfies Message)
    }
    if (!ofApplication) begin(undefined)
    const end: StreamEnd = { lastId }
    await readEvents(response.body, ({ name, id, retryMs, data }) => {
      // An application's lists are read again after a break, whatever has happened.
      if (!ofApplication) end.lastId = id ?? end.lastId
      end.retryMs = retryMs ?? end.retryMs
      if (data === undefined) return
      const fields = objectOf(data)
      if (name === 'end')
        end.isPlanned = fields['reason'] === 'age' || fields['reason'] === 'stopping'
      // Streams that say nothing of parts report executions.
      else if (name === 'ready')
        begin(fields['parts'] === undefined ? ['executions'] : textsOf(fields['parts']))
      else if (name === 'changed') change(scalarOf(fields['part']))
      else
        change(
          ofApplication && (name === 'execution' || name === 'removed') ? 'executions' : undefined,
        )
    })
    return end
  }
}

interface StreamEnd {
  /** The id of the last event, for the next attempt. */
  lastId: string
  /** There is no such stream. */
  isMissing?: boolean
  /** The server has asked to connect again. */
  isPlanned?: boolean
  /** The pause that it has asked for. */
  retryMs?: number
}

/** A stream that was refused because the login has ended begins again after the next one. */
function untilLoggedIn() {
  const { promise, resolve } = Promise.withResolvers<void>()
  const stop = effect(() => {
    if (!loginEnded.value) resolve()
  })
  return promise.then(stop)
}

/** Pages of plain HTTP from other machines have no locks: each of their tabs streams for itself. */
async function withLock<Result>(
  name: string,
  options: LockOptions,
  run: (lock: unknown) => Promise<Result>,
): Promise<Result> {
  const { locks } = navigator as { readonly locks?: LockManager }
  return locks === undefined ? run({}) : locks.request(name, options, run)
}

/** `busy` when as many streams as there may be are open. */
async function inFreeSlot<Result>(busy: Result, run: () => Promise<Result>): Promise<Result> {
  for (let slot = 0; slot < maxStreams; slot++) {
    const name = `fairlead.stream-slot ${slot}`
    const result = await withLock(name, { ifAvailable: true }, async (lock) =>
      lock === null ? undefined : run(),
    )
    if (result !== undefined) return result
  }
  return busy
}

/** Ends with the stream, also with one that breaks off: it is read again from its last event. */
async function readEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  onEvent: (event: ReturnType<typeof parseEvent>) => void,
) {
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
        if (event.name === 'ready')
          silentMs = Number(objectOf(event.data)['heartbeatMs']) * missedHeartbeats || undefined
        onEvent(event)
      }
      if (silentMs !== undefined) silence = setTimeout(() => void reader.cancel(), silentMs)
    }
  } catch {
    // The next attempt goes on.
  }
  clearTimeout(silence)
}

function parseEvent(text: string) {
  const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(text)?.[1]
  const [retry, data] = [field('retry'), field('data')]
  const retryAfterMs = retry === undefined ? undefined : Number(retry)
  return {
    name: field('event'),
    id: field('id'),
    retryMs: retryAfterMs,
    data: (data && JSON.parse(data)) as unknown,
  }
}
