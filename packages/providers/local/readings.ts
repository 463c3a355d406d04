/** Readings of this machine's resources, kept as long as they show the same. */

import type { Instance, Job, LoadBalancer, ServerGroup } from '../infrastructure/model.ts'
import { isDatabaseImage } from './databases/database-images.ts'
import {
  type Desired,
  type LocalGroup,
  type LocalInstance,
  type LocalJob,
  placeKey,
} from './desired.ts'
import type { ServedHost } from './front/served-hosts.ts'
import {
  type BalancerUser,
  type InstanceReading,
  toInstance,
  toJob,
  toLoadBalancer,
  toServerGroup,
} from './reading.ts'
import type { Observation, Reconciler } from './reconciler.ts'
import type { LocalAccountSettings } from './settings.ts'
import type { Volumes } from './volumes.ts'
import { balancersOf, isServing } from './wanted.ts'

interface ReadingParts {
  readonly desired: Desired
  readonly reconciler: Pick<Reconciler, 'observation' | 'drainEndOf' | 'closedOf'>
  readonly agent: { problem(): string | undefined }
  readonly volumes: Pick<Volumes, 'viewsOf' | 'backupsOf'>
  /** By the key of the load balancer. */
  readonly servedHosts: () => ReadonlyMap<string, readonly ServedHost[]>
  readonly accounts: readonly Pick<LocalAccountSettings, 'name' | 'startLimits'>[]
}

/** Everything reads the same until one of the first three differs. */
interface ReadingMoment {
  readonly revision: number
  readonly observation: Observation
  readonly problem: string | undefined
  readonly instances: Map<LocalGroup, readonly Instance[]>
}

export class Readings {
  readonly #parts: ReadingParts
  /** Documents are never changed in place: one reading for each is right. */
  readonly #groups = new WeakMap<LocalGroup, ServerGroup>()
  #latestMoment: ReadingMoment | undefined

  constructor(parts: ReadingParts) {
    this.#parts = parts
  }

  serverGroup(group: LocalGroup): ServerGroup {
    return this.#groups.getOrInsertComputed(group, () => {
      const account = this.#parts.accounts.find(({ name }) => name === group.account)
      return toServerGroup(group, account?.startLimits, {
        instances: () => this.#instancesOf(group),
        volumes: () => this.#parts.volumes.viewsOf(group, group.program.volumes),
        backups: () =>
          isDatabaseImage(group.image) ? this.#parts.volumes.backupsOf(group) : undefined,
      })
    })
  }

  #instancesOf(group: LocalGroup): readonly Instance[] {
    const read = () =>
      this.#parts.desired.instancesOf(group).map((instance) => this.instance(instance))
    return this.#moment().instances.getOrInsertComputed(group, read)
  }

  instance(instance: LocalInstance): Instance {
    return toInstance(instance, this.#stateOf(instance))
  }

  loadBalancers(): LoadBalancer[] {
    const { desired, reconciler } = this.#parts
    const toUser = (group: LocalGroup): BalancerUser => [
      group,
      desired.instancesOf(group).map((instance) => [instance, this.#stateOf(instance)] as const),
    ]
    // Many machines have no hosts, and what is served is worked out of the whole state.
    const balancers = [...desired.all('balancers')]
    const served = balancers.some(({ site }) => site) ? this.#parts.servedHosts() : undefined
    return balancers.map((balancer) => {
      const { account, region, name } = balancer
      const isUser = (group: LocalGroup) =>
        group.account === account && group.region === region && group.loadBalancers.includes(name)
      const users = () => [...desired.all('groups')].filter(isUser).map(toUser)
      return toLoadBalancer(
        balancer,
        users,
        reconciler.closedOf(balancer) ?? [],
        served?.get(placeKey(balancer)),
      )
    })
  }

  jobs(): Job[] {
    const { desired, reconciler } = this.#parts
    return [...desired.all('jobs')].filter(isShownJob).map((job) => toJob(job, reconciler))
  }

  #moment(): ReadingMoment {
    const { desired, reconciler, agent } = this.#parts
    const [{ revision }, { observation }, problem] = [desired, reconciler, agent.problem()]
    const before = this.#latestMoment
    if (
      before?.revision === revision &&
      before.observation === observation &&
      before.problem === problem
    )
      return before
    this.#latestMoment = { revision, observation, problem, instances: new Map() }
    return this.#latestMoment
  }

  #stateOf(instance: LocalInstance): InstanceReading {
    const { desired, reconciler, agent } = this.#parts
    const { instances, members } = reconciler.observation
    const { account, region, id } = instance
    return {
      observed: instances.get(id),
      memberships: balancersOf(desired, instance).map((name) => {
        const key = placeKey({ account, region, name })
        return { loadBalancer: name, member: members.get(key)?.get(id) }
      }),
      isServing: isServing(desired, instance),
      drainsUntilMs: reconciler.drainEndOf(instance),
      problem: agent.problem(),
    }
  }
}

/** Jobs of the bakery, and those that are being removed, appear nowhere. */
export function isShownJob({ leavingRevision, isBuild }: LocalJob): boolean {
  return leavingRevision === undefined && isBuild !== true
}
