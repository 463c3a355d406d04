/** Bounds waits for an API server that is away, and keeps the last results of reads. */
import { setTimeout as sleep } from 'node:timers/promises'
import { backOffMs } from '@fairlead/base/concurrency/back-off.ts'
import { sharedWork } from '@fairlead/base/concurrency/shared-work.ts'
import { within } from '@fairlead/base/concurrency/within.ts'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { PortError } from '@fairlead/base/port-error.ts'

export interface Absence {
  readonly sinceMs: number
  readonly reason: string
}

interface PresenceOptions {
  readonly account: string
  /** A probe follows after one half, and has the other; later ones after twice the time. */
  readonly silenceMs: number
  /** Whether the API server sends anything within so many milliseconds. @throws {ApiError} where it cannot be asked */
  readonly probe: (ms: number) => Promise<boolean>
  /** Result of its watches. */
  readonly watched: () => Absence | undefined
  readonly now: () => number
  readonly changed: () => void
}

const longestWaitMs = 10_000
/** Wait for an API server that is known to be away: it may be back. */
const awayMs = 250
const probePauses = { firstMs: 500, longestMs: 2000 }
/** A sign of life that is younger needs no other. */
const freshMs = 1000
/** Time after the last read at which probes end. */
const unusedMs = 120_000

const late = Symbol('late')

export class Presence {
  readonly #options: PresenceOptions
  readonly #closing = new AbortController()
  #silence: Absence | undefined
  #neededMs = 0
  #heardMs = 0
  readonly #isThere = sharedWork(async () => {
    const { probe, now, silenceMs } = this.#options
    const askedMs = now()
    const ask = () => probe(silenceMs / 2).catch(() => false)
    let isThere = await ask()
    // A busy process looks at its clock before it reads what has arrived meanwhile.
    if (!isThere && now() - askedMs > silenceMs) isThere = await ask()
    if (isThere) this.#markPresent()
    else this.#markAbsent(askedMs)
    return isThere
  })

  constructor(options: PresenceOptions) {
    this.#options = options
  }

  get absence(): Absence | undefined {
    return this.#options.watched() ?? this.#silence
  }

  /**
   * What was asked, unless the API server is found to be away, or `graceMs` later for what has a last state.
   *
   * @throws {PortError} 503
   */
  async wait<T>(asked: Promise<T>, graceMs = 0): Promise<T> {
    const { now, silenceMs } = this.#options
    this.#neededMs = now()
    for (let ms = silenceMs / 2; ; ms = Math.min(2 * ms, longestWaitMs)) {
      const isAway = this.absence !== undefined
      const first = await within<T, typeof late>(isAway ? awayMs : ms, asked, () => late)
      if (first !== late) {
        this.#heardMs = now()
        return first
      }
      if (!isAway && (await this.#isThere())) continue
      const last = await within<T, typeof late>(graceMs, asked, () => late)
      if (last !== late) return last
      // It was heard meanwhile.
      if (this.absence === undefined && !this.#closing.signal.aborted) continue
      throw new PortError(503, this.#describe())
    }
  }

  /** Probes a watched API server unless it was heard just now. Undefined: no need. Never rejects. */
  check(): Promise<void> | undefined {
    const nowMs = this.#options.now()
    this.#neededMs = nowMs
    if (this.absence !== undefined || nowMs - this.#heardMs < freshMs) return undefined
    return this.#isThere().then(() => {})
  }

  /** Whether it is away now; it is asked where that is not known. */
  async isAway(): Promise<boolean> {
    return this.absence !== undefined || !(await this.#isThere())
  }

  #describe(): string {
    const { account } = this.#options
    if (this.absence === undefined)
      return `The API server of the account ${account} did not answer in time; try again.`
    const { sinceMs, reason } = this.absence
    return `The API server of the account ${account} has not answered since ${new Date(sinceMs).toISOString()}: ${reason}. Nothing was read before that could be shown; lists show the last state.`
  }

  #markPresent(): void {
    this.#heardMs = this.#options.now()
    if (this.#silence === undefined) return
    this.#silence = undefined
    this.#options.changed()
  }

  #markAbsent(sinceMs: number): void {
    if (this.#silence !== undefined || this.#closing.signal.aborted) return
    this.#silence = { sinceMs, reason: 'the API server sends nothing' }
    this.#options.changed()
    void this.#probeUntilBack()
  }

  async #probeUntilBack(): Promise<void> {
    const { signal } = this.#closing
    for (let round = 0; this.#silence !== undefined; round++) {
      await sleep(backOffMs(probePauses, round), undefined, { signal, ref: false }).catch(() => {})
      if (signal.aborted) return
      if (this.#options.now() - this.#neededMs > unusedMs) this.#silence = undefined
      else await this.#isThere()
    }
  }

  close(): void {
    this.#closing.abort()
    this.#silence = undefined
  }
}

/** When what is shown was read, and since when nothing newer can be. */
export interface StaleMark {
  readonly since: number
  readonly readAt: number
  readonly reason: string
}

interface LastState {
  readonly text: string
  readonly atMs: number
}

/** Characters; what was read longest ago goes first. */
const mostKept = 8 * 1024 ** 2

/** Results of reads as JSON, by what was asked. */
export class LastStates {
  readonly #presence: Presence
  readonly #now: () => number
  readonly #kept = new Map<string, LastState>()
  #size = 0

  constructor(presence: Presence, now: () => number) {
    this.#presence = presence
    this.#now = now
  }

  /**
   * The result of the read, or while the API server is away the one before, marked.
   *
   * @throws {PortError} 503 where nothing was read before, and what the read throws otherwise
   */
  async read<T>(
    key: string,
    read: () => Promise<T>,
    mark: (last: T, mark: StaleMark) => T,
  ): Promise<T> {
    const reading = read().then((result) => {
      this.#keep(key, result)
      return result
    })
    try {
      return await this.#presence.wait(reading)
    } catch (error) {
      const last = this.#kept.get(key)
      if (last === undefined || !(error instanceof PortError) || error.status !== 503) throw error
      if (!(await this.#presence.isAway())) throw error
      const { sinceMs: since = last.atMs, reason = error.message } = this.#presence.absence ?? {}
      return mark(parseJson(last.text) as T, { since, readAt: last.atMs, reason })
    }
  }

  #keep(key: string, result: unknown): void {
    this.#drop(key)
    if (result === undefined) return
    const text = formatJson(result)
    if (text.length > mostKept / 4) return
    this.#kept.set(key, { text, atMs: this.#now() })
    this.#size += text.length
    for (const first of this.#kept.keys()) {
      if (this.#size <= mostKept) return
      this.#drop(first)
    }
  }

  #drop(key: string): void {
    this.#size -= this.#kept.get(key)?.text.length ?? 0
    this.#kept.delete(key)
  }

  clear(): void {
    this.#kept.clear()
    this.#size = 0
  }
}
