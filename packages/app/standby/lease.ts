/** Lease that makes one of several engines the writing one, in a store outside their machines. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { within } from '@fairlead/base/concurrency/within.ts'
import type { FastifyBaseLogger } from 'fastify'

export interface LeaseRecord {
  /** Identifies the data directory of the holder, which its lock keeps to one process. */
  readonly id: string
  readonly holder: string
  /** Rises by one whenever the holder changes. */
  readonly term: number
  /** The last term whose holder has written in its directory. */
  readonly written?: number
  readonly copy?: string
  /** The holder has ended in order, so no standby needs to wait. */
  readonly released?: boolean
}

interface StoredLease {
  readonly record: LeaseRecord
  readonly version: string
}

/** Keeps one record, which is replaced only by those who have seen it. */
export interface LeaseStore {
  readonly name: string
  readonly removal: string
  read(): Promise<StoredLease | undefined>
  /** @param seen Version that is replaced; undefined: there was none. @returns the new one; undefined when another was faster */
  write(record: LeaseRecord, seen: string | undefined): Promise<string | undefined>
  close(): Promise<void>
}

export interface LeaseTimes {
  /** A lease that was not renewed for so long is free. */
  readonly freeMs: number
  /** A holder that could not renew it for so long stops; the difference is for clocks and for its end. */
  readonly holdMs: number
  readonly renewMs: number
  readonly pollMs: number
}

/** A holder on a busy machine may need seconds for its start, during which it cannot renew the lease. */
export const usualTimes: LeaseTimes = { freeMs: 10_000, holdMs: 8000, renewMs: 1000, pollMs: 500 }
const answerMs = 1000
const checkMs = 100

interface LeaseOptions {
  readonly store: LeaseStore
  readonly owner: Pick<LeaseRecord, 'id' | 'holder'>
  readonly log: Pick<FastifyBaseLogger, 'info' | 'warn'>
  readonly times?: LeaseTimes
}

interface TakeOptions {
  readonly waits: boolean
  readonly signal: AbortSignal
}

export interface TakenLease {
  readonly term: number
  readonly before: LeaseRecord | undefined
}

export class LeaseHeld extends Error {}

export class Lease {
  /** For other threads: when it ends unless it is renewed, in milliseconds since the epoch. */
  readonly end = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT))
  readonly #options: LeaseOptions
  readonly #times: LeaseTimes
  #held: StoredLease | undefined
  #renewed = now()
  #timers: NodeJS.Timeout[] = []
  #isWriting = Promise.resolve()
  #complaint: string | undefined

  constructor(options: LeaseOptions) {
    this.#options = options
    this.#times = options.times ?? usualTimes
  }

  get record(): LeaseRecord | undefined {
    return this.#held?.record
  }

  get removal(): string {
    return this.#options.store.removal
  }

  /** Resolves when the lease is held; undefined: stopped meanwhile. @throws {LeaseHeld} unless `waits` */
  async take({ waits, signal }: TakeOptions): Promise<TakenLease | undefined> {
    const { log, owner } = this.#options
    let watched: { readonly version: string | undefined; readonly sinceMs: number } | undefined
    let announced: number | undefined
    for (
      ;
      !signal.aborted;
      await sleep(this.#times.pollMs, undefined, { signal }).catch(() => {})
    ) {
      const found = await this.#ask((store) => store.read())
      if (found === undefined) continue
      const { value: stored } = found
      const version = stored?.version
      const isRenewed = watched !== undefined && watched.version !== version
      // Only this clock counts: those of machines differ. It does not run while the machine sleeps, which only delays.
      if (watched === undefined || isRenewed) watched = { version, sinceMs: performance.now() }
      const before = stored?.record
      // The lock of the directory tells that its former process has ended, unless another one has followed that.
      const isOwn = before?.id === owner.id && announced === undefined
      const isFree =
        isOwn ||
        before?.released === true ||
        performance.now() - watched.sinceMs >= this.#times.freeMs
      const term = isFree ? await this.#claim(stored) : undefined
      if (term !== undefined) return { before, term }
      if (before === undefined || isFree || before.id === owner.id) continue
      if (isRenewed && !waits) throw new LeaseHeld(describeHeld(before))
      if (waits && announced !== before.term)
        log.info(`standing by: ${before.holder} holds the lease, term ${before.term}`)
      announced = before.term
    }
    return undefined
  }

  /** Renews it until it is released. @param onLost Called at most once; from then on another engine may write */
  keep(onLost: (reason: string) => void): void {
    const lose = (reason: string) => {
      this.abandon()
      onLost(reason)
    }
    const { renewMs, holdMs } = this.#times
    const renew = async () => {
      const other = await this.#renew({})
      if (other !== undefined && this.#timers.length > 0)
        lose(`${other.holder} has taken it, term ${other.term}`)
    }
    this.#timers = [
      setInterval(() => void renew(), renewMs),
      setInterval(() => {
        if (!this.isValid())
          lose(`${this.#options.store.name} has not renewed it for ${holdMs / 1000} seconds`)
      }, checkMs),
    ]
  }

  isValid(): boolean {
    return elapsedMs(this.#renewed) < this.#times.holdMs
  }

  /** Notes something in the record, as soon as the store answers. @throws {Error} when the lease is lost meanwhile */
  async note(change: Pick<LeaseRecord, 'written' | 'copy'>): Promise<void> {
    for (;;) {
      if (!this.isValid()) throw new Error('The lease was lost.')
      const before = this.#held
      const other = await this.#renew(change)
      if (other !== undefined) throw new Error(`The lease was lost: ${other.holder} has taken it.`)
      if (this.#held !== before) return
      await sleep(this.#times.pollMs)
    }
  }

  async release(): Promise<void> {
    this.abandon()
    if (this.#held !== undefined && this.isValid()) await this.#renew({ released: true })
    await this.#options.store.close()
  }

  abandon(): void {
    for (const timer of this.#timers) clearInterval(timer)
    this.#timers = []
  }

  async #claim(stored: StoredLease | undefined): Promise<number | undefined> {
    const { owner } = this.#options
    const before = stored?.record
    const term = before?.id === owner.id ? before.term : (before?.term ?? 0) + 1
    const record = { ...owner, term, written: before?.written, copy: before?.copy }
    const sent = now()
    const written = await this.#ask((store) => store.write(record, stored?.version))
    if (written?.value === undefined) return undefined
    this.#hold({ record, version: written.value }, sent)
    return term
  }

  #hold(held: StoredLease, sent: LeaseMoment): void {
    this.#held = held
    this.#renewed = sent
    this.end[0] = sent.wallMs + this.#times.holdMs
  }

  /** One after the other. @returns the record of another engine, which has it now */
  #renew(change: Partial<LeaseRecord>): Promise<LeaseRecord | undefined> {
    const { promise, resolve } = Promise.withResolvers<LeaseRecord | undefined>()
    this.#isWriting = this.#isWriting.then(async () => resolve(await this.#renewNow(change)))
    return promise
  }

  async #renewNow(change: Partial<LeaseRecord>): Promise<LeaseRecord | undefined> {
    const held = this.#held
    if (held === undefined) return undefined
    const record = { ...held.record, ...change }
    const sent = now()
    const written = await this.#ask((store) => store.write(record, held.version))
    if (written?.value !== undefined) {
      this.#hold({ record, version: written.value }, sent)
      return undefined
    }
    // A write without an answer may have been made, and a store that has lost the record gets it again.
    const found = await this.#ask((store) => store.read())
    if (found === undefined) return undefined
    const { value: stored } = found
    if (
      stored !== undefined &&
      (stored.record.id !== record.id || stored.record.term !== record.term)
    )
      return stored.record
    this.#held = { record: held.record, version: stored?.version ?? '' }
    return undefined
  }

  async #ask<T>(
    question: (store: LeaseStore) => Promise<T>,
  ): Promise<{ readonly value: T } | undefined> {
    const { store, log } = this.#options
    try {
      const value = await within(answerMs, question(store), () => {
        throw new Error(`no answer within ${answerMs} ms`)
      })
      if (this.#complaint !== undefined) log.info(`${store.name} answers again`)
      this.#complaint = undefined
      return { value }
    } catch (error) {
      const reason = (error as Error).message
      if (reason !== this.#complaint)
        log.warn({ reason }, `the lease cannot be read or renewed: ${store.name} does not answer`)
      this.#complaint = reason
      return undefined
    }
  }
}

export function createVersion(): string {
  return randomUUID()
}

function describeHeld({ holder, term }: LeaseRecord): string {
  return (
    `Another engine, on ${holder}, holds the lease, term ${term}. ` +
    'Stop it, or start this one with --standby, so that it takes over when that one ends.'
  )
}

interface LeaseMoment {
  readonly steadyMs: number
  readonly wallMs: number
}

function now(): LeaseMoment {
  return { steadyMs: performance.now(), wallMs: Date.now() }
}

/** The steady clock may stand still while a machine sleeps; a clock that was set forward only ends a lease early. */
function elapsedMs({ steadyMs, wallMs }: LeaseMoment): number {
  return Math.max(performance.now() - steadyMs, Date.now() - wallMs)
}
