/** The instances of one load balancer, and which of them gets the next request. */
import type { DesiredLoadBalancer, DesiredMember, HealthCheck, ObservedMember } from '../protocol.ts'
import type { TrafficCounts } from '../traffic-history.ts'
import { Member, type MemberOptions } from './member.ts'

/** A request or connection that has found no instance. */
export interface Waiter {
  /** There may be an instance now, or waiting has no use any more. */
  onTurn(): void
}

/** So many waiters go on at a time, so that a program that has just started is not flooded. */
const turnSize = 64
const turnPauseMs = 10

export class RunningBalancer {
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
  readonly #waiting = new Set<Waiter>()
  /** Ends all waiting when the outage has lasted too long, or gives the next waiters their turn. */
  #timer: NodeJS.Timeout | undefined
  /** When the last instance was lost, in milliseconds of `performance.now()`; undefined while there is one. */
  #outageSince: number | undefined = performance.now()

  constructor(desired: DesiredLoadBalancer, options: MemberOptions) {
    this.id = desired.id
    this.#check = desired.healthCheck
    this.#options = {
      ...options,
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

  /** @param believed Ids of instances that were healthy for the agent before this one */
  apply({ healthCheck, members }: Pick<DesiredLoadBalancer, 'healthCheck' | 'members'>, believed: readonly string[] = []): void {
    this.#check = healthCheck
    const known = new Map(this.#members.map((member) => [member.instanceId, member]))
    this.#members = members.map((desired) => this.#applyMember(desired, known, believed))
    for (const member of known.values()) this.#retire(member)
    this.#findEligible()
  }

  #applyMember(desired: DesiredMember, known: Map<string, Member>, believed: readonly string[]): Member {
    const member = known.get(desired.instanceId)
    if (member === undefined || member.host !== desired.host || member.port !== desired.port) {
      return new Member(desired, { ...this.#options, check: this.#check, isBelieved: believed.includes(desired.instanceId) })
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
    const inService = this.#members.filter((member) => member.inService)
    const healthy = inService.filter(({ health }) => health.state === 'up')
    // Where all fail their health checks, the checks may be what fails, and an attempt is better than none.
    this.#eligible = healthy.length > 0 ? healthy : inService.filter(({ health }) => health.isDoubtful)
    this.#outageSince = this.hasInstance ? undefined : (this.#outageSince ?? performance.now())
    if (this.#waiting.size > 0 && (this.hasInstance || !this.#isExpected)) this.#giveTurns()
  }

  /** An instance that is in service may become healthy, and the outage is short so far. */
  get #isExpected(): boolean {
    return this.#restMs > 0 && this.#members.some(({ inService }) => inService)
  }

  get #restMs(): number {
    return this.#outageSince === undefined ? 0 : this.#outageSince + this.#options.bounds.outageMs - performance.now()
  }

  /** A request that finds no instance now may wait for one. */
  get mayWait(): boolean {
    return !this.hasInstance && this.#isExpected && this.#waiting.size < this.#options.bounds.maxWaiting
  }

  /** Makes it wait for its turn, which comes once. */
  wait(waiter: Waiter): void {
    this.#waiting.add(waiter)
    this.#timer ??= setTimeout(() => this.#giveTurns(), this.#restMs).unref()
  }

  stopWaiting(waiter: Waiter): void {
    this.#waiting.delete(waiter)
  }

  #giveTurns(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const waiter of [...this.#waiting].slice(0, turnSize)) {
      this.#waiting.delete(waiter)
      waiter.onTurn()
    }
    if (this.#waiting.size === 0) return
    clearTimeout(this.#timer)
    const pauseMs = this.#isExpected ? this.#restMs : turnPauseMs
    this.#timer = setTimeout(() => this.#giveTurns(), pauseMs).unref()
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

  /** What each has worked on since the last call. */
  takeCounts(): (readonly [instanceId: string, counts: TrafficCounts])[] {
    return [...this.#members, ...this.#leaving].map((member) => [member.instanceId, member.takeCounts()])
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
