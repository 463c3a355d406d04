/** A set of metrics: declared once for the exposition and for the reference, printed as text or as plain data. */
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { sharedWork } from '../concurrency/shared-work.ts'
import { QuickCounter, QuickHistogram } from './quick-metrics.ts'

/** A metric as the reference describes it. */
export interface MetricDescription {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly labels: readonly string[]
  readonly help: string
}

/** A text in the exposition format of Prometheus. */
export interface PrintedMetrics {
  readonly contentType: string
  readonly text: string
}

/** A metric as plain data, in the form of prom-client. */
export interface MetricSnapshot {
  readonly name: string
  readonly help: string
  readonly type: string
  /** How the values of several processes become one: `sum`, `first`, `min`, `max`, `average` or `omit`. */
  readonly aggregator: string
  readonly values: readonly MetricSample[]
}

interface MetricSample {
  readonly value: number
  readonly labels: Readonly<Record<string, string | number>>
  /** For a histogram, its name with `_bucket`, `_sum` or `_count`. */
  readonly metricName?: string
}

/** Gauges that end in `_total`, a suffix of counters; each is the sum of the gauge without it. */
const misnamedGauges = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total']

/** Gauges that are no sum where several processes serve. */
const aggregators: Readonly<Record<string, 'first' | 'min' | 'max'>> = {
  fairlead_build_info: 'first',
  fairlead_sessions: 'max',
  fairlead_redis_up: 'min',
  fairlead_upstream_circuit_state: 'max',
  fairlead_delivery_deployments: 'max',
  fairlead_delivery_lead_time_seconds: 'max',
  fairlead_delivery_failed_ratio: 'max',
  fairlead_delivery_restore_seconds: 'max',
}

/** Besides its own, it has the usual ones of the process and of Node. */
export class MetricSet {
  /** Its own; the process and the runtime have the usual ones of prom-client. */
  readonly descriptions: MetricDescription[] = []
  readonly #registry = new Registry()
  readonly #samplers: (() => void | Promise<void>)[] = []

  constructor() {
    collectDefaultMetrics({ register: this.#registry })
    for (const name of misnamedGauges) this.#registry.removeSingleMetric(name)
  }

  counter<Label extends string = never>(name: string, help: string, ...labels: Label[]): Counter<Label> {
    this.descriptions.push({ name, type: 'counter', labels, help })
    return new Counter({ name, help, labelNames: labels, registers: [this.#registry] })
  }

  gauge<Label extends string = never>(name: string, help: string, ...labels: Label[]): Gauge<Label> {
    this.descriptions.push({ name, type: 'gauge', labels, help })
    return new Gauge({ name, help, labelNames: labels, registers: [this.#registry], aggregator: aggregators[name] ?? 'sum' })
  }

  /** @param buckets Inclusive upper bounds, rising. */
  histogram<Label extends string = never>(name: string, help: string, buckets: number[], ...labels: Label[]): Histogram<Label> {
    this.descriptions.push({ name, type: 'histogram', labels, help })
    return new Histogram({ name, help, labelNames: labels, buckets, registers: [this.#registry] })
  }

  /** For what every request counts. */
  quickCounter(name: string, help: string, ...labels: string[]): QuickCounter {
    this.descriptions.push({ name, type: 'counter', labels, help })
    return this.#register(new QuickCounter(name, help, labels))
  }

  /** For what every request observes. @param buckets Inclusive upper bounds, rising. */
  quickHistogram(name: string, help: string, buckets: readonly number[], ...labels: string[]): QuickHistogram {
    this.descriptions.push({ name, type: 'histogram', labels, help })
    return this.#register(new QuickHistogram(name, help, buckets, labels))
  }

  #register<Metric extends QuickCounter | QuickHistogram>(metric: Metric): Metric {
    this.#registry.registerMetric(metric as unknown as Counter)
    return metric
  }

  /** Has each scrape call this first. */
  sample(set: () => void | Promise<void>): void {
    this.#samplers.push(set)
  }

  /** Scrapes at the same time share one. */
  readonly print = sharedWork(() => this.#print())

  async #print(): Promise<PrintedMetrics> {
    await Promise.all(this.#samplers.map((set) => set()))
    return { contentType: this.#registry.contentType, text: await this.#registry.metrics() }
  }

  /** The same as plain data, to be added to those of other processes. */
  async snapshot(): Promise<MetricSnapshot[]> {
    await Promise.all(this.#samplers.map((set) => set()))
    return (await this.#registry.getMetricsAsJSON()).map(toSnapshot)
  }
}

/**
 * One exposition for several processes. What each `aggregator` says becomes one value; a counter is the sum.
 *
 * @param snapshots Of processes of one version
 */
export async function printTotals(snapshots: readonly (readonly MetricSnapshot[])[]): Promise<PrintedMetrics> {
  const totals = AggregatorRegistry.aggregate([...snapshots] as object[])
  return { contentType: totals.contentType, text: await totals.metrics() }
}

/** Counters and histograms of a process that has ended, added to those of the ones before it: totals never fall. */
export async function addEnded(
  ended: readonly MetricSnapshot[],
  last: readonly MetricSnapshot[],
): Promise<readonly MetricSnapshot[]> {
  const lasting = last.filter(({ type }) => type === 'counter' || type === 'histogram')
  const totals = AggregatorRegistry.aggregate([ended, lasting] as object[])
  return (await totals.getMetricsAsJSON()).map(toSnapshot)
}

/** Values that are no numbers have no form in JSON, and say nothing. */
function toSnapshot(metric: object): MetricSnapshot {
  const { name, help, type, aggregator, values } = metric as MetricSnapshot
  return { name, help, type, aggregator, values: values.filter(({ value }) => Number.isFinite(value)) }
}
