/** Identical reads at the same moment, which share one call to the service. */
import type { IncomingHttpHeaders } from 'node:http'
import type { ServiceName } from './services.ts'
import type { UpstreamAnswer } from './upstreams.ts'

/** What makes two reads one. */
export interface ReadIdentity {
  readonly service: ServiceName
  /** The same for reads that the service would answer alike. */
  readonly key: string
  /** Among those with this key are other users, who hold the same rights. */
  readonly isAcrossUsers: boolean
}

/** A whole answer, as the service has sent it. */
export interface SharedAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** A read that waits for the answer of another one. One of these is called, once. */
export interface Follower {
  answered(answer: SharedAnswer): void
  failed(error: unknown): void
  /** It has to call the service itself. */
  released(): void
}

/** Longer answers are streamed to one client, and the others call the service themselves. */
export const maxSharedBytes = 1024 * 1024
/** A read joins a call that is at most this old, so that it is never answered by an older state than that. */
const maxJoinMs = 1000

export class SharedReads {
  readonly #now: () => number
  readonly #onShared: ((service: ServiceName) => void) | undefined
  readonly #streams = new Map<string, SharedStream>()
  readonly #calls = new Map<string, SharedCall>()

  /** @param onShared Called for each read that needed no call of its own. */
  constructor(onShared?: (service: ServiceName) => void, now: () => number = () => performance.now()) {
    this.#onShared = onShared
    this.#now = now
  }

  /**
   * Something has changed, and clients that know of it must not be shown what was before: reads join calls that begin from now
   * on only.
   */
  changed(): void {
    if (this.#streams.size > 0) this.#streams.clear()
    if (this.#calls.size > 0) this.#calls.clear()
  }

  /** Joins the call of an identical read; undefined: there is none. */
  join({ key }: ReadIdentity, follower: Follower): SharedStream | undefined {
    const stream = this.#streams.get(key)
    if (stream === undefined || this.#now() - stream.startedAtMs > maxJoinMs) return undefined
    stream.add(follower)
    return stream
  }

  /** Announces a call that others may join until its answer begins. */
  lead({ service, key, isAcrossUsers }: ReadIdentity): SharedStream {
    const stream: SharedStream = new SharedStream({
      isAcrossUsers,
      startedAtMs: this.#now(),
      onShared: () => this.#onShared?.(service),
      onBegun: () => {
        if (this.#streams.get(key) === stream) this.#streams.delete(key)
      },
    })
    this.#streams.set(key, stream)
    return stream
  }

  /**
   * Reads a whole answer by the call of an identical read, or by `ask`.
   *
   * @param signal The client went away; the call ends when no client waits for it.
   * @throws what `ask` throws, for all who wait
   */
  async call(
    { service, key, isAcrossUsers }: ReadIdentity,
    signal: AbortSignal,
    ask: (signal: AbortSignal) => Promise<UpstreamAnswer>,
  ): Promise<UpstreamAnswer> {
    const known = this.#calls.get(key)
    if (known !== undefined && this.#now() - known.startedAtMs <= maxJoinMs) {
      const answer = await known.wait(signal)
      if (isAcrossUsers && isAboutCaller(answer.status)) return ask(signal)
      this.#onShared?.(service)
      return answer
    }
    const call = new SharedCall(ask, this.#now())
    this.#calls.set(key, call)
    try {
      return await call.wait(signal)
    } finally {
      if (this.#calls.get(key) === call) this.#calls.delete(key)
    }
  }
}

/** Such an answer may name the user whom the service was told. */
function isAboutCaller(status: number | undefined): boolean {
  return status !== undefined && status >= 400 && status < 500
}

interface StreamOptions {
  readonly isAcrossUsers: boolean
  readonly startedAtMs: number
  readonly onShared: () => void
  /** Called when no read may join any more. */
  readonly onBegun: () => void
}

/** A call whose answer is streamed to the client that came first, and collected for those that follow. */
export class SharedStream {
  readonly #options: StreamOptions
  readonly #followers = new Set<Follower>()
  #answer: Omit<SharedAnswer, 'body'> | undefined
  #pieces: Buffer[] = []
  #bytes = 0
  /** Called when the last follower has left. */
  onDeserted: (() => void) | undefined

  constructor(options: StreamOptions) {
    this.#options = options
  }

  get startedAtMs(): number {
    return this.#options.startedAtMs
  }

  /** Whether reads wait for it. */
  get isFollowed(): boolean {
    return this.#followers.size > 0
  }

  add(follower: Follower): void {
    this.#followers.add(follower)
  }

  /** Its client went away. */
  leave(follower: Follower): void {
    if (this.#followers.delete(follower) && this.#followers.size === 0) this.onDeserted?.()
  }

  /** A good answer begins: no read joins from now on. */
  begin(status: number, headers: IncomingHttpHeaders): void {
    this.#options.onBegun()
    this.#answer = { status, headers }
    if (Number(headers['content-length'] ?? 0) > maxSharedBytes) this.release()
  }

  /** A piece of its body. */
  collect(piece: Buffer): void {
    if (!this.isFollowed) return
    this.#bytes += piece.length
    this.#pieces.push(piece)
    if (this.#bytes > maxSharedBytes) this.release()
  }

  /** The answer is complete. */
  end(): void {
    const answer = this.#answer && { ...this.#answer, body: Buffer.concat(this.#pieces) }
    for (const follower of this.#take()) {
      if (answer === undefined) follower.released()
      else {
        this.#options.onShared()
        follower.answered(answer)
      }
    }
  }

  /** The call has failed for good. @param status Of the service, if it has answered. */
  fail(error: unknown, status: number | undefined): void {
    const isForAll = !this.#options.isAcrossUsers || !isAboutCaller(status)
    for (const follower of this.#take()) {
      if (isForAll) follower.failed(error)
      else follower.released()
    }
  }

  release(): void {
    for (const follower of this.#take()) follower.released()
  }

  #take(): Follower[] {
    this.#options.onBegun()
    const followers = [...this.#followers]
    this.#followers.clear()
    this.#pieces = []
    return followers
  }
}

class SharedCall {
  readonly startedAtMs: number
  readonly #deserted = new AbortController()
  readonly #answer: Promise<UpstreamAnswer>
  #waiting = 0

  constructor(ask: (signal: AbortSignal) => Promise<UpstreamAnswer>, startedAtMs: number) {
    this.startedAtMs = startedAtMs
    this.#answer = ask(this.#deserted.signal)
  }

  wait(signal: AbortSignal): Promise<UpstreamAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<UpstreamAnswer>()
    this.#waiting++
    const leave = () => {
      reject(signal.reason)
      if (--this.#waiting === 0) this.#deserted.abort(signal.reason)
    }
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
    this.#answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
    return promise
  }
}
