/** Sources of changes: interface of the feed of the embedded engine and of polls of an external orchestrator. */
import type { IdentityHeaders } from '../upstreams/identity.ts'

export interface LiveSubject {
  readonly kind: 'execution' | 'task' | 'application'
  readonly name: string
}

/** What a stream of an application reports changes of; of all but executions, it only says that there are some. */
export type ApplicationPart = 'executions' | 'tasks' | 'infrastructure' | 'definitions'

export interface RunChange {
  readonly id: string
  /** `epoch.sequence`; sequences of one epoch grow. */
  readonly version: string
  /** JSON. Undefined once the run was removed. */
  readonly summary: string | undefined
}

export interface Snapshot {
  readonly version: string
  /** Whether `changes` has all that has changed since the version that was asked for. */
  readonly isComplete: boolean
  /** Oldest first. Of a single run: its state. */
  readonly changes: readonly RunChange[]
}

export interface Watcher {
  changed(change: RunChange): void
  tasksChanged(): void
  /** Changes may be missing: a new snapshot is needed. */
  lost(): void
  stale(isStale: boolean): void
  /** The caller in whose name the service was asked may not read it. */
  refused(): void
  identity(): IdentityHeaders
}

export interface Watch {
  snapshot(since: string | undefined): Promise<Snapshot>
  close(): void
}

export interface ChangeSource {
  readonly parts: readonly ApplicationPart[]
  /** Begins to watch; changes after a snapshot of the result are never missed silently. */
  watch(subject: LiveSubject, watcher: Watcher): Watch
  close?(): void
}

export function isOlder(one: string, other: string): boolean {
  return one.split('.')[0] === other.split('.')[0] && sequenceOf(one) < sequenceOf(other)
}

export function sequenceOf(version: string): number {
  const digits = /\.(\d{1,15})$/.exec(version)?.[1]
  return digits === undefined ? 0 : Number(digits)
}
