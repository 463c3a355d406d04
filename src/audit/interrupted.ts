/** Changes without a recorded end: their process died, or the write failed. */
import type { AuditSink } from './audit-sink.ts'
import type { AuditEvent, AuditRecord } from './event.ts'

/** No request takes longer, so nothing older can be open when the last record was written. */
const longestMs = 2 * 3_600_000

interface Search {
  readonly own: string
  readonly nowMs: number
}

/** One event for each, as the change was begun. @throws {Error} when the log cannot be read */
export async function findInterrupted(sink: AuditSink, { own, nowMs }: Search): Promise<AuditEvent[]> {
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
  return [...begun].filter(([change]) => !ended.has(change)).map(([, record]) => toEvent(record, nowMs))
}

function toEvent(
  { at, sequence: _sequence, previous: _previous, hash: _hash, ...begun }: AuditRecord,
  nowMs: number,
): AuditEvent {
  return { ...begun, decision: 'interrupted', atMs: nowMs, reason: `begun at ${at}, and its end was not recorded` }
}
