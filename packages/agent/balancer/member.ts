/** An instance behind a load balancer: its health, its connections, and what it works on. */

import type {
  DesiredMember,
  ObservedMember,
  TrafficCounts,
} from '@fairlead/base/net/agent-protocol.ts'
import type { Connection } from '@fairlead/proxy/connection.ts'
import { Connections } from '@fairlead/proxy/connections.ts'
import type { TimeoutSweep } from '@fairlead/proxy/sweep.ts'
import type { Bounds } from './bounds.ts'
import { HealthWatch, type HealthWatchOptions } from './health-watch.ts'

export interface MemberOptions {
  readonly bounds: Bounds
  readonly sweep: TimeoutSweep
  /** Whether the program of an instance does not run. */
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
  readonly connections: Connections
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

  constructor(
    desired: DesiredMember,
    options: MemberOptions & Pick<HealthWatchOptions, 'check' | 'isBelieved'>,
  ) {
    this.#options = options
    this.instanceId = desired.instanceId
    this.host = desired.host
    this.port = desired.port
    this.inService = desired.inService
    this.share = desired.share
    const {
      connectMs,
      instanceStallMs: stallMs,
      instanceKeepAliveMs: keepAliveMs,
      freshMs,
    } = options.bounds
    this.connections = new Connections({
      target: { place: { host: desired.host, port: desired.port } },
      bounds: { connectMs, stallMs, keepAliveMs, freshMs },
      sweep: options.sweep,
    })
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
    this.connections.setKeepsIdle(inService)
  }

  take(which: Parameters<Connections['take']>[0]): Connection {
    this.inFlight++
    return this.connections.take(which)
  }

  /** The counterpart of `take`, whatever became of the connection. */
  leave(): void {
    this.inFlight--
    if (this.inFlight === 0 && !this.inService) this.#options.onIdle(this)
  }

  /** Runs for each request: only integers. @param sinceMs When the instance got it, in milliseconds of `performance.now()` */
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

  observe(): ObservedMember {
    const { instanceId, inService, inFlight, health } = this
    return { instanceId, health: health.state, inService, inFlight, reason: health.reason }
  }

  /** Ends the checks and idle connections; requests run on. */
  close(): void {
    this.health.close()
    this.connections.setKeepsIdle(false)
  }
}
