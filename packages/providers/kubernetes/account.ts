/** An account: its client, its kinds, and what is watched there. */
import type { DatabaseSync } from 'node:sqlite'

import { BackOff } from '@fairlead/base/concurrency/back-off.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { ConcurrencyLimit } from '@fairlead/base/stores/in-turns.ts'
import type { FastifyBaseLogger } from 'fastify'
import type { Account } from '../infrastructure/model.ts'
import { AccountClient } from './account-client.ts'
import { type ApiResource, apiVersionOf, type ClusterApi } from './api/cluster-api.ts'
import type { SharedConnections } from './api/connections.ts'
import { DeployedObjects } from './deployed-objects.ts'
import { OwnRules } from './health/own-rules.ts'
import { builtInKinds, type Kind, KindTable } from './kinds.ts'
import type { KubeObject } from './objects.ts'
import type { AccountHealth, KubernetesAccount, ListUpdates, ReadsUnderWay } from './parts.ts'
import { AccountLists } from './reads/account-lists.ts'
import { AccountObjects } from './reads/account-objects.ts'
import { metricsOf } from './reads/group-metrics.ts'
import type { KeptObject, Sharing } from './reads/kept-object.ts'
import { KindWatches } from './reads/kind-watch.ts'
import { KindCatalog } from './reads/listed-kinds.ts'
import { Namespaces } from './reads/namespaces.ts'
import { type Absence, LastStates, Presence } from './reads/presence.ts'
import {
  isRestricted,
  type KubernetesAccountSettings,
  type KubernetesSettings,
} from './settings.ts'

interface AccountOptions {
  readonly settings: KubernetesAccountSettings
  readonly provider: Omit<KubernetesSettings, 'accounts'>
  readonly underWay: ReadsUnderWay
  readonly sharing: Sharing
  readonly connections: SharedConnections
  readonly loads: ConcurrencyLimit
  readonly log: FastifyBaseLogger
  readonly db: DatabaseSync
  readonly now: () => number
  /** Called after each change of what lists show, and of the state of the account. */
  readonly changed: () => void
  readonly rejected: () => void
}

const retryPauses = { firstMs: 30_000, longestMs: 600_000 }

export class OpenKubernetesAccount implements KubernetesAccount {
  readonly settings: KubernetesAccountSettings
  readonly kinds: KindTable
  readonly client: AccountClient
  readonly api: ClusterApi
  readonly lists: ListUpdates
  readonly health: AccountHealth
  readonly deployed: DeployedObjects
  readonly reads: AccountLists
  readonly presence: Presence
  readonly lastStates: LastStates
  readonly #options: AccountOptions
  readonly #objects: AccountObjects
  readonly #catalog: KindCatalog
  readonly #watches: KindWatches
  readonly #namespaces: Namespaces
  readonly #retry = new BackOff(retryPauses)
  #isAway = false

  constructor(options: AccountOptions) {
    const { settings, provider, sharing, connections, loads, underWay, log, now } = options
    const changed = () => this.#changed()
    this.#options = options
    this.settings = settings
    this.kinds = new KindTable(settings.customResources)
    this.deployed = new DeployedObjects(options.db, settings.name)
    this.health = { times: provider.health, own: new OwnRules(settings.health), now }
    this.client = new AccountClient({
      account: settings,
      provider,
      connections,
      log,
      now,
      rejected: options.rejected,
    })
    this.api = this.client.api
    this.presence = new Presence({
      account: settings.name,
      silenceMs: provider.silenceMs,
      probe: (ms) => this.client.answers(ms),
      watched: () => this.#watchedAbsence,
      now,
      changed,
    })
    this.lastStates = new LastStates(this.presence, now)
    this.#catalog = new KindCatalog({
      account: settings,
      provider,
      table: this.kinds,
      api: this.api,
      underWay,
    })
    const { name: account } = settings
    this.#objects = new AccountObjects({
      account,
      listsPods: provider.detailsPodsOfJobs,
      settings,
      sharing,
    })
    this.#namespaces = new Namespaces({ settings, client: this.client, now, changed })
    this.#watches = new KindWatches({
      kinds: () => this.#catalog.all,
      api: this.api,
      namespaces: settings.namespaces,
      loads,
      now,
      underWay,
      soon: (loaded) => this.presence.wait(loaded).catch(() => {}),
      refused: (kind, problem) =>
        log.warn(
          { account, kind: kind.name, problem },
          'a kind of a Kubernetes account is empty, because it may not be listed',
        ),
      open: (kind, resource, namespace) => this.#watch(kind, resource, namespace),
      dropped: (kind) => this.#objects.removeAll(kind),
    })
    this.reads = new AccountLists({
      need: (isWanted) => this.#need(isWanted),
      objects: this.#objects,
      isRaw: (kind) => this.#catalog.isRaw(kind),
    })
    this.lists = {
      observe: (object) => this.#observe(object),
      forget: (object) => this.#forget(object),
    }
  }

  /** Reads the namespaces once, and again later while the API server does not answer. */
  async loadNamespaces(): Promise<void> {
    const isLoaded = await this.#options.loads.run(() => this.#namespaces.load())
    if (isLoaded) this.#retry.reset()
    else this.#retry.startLater(() => void this.loadNamespaces())
    if (!this.#watches.isInUse) await this.client.rest()
  }

  watchAlways(): void {
    if (this.settings.watch === 'always') this.#need(() => true)
  }

  /** View for clients. Nothing of the kubeconfig is part of it. */
  get view(): Account {
    const { name, environment, accountType, apps, namespaces } = this.settings
    const { absence } = this
    return {
      name,
      provider: 'kubernetes',
      accountId: null,
      environment,
      accountType,
      permissions: permissionsOf(this.settings),
      details: {
        namespaces: this.#namespaces.names,
        spinnakerKindMap: spinnakerKinds(this.kinds),
        dockerRegistries: [],
        apps: { ...apps, namespace: apps.namespace ?? namespaces[0] ?? 'default' },
        metrics: metricsOf(this.settings),
        cacheThreads: this.settings.cacheThreads,
        cacheIntervalSeconds: this.settings.cacheIntervalSeconds ?? null,
        enabled: true,
        ...olderPermissions(this.settings),
        ...(absence !== undefined && {
          unreachable: { since: absence.sinceMs, reason: absence.reason },
        }),
      },
    }
  }

  get defaultNamespace(): string {
    return this.client.defaultNamespace
  }

  get absence(): Absence | undefined {
    return this.presence.absence
  }

  get #watchedAbsence(): Absence | undefined {
    return this.#watches.isInUse ? this.#watches.absence : this.#namespaces.failure
  }

  /** Lets go what no read has needed for long. */
  async closeUnused(): Promise<void> {
    if (this.settings.watch === 'always' || !this.#watches.isInUse) return
    this.#watches.closeUnused()
    if (this.#watches.isInUse) return
    this.lastStates.clear()
    this.#namespaces.unwatch()
    // Open streams look again, and need it anew.
    this.#changed()
    await this.client.rest()
  }

  async close(): Promise<void> {
    this.#retry.cancel()
    this.presence.close()
    this.#watches.close()
    this.#namespaces.unwatch()
    await this.client.close()
  }

  #need(isWanted: (kind: Kind) => boolean): void {
    // Watches notice only after a while that nothing comes any more.
    const checked = this.#watches.isInUse ? this.presence.check() : undefined
    if (checked !== undefined) this.#options.underWay.miss(checked)
    this.#catalog.load()
    this.#watches.need(isWanted)
    this.#namespaces.watch()
  }

  #watch(kind: Kind, resource: ApiResource, namespace: string | undefined) {
    const apiVersion = apiVersionOf(resource)
    return this.client.watch<KeptObject>({
      resource,
      namespace,
      metadataOnly: this.#catalog.isPlain(kind),
      // A list that is on its way may arrive after the end.
      toEntry: (object) =>
        this.#watches.isOpen(kind) ? this.#objects.put(object, { kind, apiVersion }) : undefined,
      onGone: (kept) => this.#objects.remove(kept),
      onChange: () => this.#changed(),
    })
  }

  #changed(): void {
    const { log, changed } = this.#options
    const { absence } = this
    const account = this.settings.name
    if (absence !== undefined && !this.#isAway)
      log.warn({ account, problem: absence.reason }, 'a Kubernetes account does not answer')
    if (absence === undefined && this.#isAway)
      log.info({ account }, 'a Kubernetes account answers again')
    this.#isAway = absence !== undefined
    changed()
  }

  #observe(object: KubeObject): void {
    if (isNamespace(object)) this.#namespaces.observe(object)
    this.#watches.observe(object)
  }

  #forget(object: KubeObject): void {
    if (isNamespace(object)) this.#namespaces.forget(object)
    this.#watches.forget(object)
    this.deployed.forget(object)
  }
}

function isNamespace({ kind, apiVersion }: KubeObject): boolean {
  return kind === 'Namespace' && apiVersion === 'v1'
}

const builtInMap: JsonObject = Object.fromEntries(
  builtInKinds.map(({ name, spinnakerKind }) => [name, spinnakerKind]),
)

function spinnakerKinds({ custom }: KindTable): JsonObject {
  if (custom.length === 0) return builtInMap
  return {
    ...builtInMap,
    ...Object.fromEntries(custom.map(({ name, spinnakerKind }) => [name, spinnakerKind])),
  }
}

/** Roles of the older form may see and change the account. */
function permissionsOf({
  permissions,
  requiredGroupMembership,
}: KubernetesAccountSettings): Account['permissions'] {
  if (isRestricted(permissions)) {
    const { READ, WRITE, ...others } = permissions
    const named = Object.entries(others).filter(([, roles]) => roles.length > 0)
    return { READ, WRITE, ...Object.fromEntries(named) }
  }
  if (requiredGroupMembership.length === 0) return {}
  return { READ: requiredGroupMembership, WRITE: requiredGroupMembership }
}

/** Clients see the form that is configured. */
function olderPermissions({
  permissions,
  requiredGroupMembership,
}: KubernetesAccountSettings): JsonObject {
  if (isRestricted(permissions) || requiredGroupMembership.length === 0) return {}
  return { permissions: null, requiredGroupMembership }
}
