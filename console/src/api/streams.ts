/**
 * Server-Sent Events, read with `fetch` so that the end of a login is seen. They only say that something changed; the read that
 * follows brings what. Where the API offers no stream, reads at intervals go on alone.
 *
 * Browsers keep few connections to a server, so the tabs of a browser share them: for each path one tab streams and passes on, and all
 * together have at most `maxStreams`. The other tabs wait for its lock, and take over when it closes or is hidden.
 */
import { effect } from '@preact/signals'
import { apiPath } from '../address.ts'
import { loginEnded } from './login-state.ts'

const retryMs = 5000
/** A hidden tab needs no stream. */
const hiddenMs = 60_000
/** HTTP/1.1 allows six connections, and reads need some. */
const maxStreams = 3
const channelName = 'fairlead.events'

type Message = { readonly path: string } & (
  | { readonly kind: 'change' | 'ask' }
  | { readonly kind: 'state'; readonly isFollowing: boolean }
)

/**
 * @param onState Told when the stream begins and when it breaks off.
 * @returns ends the stream
 */
export function followEvents(path: string, onChange: () => void, onState: (isFollowing: boolean) => void): () => void {
  const channel = new BroadcastChannel(channelName)
  let ended = false
  const tell = (message: Message) => {
    if (!ended) channel.postMessage(message)
  }
  let stop: AbortController | undefined
  let hiding: ReturnType<typeof setTimeout> | undefined
  /** Undefined while another tab streams, or none. */
  let isFollowing: boolean | undefined

  channel.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.path !== path) return
    if (data.kind === 'ask') {
      if (isFollowing !== undefined) tell({ path, kind: 'state', isFollowing })
    } else if (isFollowing === undefined) data.kind === 'change' ? onChange() : onState(data.kind === 'state' && data.isFollowing)
  }
  tell({ path, kind: 'ask' })

  const setFollowing = (next: boolean) => {
    if (isFollowing === next) return
    isFollowing = next
    onState(next)
    tell({ path, kind: 'state', isFollowing: next })
  }
  const stream = async (signal: AbortSignal): Promise<void> => {
    const reader = {
      path,
      signal,
      onBegin: () => setFollowing(true),
      onEvent: () => {
        onChange()
        tell({ path, kind: 'change' })
      },
    }
    for (let lastId = ''; !signal.aborted; ) {
      const end = await inFreeSlot(() => readStream(reader, lastId)).catch((): StreamEnd => ({ isOffered: true, lastId }))
      setFollowing(false)
      if (end?.isOffered === false) break
      lastId = end?.lastId ?? lastId
      if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, retryMs))
      await untilLoggedIn()
    }
    isFollowing = undefined
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
  return () => {
    clearTimeout(hiding)
    stop?.abort()
    ended = true
    channel.close()
    document.removeEventListener('visibilitychange', onVisibility)
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
  readonly onBegin: () => void
  readonly onEvent: () => void
}

interface StreamEnd {
  /** Whether there is such a stream. */
  readonly isOffered: boolean
  /** Of the last event, for the next attempt. */
  readonly lastId: string
}

async function readStream({ path, signal, onBegin, onEvent }: StreamReader, after: string): Promise<StreamEnd> {
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
  onBegin()
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const events = (rest + part.value).split(/\r?\n\r?\n/)
      rest = events.pop() ?? ''
      for (const event of events) {
        lastId = /^id: ?(.*)$/m.exec(event)?.[1] ?? lastId
        if (/^data:/m.test(event)) onEvent()
      }
    }
  } catch {
    // A stream that breaks off is read again from its last event.
  }
  return { isOffered: true, lastId }
}
