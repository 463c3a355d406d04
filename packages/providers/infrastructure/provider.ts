/** A provider of infrastructure: its accounts, what runs there, and the operations that change it. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { ConsolePart, ConsoleWish } from '@fairlead/base/net/agent-protocol.ts'
import type { CertificateCondition } from '@fairlead/base/telemetry/metrics.ts'
import type { Access } from '@fairlead/ports/access.ts'
import type { ManifestCluster } from '@fairlead/ports/infrastructure.ts'
import type { ProviderHandle } from '@fairlead/ports/machine.ts'
import type { RetainedKind } from '@fairlead/ports/retained-kind.ts'
import type { SecretHolder } from '@fairlead/ports/secrets.ts'
import type { FastifyInstance } from 'fastify'
import type { ArtifactAccount } from '../artifacts/account-type.ts'
import type {
  Account,
  Instance,
  Job,
  LoadBalancer,
  Owned,
  OwnHit,
  OwnResource,
  SecurityGroup,
  ServerGroup,
} from './model.ts'
import type { OperationTypes } from './operation-type.ts'
import type { ProgramAccess } from './programs/program-access.ts'

export interface PodContainer {
  readonly account: string
  readonly location: string
  readonly pod: string
  readonly container: string
}

/**
 * Lists are answered from memory: a provider with a remote API keeps them current itself. It may begin with that when a list is first
 * read: see `trackReads`.
 */
export interface CloudProvider extends ProviderHandle {
  readonly id: string
  readonly accounts: readonly Account[]
  readonly artifactAccount?: ArtifactAccount
  readonly operations: OperationTypes
  /**
   * Called before an answer is made. The result tells what the reads made since then are still waiting for, and no longer than a second
   * for accounts that do not answer, where that is wanted: the answer is made again afterwards. Undefined: nothing.
   */
  trackReads?(): (isBounded: boolean) => Promise<void> | undefined
  /** Accounts that do not answer, by name. */
  absences?(): ReadonlyMap<string, { readonly sinceMs: number; readonly reason: string }>
  /** What was asked of an account, unless that is found to be away. @throws {PortError} 503 then, within a second */
  bounded?<T>(account: string, asked: Promise<T>): Promise<T>
  serverGroups(application?: string): readonly ServerGroup[]
  /** Server groups of all applications that are known without a remote API; undefined where all are. */
  knownServerGroups?(): readonly ServerGroup[]
  serverGroup(account: string, region: string, name: string): ServerGroup | undefined
  loadBalancers(): readonly LoadBalancer[]
  securityGroups(): readonly SecurityGroup[]
  instance(account: string, region: string, id: string): Instance | undefined
  /** Owners of an instance that nothing claims in the lists, which may not have its controller. */
  ownerOfInstance?(account: string, region: string, id: string): Promise<Owned | undefined>
  /**
   * Whose a resource is by its name, for entity tags, which have nothing else; undefined: the name belongs to no application.
   *
   * @param type Of the entity, in lower case
   */
  applicationOf(name: string, type: string): string | undefined
  detachedInstances(): readonly Instance[]
  /**
   * What an instance or a job has written; undefined: there is no such.
   *
   * @param wish A part, where the provider keeps offsets; without it, the newest output.
   */
  console(
    account: string,
    region: string,
    id: string,
    wish: ConsoleWish | undefined,
    choice: LogChoice,
  ): Promise<ConsoleView | undefined>
  /** Programs of its instances, for logs and for what clients run in them. */
  readonly programs?: ProgramAccess
  jobs(): readonly Job[]
  /** A job that is gone after its end. */
  collectedJob?(wanted: CollectedJob): Promise<Job | undefined>
  /** Properties that a job has written; undefined: there is no such job or file. */
  jobFile(job: Job, name: string): Promise<JsonObject | undefined>
  /** What a container of a pod has printed for a pipeline; undefined: nothing. @throws {BackendError} 403 */
  podProperties?(place: PodContainer, access: Access): Promise<JsonObject | undefined>
  removeJob(job: Pick<Job, 'account' | 'location' | 'id'>): Promise<void>
  networks?(): readonly JsonObject[]
  subnets?(): readonly JsonObject[]
  instanceTypes?(): readonly JsonObject[]
  certificates?(): readonly JsonObject[]
  readonly images?: ImageReads
  readonly metrics?: MetricReads
  readonly manifests?: ManifestReads
  /** What creates the server groups of an application, such as deployments of Kubernetes. */
  serverGroupManagers?(application: string): readonly OwnResource[]
  rawResources?(application: string): readonly OwnResource[]
  readonly hits?: Readonly<Record<string, () => readonly OwnHit[]>>
  /** Newest first; undefined where the provider does not record them. */
  scalingActivities(serverGroup: ServerGroup): readonly JsonObject[] | undefined
  secretHolders?(): readonly SecretHolder[]
  /** Certificates that it orders itself, by host; for the metrics. */
  certificateConditions?(): readonly CertificateCondition[]
  readonly retained?: readonly RetainedKind[]
  /** Routes of its own, such as an upload; below the service's prefix. */
  routes?(app: FastifyInstance): void
  /** Takes over changed settings while it runs: see `ProviderType.reloads`. */
  reload?(settings: unknown): void
  start(): void
  close(): void | Promise<void>
}

export interface ConsoleView extends Partial<Omit<ConsolePart, 'output'>> {
  /** Owners of the output, where lists do not know; never part of the answer. */
  readonly owned?: Owned
  /** By container where an instance has several. */
  readonly output: string | readonly { readonly name: string; readonly output: string }[]
}

export interface LogChoice {
  readonly container?: string
  readonly previous?: boolean
}

export interface MetricReads {
  /**
   * Values over time of all instances of a server group together; undefined: there is no such metric.
   *
   * @throws {Error} where they cannot be read at the moment
   */
  statistics(name: string, serverGroup: ServerGroup): Promise<JsonObject | undefined>
}

export interface ManifestReads {
  /**
   * Live; undefined: there is no such.
   *
   * @throws {PortError} 5xx where the account does not answer
   */
  find(name: ManifestName, choice: ManifestChoice): Promise<OwnResource | undefined>
  /** Live, oldest first. @throws {PortError} 5xx */
  ofCluster(cluster: ManifestCluster & LastChoice): Promise<readonly ClusterMember[]>
  drift(query: DriftLookup): Promise<readonly OwnResource[]>
  /**
   * What a deployment would change; nothing is changed. The caller may change account and application.
   *
   * @throws {PortError} 400 for manifests that cannot be deployed
   */
  plan(description: JsonObject, user: string): Promise<readonly JsonObject[]>
}

interface LastChoice {
  /** Whether the last state counts, with its age, while the account does not answer: for people, not for what acts on it. */
  readonly takesLast: boolean
}

export interface DriftLookup extends LastChoice {
  readonly application: string
  readonly account?: string
  readonly location?: string
  readonly isReadable: (account: string) => boolean
}

export interface CollectedJob {
  readonly application: string
  readonly account: string
  readonly location: string
  readonly id: string
}

interface ManifestName {
  readonly account: string
  /** `_` where it has none. */
  readonly location: string
  readonly name: string
}

export interface ManifestChoice extends LastChoice {
  readonly includesEvents: boolean
  readonly includesSecrets: boolean
  /** Whether a job that is gone after its end counts as one that is there. */
  readonly includesCollected: boolean
}

export interface ClusterMember {
  readonly view: JsonObject
  /** -1 where it has none. */
  readonly replicas: number
}

export interface ImageQuery {
  readonly text: string | undefined
  readonly region: string | undefined
  readonly account: string | undefined
  /** Lower-case names and values: `tag:stage=prod`. */
  readonly tags: ReadonlyMap<string, string>
}

export interface ImageReads {
  /** @throws {PortError} 400 for a query that the provider cannot answer */
  find(query: ImageQuery): JsonObject[]
  tags(account: string, repository: string): string[]
  details(account: string, region: string, id: string): JsonObject[]
}
