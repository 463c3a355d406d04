/** Parts that exist once for a data directory, as a gateway of several processes uses those of the primary. */
import type { AuditSink } from '../audit/audit-sink.ts'
import type { Embedded } from '../backends/hosting/embedded.ts'
import type { BannerStore } from '../banners/banner-store.ts'
import type { Changes } from '../concurrency/changes.ts'
import type { ConnectionSource } from '../http/listeners.ts'
import type { Counters } from '../limits/counters.ts'
import type { LoginRegister } from '../login/completed-logins.ts'
import type { Guesses } from '../login/form/guess-limit.ts'
import type { MetricSnapshot, PrintedMetrics } from '../telemetry/metric-set.ts'

export interface SharedParts {
  /** Undefined where every service is external. */
  readonly embedded: Embedded | undefined
  /** Undefined where nothing is recorded, or each process writes to Redis by itself. */
  readonly auditSink: AuditSink | undefined
  readonly counters: Counters
  readonly guesses: Guesses
  readonly completedLogins: LoginRegister
  readonly bannerStore: BannerStore
  readonly changes: Changes
  readonly connections: ConnectionSource
  readonly workers: WorkerGroup
}

/** The processes that serve together. */
export interface WorkerGroup {
  /** The first process of a start: it creates the first administrator, and logs where the gateway listens. */
  readonly isFirst: boolean
  count(): WorkerCount
  printMetrics(): Promise<PrintedMetrics>
  /** Has the primary ask for the metrics of this process. Closing it reports the last ones. */
  reportMetrics(snapshot: () => Promise<MetricSnapshot[]>): { close(): Promise<void> }
  /** Begins the names of the changes that this process records before it makes them. */
  nameAuditProcess(name: string): void
}

export interface WorkerCount {
  readonly running: number
  readonly configured: number
}

export function describeWorkers(count: WorkerCount | undefined): string[] {
  if (count === undefined || count.running >= count.configured) return []
  return [`${count.running} of ${count.configured} worker processes serve; the others start, or the log says why they ended`]
}
