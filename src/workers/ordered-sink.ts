/** An audit sink for several workers. */
import type { AuditSink } from '../audit/audit-sink.ts'

/** Appends of several workers, one after the other. */
export function inTurn(sink: AuditSink): AuditSink {
  let last: Promise<void> = Promise.resolve()
  const append: AuditSink['append'] = (events) => {
    const appended = last.catch(() => {}).then(() => sink.append(events))
    last = appended
    return appended
  }
  return {
    append,
    find: sink.find?.bind(sink),
    since: sink.since?.bind(sink),
    lines: sink.lines?.bind(sink),
    isShared: sink.isShared,
    removeBefore: (untilMs) => sink.removeBefore(untilMs),
    removeBeyond: (maxBytes) => sink.removeBeyond(maxBytes),
    close: () => sink.close(),
  }
}
