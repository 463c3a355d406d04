/**
 * Server-Sent Events, read with `fetch` so that the end of a login is seen. They only say that something changed; the read that
 * follows brings what. Where the API offers no stream, reads at intervals go on alone.
 */
import { apiPath } from '../address.ts'

const retryMs = 5000
/** A hidden tab needs no stream. */
const hiddenMs = 60_000

/**
 * @param onState Told when the stream begins and when it breaks off.
 * @returns ends the stream
 */
export function followEvents(path: string, onChange: () => void, onState: (isFollowing: boolean) => void): () => void {
  let ended = false
  let lastId = ''
  let call: AbortController | undefined
  let hiding: ReturnType<typeof setTimeout> | undefined

  const follow = async (): Promise<void> => {
    while (!ended && document.visibilityState === 'visible') {
      call = new AbortController()
      const offered = await readStream(call.signal).catch(() => true)
      onState(false)
      if (!offered) return
      if (!ended) await new Promise((resolve) => setTimeout(resolve, retryMs))
    }
  }

  /** @returns false when there is no such stream */
  const readStream = async (signal: AbortSignal): Promise<boolean> => {
    const headers: Record<string, string> = {
      Accept: 'text/event-stream',
      'X-RateLimit-App': 'console',
      'X-Requested-With': 'XMLHttpRequest',
    }
    if (lastId !== '') headers['Last-Event-ID'] = lastId
    const response = await fetch(apiPath + path, { headers, signal, redirect: 'manual', credentials: 'same-origin' })
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    if (!response.ok || !isStream || response.body === null) {
      await response.body?.cancel()
      return response.status >= 500 || response.status === 429
    }
    onState(true)
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const events = (rest + part.value).split(/\r?\n\r?\n/)
      rest = events.pop() ?? ''
      for (const event of events) {
        lastId = /^id: ?(.*)$/m.exec(event)?.[1] ?? lastId
        if (/^data:/m.test(event)) onChange()
      }
    }
    return true
  }

  const onVisibility = () => {
    clearTimeout(hiding)
    if (document.visibilityState === 'hidden') hiding = setTimeout(() => call?.abort(), hiddenMs)
    else if (call?.signal.aborted === true) void follow()
  }
  document.addEventListener('visibilitychange', onVisibility)
  void follow()
  return () => {
    ended = true
    clearTimeout(hiding)
    call?.abort()
    document.removeEventListener('visibilitychange', onVisibility)
  }
}
