/** Answers about one account from its watched objects; what an answer needs is watched from then on. */
import type {
  Instance,
  Job,
  LoadBalancer,
  OwnHit,
  OwnResource,
  SecurityGroup,
  ServerGroup,
} from '../../infrastructure/model.ts'
import { formatFullName, type Kind } from '../kinds.ts'
import type { AccountObjects } from './account-objects.ts'
import type { NamespaceReads } from './namespace-reads.ts'

interface AccountListsOptions {
  readonly objects: AccountObjects
  readonly need: (isWanted: (kind: Kind) => boolean) => void
  readonly isRaw: (kind: Kind) => boolean
}

export class AccountLists {
  readonly #options: AccountListsOptions

  constructor(options: AccountListsOptions) {
    this.#options = options
  }

  serverGroups(application: string | undefined): ServerGroup[] {
    this.#need(isOfGroups)
    return this.knownServerGroups(application)
  }

  knownServerGroups(application?: string): ServerGroup[] {
    const name = application?.toLowerCase()
    return this.#collect((reads) =>
      name === undefined ? reads.groups.values() : reads.groupsOf.get(name),
    )
  }

  serverGroup(namespace: string, kind: Kind, name: string): ServerGroup | undefined {
    this.#need((each) => each.name === kind.name || isPodOrService(each))
    return this.#options.objects.namespace(namespace)?.groups.get(formatFullName(kind, name))
  }

  managers(application: string): OwnResource[] {
    this.#need(
      ({ name, spinnakerKind }) => spinnakerKind === 'serverGroupManagers' || name === 'replicaSet',
    )
    return this.#collect(({ managersOf }) => managersOf.get(application.toLowerCase()))
  }

  loadBalancers(): LoadBalancer[] {
    this.#need((kind) => isOfGroups(kind) || kind.spinnakerKind === 'loadBalancers')
    return this.#collect(({ balancers }) => balancers)
  }

  securityGroups(): SecurityGroup[] {
    this.#need(({ spinnakerKind }) => spinnakerKind === 'securityGroups')
    return this.#collect(({ firewalls }) => firewalls)
  }

  /** @param name Bare */
  instance(namespace: string, name: string): Instance | undefined {
    this.#need(isOfGroups)
    return this.#options.objects.namespace(namespace)?.instance(`pod ${name}`)
  }

  detachedInstances(): Instance[] {
    this.#need(({ name }) => name === 'pod')
    return this.#collect(({ detached }) => detached)
  }

  jobs(): Job[] {
    this.#need(({ name }) => name === 'pod' || name === 'job')
    return this.#collect(({ jobs }) => jobs)
  }

  /** @param type A kind, or what kinds are to Spinnaker */
  hits(type: string): OwnHit[] {
    const isWanted = ({ name, spinnakerKind }: Kind) => name === type || spinnakerKind === type
    this.#need(isWanted)
    return this.#options.objects.hits(({ kind }) => isWanted(kind))
  }

  rawResources(application: string): OwnResource[] {
    const { isRaw, objects } = this.#options
    this.#need(isRaw)
    const name = application.toLowerCase()
    return objects.rawResources(
      ({ kind, moniker }) => moniker.app?.toLowerCase() === name && isRaw(kind),
    )
  }

  /** By the full name of a server group in any case, where it is known. */
  applicationOf(name: string): string | undefined {
    const folded = name.toLowerCase()
    for (const { groups } of this.#options.objects.namespaces) {
      const group =
        groups.get(name) ?? groups.values().find((each) => each.name.toLowerCase() === folded)
      const owner = group?.moniker.app
      if (owner !== undefined && owner !== null) return owner
    }
    return undefined
  }

  /** Names of the pods of a job, the latest last. */
  podsOf({ id, location }: Job): string[] {
    return this.#options.objects.namespace(location)?.podsOf(id) ?? []
  }

  /** Where the application has objects, as far as that is known. */
  namespacesOf(application: string): string[] {
    const groups = this.serverGroups(application)
    const named = [
      ...groups,
      ...this.loadBalancers().filter(({ moniker }) => moniker.app === application),
    ]
    const managers = this.managers(application).map(({ view }) => String(view['namespace']))
    return [...new Set([...named.map(({ region }) => region), ...managers])]
  }

  #need(isWanted: (kind: Kind) => boolean): void {
    const { need, objects } = this.#options
    need(isWanted)
    // What claims nothing belongs to the application of its controllers.
    if (objects.namespaces.some((reads) => reads.hasUnclaimed)) need(isController)
  }

  #collect<T>(select: (reads: NamespaceReads) => Iterable<T> | undefined): T[] {
    const all: T[] = []
    for (const reads of this.#options.objects.namespaces) {
      for (const each of select(reads) ?? []) all.push(each)
    }
    return all
  }
}

function isOfGroups(kind: Kind): boolean {
  return kind.spinnakerKind === 'serverGroups' || isPodOrService(kind)
}

function isController({ spinnakerKind }: Kind): boolean {
  return spinnakerKind === 'serverGroups' || spinnakerKind === 'serverGroupManagers'
}

function isPodOrService({ name }: Kind): boolean {
  return name === 'pod' || name === 'service'
}
