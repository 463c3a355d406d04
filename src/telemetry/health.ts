/** Liveness, readiness and health. */
import type { FastifyBaseLogger } from 'fastify'

interface HealthOptions {
  services: readonly string[]
  /** The status with which a service answers; undefined when it does not. */
  ask(service: string): Promise<number | undefined>
  /** Named conditions that must hold before requests may come. */
  conditions: Readonly<Record<string, () => boolean>>
  troubles?: () => string[]
  intervalMs: number
  log: FastifyBaseLogger
}

/** A client that waits for the start stops asking after its first success. */
const probesOfBalancer = 3
/** Longer than the usual pauses between probes. */
const lastProbeMs = 120_000

/** @see docs/contracts/http.md#health: once all services were healthy the checks stop until they are asked for again. */
export class Health {
  readonly #options: HealthOptions
  readonly #failing = new Set<string>()
  #allWereHealthy = false
  #stopping = false
  #probes = 0
  #probedAtMs = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined

  constructor(options: HealthOptions) {
    this.#options = options
  }

  /** What readiness waits for; empty when the gateway is ready. */
  waitingFor(): string[] {
    const unmet = Object.entries(this.#options.conditions).filter(([, holds]) => !holds())
    return [...(this.#stopping ? ['shutdown'] : []), ...unmet.map(([name]) => name)]
  }

  /** Notes that a client has asked whether the gateway is ready. */
  noteProbe(): void {
    if (this.waitingFor().length > 0) return
    this.#probes += 1
    this.#probedAtMs = performance.now()
  }

  /** Whether a balancer looks at the readiness of the gateway: probes have found it ready again and again, also lately. */
  isProbed(): boolean {
    return this.#probes >= probesOfBalancer && performance.now() - this.#probedAtMs < lastProbeMs
  }

  /** Marks the gateway as stopping: readiness fails from now on, so that balancers turn away. */
  stop(): void {
    this.#stopping = true
  }

  /** What is out of order although requests are served. */
  troubles(): string[] {
    return this.#options.troubles?.() ?? []
  }

  /** Last known result of the downstream checks: services that did not answer well. */
  failingServices(): string[] {
    return [...this.#failing]
  }

  /** Checks downstream services again in the next cycle. */
  recheck(): void {
    this.#allWereHealthy = false
  }

  start(): void {
    void this.#checkAll()
    this.#timer = setInterval(() => void this.#checkAll(), this.#options.intervalMs).unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async #checkAll(): Promise<void> {
    if (this.#allWereHealthy) return
    await Promise.all(this.#options.services.map((service) => this.#check(service)))
    this.#allWereHealthy = this.#failing.size === 0
  }

  async #check(service: string): Promise<void> {
    const status = await this.#options.ask(service)
    const healthy = status !== undefined && status < 400
    if (!healthy && !this.#failing.has(service)) this.#options.log.warn({ service, status }, 'a service is not healthy')
    if (healthy) this.#failing.delete(service)
    else this.#failing.add(service)
  }
}
