/** Where an audit log is kept, as the log sees it. */
import type { AuditEvent, AuditPage, AuditQuery } from './event.ts'

export interface AuditSink {
  /** Links events to the chain; resolves when they survive a crash of the process. @throws {Error} nothing was written then */
  append(events: readonly AuditEvent[]): Promise<void>
  /** Undefined where nothing can be read back. */
  readonly find: ((query: AuditQuery) => Promise<AuditPage>) | undefined
  /** Removes the oldest records, never the last one. @param untilMs Milliseconds since the epoch */
  removeBefore(untilMs: number): Promise<void>
  close(): Promise<void>
}
