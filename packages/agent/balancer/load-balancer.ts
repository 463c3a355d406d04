/** The instances of one load balancer, and which of them gets the next request. */
import type {
  DesiredLoadBalancer,
  DesiredMember,
  HealthCheck,
  ObservedMember,
} from '@fairlead/base/net/agent-protocol.ts'
import type { InstanceTraffic } from '../traffic-history.ts'
import { Member, type MemberOptions } from './member.ts'
import { Pool, Shares } from './pools.ts'

/** A request or connection that has found no instance. */
interface Waiter {
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
  /** Members that get requests. */
  readonly #eligible = new Pool()
  readonly #shares = new Shares()
  #hasShares = false
  /** No longer wanted, and still at work. */
  readonly #leaving = new Set<Member>()
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
  apply(
    { healthCheck, members }: Pick<DesiredLoadBalancer, 'healthCheck' | 'members'>,
    believed: readonly string[] = [],
  ): void {
    this.#check = healthCheck
    const known = new Map(this.#members.map((member) => [member.instanceId, member]))
    this.#members = members.map((desired) => this.#applyMember(desired, known, believed))
    for (const member of known.values()) this.#retire(member)
    this.#findEligible()
  }

  #applyMember(
    desired: DesiredMember,
    known: Map<string, Member>,
    believed: readonly string[],
  ): Member {
    const member = known.get(desired.instanceId)
    if (member === undefined || member.host !== desired.host || member.port !== desired.port) {
      return new Member(desired, {
        ...this.#options,
        check: this.#check,
        isBelieved: believed.includes(desired.instanceId),
      })
    }
    known.delete(desired.instanceId)
    member.health.setCheck(this.#check)
    if (member.inService !== desired.inService) member.setService(desired.inService)
    member.share = desired.share
    return member
  }

  #retire(member: Member): void {
    member.setService(false)
    member.close()
    if (member.inFlight > 0) this.#leaving.add(member)
  }

  #findEligible(): void {
    const inService = this.#members.filter(mayServe)
    const healthy = inService.filter(({ health }) => health.state === 'up')
    // Where all fail their health checks, the checks may be what fails, and an attempt is better than none.
    this.#eligible.members =
      healthy.length > 0 ? healthy : inService.filter(({ health }) => health.isDoubtful)
    this.#hasShares = this.#shares.update(this.#eligible.members)
    this.#outageSince = this.hasInstance ? undefined : (this.#outageSince ?? performance.now())
    if (this.#waiting.size > 0 && (this.hasInstance || !this.#isExpected)) this.#giveTurns()
  }

  /** An instance that is in service may become healthy, and the outage is short so far. */
  get #isExpected(): boolean {
    return this.#restMs > 0 && this.#members.some(mayServe)
  }

  get #restMs(): number {
    return this.#outageSince === undefined
      ? 0
      : this.#outageSince + this.#options.bounds.outageMs - performance.now()
  }

  /** A request that finds no instance now may wait for one. */
  get mayWait(): boolean {
    return (
      !this.hasInstance && this.#isExpected && this.#waiting.size < this.#options.bounds.maxWaiting
    )
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
    return this.#eligible.members.length > 0
  }

  /**
   * The least busy instance of the server group whose turn it is.
   *
   * @param tried Not these.
   * @param last Had the request before: its server group is asked first, and loses no turn.
   * @returns undefined when there is none
   */
  pick(tried: readonly Member[], last?: Member): Member | undefined {
    if (!this.#hasShares) return this.#eligible.pick(tried)
    const pool = last === undefined ? this.#shares.next() : this.#shares.poolOf(last)
    return pool.pick(tried) ?? this.#eligible.pick(tried)
  }

  /** Its program has ended. Another one may have its port already, so that no connection is refused. */
  noteDown(instanceId: string): void {
    for (const { instanceId: id, health } of this.#members)
      if (id === instanceId && health.state === 'up') health.noteRefused()
  }

  /** Why no instance can be picked, for clients: without names and addresses. */
  explain(): string {
    if (this.#members.length === 0) return 'No instance is registered with this load balancer.'
    if (this.hasInstance) return 'The instances of this load balancer accept no connections.'
    const counts = new Map<string, number>()
    for (const member of this.#members) {
      const state = !member.inService
        ? 'out of service'
        : mayServe(member)
          ? member.health.state
          : 'without traffic'
      counts.set(state, (counts.get(state) ?? 0) + 1)
    }
    return `No instance of this load balancer is healthy: ${[...counts].map(([state, count]) => `${count} ${state}`).join(', ')}.`
  }

  /** Seconds after which the state may have changed. */
  get retryAfterSeconds(): number {
    const isStarting = this.#members.some(
      ({ inService, health }) => inService && health.state === 'starting',
    )
    return isStarting ? 1 : Math.min(Math.max(1, Math.ceil(this.#check.intervalMs / 1000)), 30)
  }

  /** What each has worked on since the last call. */
  takeCounts(): InstanceTraffic[] {
    return [...this.#members, ...this.#leaving].map((member) => [
      member.instanceId,
      member.takeCounts(),
    ])
  }

  /** Lists unwanted members that are still at work, too, as out of service. */
  observe(): ObservedMember[] {
    return [...this.#members, ...this.#leaving].map((member) => member.observe())
  }

  close(): void {
    for (const member of this.#members) this.#retire(member)
    this.#members = []
    this.#findEligible()
  }
}

function mayServe({ inService, share }: Member): boolean {
  return inService && share?.percent !== 0
}
