/**
 * Counters and histograms whose label sets are bound once, so that counting is an addition. For what every request counts; all
 * else uses prom-client, which looks its labels up each time.
 */

type Labels = Readonly<Record<string, string>>

interface BoundCounter {
  value: number
}

/** A metric in the exposition format of Prometheus, one line per sample, or as plain data. */
export interface PrintedMetric {
  print(): string
  snapshot(): MetricSnapshot
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
  /** Of a histogram: its name with `_bucket`, `_sum` or `_count`. */
  readonly metricName?: string
}

export class CounterFamily implements PrintedMetric {
  readonly #name: string
  readonly #help: string
  readonly #bound: { labels: Labels; printed: string; counter: BoundCounter }[] = []

  constructor(name: string, help: string) {
    this.#name = name
    this.#help = help
  }

  /** To be called once for each set of labels. */
  bind(labels: Labels): BoundCounter {
    const counter = { value: 0 }
    this.#bound.push({ labels, printed: `{${formatLabels(labels)}}`, counter })
    return counter
  }

  print(): string {
    const samples = this.#bound.map(({ printed, counter }) => `${this.#name}${printed} ${counter.value}\n`)
    return formatHead(this.#name, this.#help, 'counter') + samples.join('')
  }

  snapshot(): MetricSnapshot {
    const values = this.#bound.map(({ labels, counter }) => ({ labels, value: counter.value }))
    return { name: this.#name, help: this.#help, type: 'counter', aggregator: 'sum', values }
  }
}

export class BoundHistogram {
  readonly #bounds: readonly number[]
  /** Observations between a bound and the one before; the last is beyond all bounds. */
  readonly counts: number[]
  sum = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.counts = new Array<number>(bounds.length + 1).fill(0)
  }

  observe(value: number): void {
    let bucket = 0
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] as number)) bucket++
    this.counts[bucket] = (this.counts[bucket] as number) + 1
    this.sum += value
  }
}

export class HistogramFamily implements PrintedMetric {
  readonly #name: string
  readonly #help: string
  readonly #bounds: readonly number[]
  readonly #bound: { labels: Labels; printed: string; histogram: BoundHistogram }[] = []

  /** @param bounds Inclusive upper bounds of the buckets, rising. */
  constructor(name: string, help: string, bounds: readonly number[]) {
    this.#name = name
    this.#help = help
    this.#bounds = bounds
  }

  /** To be called once for each set of labels, of which there is at least one. */
  bind(labels: Labels): BoundHistogram {
    const histogram = new BoundHistogram(this.#bounds)
    this.#bound.push({ labels, printed: formatLabels(labels), histogram })
    return histogram
  }

  print(): string {
    return formatHead(this.#name, this.#help, 'histogram') + this.#bound.map((one) => this.#printOne(one)).join('')
  }

  snapshot(): MetricSnapshot {
    const values = this.#bound.flatMap(({ labels, histogram }) => [
      ...this.#buckets(histogram).map(({ le, count }) => ({
        metricName: `${this.#name}_bucket`,
        labels: { le, ...labels },
        value: count,
      })),
      { metricName: `${this.#name}_sum`, labels, value: histogram.sum },
      { metricName: `${this.#name}_count`, labels, value: this.#buckets(histogram).at(-1)?.count ?? 0 },
    ])
    return { name: this.#name, help: this.#help, type: 'histogram', aggregator: 'sum', values }
  }

  #printOne({ printed, histogram }: { printed: string; histogram: BoundHistogram }): string {
    const buckets = this.#buckets(histogram)
    const lines = buckets.map(({ le, count }) => `${this.#name}_bucket{le="${le}",${printed}} ${count}\n`)
    const total = buckets.at(-1)?.count
    return `${lines.join('')}${this.#name}_sum{${printed}} ${histogram.sum}\n${this.#name}_count{${printed}} ${total}\n`
  }

  /** How many observations are below each bound. */
  #buckets(histogram: BoundHistogram): { le: string; count: number }[] {
    let count = 0
    return histogram.counts.map((inBucket, bucket) => {
      count += inBucket
      return { le: String(this.#bounds[bucket] ?? '+Inf'), count }
    })
  }
}

function formatHead(name: string, help: string, type: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
}

/** @see Prometheus, text-based format, comments and escaping */
function formatLabels(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')}"`)
    .join(',')
}
