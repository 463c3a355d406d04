/**
 * Metrics for what every request counts. Values are found by those of their labels, in order; prom-client would check, sort and join all labels each
 * time. Its registry prints them like its own: it asks a metric for its name and its values.
 */

type LabelValue = string | number

interface Labelled<Value> {
  readonly labels: Readonly<Record<string, LabelValue>>
  readonly value: Value
}

/** Values by one label after the other. V8 would have to look up a text that is composed for each request in all texts of the program. */
interface Branch<Value> {
  readonly below: Map<LabelValue, Branch<Value>>
  value: Value | undefined
}

abstract class QuickMetric<Value> {
  abstract readonly type: 'counter' | 'histogram'
  readonly name: string
  readonly help: string
  readonly #labels: readonly string[]
  readonly #values: Labelled<Value>[] = []
  readonly #byLabels: Branch<Value> = { below: new Map(), value: undefined }

  constructor(name: string, help: string, labels: readonly string[]) {
    this.name = name
    this.help = help
    this.#labels = labels
  }

  protected abstract create(): Value
  protected abstract samplesOf(labelled: Labelled<Value>): object[]

  protected at(values: readonly LabelValue[]): Value {
    let branch = this.#byLabels
    for (const value of values) branch = branch.below.getOrInsertComputed(value, () => ({ below: new Map(), value: undefined }))
    branch.value ??= this.#add(values)
    return branch.value
  }

  #add(values: readonly LabelValue[]): Value {
    const labels = Object.fromEntries(this.#labels.map((name, index) => [name, values[index] ?? '']))
    const value = this.create()
    this.#values.push({ labels, value })
    return value
  }

  async get(): Promise<object> {
    const { name, help, type } = this
    return { name, help, type, values: this.#values.flatMap((labelled) => this.samplesOf(labelled)) }
  }
}

export class QuickCounter extends QuickMetric<{ count: number }> {
  readonly type = 'counter'

  add(by: number, ...values: readonly LabelValue[]): void {
    this.at(values).count += by
  }

  protected create(): { count: number } {
    return { count: 0 }
  }

  protected samplesOf({ labels, value }: Labelled<{ count: number }>): object[] {
    return [{ labels, value: value.count }]
  }
}

interface Observations {
  /** Between a bound and the one before; the last is beyond all bounds. */
  readonly counts: number[]
  sum: number
}

export class QuickHistogram extends QuickMetric<Observations> {
  readonly type = 'histogram'
  readonly #bounds: readonly number[]

  /** @param bounds Inclusive upper bounds of the buckets, rising. */
  constructor(name: string, help: string, bounds: readonly number[], labels: readonly string[]) {
    super(name, help, labels)
    this.#bounds = bounds
  }

  observe(observed: number, ...values: readonly LabelValue[]): void {
    const observations = this.at(values)
    const bucket = this.#bounds.findIndex((bound) => observed <= bound)
    const at = bucket === -1 ? this.#bounds.length : bucket
    observations.counts[at] = (observations.counts[at] ?? 0) + 1
    observations.sum += observed
  }

  protected create(): Observations {
    return { counts: new Array<number>(this.#bounds.length + 1).fill(0), sum: 0 }
  }

  protected samplesOf({ labels, value: { counts, sum } }: Labelled<Observations>): object[] {
    let total = 0
    const buckets = counts.map((count, bucket) => {
      total += count
      return { metricName: `${this.name}_bucket`, labels: { le: this.#bounds[bucket] ?? '+Inf', ...labels }, value: total }
    })
    const sumAndCount = [
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: total },
    ]
    return [...buckets, ...sumAndCount]
  }
}
