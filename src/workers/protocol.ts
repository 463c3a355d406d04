/** Messages between the primary and its workers. */
import type { AuditEvent, AuditPage, AuditQuery } from '../audit/event.ts'
import type { Change } from '../concurrency/changes.ts'
import type { Config } from '../config/config.ts'
import type { PortKind } from '../http/request-state.ts'
import type { Charge, ChargeResult } from '../limits/counters.ts'
import type { Guess } from '../login/form/guess-limit.ts'
import type { MethodSettings } from '../login/method-type.ts'
import { loginMethods } from '../login/methods.ts'
import type { LoginSettings } from '../login/settings.ts'
import type { MetricSnapshot, PrintedMetrics } from '../telemetry/metric-set.ts'
import type { WorkerCount } from './shared-parts.ts'

/** A configuration that processes can send each other: login methods are named, as functions cannot be sent. */
export type WorkerConfig = Omit<Config, 'login'> & {
  readonly login: Omit<LoginSettings, 'methods'> & { readonly methods: readonly NamedMethod[] }
}

interface NamedMethod {
  readonly name: string
  readonly settings: MethodSettings
}

export function toWorkerConfig({ login, ...config }: Config): WorkerConfig {
  return { ...config, login: { ...login, methods: login.methods.map(({ type: { name }, settings }) => ({ name, settings })) } }
}

export function fromWorkerConfig({ login, ...config }: WorkerConfig): Config {
  const methods = login.methods.flatMap(({ name, settings }) =>
    loginMethods.filter((type) => type.name === name).map((type) => ({ type, settings })),
  )
  return { ...config, login: { ...login, methods } }
}

export interface WorkerStart {
  readonly number: number
  /** See `WorkerGroup`. */
  readonly isFirst: boolean
  readonly config: WorkerConfig
  readonly notices: readonly string[]
  readonly version: string
  /** Arguments of the command line, to read the configuration again. */
  readonly args: readonly string[]
  readonly consoleDir: string
  /** What to type for `fairlead <words>`, with `wordsMark` for the words. */
  readonly commandLine: string
  /** What the primary listens on. */
  readonly addresses: readonly { kind: PortKind; address: string }[]
  readonly state: PrimaryState
}

export const wordsMark = '\0'

export interface EmbeddedState {
  readonly isListening: boolean
  readonly permissionVersion: number
  /** See `Embedded`. */
  readonly address: string | undefined
}

/** What workers know of the primary. */
export interface PrimaryState {
  /** Undefined where every service is external. */
  readonly embedded: EmbeddedState | undefined
  readonly workers: WorkerCount
}

/** Comes with the connection, beside the channel: only the system's own channel carries connections. */
export interface HandedConnection {
  readonly id: number
  readonly kind: PortKind
}

/** What a worker may ask of the primary. */
export interface PrimaryDuties {
  ready(worker: { readonly auditProcess: string | undefined }): void
  /** @param reason Why the worker cannot serve */
  failed(reason: string): void
  /** A connection has arrived; the worker has it alone from now on. */
  taken(id: number): void
  /** So many connections have ended. */
  closed(connections: number): void
  /** Before the process ends. */
  lastMetrics(snapshot: readonly MetricSnapshot[]): void
  append(events: readonly AuditEvent[]): Promise<void>
  findAudit(query: AuditQuery): Promise<AuditPage>
  trimAudit(maxBytes: number): Promise<boolean>
  charge(charge: Charge): ChargeResult
  beginGuess(guess: { readonly guess: Guess; readonly unlockedAtMs?: number | undefined }): Promise<GuessAnswer>
  endGuess(guess: { readonly id: number; readonly outcome: 'succeeded' | 'withdrawn' }): void
  beginLogin(id: string): Promise<boolean>
  completeLogin(id: string): Promise<boolean>
  loadBanners(value: null): Promise<string | null>
  replaceBanners(document: { readonly before: string | null; readonly after: string }): Promise<boolean>
  publish(change: Change): Promise<void>
  printMetrics(value: null): Promise<PrintedMetrics>
}

export type GuessAnswer = { readonly waitMs: number } | { readonly id: number }

/** What the primary may ask of a worker. */
export interface WorkerDuties {
  state(state: PrimaryState): void
  noteChange(change: Change): void
  snapshot(value: null): Promise<readonly MetricSnapshot[]>
  /** Asked to find a process that hangs. */
  ping(value: null): void
  /** Has readiness fail; answered after the configured time. */
  drain(value: null): Promise<void>
  /** Ends the drain. */
  hurry(value: null): void
  /** Another process takes over: every connection ends with its next answer. */
  retire(value: null): void
  /** Finishes what is in flight, and ends the process. */
  close(value: null): void
}
