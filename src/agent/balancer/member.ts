/** An instance behind a load balancer: its health, its connections, and what it works on. */
import type { DesiredMember, ObservedMember } from '../protocol.ts'
import type { TrafficCounts } from '../traffic-history.ts'
import type { Bounds } from './bounds.ts'
import { HealthWatch, type HealthWatchOptions } from './health-watch.ts'
import { MemberConnection } from './member-connection.ts'

export interface MemberOptions {
  readonly bounds: Bounds
  /** By the id of an instance: its program does not run. */
  readonly isDown: (instanceId: string) => boolean
  /** Its health has changed. */
  readonly onHealth: (member: Member) => void
  /** It is out of service and works on nothing any more. */
  readonly onIdle: (member: Member) => void
}

export class Member {
  readonly instanceId: string
  readonly host: string
  readonly port: number
  readonly keepAliveMs: number
  readonly health: HealthWatch
  inService: boolean
  share: DesiredMember['share']
  /** Requests and tunnels that run. */
  inFlight = 0
  /** Since it is out of service, in milliseconds of `performance.now()`. */
  drainsSince: number | undefined
  #requests = 0
  #errors = 0
  #latencyUs = 0
  readonly #options: MemberOptions
  /** The one used last is at the end: it is the least likely to be closed by the instance. */
  readonly #idle: MemberConnection[] = []

  constructor(desired: DesiredMember, options: MemberOptions & Pick<HealthWatchOptions, 'check' | 'isBelieved'>) {
    this.#options = options
    this.instanceId = desired.instanceId
    this.host = desired.host
    this.port = desired.port
    this.inService = desired.inService
    this.share = desired.share
    this.keepAliveMs = options.bounds.instanceKeepAliveMs
    this.health = new HealthWatch({
      ...options,
      place: desired,
      isDown: () => options.isDown(desired.instanceId),
      onChange: () => options.onHealth(this),
    })
  }

  setService(inService: boolean): void {
    this.inService = inService
    this.drainsSince = inService ? undefined : (this.drainsSince ?? performance.now())
    if (!inService) this.closeIdle()
  }

  /** @param which `fresh`: not one that the instance may be closing; `tunnel`: a new one that can be released. */
  take(which: 'any' | 'fresh' | 'new' | 'tunnel'): MemberConnection {
    this.inFlight++
    const last = which === 'any' || which === 'fresh' ? this.#idle.at(-1) : undefined
    if (last === undefined || (which === 'fresh' && performance.now() - last.idleSince > this.#options.bounds.freshMs)) {
      return new MemberConnection(this, which === 'tunnel')
    }
    this.#idle.pop()
    return last
  }

  /** The counterpart of `take`, whatever became of the connection. */
  leave(): void {
    this.inFlight--
    if (this.inFlight === 0 && !this.inService) this.#options.onIdle(this)
  }

  /** For each request: only integers. @param sinceMs When the instance got it, in milliseconds of `performance.now()` */
  count(isError: boolean, sinceMs: number): void {
    this.#requests++
    if (isError) this.#errors++
    this.#latencyUs += Math.round((performance.now() - sinceMs) * 1000)
  }

  /** What was counted since the last call. */
  takeCounts(): TrafficCounts {
    const counts = { requests: this.#requests, errors: this.#errors, latencyUs: this.#latencyUs }
    this.#requests = this.#errors = this.#latencyUs = 0
    return counts
  }

  /** Keeps a connection whose response is complete. */
  keep(connection: MemberConnection, seconds: number | undefined): void {
    if (this.inService && connection.rest(seconds)) this.#idle.push(connection)
    else connection.destroy()
  }

  remove(connection: MemberConnection): void {
    const at = this.#idle.indexOf(connection)
    if (at !== -1) this.#idle.splice(at, 1)
  }

  closeIdle(): void {
    for (const connection of this.#idle.splice(0)) connection.destroy()
  }

  observe(): ObservedMember {
    const { instanceId, inService, inFlight, health } = this
    return { instanceId, health: health.state, inService, inFlight, reason: health.reason }
  }

  /** Ends the checks and idle connections; requests run on. */
  close(): void {
    this.health.close()
    this.closeIdle()
  }
}
