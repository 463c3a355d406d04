/** The audit log: queues events and writes them in batches. */
import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { within } from '@fairlead/base/concurrency/within.ts'
import type { FastifyBaseLogger } from 'fastify'
import type { AuditEvent, AuditPage, AuditQuery, AuditRecord, AuditSink } from './event.ts'
import { type Verification, verifyChain } from './verify.ts'

interface AuditLogOptions {
  sink: AuditSink
  log: FastifyBaseLogger
  retentionMs: number | undefined
  maxBytes: number | undefined
  onFailure: (events: number) => void
  now: () => number
}

const maxBatch = 500
const noteMs = 200
/** More events are lost: a sink that hangs must not fill the memory. */
const maxWaiting = 10_000
/** Maximum wait for a hanging sink; its later writes still succeed. */
const timeoutMs = 5000
const firstSweepMs = 60_000
const sweepIntervalMs = 3_600_000
const recordsPerMeasure = 5000

interface QueuedEvent {
  readonly event: AuditEvent
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

export function openAuditLog(options: AuditLogOptions): AuditLog {
  const audit = new AuditLog(options)
  audit.start()
  return audit
}

export class AuditLog {
  readonly #options: AuditLogOptions
  readonly process = randomBytes(6).toString('base64url')
  readonly #waiting: QueuedEvent[] = []
  #changes = 0
  #writing: Promise<void> | undefined
  #lost = 0
  #failing = false
  #hangs = false
  #unmeasured = 0
  readonly #verifying = new Map<string, Promise<Verification>>()
  #timers: NodeJS.Timeout[] = []
  #flushing: NodeJS.Timeout | undefined

  constructor(options: AuditLogOptions) {
    this.#options = options
  }

  start(): void {
    const sweep = () => void this.sweep()
    this.#timers = [
      setTimeout(sweep, firstSweepMs).unref(),
      setInterval(sweep, sweepIntervalMs).unref(),
    ]
    void this.noteInterrupted()
  }

  get isSearchable(): boolean {
    return this.#options.sink.find !== undefined
  }

  get trouble(): string | undefined {
    return this.#failing
      ? `the audit log cannot be written: ${this.#lost} events are missing so far`
      : undefined
  }

  nameChange(): string {
    return `${this.process}-${(++this.#changes).toString(36)}`
  }

  /** Resolves when the event survives a crash. @throws {Error} when it could not be written, which has been told to the operator */
  async record(event: AuditEvent): Promise<void> {
    const written = this.#enqueue(event)
    void this.#flush()
    if (this.#hangs) {
      written.catch(() => {})
      throw new Error('an earlier record is not written yet')
    }
    await within(timeoutMs, written, () => {
      this.#hangs = true
      throw this.#complain(new Error(`not written within ${timeoutMs} ms`))
    })
  }

  /** Records in the background, in batches, so that a flood of refusals costs little. A failure is logged. */
  note(event: AuditEvent): void {
    this.#enqueue(event).catch(() => {})
    this.#flushing ??= setTimeout(() => void this.#flush(), noteMs).unref()
  }

  async find(query: AuditQuery): Promise<AuditPage> {
    await this.#flush()
    return (await this.#options.sink.find?.(query)) ?? { records: [] }
  }

  /**
   * Verifies the whole chain. Users who ask at the same time share one examination, unless they expect other records.
   *
   * @param expected Hash of a record that must still be there.
   * @throws {Error} when the log cannot be read
   */
  async verify(expected?: string): Promise<Verification> {
    const key = expected ?? ''
    const running = this.#verifying.get(key)
    if (running !== undefined) return running
    const verifying = this.#flush()
      .then(() => verifyChain(this.#options.sink.lines?.() ?? [], expected))
      .finally(() => this.#verifying.delete(key))
    this.#verifying.set(key, verifying)
    return verifying
  }

  async sweep(): Promise<void> {
    const { sink, retentionMs, log, now } = this.#options
    try {
      if (retentionMs !== undefined) await sink.removeBefore(now() - retentionMs)
      await this.#measure()
    } catch (error) {
      log.warn({ err: error }, 'old records of the audit log could not be removed')
    }
  }

  async noteInterrupted(): Promise<void> {
    const { sink, log, now } = this.#options
    try {
      for (const event of await findInterrupted(sink, { own: this.process, nowMs: now() })) {
        log.warn(
          { user: event.user, operation: event.operation, requestId: event.requestId },
          'a change was interrupted',
        )
        this.note(event)
      }
    } catch (error) {
      log.warn(
        { err: error },
        'the audit log could not be searched for changes that were interrupted',
      )
    }
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer)
    await this.#flush()
    await this.#options.sink.close()
  }

  #enqueue(event: AuditEvent): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length >= maxWaiting) {
        reject(this.#lose(1, new Error('too many events are waiting to be written')))
        return
      }
      this.#waiting.push({ event, resolve, reject })
    })
  }

  async #flush(): Promise<void> {
    clearTimeout(this.#flushing)
    this.#flushing = undefined
    if (this.#waiting.length > 0) this.#writing ??= this.#writeAll()
    await this.#writing
  }

  async #writeAll(): Promise<void> {
    // Requests of the same turn are written together.
    await setImmediate()
    while (this.#waiting.length > 0) await this.#write(this.#waiting.splice(0, maxBatch))
    this.#writing = undefined
  }

  async #write(batch: readonly QueuedEvent[]): Promise<void> {
    const lost = this.#lost
    const gap: AuditEvent[] =
      lost === 0 ? [] : [{ kind: 'audit', decision: 'failed', atMs: this.#options.now(), lost }]
    try {
      await this.#options.sink.append([...gap, ...batch.map(({ event }) => event)])
      this.#lost -= lost
      this.#recover(lost)
      for (const { resolve } of batch) resolve()
    } catch (error) {
      this.#lose(batch.length, error as Error)
      for (const { reject } of batch) reject(error)
      return
    } finally {
      this.#hangs = false
    }
    this.#unmeasured += batch.length
    if (this.#unmeasured >= recordsPerMeasure) await this.#measure().catch(() => {})
  }

  async #measure(): Promise<void> {
    const { sink, maxBytes, log } = this.#options
    this.#unmeasured = 0
    if (maxBytes === undefined || !(await sink.removeBeyond(maxBytes))) return
    log.warn(
      { maxBytes },
      'the audit log became larger than audit.maxMegabytes, so its oldest records were removed',
    )
  }

  #lose(events: number, error: Error): Error {
    this.#lost += events
    this.#options.onFailure(events)
    return this.#complain(error)
  }

  #complain(error: Error): Error {
    if (!this.#failing)
      this.#options.log.error(
        { err: error },
        'the audit log cannot be written: events are lost until it can',
      )
    this.#failing = true
    return error
  }

  #recover(lost: number): void {
    if (this.#failing)
      this.#options.log.warn(
        { lost },
        'the audit log is written again and records how many events are missing',
      )
    this.#failing = false
  }
}

/** No request takes longer, so nothing older can be open when the last record was written. */
const longestMs = 2 * 3_600_000

interface AuditSearch {
  readonly own: string
  readonly nowMs: number
}

/** One event for each, as the change was begun. @throws {Error} when the log cannot be read */
export async function findInterrupted(
  sink: AuditSink,
  { own, nowMs }: AuditSearch,
): Promise<AuditEvent[]> {
  const [newest] = (await sink.find?.({ limit: 1 }))?.records ?? []
  if (newest === undefined || sink.since === undefined) return []
  const begun = new Map<string, AuditRecord>()
  const ended = new Set<string>()
  for await (const record of sink.since(Math.min(nowMs, Date.parse(newest.at)) - longestMs)) {
    const { change, decision } = record
    if (change === undefined || change.startsWith(`${own}-`)) continue
    if (decision === 'begun') begun.set(change, record)
    else ended.add(change)
  }
  return [...begun]
    .filter(([change]) => !ended.has(change))
    .map(([, record]) => toEvent(record, nowMs))
}

function toEvent(
  { at, sequence: _sequence, previous: _previous, hash: _hash, ...begun }: AuditRecord,
  nowMs: number,
): AuditEvent {
  return {
    ...begun,
    decision: 'interrupted',
    atMs: nowMs,
    reason: `begun at ${at}, and its end was not recorded`,
  }
}
