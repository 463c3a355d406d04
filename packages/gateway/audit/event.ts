/** Events of the audit log: who did what, from where, with which decision. */
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { toUserKey } from '@fairlead/base/names/user-name.ts'

export type AuditDecision = 'begun' | 'allowed' | 'refused' | 'failed' | 'interrupted'

export interface AuditEvent {
  readonly kind: 'change' | 'read' | 'refusal' | 'login' | 'logout' | 'token' | 'audit'
  readonly atMs: number
  readonly user?: string
  readonly login?: string
  readonly token?: string
  readonly address?: string
  readonly requestId?: string
  readonly method?: string
  readonly operation?: string
  /** Spelled as in the request; of a change to several, all of them, with commas between. */
  readonly application?: string
  /** What it is about: values of the path by name, of a change also what its query and body name. */
  readonly resource?: Readonly<Record<string, string>> | undefined
  readonly decision: AuditDecision
  readonly status?: number
  readonly error?: string
  /** Why credentials were refused, or which right the user lacks; of an event about the log itself, what happened. */
  readonly reason?: string
  readonly upstream?:
    | readonly { readonly service: string; readonly status: number | undefined }[]
    | undefined
  /** Joins `begun` with the record of how it ended. */
  readonly change?: string
  readonly repeated?: number
  readonly lost?: number
}

export interface AuditRecord extends Omit<AuditEvent, 'atMs'> {
  readonly at: string
  readonly sequence: number
  /** Hash of the record before, 64 zeros for the first. */
  readonly previous: string
  readonly hash: string
}

export interface AuditQuery {
  readonly kind?: string
  readonly address?: string
  readonly user?: string
  readonly operation?: string
  readonly application?: string
  readonly decision?: string
  readonly fromMs?: number
  readonly toMs?: number
  readonly before?: number
  readonly limit: number
}

export interface AuditPage {
  readonly records: AuditRecord[]
  readonly next?: number
}

export function matchesQuery(record: AuditRecord, query: AuditQuery): boolean {
  const atMs = Date.parse(record.at)
  return (
    (['kind', 'address', 'operation', 'decision'] as const).every(
      (name) => query[name] === undefined || record[name] === query[name],
    ) &&
    (query.application === undefined ||
      (record.application !== undefined &&
        namesApplication(record.application, query.application))) &&
    (query.user === undefined || toUserKey(record.user ?? '') === toUserKey(query.user)) &&
    atMs >= (query.fromMs ?? -Infinity) &&
    atMs < (query.toMs ?? Infinity) &&
    record.sequence < (query.before ?? Infinity)
  )
}

/** Whether what a record says is the application in any spelling, alone or among several. No name holds a comma. */
export function namesApplication(recorded: string, application: string): boolean {
  const wanted = foldName(application)
  return recorded.split(',').some((name) => foldName(name) === wanted)
}

export function toPage(records: AuditRecord[], limit: number): AuditPage {
  if (records.length <= limit) return { records }
  const shown = records.slice(0, limit)
  return { records: shown, next: shown.at(-1)?.sequence }
}

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
