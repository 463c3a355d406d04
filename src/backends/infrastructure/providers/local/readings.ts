/** Readings of this machine's resources, kept as long as they show the same. */
import type { ObservedInstance, ObservedMember } from '../../../../agent/protocol.ts'
import type { Instance, Job, LoadBalancer, ServerGroup } from '../../model.ts'
import { type Desired, type LocalGroup, type LocalInstance, type LocalJob, placeKey } from './desired.ts'
import {
  type BalancerUser,
  type InstanceState,
  type Membership,
  toInstance,
  toInstanceDetails,
  toJob,
  toLoadBalancer,
  toServerGroup,
} from './reading.ts'
import type { Observation } from './reconciler.ts'
import type { LocalAccountSettings } from './settings.ts'
import { balancersOf, isServing } from './wanted.ts'

export interface ReadingParts {
  readonly desired: Desired
  readonly reconciler: { readonly observation: Observation }
  readonly agent: { problem(): string | undefined }
  readonly accounts: readonly Pick<LocalAccountSettings, 'name' | 'startLimits'>[]
}

interface KeptInstance {
  /** The server group with which it was read. */
  readonly group: LocalGroup | undefined
  readonly state: InstanceState<KeyedMembership>
  readonly reading: Instance
}

/** Between two changes of any of these, everything reads the same. */
interface Moment {
  readonly revision: number
  readonly observation: Observation
  readonly problem: string | undefined
}

interface KeyedMembership extends Membership {
  /** Key of the load balancer among the observed ones. */
  readonly key: string
}

export class Readings {
  readonly #parts: ReadingParts
  /** Documents are never changed in place: one reading for each is right. */
  readonly #groups = new WeakMap<LocalGroup, ServerGroup>()
  readonly #instances = new WeakMap<LocalInstance, KeptInstance>()
  #latestMoment: Moment | undefined

  constructor(parts: ReadingParts) {
    this.#parts = parts
  }

  /** `instances` of the result stays the same list as long as its instances show the same. */
  serverGroup(group: LocalGroup): ServerGroup {
    return this.#groups.getOrInsertComputed(group, () => {
      let latest: readonly Instance[] = []
      let latestMoment: Moment | undefined
      const account = this.#parts.accounts.find(({ name }) => name === group.account)
      return toServerGroup(group, account?.startLimits, () => {
        const moment = this.#moment()
        if (moment === latestMoment) return latest
        latestMoment = moment
        const instances = this.#parts.desired.instancesOf(group).map((instance) => this.#keptOf(instance, group).reading)
        const isSame = instances.length === latest.length && instances.every((instance, index) => instance === latest[index])
        if (!isSame) latest = instances
        return latest
      })
    })
  }

  instance(instance: LocalInstance): Instance {
    return this.#keptOf(instance, groupOf(this.#parts.desired, instance)).reading
  }

  loadBalancers(): LoadBalancer[] {
    const { desired, reconciler } = this.#parts
    const users = groupsByBalancer(desired)
    const toUser = (group: LocalGroup): BalancerUser => [
      group,
      desired.instancesOf(group).map((instance) => [instance, this.#keptOf(instance, group).state] as const),
    ]
    return [...desired.all('balancers')].map((balancer) => {
      const key = placeKey(balancer)
      return toLoadBalancer(balancer, () => (users.get(key) ?? []).map(toUser), reconciler.observation.closed.get(key) ?? [])
    })
  }

  jobs(): Job[] {
    const { desired, reconciler } = this.#parts
    return [...desired.all('jobs')].filter(isShownJob).map((job) => toJob(job, reconciler))
  }

  #moment(): Moment {
    const { desired, reconciler, agent } = this.#parts
    const [{ revision }, { observation }, problem] = [desired, reconciler, agent.problem()]
    const before = this.#latestMoment
    if (before?.revision === revision && before.observation === observation && before.problem === problem) return before
    this.#latestMoment = { revision, observation, problem }
    return this.#latestMoment
  }

  #keptOf(instance: LocalInstance, group: LocalGroup | undefined): KeptInstance {
    const before = this.#instances.get(instance)
    if (before !== undefined && before.group === group && this.#isCurrent(before, instance.id)) return before
    const { desired, reconciler, agent } = this.#parts
    const { account, region, id } = instance
    const observed = () => reconciler.observation.instances.get(id)
    const state: KeptInstance['state'] = {
      observed: observed(),
      memberships: balancersOf(desired, instance).map((name): KeyedMembership => {
        const key = placeKey({ account, region, name })
        return { loadBalancer: name, key, member: reconciler.observation.members.get(key)?.get(id) }
      }),
      isServing: isServing(desired, instance),
      problem: agent.problem(),
    }
    const reading = toInstance(instance, state, () => toInstanceDetails(instance, observed()))
    const kept = { group, state, reading }
    this.#instances.set(instance, kept)
    return kept
  }

  #isCurrent({ state }: KeptInstance, id: string): boolean {
    const { reconciler, agent } = this.#parts
    const { instances, members } = reconciler.observation
    return (
      state.problem === agent.problem() &&
      isShownAs(state.observed, instances.get(id)) &&
      state.memberships.every(({ key, member }) => isShownAsMember(member, members.get(key)?.get(id)))
    )
  }
}

/** Jobs of the bakery, and those that are being removed, appear nowhere. */
export function isShownJob({ leavingRevision, isBuild }: LocalJob): boolean {
  return leavingRevision === undefined && isBuild !== true
}

/** Lists show nothing else of a process. */
function isShownAs(one: ObservedInstance | undefined, other: ObservedInstance | undefined): boolean {
  return (
    one?.phase === other?.phase &&
    one?.startedAt === other?.startedAt &&
    one?.failedStarts === other?.failedStarts &&
    one?.reason === other?.reason
  )
}

function isShownAsMember(one: ObservedMember | undefined, other: ObservedMember | undefined): boolean {
  return (
    one?.health === other?.health &&
    one?.inService === other?.inService &&
    one?.inFlight === other?.inFlight &&
    one?.reason === other?.reason
  )
}

function groupOf(desired: Desired, { account, region, group }: LocalInstance): LocalGroup | undefined {
  return group === undefined ? undefined : desired.groupAt(account, region, group)
}

function groupsByBalancer(desired: Desired): Map<string, LocalGroup[]> {
  const users = new Map<string, LocalGroup[]>()
  for (const group of desired.all('groups')) {
    for (const name of group.loadBalancers) {
      users.getOrInsertComputed(placeKey({ account: group.account, region: group.region, name }), () => []).push(group)
    }
  }
  return users
}
