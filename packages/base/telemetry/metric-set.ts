/** A set of metrics: declared once for the exposition and for the reference, printed as text or as plain data. */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { sharedWork } from '../concurrency/shared-work.ts'

interface MetricDescription {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly help: string
}

interface PrintedMetrics {
  readonly contentType: string
  readonly text: string
}

/** Gauges that end in `_total`, a suffix of counters; each is the sum of the gauge without it. */
const misnamedGauges = [
  'nodejs_active_resources_total',
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
]

export class MetricSet {
  readonly descriptions: MetricDescription[] = []
  readonly #registry = new Registry()
  readonly #samplers: (() => void | Promise<void>)[] = []

  constructor() {
    collectDefaultMetrics({ register: this.#registry })
    for (const name of misnamedGauges) this.#registry.removeSingleMetric(name)
  }

  counter<Label extends string = never>(
    name: string,
    help: string,
    ...labels: Label[]
  ): Counter<Label> {
    this.descriptions.push({ name, type: 'counter', labels, help })
    return new Counter({ name, help, labelNames: labels, registers: [this.#registry] })
  }

  gauge<Label extends string = never>(
    name: string,
    help: string,
    ...labels: Label[]
  ): Gauge<Label> {
    this.descriptions.push({ name, type: 'gauge', labels, help })
    return new Gauge({ name, help, labelNames: labels, registers: [this.#registry] })
  }

  histogram<Label extends string = never>(
    name: string,
    help: string,
    buckets: number[],
    ...labels: Label[]
  ): Histogram<Label> {
    this.descriptions.push({ name, type: 'histogram', labels, help })
    return new Histogram({ name, help, labelNames: labels, buckets, registers: [this.#registry] })
  }

  sample(set: () => void | Promise<void>): void {
    this.#samplers.push(set)
  }

  readonly print = sharedWork(() => this.#print())

  async #print(): Promise<PrintedMetrics> {
    await Promise.all(this.#samplers.map((set) => set()))
    return { contentType: this.#registry.contentType, text: await this.#registry.metrics() }
  }
}
