/** The desired state of this machine: documents in SQLite, cached in memory for reads. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import type { FrontLimits, FrontSite, HealthCheck } from '@fairlead/base/net/agent-protocol.ts'
import { inTransaction } from '@fairlead/base/storage/database.ts'
import type { GroupProgram, InstanceProgram, SealedSecrets } from './program.ts'
import type { StartLimits } from './settings.ts'

export const desiredMigrations = [
  `CREATE TABLE infrastructure_local (
     kind TEXT NOT NULL,
     key TEXT NOT NULL,
     document TEXT NOT NULL,
     PRIMARY KEY (kind, key)
   ) STRICT, WITHOUT ROWID;`,
] as const

export interface ResourceKey {
  readonly account: string
  readonly region: string
  readonly name: string
}

export interface LocalCapacity {
  readonly min: number
  readonly max: number
  readonly desired: number
}

export interface LocalGroup extends ResourceKey {
  readonly zones: readonly string[]
  readonly createdMs: number
  readonly isDisabled: boolean
  /** When it last began to take traffic; null: it has never come up. Undefined: a former version has created it. */
  readonly servingSinceMs?: number | null
  readonly capacity: LocalCapacity
  readonly image: {
    readonly id: string
    readonly name: string
    readonly version: string
    readonly digest: string
  }
  readonly buildInfo: JsonObject | undefined
  readonly program: GroupProgram
  readonly instanceType: string
  readonly loadBalancers: readonly string[]
  /** Percentage of the requests to each of its load balancers. Undefined: it divides the rest with others that have none. */
  readonly trafficPercent?: number
  readonly securityGroups: readonly string[]
  readonly tags: JsonObject
  readonly labels: JsonObject
  readonly suspendedProcesses: readonly string[]
  /** What its deployment has set; the rest is as its account has it. */
  readonly startLimits?: Partial<StartLimits>
  /** It is removed with its last instance. */
  readonly isLeaving: boolean
  /** Newest first. */
  readonly activities: readonly Activity[]
}

/** What has come up before takes traffic again once it is enabled. */
export function withTraffic(group: LocalGroup, isDisabled: boolean, nowMs: number): LocalGroup {
  const begins = group.isDisabled && !isDisabled && group.servingSinceMs !== null
  return { ...group, isDisabled, ...(begins && { servingSinceMs: nowMs }) }
}

export interface Activity {
  readonly id: string
  readonly atMs: number
  readonly description: string
  readonly cause: string
  readonly zone: string
}

export interface LocalInstance {
  readonly id: string
  readonly account: string
  readonly region: string
  readonly zone: string
  /** Name of the server group; undefined once it was detached. */
  readonly group: string | undefined
  readonly host: string
  readonly port: number
  /** The lowest that no other one of its server group has, from 0: which volumes are its own. Undefined: it has none. */
  readonly ordinal?: number
  /** Ids of instances that leave and have a volume for one writer with it: it is not started before they are gone. */
  readonly waitsFor?: readonly string[]
  readonly launchMs: number
  readonly generation: number
  /** Out of all load balancers, and not ready for others, though its server group is enabled. */
  readonly isOut: boolean
  /** Out of service for those that look at its readiness only. */
  readonly isOutOfDiscovery: boolean
  /** Load balancers of its server group that it was deregistered from. */
  readonly deregistered: readonly string[]
  /** Load balancers that it was registered with, besides those of its server group. */
  readonly registered: readonly string[]
  /** Instances keep what they were started with. */
  readonly program: InstanceProgram
  readonly sealed?: SealedSecrets
  readonly leaving: Leaving | undefined
}

/** First without new requests, then without a process, then gone. */
export interface Leaving {
  readonly stage: 'draining' | 'stopping'
  /** Milliseconds since the epoch when this stage began. */
  readonly sinceMs: number
  /** Revision of the first desired state without its process. */
  readonly revision: number | undefined
}

export interface LocalBalancer extends ResourceKey {
  readonly createdMs: number
  readonly listeners: readonly BalancerListener[]
  readonly health: HealthCheck
  readonly isInternal: boolean
  readonly vpcId: string | undefined
  readonly securityGroups: readonly string[]
  /** What it has on the front of its account. */
  readonly site?: LocalSite
}

export interface LocalSite extends Pick<FrontSite, 'rules' | 'compress' | 'hsts' | 'errorPage'> {
  readonly redirects: FrontSite['redirects']
  readonly limits: Partial<FrontLimits>
}

export interface BalancerListener {
  readonly protocol: 'http' | 'https' | 'tcp'
  readonly port: number
  readonly host: string
  readonly certificate: string | undefined
  readonly internalProtocol: string
  readonly internalPort: number | undefined
}

export interface LocalFirewall extends ResourceKey {
  readonly id: string
  readonly description: string
  readonly vpcId: string | undefined
  readonly addressRules: readonly AddressRule[]
  readonly groupRules: readonly GroupRule[]
}

export interface AddressRule {
  readonly cidr: string
  readonly protocol: string
  readonly startPort: number
  readonly endPort: number
  readonly description: string | undefined
}

export interface GroupRule {
  readonly name: string
  readonly account: string
  readonly protocol: string
  readonly startPort: number
  readonly endPort: number
}

export interface LocalJob {
  readonly id: string
  readonly name: string
  readonly account: string
  readonly region: string
  readonly application: string
  readonly createdMs: number
  readonly timeLimitMs: number | undefined
  readonly image: string | undefined
  readonly program: GroupProgram
  readonly digest: string | undefined
  readonly instanceType: string
  readonly labels: JsonObject
  /** What runs its command in the sandbox; that of an image runs without one. */
  readonly confined?: readonly string[]
  readonly end: JobEnd | undefined
  readonly sealed?: SealedSecrets
  /** Server group whose shared volumes it has. */
  readonly startedFor?: string
  /** A bake or a build, which takes the result: no list of jobs has it. */
  readonly isBuild?: boolean
  /** Folder whose content the working directory of a build starts with, in place of an image. */
  readonly content?: string
  /** Bytes of output that are kept of a build. Default: as the instance type has it. */
  readonly consoleBytes?: number
  /** Its process is to be stopped, and the job forgotten: the first desired state without it. */
  readonly leavingRevision: number | undefined
}

export interface LocalPull extends ResourceKey {
  readonly imageId: string
}

interface JobEnd {
  readonly atMs: number
  readonly exitCode: number | undefined
  readonly signal: string | undefined
  readonly reason: string | undefined
}

/** A host that belongs to an application. */
export interface LocalHost {
  /** Id of the front. */
  readonly front: string
  /** Lower-case A-labels; `*.` may be the first one. */
  readonly host: string
  readonly application: string
  readonly claimedMs: number
  /** Gets the requests of a host that a user has added, beside what load balancers say themselves. */
  readonly loadBalancer?: ResourceKey
}

/** A certificate of the fronts; its PEM files are in the data directory, named by their content. */
interface LocalCertificate {
  readonly name: string
  /** Lower-case A-labels; `*.` may be the first one. */
  readonly hosts: readonly string[]
  readonly digest: string
}

/** An open challenge of an ACME authority. */
type LocalChallenge =
  | { readonly kind: 'http-01'; readonly name: string; readonly content: string }
  | {
      readonly kind: 'tls-alpn-01'
      readonly name: string
      readonly certificate: string
      readonly key: string
    }

interface Kinds {
  groups: LocalGroup
  instances: LocalInstance
  balancers: LocalBalancer
  firewalls: LocalFirewall
  jobs: LocalJob
  pulls: LocalPull
  hosts: LocalHost
  certificates: LocalCertificate
  challenges: LocalChallenge
}

export function placeKey({ account, region, name }: ResourceKey): string {
  return `${account}:${region}:${name}`
}

export function hostKey(front: string, host: string): string {
  return `${front} ${host}`
}

/** @param name The token, or the host */
export function challengeKey(kind: LocalChallenge['kind'], name: string): string {
  return `${kind} ${name}`
}

interface JournalEntry {
  readonly kind: keyof Kinds
  readonly key: string
  readonly before: Kinds[keyof Kinds] | undefined
}

/** Documents are never changed in place: `put` replaces them. */
export class Desired {
  readonly #db: DatabaseSync
  readonly #tables: { readonly [K in keyof Kinds]: Map<string, Kinds[K]> } = {
    groups: new Map(),
    instances: new Map(),
    balancers: new Map(),
    firewalls: new Map(),
    jobs: new Map(),
    pulls: new Map(),
    hosts: new Map(),
    certificates: new Map(),
    challenges: new Map(),
  }
  /** Instances by server group, and server groups by application. */
  readonly #owned = new Map<string, Map<string, Kinds[keyof Kinds]>>()
  readonly #write: StatementSync
  readonly #remove: StatementSync
  #journal: JournalEntry[] | undefined
  #revision = 0

  constructor(db: DatabaseSync) {
    this.#db = db
    this.#write = db.prepare('INSERT OR REPLACE INTO infrastructure_local VALUES (?, ?, ?)')
    this.#remove = db.prepare('DELETE FROM infrastructure_local WHERE kind = ? AND key = ?')
    for (const row of db.prepare('SELECT kind, key, document FROM infrastructure_local').all()) {
      const document = parseJson(String(row['document']))
      if (row['kind'] === 'revision') this.#revision = Number(document)
      else this.#set(row['kind'] as keyof Kinds, String(row['key']), document as Kinds[keyof Kinds])
    }
  }

  get revision(): number {
    return this.#revision
  }

  /** The agent takes a state from its first revision on, and settings may want something before anything is deployed. */
  begin(): void {
    if (this.#revision > 0) return
    inTransaction(this.#db, () => this.#store([]))
  }

  isEmpty(): boolean {
    return (
      this.#tables.instances.size === 0 &&
      this.#tables.balancers.size === 0 &&
      this.#tables.jobs.size === 0
    )
  }

  all<K extends keyof Kinds>(kind: K): Iterable<Kinds[K]> {
    return this.#tables[kind].values()
  }

  get<K extends keyof Kinds>(kind: K, key: string): Kinds[K] | undefined {
    return this.#tables[kind].get(key)
  }

  groupAt(account: string, region: string, name: string): LocalGroup | undefined {
    return this.#tables.groups.get(placeKey({ account, region, name }))
  }

  groupsOf(application: string): Iterable<LocalGroup> {
    return (this.#owned.get(applicationKey(application))?.values() ?? []) as Iterable<LocalGroup>
  }

  instancesOf(group: ResourceKey): LocalInstance[] {
    return [...(this.#owned.get(`group ${placeKey(group)}`)?.values() ?? [])] as LocalInstance[]
  }

  /** Instances that count for the capacity: all but the ones that leave. */
  stayingInstances(group: ResourceKey): LocalInstance[] {
    return this.instancesOf(group).filter(({ leaving }) => leaving === undefined)
  }

  groupOf({ account, region, group }: LocalInstance): LocalGroup | undefined {
    return group === undefined ? undefined : this.groupAt(account, region, group)
  }

  put<K extends keyof Kinds>(kind: K, document: Kinds[K]): void {
    const key = keyOf(kind, document)
    this.#record(kind, key)
    this.#set(kind, key, document)
  }

  remove<K extends keyof Kinds>(kind: K, document: Kinds[K]): void {
    const key = keyOf(kind, document)
    this.#record(kind, key)
    this.#unset(kind, key)
  }

  /** Its process is to be stopped, and the job forgotten. */
  dismissJob(job: LocalJob): void {
    this.put('jobs', { ...job, leavingRevision: this.#revision + 1 })
  }

  /** Runs `work`, which may `put` and `remove`, in a transaction of its own. When it throws, nothing has changed. */
  transact(work: () => void): void {
    this.within((change) => inTransaction(this.#db, change), work)
  }

  /**
   * The same in a transaction of the caller.
   *
   * @param transaction Calls its argument within a transaction; when it throws, memory is as before, too.
   */
  within(transaction: (change: () => void) => void, work: () => void): void {
    const journal: JournalEntry[] = []
    const revision = this.#revision
    this.#journal = journal
    try {
      transaction(() => {
        work()
        if (journal.length > 0) this.#store(journal)
      })
    } catch (error) {
      for (const { kind, key, before } of journal.reverse()) {
        if (before === undefined) this.#unset(kind, key)
        else this.#set(kind, key, before)
      }
      this.#revision = revision
      throw error
    } finally {
      this.#journal = undefined
    }
  }

  #store(journal: readonly JournalEntry[]): void {
    this.#revision++
    this.#write.run('revision', '', String(this.#revision))
    for (const { kind, key } of new Map(
      journal.map((entry) => [`${entry.kind} ${entry.key}`, entry]),
    ).values()) {
      const document = this.#tables[kind].get(key)
      if (document === undefined) this.#remove.run(kind, key)
      else this.#write.run(kind, key, formatJson(document))
    }
  }

  #record(kind: keyof Kinds, key: string): void {
    if (this.#journal === undefined)
      throw new Error('The desired state changes within a transaction only.')
    this.#journal.push({ kind, key, before: this.#tables[kind].get(key) })
  }

  #set(kind: keyof Kinds, key: string, document: Kinds[keyof Kinds]): void {
    this.#unset(kind, key)
    ;(this.#tables[kind] as Map<string, unknown>).set(key, document)
    const owner = ownerOf(kind, document)
    if (owner !== undefined)
      this.#owned.getOrInsertComputed(owner, () => new Map()).set(key, document)
  }

  #unset(kind: keyof Kinds, key: string): void {
    const before = this.#tables[kind].get(key)
    if (before === undefined) return
    this.#tables[kind].delete(key)
    const owner = ownerOf(kind, before) ?? ''
    const owned = this.#owned.get(owner)
    owned?.delete(key)
    if (owned?.size === 0) this.#owned.delete(owner)
  }
}

function keyOf<K extends keyof Kinds>(kind: K, document: Kinds[K]): string {
  switch (kind) {
    case 'instances':
    case 'jobs':
      return (document as LocalInstance | LocalJob).id
    case 'hosts': {
      const { front, host } = document as LocalHost
      return hostKey(front, host)
    }
    case 'certificates':
      return (document as LocalCertificate).name
    case 'challenges': {
      const { kind: type, name } = document as LocalChallenge
      return challengeKey(type, name)
    }
    default:
      return placeKey(document as LocalGroup)
  }
}

/** Key of the server group of an instance, or of the application of a server group. */
function ownerOf(kind: keyof Kinds, document: Kinds[keyof Kinds]): string | undefined {
  if (kind === 'groups')
    return applicationKey(parseMoniker((document as LocalGroup).name).app ?? '')
  if (kind !== 'instances') return undefined
  const { account, region, group } = document as LocalInstance
  return group === undefined ? undefined : `group ${placeKey({ account, region, name: group })}`
}

function applicationKey(application: string): string {
  return `application ${application.toLowerCase()}`
}
