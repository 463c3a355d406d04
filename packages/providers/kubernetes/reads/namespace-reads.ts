/** Answers about one namespace: the same ones until its objects change, and then those of what has changed. */

import { definedOf } from '@fairlead/base/json/values.ts'
import type {
  Instance,
  Job,
  LoadBalancer,
  Owned,
  OwnResource,
  SecurityGroup,
  ServerGroup,
} from '../../infrastructure/model.ts'
import { toPodStatus } from '../objects/pod.ts'
import { millisecondsOf } from '../objects.ts'
import { completionDetailsOf, describeFailure, type JobPod, type JobState } from './job-state.ts'
import type {
  KeptFirewall,
  KeptIngress,
  KeptManager,
  KeptPod,
  KeptService,
  KeptWorkload,
} from './kept-object.ts'
import { toLoadBalancer } from './load-balancers.ts'
import { NamespaceObjects } from './namespace-objects.ts'
import { byName } from './owned-objects.ts'
import { balancersOf, toInstance, toServerGroup } from './server-groups.ts'
import { fullNameOf, ownFields, toManager, toSecurityGroup } from './views.ts'

export interface NamespaceOptions {
  readonly account: string
  readonly listsPods: boolean
}

type Balancer = KeptService | KeptIngress

const none: readonly never[] = []

export class NamespaceReads {
  readonly objects = new NamespaceObjects()
  readonly #options: NamespaceOptions
  readonly #balancerNames = new Memo<KeptWorkload, readonly string[]>()
  readonly #groups = new Memo<KeptWorkload, ServerGroup>()
  readonly #instances = new Memo<KeptPod, Instance>()
  readonly #balancers = new Memo<Balancer, LoadBalancer>()
  readonly #managers = new Memo<KeptManager, OwnResource>()
  readonly #firewalls = new Memo<KeptFirewall, SecurityGroup>()
  readonly #jobs = new Memo<KeptWorkload, Job>()
  /** By what is asked, for one version of the objects. */
  readonly #answers = new Map<string, unknown>()
  #version = 0

  constructor(options: NamespaceOptions) {
    this.#options = options
  }

  get groups(): ReadonlyMap<string, ServerGroup> {
    return this.#answer(
      'groups',
      () => new Map(this.#workloads.map((each) => [fullNameOf(each), this.#group(each)])),
    )
  }

  get groupsOf(): ReadonlyMap<string, readonly ServerGroup[]> {
    return this.#answer('groupsOf', () => byApplication(this.groups.values()))
  }

  get managersOf(): ReadonlyMap<string, readonly OwnResource[]> {
    return this.#answer('managersOf', () =>
      byApplication(
        sorted(this.objects.ofRole('manager')).map((manager) => this.#manager(manager)),
      ),
    )
  }

  get balancers(): readonly LoadBalancer[] {
    return this.#answer('balancers', () => {
      const [services, ingresses] = [this.objects.ofRole('service'), this.objects.ofRole('ingress')]
      return [...sorted<Balancer>(services), ...sorted<Balancer>(ingresses)].map((balancer) =>
        this.#balancer(balancer),
      )
    })
  }

  get firewalls(): readonly SecurityGroup[] {
    const toGroup = (firewall: KeptFirewall) =>
      toSecurityGroup(this.#options.account, this.objects.owned(firewall))
    return this.#answer('firewalls', () =>
      sorted(this.objects.ofRole('firewall')).map((each) =>
        this.#firewalls.remember(each, [this.objects.owned(each)], () => toGroup(each)),
      ),
    )
  }

  get jobs(): readonly Job[] {
    return this.#answer('jobs', () => this.#workloads.flatMap((workload) => this.#job(workload)))
  }

  /** Whether something claims no application, and may have that of a controller. */
  get hasUnclaimed(): boolean {
    return this.#answer('hasUnclaimed', () => {
      for (const { moniker, owner } of this.objects.all())
        if (moniker.app === null && owner !== undefined) return true
      return false
    })
  }

  /** Pods without owner. */
  get detached(): readonly Instance[] {
    return this.#answer('detached', () =>
      this.objects.pods.of(undefined).map((pod) => this.#instance(pod, undefined)),
    )
  }

  /** @param name Full name of a pod */
  instance(name: string): Instance | undefined {
    const pod = this.objects.ofRole('pod').get(name)
    if (pod === undefined) return undefined
    const owner = this.objects.ownerOf(pod)
    const listed = owner && this.#group(owner).instances.find(({ id }) => id === pod.uid)
    return listed ?? this.#instance(pod, undefined)
  }

  /** Names of the pods that a workload owns, in the order of their creation. @param name Full name of the workload */
  podsOf(name: string): string[] {
    const owner = this.objects.ofRole('workload').get(name)
    const pods = owner === undefined ? [] : this.objects.pods.of(owner.uid)
    return pods
      .toSorted((one, other) => (one.createdMs ?? 0) - (other.createdMs ?? 0))
      .map((pod) => pod.name)
  }

  #answer<T>(question: string, make: () => T): T {
    if (this.#version !== this.objects.version) this.#answers.clear()
    this.#version = this.objects.version
    return this.#answers.getOrInsertComputed(question, make) as T
  }

  get #workloads(): readonly KeptWorkload[] {
    return this.#answer('workloads', () => sorted(this.objects.ofRole('workload')))
  }

  #group(workload: KeptWorkload): ServerGroup {
    const { account } = this.#options
    const services = this.objects.relations.servicesOf.get(workload) ?? none
    const loadBalancers = this.#balancerNames.remember(workload, services, () =>
      balancersOf(workload, services),
    )
    const pods = this.objects.pods.of(workload.uid)
    const owned = this.objects.owned(workload)
    return this.#groups.remember(workload, [owned, pods, loadBalancers], () => {
      const group = { name: fullNameOf(workload), loadBalancers }
      const instances = pods.map((pod) => this.#instance(pod, group))
      return toServerGroup({
        account,
        workload: owned,
        loadBalancers,
        isSelected: services.length > 0,
        instances,
      })
    })
  }

  #instance(
    pod: KeptPod,
    group: Pick<ServerGroup, 'name' | 'loadBalancers'> | undefined,
  ): Instance {
    const owned = this.objects.owned(pod)
    const { account } = this.#options
    return this.#instances.remember(pod, [owned, group?.name, group?.loadBalancers], () =>
      toInstance(account, owned, group),
    )
  }

  #manager(manager: KeptManager): OwnResource {
    const made = this.objects.workloads.of(manager.uid)
    const owned = this.objects.owned(manager)
    return this.#managers.remember(manager, [owned, made], () =>
      toManager(
        this.#options.account,
        owned,
        made.map((workload) => this.objects.owned(workload)),
      ),
    )
  }

  #balancer(balancer: Balancer): LoadBalancer {
    const groups = this.#workloadsBehind(balancer).map((workload) => this.#group(workload))
    const owned = this.objects.owned(balancer)
    return this.#balancers.remember(balancer, [owned, ...groups], () =>
      toLoadBalancer(this.#options.account, owned, groups),
    )
  }

  #workloadsBehind(balancer: Balancer): readonly KeptWorkload[] {
    const { workloadsOf } = this.objects.relations
    if (balancer.role === 'service') return workloadsOf.get(balancer) ?? none
    const services = this.objects.ofRole('service')
    const named = balancer.services.flatMap((name) => services.get(`service ${name}`) ?? [])
    return [...new Set(named.flatMap((service) => workloadsOf.get(service) ?? none))].sort(byName)
  }

  #job(workload: KeptWorkload): Job[] {
    if (!isJob(workload)) return []
    const pods = this.objects.pods.of(workload.uid)
    const owned = this.objects.owned(workload)
    return [
      this.#jobs.remember(workload, [owned, pods], () =>
        toJob({ ...this.#options, workload: owned, pods }),
      ),
    ]
  }
}

function sorted<T extends { readonly name: string }>(objects: ReadonlyMap<string, T>): T[] {
  return [...objects.values()].sort(byName)
}

function byApplication<T extends Owned>(owned: Iterable<T>): Map<string, T[]> {
  return Map.groupBy(owned, ({ moniker }) => moniker.app?.toLowerCase() ?? '')
}

interface Made<Result> {
  readonly from: readonly unknown[]
  readonly result: Result
}

/** Results by their subject, made anew only where something that they were made of is another. */
class Memo<Subject extends object, Result> {
  readonly #made = new WeakMap<Subject, Made<Result>>()

  /** @param from What the result is made of, besides the subject */
  remember(subject: Subject, from: readonly unknown[], make: () => Result): Result {
    const known = this.#made.get(subject)
    if (known !== undefined && isSameList(known.from, from)) return known.result
    const result = make()
    this.#made.set(subject, { from, result })
    return result
  }
}

function isSameList(one: readonly unknown[], other: readonly unknown[]): boolean {
  if (one.length !== other.length) return false
  for (let index = 0; index < one.length; index++) if (one[index] !== other[index]) return false
  return true
}

type JobWorkload = KeptWorkload & { readonly job: JobState }

function isJob(workload: KeptWorkload): workload is JobWorkload {
  return workload.job !== undefined
}

interface JobParts {
  readonly account: string
  readonly workload: JobWorkload
  readonly pods: readonly KeptPod[]
  readonly listsPods: boolean
}

function toJob({ account, workload, pods, listsPods }: JobParts): Job {
  const { job, moniker, namespace, createdMs = 0 } = workload
  const started = podsByStart(pods)
  const hasFailed = job.state === 'Failed'
  return {
    provider: 'kubernetes',
    id: fullNameOf(workload),
    name: workload.name,
    account,
    location: namespace,
    moniker,
    coOwners: workload.coOwners ?? [],
    state: job.state,
    createdMs,
    completedMs: job.completedMs,
    completionDetails: completionDetailsOf(started.at(-1), job),
    details: {
      ...ownFields(workload),
      labels: workload.labels,
      ...definedOf({
        pods: listsPods
          ? started.map(({ name, asGiven }) => ({ name, status: asGiven }))
          : undefined,
        mostRecentPodName: started.at(-1)?.name,
        message: hasFailed ? job.message : undefined,
        reason: hasFailed ? job.reason : undefined,
        failureDetails: hasFailed ? describeFailure(started) : undefined,
      }),
    },
  }
}

/** Pods that have not started come last. */
function podsByStart(pods: readonly KeptPod[]): JobPod[] {
  const startOf = ({ status, createdMs }: KeptPod) =>
    millisecondsOf(status?.['startTime']) ?? createdMs ?? Infinity
  return pods
    .toSorted((one, other) => startOf(one) - startOf(other))
    .map(({ name, status = {} }) => ({ name, status: toPodStatus(status), asGiven: status }))
}
