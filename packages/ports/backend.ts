/** Interface of an embedded back end: an HTTP application with the contract of its service. */
import type { DatabaseSync } from 'node:sqlite'
import type { Agent } from '@fairlead/base/net/agent-protocol.ts'
import type { OutsideSettings } from '@fairlead/base/outside/settings.ts'
import type { EmbeddableService } from '@fairlead/base/services/services.ts'
import type { GroupCommit } from '@fairlead/base/storage/group-commit.ts'
import type { BackendState } from '@fairlead/base/telemetry/metrics.ts'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Ports } from './ports.ts'
import type { RetainedKind } from './retained-kind.ts'

export interface Backend {
  /** The service that it replaces; also the first path segment under which the worker serves it. */
  readonly service: EmbeddableService
  /** SQL scripts, oldest first. Each runs once, in a transaction of its own; never edit one that was released. */
  readonly migrations: readonly string[]
  /** The same of its parts, by name: each counts its own, so that new parts can come in any order. */
  readonly partMigrations?: Readonly<Record<string, readonly string[]>>
  /** Called once its tables exist. Must not start background work yet: see `OpenBackend.start`. */
  open(context: BackendContext): OpenBackend
}

export interface OpenBackend {
  /** Registers the routes on an encapsulated Fastify instance whose prefix is the service's name. */
  routes(app: FastifyInstance): void
  /** Its capabilities, for the other back ends of this process. */
  readonly ports?: Partial<Ports>
  /** Starts background work, once every back end listens. */
  start?(): void
  /** Asked at each scrape of the metrics, so it must be cheap. */
  observe?(): BackendState
  /** What is deleted once it is old. */
  readonly retained?: readonly RetainedKind[]
  /** Whether what it stores, and still needs, has this text in it. */
  isMentioned?(text: string): boolean
  /** Takes over settings that changed while it runs, where it can. */
  reload?(settings: BackendSettings): void
  /** Begins nothing new, and waits for so many milliseconds at most for what would have to be repeated otherwise. */
  settle?(ms: number): Promise<void>
  /** Stops background work. The database is closed by the caller, afterwards. */
  close?(): void | Promise<void>
}

export interface BackendContext {
  /** One database for all back ends (WAL; synchronous=FULL but in `commits`); table names start with the capability: `definitions_pipelines`. */
  readonly db: DatabaseSync
  /** Its transactions that need not wait for the disk one by one. */
  readonly commits: GroupCommit
  /** Milliseconds since the epoch; tests move it. */
  readonly now: () => number
  /** Milliseconds since any moment, on a monotonic clock; what is passed by is the difference. */
  readonly steady: () => number
  readonly log: FastifyBaseLogger
  /** Capabilities of the other back ends, or of services in their place; once all back ends are open. */
  readonly ports: Ports
  /** Opens the client of the agent of a data directory; whoever opens it closes it. */
  readonly openAgent: (dataDir: string, startsAgent: boolean) => Agent
  readonly settings: BackendSettings
  /** Whether the defaults of new data hold; what an older version has written keeps the behaviour from before. */
  readonly isNewData: boolean
  /** Called when what the service stores changes, or what it observes. */
  readonly stateChanged: () => void
  /** Called when rights of users change: also within the transaction, since this thread reads nothing meanwhile. */
  readonly permissionsChanged: () => void
  /** Resolves when no process uses rights from before the last change: who changes them learns so no earlier. */
  readonly permissionsKnown: () => Promise<unknown>
  /** Another number after every change of permissions; undefined where they are not counted. */
  readonly permissionVersion?: () => number
}

/** The limits of the gateway, for requests that reach the back ends past it. */
export interface BackendBodies {
  readonly maxBytes: number
  readonly maxValues: number
}

/**
 * Settings of the embedded back ends, as plain data that can be handed to a worker thread. Each package adds its own in its
 * `backend-settings.ts`.
 */
export interface BackendSettings {
  readonly outside: OutsideSettings
  /** Roles whose members are administrators, lower case. */
  readonly adminRoles: readonly string[]
  /** Time zone of cron triggers and execution windows, an IANA name. */
  readonly timeZone: string
  /** Service accounts from configuration, written to the store at start. */
  readonly serviceAccounts: readonly { name: string; memberOf: string[] }[]
  /** Settings of connected build servers, by the id of their kind. */
  readonly buildServers: Readonly<Record<string, object>>
  /** Whether the permission service decides (`services.fiat.enabled`); while it does not, every check passes. */
  readonly authorization?: boolean
  /** Bounds of what users send. Default: those of the gateway when nothing is set. */
  readonly bodies?: BackendBodies
  /** Longest time of one attempt of a task of the engine. Default: more than any of its calls may take. */
  readonly attemptMs?: number
  /** When the database was restored from a copy that may lack the last moments before. Default: it was not. */
  readonly restoredAt?: number
  /** The version of the package. */
  readonly version?: string
}
