/** Liveness, readiness and health. */
import type { FastifyBaseLogger } from 'fastify'

interface HealthOptions {
  services: readonly string[]
  ask(service: string): Promise<number | undefined>
  conditions: Readonly<Record<string, () => boolean>>
  troubles?: () => string[]
  intervalMs: number
  log: FastifyBaseLogger
}

const probesOfBalancer = 3
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

  waitingFor(): string[] {
    const unmet = Object.entries(this.#options.conditions).filter(([, holds]) => !holds())
    return [...(this.#stopping ? ['shutdown'] : []), ...unmet.map(([name]) => name)]
  }

  noteProbe(): void {
    if (this.waitingFor().length > 0) return
    this.#probes += 1
    this.#probedAtMs = performance.now()
  }

  /** Whether a balancer looks at the readiness of the gateway: probes have found it ready again and again, also lately. */
  isProbed(): boolean {
    return this.#probes >= probesOfBalancer && performance.now() - this.#probedAtMs < lastProbeMs
  }

  stop(): void {
    this.#stopping = true
  }

  troubles(): string[] {
    return this.#options.troubles?.() ?? []
  }

  failingServices(): string[] {
    return [...this.#failing]
  }

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
    if (!healthy && !this.#failing.has(service))
      this.#options.log.warn({ service, status }, 'a service is not healthy')
    if (healthy) this.#failing.delete(service)
    else this.#failing.add(service)
  }
}
