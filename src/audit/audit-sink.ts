/** Interface of a store of audit records. */
import type { AuditEvent, AuditPage, AuditQuery, AuditRecord } from './event.ts'

export interface AuditSink {
  /** Links events to the chain; resolves when they survive a crash of the process. @throws {Error} nothing was written then */
  append(events: readonly AuditEvent[]): Promise<void>
  find?(query: AuditQuery): Promise<AuditPage>
  /** Records of that time and later, in any order; undefined where nothing can be read back. @param fromMs Milliseconds since the epoch */
  since?(fromMs: number): AsyncIterable<AuditRecord>
  /** All lines as they are stored, the oldest first; undefined where nothing can be read back. */
  lines?(): AsyncIterable<string> | Iterable<string>
  /** Removes the oldest records, never the last one. @param untilMs Milliseconds since the epoch */
  removeBefore(untilMs: number): Promise<void>
  /** Removes the oldest records while the log is larger, never the last ones. @returns whether there were any */
  removeBeyond(maxBytes: number): Promise<boolean>
  close(): Promise<void>
}
