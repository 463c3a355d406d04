/** One stream of Server-Sent Events: a bounded buffer of newest states between a feed and a client. */
import type { ServerResponse } from 'node:http'
import { isOlder } from './source.ts'

export const eventStreamType = 'text/event-stream'

export interface Allowance {
  held: number
  readonly maxHeld: number
}

type EndReason = 'access' | 'age' | 'stopping' | 'removed' | 'unavailable'

interface EventStreamOptions {
  client: ServerResponse
  allowance: Allowance
  /** Throws once the caller may not read any more, or is not logged in any more. */
  checkRights: () => Promise<void>
  /** Changes whenever rights or logins may have changed: then the stream is checked before its next event. */
  rightsVersion: () => number
  now: () => number
  onWrite: (characters: number) => void
  onClose: () => void
}

interface PendingEvent {
  /** Undefined where a client cannot continue from it. */
  readonly version: string | undefined
  readonly text: string
}

/** Runs whose newest state waits for the client; beyond it the client has to read the list again. */
const maxPending = 100
const maxPendingCharacters = 256 * 1024
/** Events that are written at once; what is written cannot be replaced by newer states. */
const maxWriteCharacters = 64 * 1024
/** States that follow one another faster reach the client as one. */
const batchMs = 250
/** A check counts for as long as a session that another replica has ended may be seen here. */
const checkedForMs = 3000
const idleCheckedForMs = 60_000
const maxStallMs = 30_000
const firstRetryMs = 2000
const lastRetryMs = { least: 1000, most: 5000 }

export class EventStream {
  readonly #options: EventStreamOptions
  readonly #pending = new Map<string, PendingEvent>()
  #notices = ''
  #pendingCharacters = 0
  #written = 0
  #isStarted = false
  #isBlocked = false
  #checking: Promise<void> | undefined
  #checkedAtMs: number
  #checkedVersion: number
  #stalledSinceMs: number | undefined
  #flushedAtMs = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #hasEnded = false
  readonly beganAtMs: number

  constructor(options: EventStreamOptions) {
    this.#options = options
    this.beganAtMs = options.now()
    this.#checkedAtMs = this.beganAtMs
    this.#checkedVersion = options.rightsVersion()
    options.client.once('close', () => this.#close())
    // A client that left while its login was examined says so no more. The code that opens the stream is not ready for it yet.
    if (options.client.destroyed) queueMicrotask(() => this.#close())
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  start(states: readonly (readonly [run: string, event: PendingEvent])[]): void {
    this.#notices = `retry: ${firstRetryMs}\n\n${this.#notices}`
    const meanwhile = [...this.#pending]
    this.#clear()
    for (const [run, event] of [...states, ...meanwhile]) this.push(run, event)
    this.#isStarted = true
    this.#flush()
  }

  /** The newest state of a run takes the place of an older one that was not sent yet. */
  push(run: string, event: PendingEvent): void {
    const known = this.#pending.get(run)?.version
    if (
      this.#hasEnded ||
      (known !== undefined && event.version !== undefined && isOlder(event.version, known))
    )
      return
    this.#drop(run)
    this.#pending.set(run, event)
    this.#hold(event.text.length)
    const { allowance } = this.#options
    if (
      this.#pending.size > maxPending ||
      this.#pendingCharacters > maxPendingCharacters ||
      allowance.held > allowance.maxHeld
    ) {
      // A single state cannot be made smaller, and is replaced by the next.
      if (this.#pending.size > 1) this.resync(event.version, 'slow')
    }
    this.#schedule()
  }

  /** States were missed: the client has to read what it shows again. */
  resync(version: string | undefined, reason: 'slow' | 'gap'): void {
    this.#clear()
    this.notify('resync', { reason }, version)
  }

  notify(name: string, data: object, version?: string): void {
    if (this.#hasEnded) return
    this.#notices += formatEvent(name, JSON.stringify(data), version)
    this.#schedule()
  }

  /** A comment, which clients ignore; proxies see that the stream lives. */
  beat(): void {
    if (this.#isStarted && !this.#isBlocked && !this.#hasEnded) this.#write(':\n\n')
  }

  check(): Promise<void> | undefined {
    if (this.#hasEnded) return undefined
    const { client, now } = this.#options
    if (this.#stalledSinceMs !== undefined && now() - this.#stalledSinceMs > maxStallMs)
      client.destroy()
    else if (this.#isStarted && this.#mustCheck(idleCheckedForMs)) return this.#checkRights()
    return undefined
  }

  end(reason: EndReason, last = ''): void {
    if (this.#hasEnded) return
    if (!this.#isStarted) {
      this.#close()
      return
    }
    const retryMs = Math.round(
      lastRetryMs.least + Math.random() * (lastRetryMs.most - lastRetryMs.least),
    )
    const { client } = this.#options
    const isBlocked = this.#isBlocked
    this.#close()
    // What the client has not taken until now must not keep the connection.
    if (isBlocked) client.destroy()
    else client.end(`${last}retry: ${retryMs}\n\n${formatEvent('end', JSON.stringify({ reason }))}`)
  }

  #schedule(): void {
    if (!this.#isStarted || this.#timer !== undefined || this.#isBlocked || this.#hasEnded) return
    const waitMs = this.#flushedAtMs + batchMs - this.#options.now()
    if (waitMs <= 0) this.#flush()
    else {
      this.#timer = setTimeout(() => {
        this.#timer = undefined
        this.#flush()
      }, waitMs).unref()
    }
  }

  #flush(): void {
    if (this.#hasEnded || this.#isBlocked || (this.#pending.size === 0 && this.#notices === ''))
      return
    if (this.#mustCheck()) return void this.#checkRights().then(() => this.#flush())
    let text = this.#notices
    this.#notices = ''
    for (const [run, event] of this.#pending) {
      if (text.length > maxWriteCharacters) break
      text += event.text
      this.#drop(run)
    }
    this.#flushedAtMs = this.#options.now()
    this.#write(text)
    if (this.#pending.size > 0) this.#schedule()
  }

  #write(text: string): void {
    const { client, now, onWrite } = this.#options
    this.#written += text.length
    onWrite(this.#written)
    if (client.write(text)) return
    this.#isBlocked = true
    this.#stalledSinceMs = now()
    client.once('drain', () => {
      this.#isBlocked = false
      this.#stalledSinceMs = undefined
      this.#schedule()
    })
  }

  #mustCheck(forMs = checkedForMs): boolean {
    const { now, rightsVersion } = this.#options
    return now() - this.#checkedAtMs > forMs || this.#checkedVersion !== rightsVersion()
  }

  /** While the check is out, nothing is sent. A failure ends the stream: the next connection tells the client why. */
  #checkRights(): Promise<void> {
    const { checkRights, now, rightsVersion } = this.#options
    const version = rightsVersion()
    const checkedAtMs = now()
    this.#checking ??= checkRights()
      .then(
        () => {
          this.#checkedAtMs = checkedAtMs
          this.#checkedVersion = version
        },
        () => this.end('access'),
      )
      .finally(() => {
        this.#checking = undefined
      })
    return this.#checking
  }

  #drop(run: string): void {
    const event = this.#pending.get(run)
    if (event === undefined) return
    this.#pending.delete(run)
    this.#hold(-event.text.length)
  }

  #clear(): void {
    this.#pending.clear()
    this.#hold(-this.#pendingCharacters)
  }

  #hold(characters: number): void {
    this.#pendingCharacters += characters
    this.#options.allowance.held += characters
  }

  #close(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    clearTimeout(this.#timer)
    this.#clear()
    this.#notices = ''
    this.#options.onClose()
  }
}

export function formatEvent(name: string, data: string, version?: string): string {
  return `${version === undefined ? '' : `id: ${version}\n`}event: ${name}\ndata: ${data}\n\n`
}
