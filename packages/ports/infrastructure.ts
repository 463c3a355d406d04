/** Infrastructure, as other capabilities use it: operations that change it, and what is there. */
import type { Cause } from '@fairlead/base/causes/cause.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { Account } from '@fairlead/model/environments/accounts.ts'
import type { Group } from '@fairlead/model/environments/running.ts'
import type { Caller } from './caller.ts'
import type {
  CloudDrift,
  CloudImage,
  CloudInstance,
  CloudJob,
  CloudLoadBalancer,
  CloudManifest,
  CloudServerGroup,
  CloudStatistics,
  CloudTask,
  EntityTag,
} from './cloud-values.ts'
import type { ProviderHandle } from './machine.ts'
import type { PortRules } from './rules.ts'
import type { SecretHolder } from './secrets.ts'

/** Every method rejects with a `PortError` what the caller may not do. What is absent is undefined. */
export interface Infrastructure {
  /** In messages. */
  readonly name: string
  /** Whether it puts values in place of references to secrets by itself, where they are needed. */
  readonly takesReferences: boolean
  /** Whether its instances run where this process does, so that their addresses may be called. */
  readonly hasOwnInstances: boolean
  /** @returns the id of the task; a request that is repeated has the task of the first one */
  submit(operations: Operations, request: OperationsOrder, as: Caller): Promise<string>
  /** Why it would refuse operations; undefined: it does not say so beforehand. */
  preview(
    operations: Operations,
    provider: string | undefined,
    as: Caller,
  ): Promise<string[] | undefined>
  task(id: string, as: Caller): Promise<CloudTask | undefined>
  /**
   * Resolves once the task is over, or when the follower should look again.
   *
   * @returns undefined while a task that was submitted is not known yet
   */
  followTask(id: string, limit: FollowLimit, as: Caller): Promise<CloudTask | undefined>
  /** Ends the waits of a task that runs, such as for a finalizer, where it can; what the task has begun goes on. */
  cancelTask(id: string, as: Caller): Promise<void>
  /** Resolves once what was changed can be read. */
  refresh(request: RefreshRequest, as: Caller): Promise<void>
  operationNames(as: Caller): Promise<string[]>

  accounts(as: Caller): Promise<Account[]>
  /** All that run somewhere, also those that the caller may not read. */
  applicationNames(as: Caller): Promise<string[]>
  /** Clusters of all accounts. */
  clusterNames(application: string, as: Caller): Promise<string[]>
  serverGroups(application: string, as: Caller): Promise<Group[]>
  loadBalancers(application: string, as: Caller): Promise<CloudLoadBalancer[]>
  serverGroup(place: NamedPlace, as: Caller): Promise<CloudServerGroup | undefined>
  cluster(place: ClusterPlace, as: Caller): Promise<CloudServerGroup[] | undefined>
  target(wanted: ClusterTarget, as: Caller): Promise<CloudServerGroup | undefined>
  instance(place: InstancePlace, as: Caller): Promise<CloudInstance | undefined>
  /** What the programs of an instance have written; one text a program. */
  output(
    wanted: InstancePlace & { readonly provider: string; readonly lastLines?: number },
    as: Caller,
  ): Promise<string[]>
  /** Why an instance does not run, by its output; undefined where that does not say. */
  cause(place: InstancePlace, as: Caller): Promise<Cause | undefined>
  /** Undefined: there is no such metric, or no such server group. */
  statistics(wanted: MetricPlace, as: Caller): Promise<CloudStatistics | undefined>
  securityGroup(
    place: NamedPlace & { readonly provider: string },
    as: Caller,
  ): Promise<{ readonly hasRules: boolean } | undefined>
  /** Names of those of an application. */
  securityGroupNames(application: string, as: Caller): Promise<string[]>
  /** Tags of a server group. */
  entityTags(place: NamedPlace, as: Caller): Promise<EntityTag[]>

  images(wanted: ImageSearch, as: Caller): Promise<CloudImage[]>
  /** Undefined too where the caller may not read the account. */
  image(
    place: NamedPlace & { readonly provider: string },
    as: Caller,
  ): Promise<CloudImage | undefined>

  job(place: JobPlace, as: Caller): Promise<CloudJob>
  /** One that is gone is fine. */
  removeJob(place: JobPlace, as: Caller): Promise<void>
  /** Properties in a file of a job, or what its container of that name has printed. */
  jobProperties(
    place: JobPlace & { readonly file: string },
    as: Caller,
  ): Promise<JsonObject | undefined>
  podProperties(
    place: JobPlace & { readonly provider: string; readonly container: string },
    as: Caller,
  ): Promise<JsonObject | undefined>

  manifest(
    place: NamedPlace & {
      readonly includeEvents: boolean
      /** A job that is gone after its end is found. */
      readonly includeCollected?: boolean
    },
    as: Caller,
  ): Promise<CloudManifest | undefined>
  /** Full names, such as `replicaSet web-v000`. */
  manifestsOfCluster(cluster: ManifestCluster, as: Caller): Promise<string[]>
  /** The full name of the newest, oldest, … of a cluster, by the criterion. */
  manifestByCriterion(
    wanted: ManifestCluster & { readonly criterion: string },
    as: Caller,
  ): Promise<string | undefined>
  drift(wanted: DriftQuery, as: Caller): Promise<CloudDrift[]>

  /** Content as text, or as value where it is JSON. */
  fetchArtifact(artifact: JsonObject, as: Caller): Promise<unknown>
  fetchArtifactBytes(artifact: JsonObject, as: Caller): Promise<Buffer>
  /** Reads for triggers; undefined: this infrastructure has none. */
  readonly versions: VersionReads | undefined
  /** Accounts of this process, as `accounts` shows them to those who may use all; undefined: they have to be asked for. */
  accountsAtHand(): Account[] | undefined
  /** A provider of this process. */
  provider(id: string): ProviderHandle | undefined
  /** What this process runs with values of secrets at this moment. */
  secretHolders(): readonly SecretHolder[]
}

/** An artifact without its version, at an artifact account. */
export interface ArtifactName {
  readonly account: string
  /** Type of the artifact. */
  readonly type: string
  readonly name: string
}

export interface ArtifactDigests {
  /** Host of the registry. */
  readonly host?: string
  /** By version; those that can be read. */
  readonly digests: ReadonlyMap<string, string>
}

export interface PolledRepository {
  readonly url: string
  /** Artifact account; undefined: none. */
  readonly account: string | undefined
}

/** Versions of artifacts and references of Git repositories; accounts and restrictions of addresses are the infrastructure's. */
export interface VersionReads {
  hasAccount(artifact: ArtifactName): boolean
  versions(artifact: ArtifactName): Promise<readonly string[]>
  digests(artifact: ArtifactName, versions: readonly string[]): Promise<ArtifactDigests>
  /** @param known Digest of the refs that the caller has; refs are undefined where they are the same */
  gitRefs(
    repository: PolledRepository,
    known: string | undefined,
  ): Promise<{ readonly digest: string; readonly refs?: Readonly<Record<string, string>> }>
  /** A revision as a compressed tar archive. */
  archive(repository: PolledRepository, revision: string): Promise<Buffer>
  changedPaths(
    repository: PolledRepository,
    push: { readonly ref: string; readonly before: string; readonly after: string },
  ): Promise<readonly string[]>
}

export interface OperationsOrder {
  /** Undefined: operations that belong to no provider. */
  readonly provider: string | undefined
  /** Names the request, so that it is carried out once. */
  readonly id: string
}

/** Each has its description by its name. */
export type Operations = readonly Readonly<Record<string, JsonObject>>[]

export interface FollowLimit {
  readonly withinMs: number
  readonly signal: AbortSignal
}

export interface RefreshRequest {
  readonly provider: string
  readonly type: string
  readonly details: readonly JsonObject[]
  readonly signal: AbortSignal
}

interface NamedPlace {
  readonly account: string
  readonly region: string
  readonly name: string
}

export interface ClusterPlace {
  readonly application: string
  readonly provider: string
  readonly account: string
  readonly cluster: string
}

interface ClusterTarget extends ClusterPlace {
  readonly region: string
  /** `current_asg_dynamic`, `ancestor_asg_dynamic`, …; or `newest`, `previous`, `oldest`, `largest`, `fail`. */
  readonly target: string
  readonly onlyEnabled?: boolean
  /** With one candidate left there is no oldest one. */
  readonly validateOldest?: boolean
}

export interface InstancePlace {
  readonly id: string
  readonly account: string
  readonly region: string
}

interface MetricPlace {
  readonly provider: string
  readonly account: string
  readonly region: string
  readonly metric: string
  readonly serverGroup: string
}

interface ImageSearch {
  readonly provider: string
  readonly text: string
  readonly region: string
  readonly tags: Readonly<Record<string, string>>
}

export interface JobPlace {
  readonly application: string
  readonly account: string
  readonly location: string
  readonly name: string
}

export interface ManifestCluster {
  readonly account: string
  readonly location: string
  readonly kind: string
  readonly application: string
  readonly cluster: string
}

interface DriftQuery {
  readonly application: string
  readonly account: string | undefined
  readonly location: string | undefined
}

export const infrastructureRules: PortRules<Infrastructure> = {
  service: 'clouddriver',
  changes: ['submit', 'cancelTask', 'removeJob'],
  holdsSecrets: ['submit', 'preview', 'fetchArtifact'],
  once: [],
}
