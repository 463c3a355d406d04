/** The instances of one load balancer, and which of them gets the next request. */
import type { DesiredLoadBalancer, DesiredMember, HealthCheck, ObservedMember } from '../protocol.ts'
import { Member, type MemberOptions } from './member.ts'

export class LoadBalancer {
  readonly id: string
  readonly #options: MemberOptions
  #check: HealthCheck
  #members: readonly Member[] = []
  /** Those that get requests. */
  #eligible: readonly Member[] = []
  /** No longer wanted, and still at work. */
  readonly #leaving = new Set<Member>()
  /** Where the search for the least busy one starts, so that idle ones take turns. */
  #turn = 0

  constructor(desired: DesiredLoadBalancer, options: MemberOptions) {
    this.id = desired.id
    this.#check = desired.healthCheck
    this.#options = {
      bounds: options.bounds,
      onHealth: (member) => {
        this.#findEligible()
        options.onHealth(member)
      },
      onIdle: (member) => {
        this.#leaving.delete(member)
        options.onIdle(member)
      },
    }
  }

  apply({ healthCheck, members }: Pick<DesiredLoadBalancer, 'healthCheck' | 'members'>): void {
    this.#check = healthCheck
    const known = new Map(this.#members.map((member) => [member.instanceId, member]))
    this.#members = members.map((desired) => this.#applyMember(desired, known))
    for (const member of known.values()) this.#retire(member)
    this.#findEligible()
  }

  #applyMember(desired: DesiredMember, known: Map<string, Member>): Member {
    const member = known.get(desired.instanceId)
    if (member === undefined || member.host !== desired.host || member.port !== desired.port) {
      return new Member(desired, this.#check, this.#options)
    }
    known.delete(desired.instanceId)
    member.health.setCheck(this.#check)
    if (member.inService !== desired.inService) member.setService(desired.inService)
    return member
  }

  #retire(member: Member): void {
    member.setService(false)
    member.close()
    if (member.inFlight > 0) this.#leaving.add(member)
  }

  #findEligible(): void {
    this.#eligible = this.#members.filter((member) => member.isEligible)
  }

  get hasInstance(): boolean {
    return this.#eligible.length > 0
  }

  /**
   * The instance with the least requests under way.
   *
   * @param tried Not these.
   * @returns undefined when there is none
   */
  pick(tried: readonly Member[]): Member | undefined {
    const members = this.#eligible
    const count = members.length
    let best: Member | undefined
    if (++this.#turn >= count) this.#turn = 0
    for (let offset = 0, at = this.#turn; offset < count; offset++, at = at + 1 === count ? 0 : at + 1) {
      const member = members[at] as Member
      if (best !== undefined && member.inFlight >= best.inFlight) continue
      if (tried.length > 0 && tried.includes(member)) continue
      best = member
      if (member.inFlight === 0) break
    }
    return best
  }

  /** Why no instance can be picked, for clients: without names and addresses. */
  explain(): string {
    if (this.#members.length === 0) return 'No instance is registered with this load balancer.'
    if (this.hasInstance) return 'The instances of this load balancer accept no connections.'
    const counts = new Map<string, number>()
    for (const { inService, health } of this.#members) {
      const state = inService ? health.state : 'out of service'
      counts.set(state, (counts.get(state) ?? 0) + 1)
    }
    return `No instance of this load balancer is healthy: ${[...counts].map(([state, count]) => `${count} ${state}`).join(', ')}.`
  }

  /** Seconds after which the state may have changed. */
  get retryAfterSeconds(): number {
    const isStarting = this.#members.some(({ inService, health }) => inService && health.state === 'starting')
    return isStarting ? 1 : Math.min(Math.max(1, Math.ceil(this.#check.intervalMs / 1000)), 30)
  }

  /** Those that are no longer wanted and still at work are listed, too, out of service. */
  observe(): ObservedMember[] {
    return [...this.#members, ...this.#leaving].map((member) => member.observe())
  }

  close(): void {
    for (const member of this.#members) this.#retire(member)
    this.#members = []
    this.#findEligible()
  }
}
