/** Identical reads at the same moment, which share one call to the service. */
import type { IncomingHttpHeaders } from 'node:http'
import { decidesAnswer, type IdentityHeaders } from './identity.ts'
import type { ServiceName } from './services.ts'
import type { UpstreamAnswer } from './upstreams.ts'

/** What decides the answer of the service to a read. */
export interface Read {
  readonly service: ServiceName
  /** With its query. */
  readonly path: string
  /** Conditions and content types. */
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly identity: IdentityHeaders
  /** The same for users to whom the service would answer alike; undefined: it may answer each user in another way. */
  readonly rights: string | undefined
  readonly gzip: boolean
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

/** The read whose client came first. */
export interface Leader {
  /** The last follower has left. */
  deserted(): void
}

/** Longer answers are streamed to one client, and the others call the service themselves. */
const maxSharedBytes = 1024 * 1024
/** A read joins a call that is at most this old, so that it is never answered by an older state than that. */
const maxJoinMs = 1000

export class SharedReads {
  readonly #now: () => number
  readonly #onShared: ((service: ServiceName) => void) | undefined
  readonly #streams = new Flights<SharedStream>()
  readonly #calls = new Flights<SharedCall>()

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
    this.#streams.clear()
    this.#calls.clear()
  }

  /** Joins the call of an identical read; undefined: there is none. */
  join(read: Read, follower: Follower): SharedStream | undefined {
    const stream = this.#streams.find(read)
    if (stream === undefined || this.#now() - stream.startedAtMs > maxJoinMs) return undefined
    stream.add(follower)
    return stream
  }

  /** Announces a call that others may join until its answer begins. */
  lead(read: Read, leader: Leader): SharedStream {
    const stream = new SharedStream({ read, leader, startedAtMs: this.#now(), joinable: this.#streams, onShared: this.#onShared })
    this.#streams.add(stream)
    return stream
  }

  /**
   * Reads a whole answer by the call of an identical read, or by `ask`.
   *
   * @param signal The client went away; the call ends when no client waits for it.
   * @throws what `ask` throws, for all who wait
   */
  async call(read: Read, signal: AbortSignal, ask: (signal: AbortSignal) => Promise<UpstreamAnswer>): Promise<UpstreamAnswer> {
    const known = this.#calls.find(read)
    if (known !== undefined && this.#now() - known.startedAtMs <= maxJoinMs) {
      const answer = await known.wait(signal)
      if (read.rights !== undefined && isAboutCaller(answer.status)) return ask(signal)
      this.#onShared?.(read.service)
      return answer
    }
    const call = new SharedCall(read, ask, this.#now())
    this.#calls.add(call)
    try {
      return await call.wait(signal)
    } finally {
      this.#calls.remove(call)
    }
  }
}

/** Such an answer may name the user whom the service was told. */
function isAboutCaller(status: number | undefined): boolean {
  return status !== undefined && status >= 400 && status < 500
}

interface StreamOptions {
  readonly read: Read
  readonly leader: Leader
  readonly startedAtMs: number
  /** Has it while reads may join. */
  readonly joinable: Flights<SharedStream>
  readonly onShared: ((service: ServiceName) => void) | undefined
}

/** A call whose answer is streamed to the client that came first, and collected for those that follow. */
export class SharedStream implements Flight {
  readonly read: Read
  readonly startedAtMs: number
  next: this | undefined
  readonly #leader: Leader
  readonly #joinable: Flights<SharedStream>
  readonly #onShared: StreamOptions['onShared']
  #followers: Set<Follower> | undefined
  #answer: Omit<SharedAnswer, 'body'> | undefined
  #pieces: Buffer[] | undefined
  #bytes = 0

  constructor({ read, leader, startedAtMs, joinable, onShared }: StreamOptions) {
    this.read = read
    this.startedAtMs = startedAtMs
    this.#leader = leader
    this.#joinable = joinable
    this.#onShared = onShared
  }

  /** Whether reads wait for it. */
  get isFollowed(): boolean {
    return this.#followers !== undefined && this.#followers.size > 0
  }

  add(follower: Follower): void {
    this.#followers ??= new Set()
    this.#followers.add(follower)
  }

  /** Its client went away. */
  leave(follower: Follower): void {
    if (this.#followers?.delete(follower) && this.#followers.size === 0) this.#leader.deserted()
  }

  /** A good answer begins: no read joins from now on. */
  begin(status: number, headers: IncomingHttpHeaders): void {
    this.#joinable.remove(this)
    if (!this.isFollowed) return
    this.#answer = { status, headers }
    if (Number(headers['content-length'] ?? 0) > maxSharedBytes) this.release()
  }

  /** A piece of its body. */
  collect(piece: Buffer): void {
    if (!this.isFollowed) return
    this.#bytes += piece.length
    this.#pieces ??= []
    this.#pieces.push(piece)
    if (this.#bytes > maxSharedBytes) this.release()
  }

  /** The answer is complete. */
  end(): void {
    const answer = this.#answer && { ...this.#answer, body: Buffer.concat(this.#pieces ?? []) }
    for (const follower of this.#take()) {
      if (answer === undefined) follower.released()
      else {
        this.#onShared?.(this.read.service)
        follower.answered(answer)
      }
    }
  }

  /** The call has failed for good. @param status Of the service, if it has answered. */
  fail(error: unknown, status: number | undefined): void {
    const isForAll = this.read.rights === undefined || !isAboutCaller(status)
    for (const follower of this.#take()) {
      if (isForAll) follower.failed(error)
      else follower.released()
    }
  }

  release(): void {
    for (const follower of this.#take()) follower.released()
  }

  #take(): readonly Follower[] {
    this.#joinable.remove(this)
    const followers = [...(this.#followers ?? [])]
    this.#followers = undefined
    this.#pieces = undefined
    return followers
  }
}

class SharedCall implements Flight {
  readonly read: Read
  readonly startedAtMs: number
  next: this | undefined
  readonly #deserted = new AbortController()
  readonly #answer: Promise<UpstreamAnswer>
  #waiting = 0

  constructor(read: Read, ask: (signal: AbortSignal) => Promise<UpstreamAnswer>, startedAtMs: number) {
    this.read = read
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

/** A call that identical reads may join. */
interface Flight {
  readonly read: Read
  /** Another one in the same list. */
  next: this | undefined
}

/** A power of two, well above the number of calls that are in flight at a time. */
const listCount = 1024
const hashedCharacters = 48

/**
 * Calls in flight, found by what they ask for.
 *
 * A `Map` would do, if it were not for its garbage: it grows by replacing its table, and the replaced ones stay linked. Once such a table
 * is in the old generation, all calls that it has ever held survive every collection of young objects, with their requests
 * (docs/performance.md#garbage).
 */
class Flights<Of extends Flight> {
  readonly #first: (Of | undefined)[] = new Array(listCount).fill(undefined)
  #size = 0

  find(read: Read): Of | undefined {
    if (this.#size === 0) return undefined
    let flight = this.#first[listOf(read)]
    while (flight !== undefined && !isSameRead(flight.read, read)) flight = flight.next
    return flight
  }

  add(flight: Of): void {
    const list = listOf(flight.read)
    flight.next = this.#first[list]
    this.#first[list] = flight
    this.#size++
  }

  /** Nothing happens if it has gone before. */
  remove(flight: Of): void {
    const list = listOf(flight.read)
    let before: Of | undefined
    let at = this.#first[list]
    while (at !== undefined && at !== flight) {
      before = at
      at = at.next
    }
    if (at === undefined) return
    if (before === undefined) this.#first[list] = flight.next
    else before.next = flight.next
    flight.next = undefined
    this.#size--
  }

  clear(): void {
    if (this.#size === 0) return
    for (const [list, first] of this.#first.entries()) {
      for (let flight = first; flight !== undefined; ) {
        const { next } = flight
        flight.next = undefined
        flight = next
      }
      this.#first[list] = undefined
    }
    this.#size = 0
  }
}

/** By the end of the path, where reads of the same kind differ. */
function listOf({ path }: Read): number {
  let hash = path.length
  for (let at = Math.max(0, path.length - hashedCharacters); at < path.length; at++) {
    hash = (Math.imul(hash, 31) + path.charCodeAt(at)) | 0
  }
  return (hash ^ (hash >>> 16)) & (listCount - 1)
}

function isSameRead(a: Read, b: Read): boolean {
  return (
    a.path === b.path &&
    a.service === b.service &&
    a.gzip === b.gzip &&
    a.rights === b.rights &&
    isSameHeaders(a.headers ?? noHeaders, b.headers ?? noHeaders, false) &&
    isSameHeaders(a.identity, b.identity, a.rights !== undefined)
  )
}

const noHeaders = Object.freeze({})

/** @param isByRights Users with the same rights count as the same user. */
function isSameHeaders(a: IdentityHeaders, b: IdentityHeaders, isByRights: boolean): boolean {
  let count = 0
  for (const name in a) {
    count++
    if (a[name] !== b[name] && decidesAnswer(name, isByRights)) return false
  }
  for (const _ in b) count--
  return count === 0
}
