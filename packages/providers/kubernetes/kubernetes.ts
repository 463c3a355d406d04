/** The provider `kubernetes`: objects of API servers, read through watches that reads open. */
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { ConsoleWish } from '@fairlead/base/net/agent-protocol.ts'
import { ConcurrencyLimit } from '@fairlead/base/stores/in-turns.ts'
import type { Access } from '@fairlead/ports/access.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
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
} from '../infrastructure/model.ts'
import type { OperationTypes } from '../infrastructure/operation-type.ts'
import type { ProgramAccess } from '../infrastructure/programs/program-access.ts'
import type {
  CloudProvider,
  CollectedJob,
  ConsoleView,
  LogChoice,
  ManifestReads,
  MetricReads,
  PodContainer,
} from '../infrastructure/provider.ts'
import { OpenKubernetesAccount } from './account.ts'
import { SharedConnections } from './api/connections.ts'
import { builtInKinds, type FullName, parseFullName } from './kinds.ts'
import { createKubernetesOperations } from './operations/all.ts'
import { type KubernetesParts, ReadsUnderWay } from './parts.ts'
import { createMetricReads } from './reads/group-metrics.ts'
import { loadCollectedJob } from './reads/health.ts'
import { toCollectedJob } from './reads/job-state.ts'
import { Sharing } from './reads/kept-object.ts'
import { ownerOfObject, propertiesOfPod, readConsole, readProperties } from './reads/logs.ts'
import { createManifestReads } from './reads/manifests.ts'
import { answered, removeObject } from './reads/object-lookup.ts'
import { createPodPrograms } from './reads/pod-programs.ts'
import type { Absence } from './reads/presence.ts'
import { StoredApplications } from './reads/stored-applications.ts'
import type { KubernetesAccountSettings, KubernetesSettings } from './settings.ts'

const sweepMs = 60_000
/** Changes within this time are reported together. */
const togetherMs = 50
/** What a read takes that finds its last state. */
const lastStateMs = 100
/** Accounts and kinds that load at once. */
const maxLoads = 24

export class KubernetesProvider implements CloudProvider {
  readonly id = 'kubernetes'
  readonly operations: OperationTypes
  readonly manifests: ManifestReads
  readonly metrics: MetricReads
  readonly programs: ProgramAccess
  readonly #context: BackendContext
  readonly #underWay = new ReadsUnderWay()
  readonly #sharing = new Sharing()
  readonly #connections = new SharedConnections()
  readonly #loads = new ConcurrencyLimit(maxLoads)
  readonly #stored: StoredApplications
  readonly #accounts = new Map<string, OpenKubernetesAccount>()
  #settings: KubernetesSettings
  #telling: NodeJS.Timeout | undefined
  #sweep: NodeJS.Timeout | undefined

  constructor(context: BackendContext, settings: KubernetesSettings) {
    this.#context = context
    this.#settings = settings
    this.#stored = new StoredApplications(context, this.#underWay)
    const parts = this.#toParts()
    this.operations = createKubernetesOperations(parts)
    this.manifests = createManifestReads(parts, (name) => this.#accounts.get(name)?.reads)
    this.metrics = createMetricReads(parts)
    this.programs = createPodPrograms(
      (name) => this.#accounts.get(name),
      () => this.#settings.log,
    )
    for (const account of settings.accounts) this.#open(account)
  }

  get accounts(): Account[] {
    return this.#settings.accounts.flatMap(({ name }) => this.#accounts.get(name)?.view ?? [])
  }

  trackReads(): ReturnType<NonNullable<CloudProvider['trackReads']>> {
    return this.#underWay.track()
  }

  absences(): ReadonlyMap<string, Absence> {
    return new Map(
      [...this.#accounts].flatMap(([name, { absence }]) =>
        absence === undefined ? [] : [[name, absence] as const],
      ),
    )
  }

  bounded<T>(account: string, asked: Promise<T>): Promise<T> {
    return this.#accounts.get(account)?.presence.wait(asked, lastStateMs) ?? asked
  }

  serverGroups(application?: string): readonly ServerGroup[] {
    return this.#shown((account) => account.reads.serverGroups(application))
  }

  knownServerGroups(): readonly ServerGroup[] {
    return this.#shown((account) => account.reads.knownServerGroups())
  }

  serverGroup(account: string, region: string, name: string): ServerGroup | undefined {
    const found = this.#find(account, name)
    return found?.account.reads.serverGroup(region, found.account.kinds.kindOf(found), found.name)
  }

  loadBalancers(): readonly LoadBalancer[] {
    return this.#shown((account) => account.reads.loadBalancers())
  }

  securityGroups(): readonly SecurityGroup[] {
    return this.#shown((account) => account.reads.securityGroups())
  }

  /** @param id Full name, `pod web-abc` */
  instance(account: string, region: string, id: string): Instance | undefined {
    const found = this.#find(account, id)
    return found?.account.kinds.kindOf(found).name === 'pod'
      ? found.account.reads.instance(region, found.name)
      : undefined
  }

  async ownerOfInstance(
    account: string,
    namespace: string,
    name: string,
  ): Promise<Owned | undefined> {
    const found = this.#accounts.get(account)
    return found && ownerOfObject(found, { namespace, name })
  }

  detachedInstances(): readonly Instance[] {
    return this.#shown((account) => account.reads.detachedInstances())
  }

  applicationOf(name: string): string | undefined {
    const owners = this.#accounts.values().map(({ reads }) => reads.applicationOf(name))
    return owners.find((owner) => owner !== undefined)
  }

  async console(
    account: string,
    region: string,
    id: string,
    wish: ConsoleWish | undefined,
    choice: LogChoice,
  ): Promise<ConsoleView | undefined> {
    const found = this.#accounts.get(account)
    const tailLines = wish !== undefined && 'tail' in wish ? wish.tail : undefined
    return (
      found &&
      readConsole(
        found,
        { namespace: region, name: id },
        { choice, bounds: this.#settings.log, tailLines },
      )
    )
  }

  jobs(): Job[] {
    return this.#all((account) => account.reads.jobs())
  }

  async collectedJob({
    application,
    account,
    location,
    id,
  }: CollectedJob): Promise<Job | undefined> {
    const found = this.#find(account, id)
    if (found === undefined || found.account.kinds.kindOf(found).name !== 'job') return undefined
    const place = { namespace: location, name: found.name }
    const object = await answered(found.account, () => loadCollectedJob(found.account, place))
    return object && toCollectedJob(object, { application, account })
  }

  async jobFile(job: Job, name: string): Promise<JsonObject | undefined> {
    const account = this.#accounts.get(job.account)
    if (account === undefined) return undefined
    const pods = account.reads.podsOf(job)
    return readProperties(
      account,
      { namespace: job.location, pods, container: name },
      this.#settings.log,
    )
  }

  /** Its pods go, too. */
  async removeJob({ account: name, location, id }: Parameters<CloudProvider['removeJob']>[0]) {
    const account = this.#accounts.get(name)
    if (account !== undefined) await removeObject(account, location, id)
  }

  serverGroupManagers(application: string): readonly OwnResource[] {
    return this.#shown((account) => account.reads.managers(application))
  }

  rawResources(application: string): readonly OwnResource[] {
    return this.#shown((account) => account.reads.rawResources(application))
  }

  get hits(): Readonly<Record<string, () => readonly OwnHit[]>> {
    if (!this.#settings.isSearched) return {}
    const kinds = [
      ...builtInKinds,
      ...this.#accounts.values().flatMap((account) => account.kinds.custom),
    ]
    const types = new Set(kinds.flatMap(({ name, spinnakerKind }) => [name, spinnakerKind]))
    return Object.fromEntries(
      [...types].map((type) => [type, () => this.#shown((account) => account.reads.hits(type))]),
    )
  }

  /** The API server does not record them. */
  scalingActivities(): undefined {
    return undefined
  }

  podProperties(place: PodContainer, access: Access): Promise<JsonObject | undefined> {
    return propertiesOfPod(place, access, this.#toParts())
  }

  start(): void {
    for (const account of this.#accounts.values()) this.#begin(account)
    this.#sweep = setInterval(() => {
      for (const [name, account] of this.#accounts) {
        void account.closeUnused()
        // Its kubeconfig may have a new token.
        if (account.absence !== undefined) void this.#renew(name)
      }
    }, sweepMs).unref()
  }

  /** Accounts that have not changed go on undisturbed. */
  reload(changed: KubernetesSettings): void {
    const { accounts: before, ...general } = this.#settings
    const { accounts: after, ...others } = changed
    this.#settings = changed
    const kept = isDeepStrictEqual(general, others)
      ? after.filter((account) => before.some((each) => isDeepStrictEqual(each, account)))
      : []
    const names = new Set(kept.map(({ name }) => name))
    for (const [name, account] of this.#accounts) {
      if (names.has(name)) continue
      this.#accounts.delete(name)
      void account.close()
    }
    for (const account of after) if (!names.has(account.name)) this.#begin(this.#open(account))
    for (const { name } of kept) void this.#renew(name)
    this.#changed()
  }

  /** A kubeconfig may be another one under the same path. */
  async #renew(name: string): Promise<void> {
    const account = this.#accounts.get(name)
    if (
      account === undefined ||
      !(await account.client.isOutdated()) ||
      this.#accounts.get(name) !== account
    )
      return
    this.#begin(this.#open(account.settings))
    await account.close()
  }

  async close(): Promise<void> {
    clearInterval(this.#sweep)
    clearTimeout(this.#telling)
    await Promise.all(this.#accounts.values().map((account) => account.close()))
  }

  #open(settings: KubernetesAccountSettings): OpenKubernetesAccount {
    const account = new OpenKubernetesAccount({
      settings,
      provider: this.#settings,
      underWay: this.#underWay,
      sharing: this.#sharing,
      connections: this.#connections,
      rejected: () => void this.#renew(settings.name),
      loads: this.#loads,
      log: this.#context.log,
      db: this.#context.db,
      now: this.#context.now,
      changed: () => this.#changed(),
    })
    this.#accounts.set(settings.name, account)
    return account
  }

  #begin(account: OpenKubernetesAccount): void {
    account.watchAlways()
    if (this.#settings.loadNamespaces) void account.loadNamespaces()
  }

  #changed(): void {
    this.#telling ??= setTimeout(() => {
      this.#telling = undefined
      this.#context.stateChanged()
    }, togetherMs).unref()
  }

  #toParts(): KubernetesParts {
    const settings = () => this.#settings
    return {
      context: this.#context,
      get settings() {
        return settings()
      },
      account: (name) => this.#accounts.get(name),
      accounts: () => [...this.#accounts.values()],
      now: this.#context.now,
    }
  }

  /** Only those of stored applications, where settings say so. */
  #shown<T extends Owned>(read: (account: OpenKubernetesAccount) => readonly T[]): readonly T[] {
    const all = this.#all(read)
    return this.#settings.lists.onlyKnownApplications ? this.#stored.select(all) : all
  }

  #all<T>(read: (account: OpenKubernetesAccount) => readonly T[]): T[] {
    const all: T[] = []
    for (const account of this.#accounts.values()) for (const each of read(account)) all.push(each)
    return all
  }

  #find(
    account: string,
    name: string,
  ): (FullName & { readonly account: OpenKubernetesAccount }) | undefined {
    const found = this.#accounts.get(account)
    const parsed = parseFullName(name)
    return found && parsed && { ...parsed, account: found }
  }
}
