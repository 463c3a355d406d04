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
import { loginEnded } from './login-state.ts'

/** Parts of an application, as its stream names them. */
export type Part = 'executions' | 'tasks' | 'infrastructure' | 'definitions'

/** A stream of the API, and the part of it that concerns a read; without one, all of it does. */
export interface Events {
  readonly path: string
  readonly part?: Part
}

/** Of a stream that reports changes at present. */
export interface StreamState {
  /** What it reports; undefined: it is about one run. */
  readonly parts: readonly string[] | undefined
}

export interface Follower {
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

interface SharedStream {
  readonly followers: Set<Follower>
  state(): StreamState | undefined
  close(): void
  lingering: ReturnType<typeof setTimeout> | undefined
}

/** Of this tab, by path. */
const streams = new Map<string, SharedStream>()

/** @returns ends it */
export function followEvents(path: string, follower: Follower): () => void {
  const stream = streams.get(path) ?? openStream(path)
  streams.set(path, stream)
  clearTimeout(stream.lingering)
  stream.followers.add(follower)
  const state = stream.state()
  if (state !== undefined) follower.onState(state, false)
  return () => {
    stream.followers.delete(follower)
    if (stream.followers.size > 0) return
    stream.lingering = setTimeout(() => {
      streams.delete(path)
      stream.close()
    }, lingerMs)
  }
}

function openStream(path: string): SharedStream {
  const channel = new BroadcastChannel(channelName)
  const followers = new Set<Follower>()
  let ended = false
  const tell = (message: Message) => {
    if (!ended) channel.postMessage(message)
  }
  let stop: AbortController | undefined
  let hiding: ReturnType<typeof setTimeout> | undefined
  let grace: ReturnType<typeof setTimeout> | undefined
  let state: StreamState | undefined
  /** Whether this tab streams, and no other. */
  let leads = false

  const show = (next: StreamState | undefined, isNew: boolean) => {
    state = next
    for (const follower of followers) follower.onState(next, isNew)
  }
  const pass = (part: string | undefined) => {
    for (const follower of followers) follower.onChange(part)
  }
  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.path !== path) return
    if (data.kind === 'ask') {
      if (leads) tell({ path, kind: 'state', state, isNew: false })
    } else if (leads) return
    else if (data.kind === 'change') pass(data.part)
    else show(data.state, data.isNew)
  }
  tell({ path, kind: 'ask' })

  const begin = (parts: StreamState['parts']) => {
    clearTimeout(grace)
    show({ parts }, true)
    tell({ path, kind: 'state', state, isNew: true })
  }
  const breakOff = () => {
    clearTimeout(grace)
    if (state === undefined) return
    show(undefined, false)
    tell({ path, kind: 'state', state, isNew: false })
  }
  const change = (part: string | undefined) => {
    pass(part)
    tell({ path, kind: 'change', part })
  }
  const stream = async (signal: AbortSignal): Promise<void> => {
    leads = true
    for (let lastId = ''; !signal.aborted; ) {
      const end = await inFreeSlot(() => readStream({ path, signal, begin, change }, lastId)).catch(
        (): StreamEnd => ({ isOffered: true, lastId }),
      )
      const pauseMs = end?.retryMs ?? retryMs
      if (end?.isPlanned !== true || signal.aborted) breakOff()
      else grace = setTimeout(breakOff, pauseMs + graceMs)
      if (end?.isOffered === false) break
      lastId = end?.lastId ?? lastId
      if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, pauseMs))
      await untilLoggedIn()
    }
    breakOff()
    leads = false
  }
  const lead = () => {
    stop = new AbortController()
    const { signal } = stop
    // Rejected when it is stopped while it waits.
    void withLock(`fairlead.stream ${path}`, { signal }, () => stream(signal)).catch(() => {})
  }
  const onVisibility = () => {
    clearTimeout(hiding)
    if (document.visibilityState === 'hidden') hiding = setTimeout(() => stop?.abort(), hiddenMs)
    else if (stop === undefined || stop.signal.aborted) lead()
  }
  document.addEventListener('visibilitychange', onVisibility)
  if (document.visibilityState === 'visible') lead()
  const close = () => {
    clearTimeout(hiding)
    clearTimeout(grace)
    stop?.abort()
    ended = true
    channel.close()
    document.removeEventListener('visibilitychange', onVisibility)
  }
  return { followers, state: () => state, close, lingering: undefined }
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
  /** Of the last event, for the next attempt. */
  readonly lastId: string
  /** Whether the server has asked to connect again. */
  readonly isPlanned?: boolean
  /** The pause that it has asked for. */
  readonly retryMs?: number | undefined
}

async function readStream({ path, signal, begin, change }: StreamReader, after: string): Promise<StreamEnd> {
  let lastId = after
  const headers: Record<string, string> = {
    Accept: 'text/event-stream',
    'X-RateLimit-App': 'console',
    'X-Requested-With': 'XMLHttpRequest',
  }
  if (lastId !== '') headers['Last-Event-ID'] = lastId
  const response = await fetch(apiPath + path, { headers, signal, redirect: 'manual', credentials: 'same-origin' })
  if (response.type === 'opaqueredirect' || response.status === 401) {
    loginEnded.value = true
    return { isOffered: true, lastId }
  }
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  if (!response.ok || !isStream || response.body === null) {
    await response.body?.cancel()
    return { isOffered: response.status >= 500 || response.status === 429, lastId }
  }
  const ofApplication = isOfApplication(path)
  if (!ofApplication) begin(undefined)
  let isPlanned = false
  let askedRetryMs: number | undefined
  let silentMs: number | undefined
  let silence: ReturnType<typeof setTimeout> | undefined
  const onEvent = (event: StreamEvent) => {
    // An application's lists are read again after a break, whatever has happened.
    if (!ofApplication) lastId = event.id ?? lastId
    askedRetryMs = event.retryMs ?? askedRetryMs
    if (event.data === undefined) return
    const data = objectOf(event.data)
    if (event.name === 'end') isPlanned = data['reason'] === 'age' || data['reason'] === 'stopping'
    else if (event.name === 'ready') {
      silentMs = Number(data['heartbeatMs']) * missedHeartbeats || undefined
      // Streams that say nothing of parts report executions.
      begin(data['parts'] === undefined ? ['executions'] : textsOf(data['parts']))
    } else if (event.name === 'changed') change(textOf(data['part']))
    else change(ofApplication && (event.name === 'execution' || event.name === 'removed') ? 'executions' : undefined)
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      clearTimeout(silence)
      const events = (rest + part.value).split(/\r?\n\r?\n/)
      rest = events.pop() ?? ''
      for (const event of events) onEvent(parseEvent(event))
      if (silentMs !== undefined) silence = setTimeout(() => void reader.cancel(), silentMs)
    }
  } catch {
    // A stream that breaks off is read again from its last event.
  }
  clearTimeout(silence)
  return { isOffered: true, lastId, isPlanned, retryMs: askedRetryMs }
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
