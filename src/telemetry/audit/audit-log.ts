/** The audit log: takes events one by one and writes those that came together at once, so that a busy gateway is not slowed down. */
import type { FastifyBaseLogger } from 'fastify'
import type { AuditSink } from './audit-sink.ts'
import type { AuditEvent, AuditPage, AuditQuery } from './event.ts'

export interface AuditLogOptions {
  sink: AuditSink
  log: FastifyBaseLogger
  /** Undefined keeps records for ever. */
  retentionMs: number | undefined
  /** Told how many events could not be written. */
  onFailure: (events: number) => void
  /** Milliseconds since the epoch. */
  now: () => number
}

const maxBatch = 500
const noteMs = 200
/** Beyond that events are lost: a sink that hangs must not fill the memory. */
const maxWaiting = 10_000
const complainEveryMs = 10_000
const firstSweepMs = 60_000
const sweepIntervalMs = 3_600_000

interface Waiting {
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
  readonly #waiting: Waiting[] = []
  #writing: Promise<void> | undefined
  /** Events that were not written since the last that was. */
  #lost = 0
  #complainedAtMs = -Infinity
  #timers: NodeJS.Timeout[] = []
  #flushing: NodeJS.Timeout | undefined

  constructor(options: AuditLogOptions) {
    this.#options = options
  }

  start(): void {
    if (this.#options.retentionMs === undefined) return
    const sweep = () => void this.sweep()
    this.#timers = [setTimeout(sweep, firstSweepMs).unref(), setInterval(sweep, sweepIntervalMs).unref()]
  }

  get isSearchable(): boolean {
    return this.#options.sink.find !== undefined
  }

  /** Resolves when the event survives a crash. @throws {Error} when it could not be written, which has been told to the operator */
  record(event: AuditEvent): Promise<void> {
    const written = this.#enqueue(event)
    void this.#flush()
    return written
  }

  /** Records what nobody waits for, soon and with others, so that a flood of refusals costs little. A failure is told to the operator. */
  note(event: AuditEvent): void {
    this.#enqueue(event).catch(() => {})
    this.#flushing ??= setTimeout(() => void this.#flush(), noteMs).unref()
  }

  /** Includes everything that was recorded so far. @throws {Error} when the log cannot be read */
  async find(query: AuditQuery): Promise<AuditPage> {
    await this.#flush()
    return (await this.#options.sink.find?.(query)) ?? { records: [] }
  }

  /** Removes what has been kept long enough. */
  async sweep(): Promise<void> {
    const { sink, retentionMs, log, now } = this.#options
    if (retentionMs === undefined) return
    try {
      await sink.removeBefore(now() - retentionMs)
    } catch (error) {
      log.warn({ err: error }, 'old records of the audit log could not be removed')
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
        const error = new Error('too many events are waiting to be written')
        this.#complain(1, error)
        reject(error)
        return
      }
      this.#waiting.push({ event, resolve, reject })
    })
  }

  /** Resolves when nothing waits any more. */
  async #flush(): Promise<void> {
    clearTimeout(this.#flushing)
    this.#flushing = undefined
    if (this.#waiting.length > 0) this.#writing ??= this.#writeAll()
    await this.#writing
  }

  async #writeAll(): Promise<void> {
    // Requests of the same turn are written together.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#waiting.length > 0) await this.#write(this.#waiting.splice(0, maxBatch))
    this.#writing = undefined
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    const lost = this.#lost
    const gap: AuditEvent[] = lost === 0 ? [] : [{ kind: 'audit', decision: 'failed', atMs: this.#options.now(), lost }]
    try {
      await this.#options.sink.append([...gap, ...batch.map(({ event }) => event)])
      this.#lost -= lost
      for (const { resolve } of batch) resolve()
    } catch (error) {
      this.#complain(batch.length, error)
      for (const { reject } of batch) reject(error)
    }
  }

  #complain(events: number, error: unknown): void {
    const { log, onFailure, now } = this.#options
    this.#lost += events
    onFailure(events)
    if (now() - this.#complainedAtMs < complainEveryMs) return
    this.#complainedAtMs = now()
    log.error({ err: error, lost: this.#lost }, 'the audit log cannot be written: events are lost')
  }
}
