/**
 * Counters and histograms whose label sets are bound once, so that counting is an addition. For what every request counts; all
 * else uses prom-client, which looks its labels up each time.
 */

type Labels = Readonly<Record<string, string>>

interface BoundCounter {
  value: number
}

/** A metric in the exposition format of Prometheus, one line per sample. */
export interface PrintedMetric {
  print(): string
}

export class CounterFamily implements PrintedMetric {
  readonly #name: string
  readonly #help: string
  readonly #bound: { labels: string; counter: BoundCounter }[] = []

  constructor(name: string, help: string) {
    this.#name = name
    this.#help = help
  }

  /** To be called once for each set of labels. */
  bind(labels: Labels): BoundCounter {
    const counter = { value: 0 }
    this.#bound.push({ labels: `{${formatLabels(labels)}}`, counter })
    return counter
  }

  print(): string {
    const samples = this.#bound.map(({ labels, counter }) => `${this.#name}${labels} ${counter.value}\n`)
    return formatHead(this.#name, this.#help, 'counter') + samples.join('')
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
  readonly #bound: { labels: string; histogram: BoundHistogram }[] = []

  /** @param bounds Inclusive upper bounds of the buckets, rising. */
  constructor(name: string, help: string, bounds: readonly number[]) {
    this.#name = name
    this.#help = help
    this.#bounds = bounds
  }

  /** To be called once for each set of labels, of which there is at least one. */
  bind(labels: Labels): BoundHistogram {
    const histogram = new BoundHistogram(this.#bounds)
    this.#bound.push({ labels: formatLabels(labels), histogram })
    return histogram
  }

  print(): string {
    return formatHead(this.#name, this.#help, 'histogram') + this.#bound.map((one) => this.#printOne(one)).join('')
  }

  #printOne({ labels, histogram }: { labels: string; histogram: BoundHistogram }): string {
    let count = 0
    const buckets = histogram.counts.map((inBucket, bucket) => {
      count += inBucket
      return `${this.#name}_bucket{le="${this.#bounds[bucket] ?? '+Inf'}",${labels}} ${count}\n`
    })
    return `${buckets.join('')}${this.#name}_sum{${labels}} ${histogram.sum}\n${this.#name}_count{${labels}} ${count}\n`
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
