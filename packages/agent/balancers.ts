/** The load balancers of this machine: opens the desired ones and reports the observed ones. */
import { closeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type {
  DesiredFront,
  DesiredFronts,
  DesiredListener,
  DesiredLoadBalancer,
  ObservedListener,
  ObservedLoadBalancer,
} from '@fairlead/base/net/agent-protocol.ts'
import { TimeoutSweep } from '@fairlead/proxy/sweep.ts'
import { type Bounds, defaultBounds } from './balancer/bounds.ts'
import { ConnectionShares } from './balancer/connection-shares.ts'
import {
  addressKeyOf,
  type ListenerOptions,
  listenerKeyOf,
  PortListener,
} from './balancer/listener.ts'
import { BalancerService, type PortService } from './balancer/listener-context.ts'
import { RunningBalancer } from './balancer/load-balancer.ts'
import type { Member, MemberOptions } from './balancer/member.ts'
import { FrontCertificates } from './front/certificates.ts'
import { Front } from './front/front.ts'
import type { AgentLog } from './log.ts'
import type { InstanceTraffic } from './traffic-history.ts'

/** Load balancers, and which of their instances are healthy, by load balancer. */
export interface Traffic {
  readonly loadBalancers: readonly DesiredLoadBalancer[]
  readonly fronts?: DesiredFronts
  readonly healthy: Readonly<Record<string, readonly string[]>>
}

interface BalancersOptions {
  readonly log: AgentLog
  /** Something that `observe` tells has changed; not called for each request. */
  readonly onChange: () => void
  /** Whether the program of an instance does not run. By default the health checks alone tell. */
  readonly isDown?: (instanceId: string) => boolean
  readonly bounds?: Partial<Bounds>
  /** Listening sockets of an agent before this one, by host and port. The first desired state closes those that it does not want. */
  readonly inherited?: ReadonlyMap<string, number>
}

/** How often an agent that has handed over looks for connections that are left. */
const yieldCheckMs = 250

export class Balancers {
  readonly #balancers = new Map<string, RunningBalancer>()
  readonly #fronts = new Map<string, Front>()
  readonly #certificates: FrontCertificates
  readonly #listeners = new Map<string, PortListener>()
  /** Their ports are closed, and requests still run on them. */
  readonly #retired = new Set<PortListener>()
  readonly #sweep: TimeoutSweep
  readonly #members: MemberOptions
  readonly #ports: ListenerOptions
  #desired: readonly DesiredLoadBalancer[] = []
  #desiredFronts: DesiredFronts | undefined
  /** Ids of load balancers and fronts by the keys of their listeners. */
  readonly #owners = new Map<string, string>()

  constructor({ log, onChange, isDown = () => false, bounds: given, inherited }: BalancersOptions) {
    const bounds = { ...defaultBounds, ...given }
    this.#certificates = new FrontCertificates(log, bounds.certificateCheckMs)
    this.#sweep = new TimeoutSweep(bounds.sweepMs)
    this.#sweep.add({ check: () => this.#forgetRetired() })
    const connections = new ConnectionShares(bounds.maxTotalConnections)
    this.#ports = {
      bounds,
      sweep: this.#sweep,
      replay: { bytes: 0 },
      connections,
      log,
      onChange,
      inherited: new Map(inherited),
    }
    const onHealth = ({ instanceId, health: { state, reason } }: Member) => {
      log.info(
        { instance: instanceId, health: state, reason },
        'the health of an instance has changed',
      )
      onChange()
    }
    this.#members = { bounds, sweep: this.#sweep, isDown, onHealth, onIdle: onChange }
  }

  traffic(): Traffic {
    const healthy = [...this.#balancers].map(([id, balancer]) => {
      const up = balancer.observe().filter(({ health }) => health === 'up')
      return [id, up.map(({ instanceId }) => instanceId)] as const
    })
    const fronts = this.#desiredFronts
    return { loadBalancers: this.#desired, fronts, healthy: Object.fromEntries(healthy) }
  }

  /**
   * All that shall exist. What is unchanged keeps its connections; ports that are not listed close before this returns.
   *
   * @param options.healthy What a former agent has found: these instances get requests before their first health check
   */
  apply(
    desired: readonly DesiredLoadBalancer[],
    { healthy = {}, fronts }: { healthy?: Traffic['healthy']; fronts?: DesiredFronts } = {},
  ): void {
    this.#desired = desired
    this.#desiredFronts = fronts
    this.#ports.connections.parties = desired.length + (fronts?.fronts.length ?? 0)
    const wanted = new Set(this.#allListeners().map(listenerKeyOf))
    // Ports are closed first, so that others can be opened in their place.
    for (const [key, listener] of this.#listeners) if (!wanted.has(key)) this.#retire(key, listener)
    this.#owners.clear()
    for (const balancer of desired) this.#applyBalancer(balancer, healthy[balancer.id])
    this.#applyFronts(fronts)
    const ids = new Set(desired.map(({ id }) => id))
    for (const [id, balancer] of this.#balancers) {
      if (ids.has(id)) continue
      balancer.close()
      this.#balancers.delete(id)
    }
    for (const descriptor of this.#ports.inherited.values()) closeSync(descriptor)
    this.#ports.inherited.clear()
  }

  #allListeners(): DesiredListener[] {
    return [
      ...this.#desired.flatMap(({ listeners }) => listeners),
      ...(this.#desiredFronts?.fronts ?? []).flatMap(listenersOf),
    ]
  }

  #applyBalancer(desired: DesiredLoadBalancer, healthy?: readonly string[]): void {
    const balancer = this.#balancers.get(desired.id) ?? new RunningBalancer(desired, this.#members)
    this.#balancers.set(desired.id, balancer)
    balancer.apply(desired, healthy)
    for (const listener of desired.listeners)
      this.#applyListener(listener, () => new BalancerService(balancer), desired.id)
  }

  #applyFronts(desired: DesiredFronts | undefined): void {
    if (desired !== undefined) this.#certificates.apply(desired)
    const wanted = new Map(desired?.fronts.map((front) => [front.id, front]))
    for (const id of this.#fronts.keys()) if (!wanted.has(id)) this.#fronts.delete(id)
    for (const front of wanted.values()) {
      const running = this.#fronts.getOrInsertComputed(
        front.id,
        () => new Front(front, this.#certificates),
      )
      running.apply(front, this.#balancers)
      for (const listener of listenersOf(front))
        this.#applyListener(listener, () => running, front.id)
    }
  }

  #applyListener(listener: DesiredListener, toService: () => PortService, owner: string): void {
    const key = listenerKeyOf(listener)
    if (this.#owners.has(key)) return
    this.#owners.set(key, owner)
    const known = this.#listeners.get(key)
    if (known !== undefined) return void known.apply(listener, toService())
    const opened = new PortListener(listener, toService(), this.#ports)
    this.#listeners.set(key, opened)
    opened.open()
  }

  #retire(key: string, listener: PortListener): void {
    this.#listeners.delete(key)
    if (listener.retire()) this.#retired.add(listener)
  }

  #forgetRetired(): void {
    for (const listener of this.#retired) if (listener.isIdle) this.#retired.delete(listener)
  }

  /** The program of an instance has ended. */
  noteDown(instanceId: string): void {
    for (const balancer of this.#balancers.values()) balancer.noteDown(instanceId)
  }

  observe(): ObservedLoadBalancer[] {
    return this.#desired.map(({ id, listeners }) => ({
      id,
      listeners: [
        ...listeners.map((listener) => this.#observeListener(id, listener)),
        ...this.#observeFronts(id),
      ],
      members: this.#balancers.get(id)?.observe() ?? [],
    }))
  }

  /** The ports of the fronts on which a load balancer has a site. */
  #observeFronts(id: string): ObservedListener[] {
    return (this.#desiredFronts?.fronts ?? [])
      .filter(({ sites }) => sites.some(({ loadBalancer }) => loadBalancer === id))
      .flatMap((front) =>
        listenersOf(front).map((listener) => this.#observeListener(front.id, listener)),
      )
  }

  #observeListener(id: string, listener: DesiredListener): ObservedListener {
    const key = listenerKeyOf(listener)
    const owner = this.#owners.get(key)
    const found = this.#listeners.get(key)
    if (owner === id && found !== undefined) return found.observe()
    return {
      port: listener.port,
      open: false,
      reason: `Port ${listener.port} belongs to the load balancer ${owner}.`,
    }
  }

  /** What the instances have worked on since the last call; one may be behind several load balancers. */
  takeCounts(): InstanceTraffic[] {
    return [...this.#balancers.values()].flatMap((balancer) => balancer.takeCounts())
  }

  /** Descriptors of the listening sockets, by host and port. */
  descriptors(): Map<string, number> {
    return new Map(
      this.#allListeners().flatMap((listener) => {
        const descriptor = this.#listeners.get(listenerKeyOf(listener))?.descriptor
        return descriptor === undefined ? [] : [[addressKeyOf(listener), descriptor] as const]
      }),
    )
  }

  /** Accepts nothing more. Resolves when the last connection has ended. */
  async yieldPorts(): Promise<void> {
    const listeners = [...this.#listeners.values(), ...this.#retired]
    for (const listener of this.#listeners.values()) listener.yieldPort()
    while (listeners.some(({ isIdle }) => !isIdle)) await sleep(yieldCheckMs)
  }

  /** Ends everything at once. */
  close(): void {
    this.#sweep.close()
    for (const listener of [...this.#listeners.values(), ...this.#retired]) listener.destroy()
    for (const balancer of this.#balancers.values()) balancer.close()
    this.#certificates.close()
    this.#listeners.clear()
    this.#retired.clear()
    this.#balancers.clear()
    this.#fronts.clear()
    this.#desired = []
    this.#desiredFronts = undefined
  }
}

export function listenersOf({ address, httpPort, httpsPort }: DesiredFront): DesiredListener[] {
  const common = { host: address, certificate: undefined, allowedSources: undefined }
  return [
    { ...common, protocol: 'http', port: httpPort },
    { ...common, protocol: 'https', port: httpsPort },
  ]
}
