/** Measurements of baseline and canary in pairs, as kayenta reports them. */
import { randomUUID } from 'node:crypto'
import type { ScopeSide, WantedMetric } from './analysis-order.ts'
import type { MetricSeries } from './metric-source.ts'

/** Gaps are NaN. */
export interface SeriesPair {
  readonly id: string
  readonly name: string
  readonly tags: Readonly<Record<string, string>>
  readonly values: Readonly<Record<ScopeSide, Float64Array>>
  readonly attributes: Readonly<Record<ScopeSide, { readonly query?: string }>>
  readonly scopes: Readonly<Record<ScopeSide, SeriesScope>>
}

interface SeriesScope {
  readonly startTimeIso: string
  readonly startTimeMillis: number
  readonly stepMillis: number
}

type Found = Readonly<Record<ScopeSide, readonly MetricSeries[]>>

/** One series of each side belong together; of several, those with the same labels. */
export function pairSeries(metric: WantedMetric, found: Found): SeriesPair[] {
  if (found.control.length <= 1 && found.experiment.length <= 1)
    return [toPair(metric, { control: found.control[0], experiment: found.experiment[0] })]
  const ofSide = (side: ScopeSide) =>
    new Map(found[side].map((series) => [labelsOf(series), series]))
  const [control, experiment] = [ofSide('control'), ofSide('experiment')]
  const all = new Set([...control.keys(), ...experiment.keys()])
  return [...all].map((labels) =>
    toPair(metric, { control: control.get(labels), experiment: experiment.get(labels) }),
  )
}

function labelsOf({ tags }: MetricSeries): string {
  return JSON.stringify(Object.entries(tags).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function toPair(
  { name, scopes }: WantedMetric,
  sides: Readonly<Record<ScopeSide, MetricSeries | undefined>>,
): SeriesPair {
  const length = Math.max(sides.control?.values.length ?? 0, sides.experiment?.values.length ?? 0)
  const valuesOf = (side: ScopeSide) => padded(sides[side]?.values ?? new Float64Array(), length)
  const attributesOf = (side: ScopeSide) =>
    sides[side] === undefined ? {} : { query: sides[side].query }
  const scopeOf = (side: ScopeSide): SeriesScope => {
    const { startMs, stepMs } = sides[side] ?? scopes[side]
    return {
      startTimeIso: new Date(startMs).toISOString(),
      startTimeMillis: startMs,
      stepMillis: stepMs,
    }
  }
  return {
    id: randomUUID(),
    name,
    tags: commonTags(sides),
    values: { control: valuesOf('control'), experiment: valuesOf('experiment') },
    attributes: { control: attributesOf('control'), experiment: attributesOf('experiment') },
    scopes: { control: scopeOf('control'), experiment: scopeOf('experiment') },
  }
}

function padded(values: Float64Array, length: number): Float64Array {
  if (values.length === length) return values
  const longer = new Float64Array(length).fill(Number.NaN)
  longer.set(values)
  return longer
}

function commonTags({
  control,
  experiment,
}: Readonly<Record<ScopeSide, MetricSeries | undefined>>): Record<string, string> {
  if (control === undefined || experiment === undefined) return { ...(control ?? experiment)?.tags }
  return Object.fromEntries(
    Object.entries(control.tags).filter(([name, value]) => experiment.tags[name] === value),
  )
}
