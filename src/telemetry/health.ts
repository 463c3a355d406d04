/** Liveness, readiness and health. */
import type { FastifyBaseLogger } from 'fastify'

export interface Health {
  /** What readiness waits for; empty when the gateway is ready. */
  waitingFor(): string[]
  /** Notes that a client has asked whether the gateway is ready. */
  noteProbe(): void
  /** Whether a balancer looks at the readiness of the gateway: probes have found it ready again and again, also lately. */
  isProbed(): boolean
  /** Marks the gateway as stopping: readiness fails from now on, so that balancers turn away. */
  stop(): void
  /** What is out of order although requests are served. */
  troubles(): string[]
  /** Last known result of the downstream checks: services that did not answer well. */
  failingServices(): string[]
  /** Checks downstream services again in the next cycle. */
  recheck(): void
  start(): void
  close(): void
}

interface HealthOptions<Service extends string> {
  /** Services that are checked. */
  services: readonly Service[]
  /** The status with which a service answers; undefined when it does not. */
  ask: (service: Service) => Promise<number | undefined>
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
export function createHealth<Service extends string>(options: HealthOptions<Service>): Health {
  const failing = new Set<Service>()
  let allWereHealthy = false
  let stopping = false
  let probes = 0
  let probedAtMs = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined

  async function check(service: Service): Promise<void> {
    const status = await options.ask(service)
    const healthy = status !== undefined && status < 400
    if (!healthy && !failing.has(service)) options.log.warn({ service, status }, 'a service is not healthy')
    if (healthy) failing.delete(service)
    else failing.add(service)
  }

  async function checkAll(): Promise<void> {
    if (allWereHealthy) return
    await Promise.all(options.services.map(check))
    allWereHealthy = failing.size === 0
  }

  const waitingFor = () => [
    ...(stopping ? ['shutdown'] : []),
    ...Object.entries(options.conditions)
      .filter(([, holds]) => !holds())
      .map(([name]) => name),
  ]

  return {
    waitingFor,
    noteProbe: () => {
      if (waitingFor().length > 0) return
      probes += 1
      probedAtMs = performance.now()
    },
    isProbed: () => probes >= probesOfBalancer && performance.now() - probedAtMs < lastProbeMs,
    stop: () => {
      stopping = true
    },
    troubles: options.troubles ?? (() => []),
    failingServices: () => [...failing],
    recheck: () => {
      allWereHealthy = false
    },
    start: () => {
      void checkAll()
      timer = setInterval(() => void checkAll(), options.intervalMs).unref()
    },
    close: () => clearInterval(timer),
  }
}
